"""The numbers that stand in the lessons' sentences, computed: `python course/site/making/facts.py` prints them all.

A lesson writes ``{n}`64 MiB <scores_one_head>```; building the pages fails where the text and the number differ.
"""

from __future__ import annotations

import math
import struct
import sys
from collections.abc import Mapping
from pathlib import Path

if __name__ == "__main__":  # run as a script: the folder above holds the package
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from making import surgery

TOKENS, HEAD, HEADS, LAYERS = 4096, 64, 32, 32
FLOAT = 4  # bytes of a float32


def scores_bytes(tokens: int) -> int:
    """The score matrix S of one head in float32."""
    return tokens * tokens * FLOAT


def fused_bytes(tokens: int, head: int = HEAD) -> int:
    """What a fused kernel writes for one head: o and the log-sum-exp."""
    return tokens * (head + 1) * FLOAT


def binary(number: float) -> str:
    """Bytes in KiB, MiB, GiB: ``64 MiB``, ``4.1 MiB``."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if number < 1024 or unit == "GiB":
            break
        number /= 1024
    return f"{number:.0f} {unit}" if number == int(number) or number >= 99.5 else f"{number:.2g} {unit}"


def amount_of_reads(size: int, tile: int) -> str:
    """Numbers that a product of two square matrices reads from memory, with square tiles of the output."""
    return f"{2 * size**3 / tile / 1e6:.0f} million"


def float32(number: float) -> float:
    """A number rounded to float32; infinite where it does not fit."""
    try:
        (rounded,) = struct.unpack("f", struct.pack("f", number))
    except OverflowError:
        return math.inf
    return float(rounded)


T4_BYTES, T4_FLOPS = 320e9, 8.1e12  # a second, by its data sheet: memory, and float32 without tensor cores

SCALED = 64e6  # elements of the lesson on scale and shift
NORM_TOKENS, NORM_WIDTH = 4096, 4096


def milliseconds(moved: float) -> str:
    """How long a T4 takes at least to move that many bytes."""
    return f"{moved / T4_BYTES * 1e3:.1f} ms"


# Operations for each byte that has to be moved, in float32: name, where it is written, operations, bytes.
_SQUARE = 1024
INTENSITIES: tuple[tuple[str, float, float], ...] = (
    ("vector add", 1, 3 * FLOAT),
    ("scale and shift, fused", 2, 2 * FLOAT),
    ("one token's projection", 2, FLOAT),  # each weight is read once and used once
    ("attention, S written", 4 * TOKENS**2 * HEAD, 4 * scores_bytes(TOKENS) + 4 * TOKENS * HEAD * FLOAT),
    ("matmul of 1024 x 1024", 2 * _SQUARE**3, 3 * _SQUARE**2 * FLOAT),
    ("attention, fused", 4 * TOKENS**2 * HEAD, 4 * TOKENS * HEAD * FLOAT),
)


def _facts() -> Mapping[str, str]:
    s = scores_bytes(TOKENS)
    model, parts = surgery.load()
    total = sum(part.bytes for part in parts)
    moved = {part.id: part for part in parts}
    first, second = ((1.0, 10.0), (2.0, 20.0)), ((4.0, 30.0), (3.0, 40.0))
    l_one = sum(math.exp(score - 2) for score, _ in first)
    acc_one = sum(math.exp(score - 2) * value for score, value in first)
    alpha = math.exp(2 - 4)
    matrices = sum(moved[name].bytes for name in ("qkv", "output", "swiglu", "lm_head"))
    l_two = l_one * alpha + sum(math.exp(score - 4) for score, _ in second)
    acc_two = acc_one * alpha + sum(math.exp(score - 4) * value for score, value in second)
    assert float32(math.exp(88)) < math.inf == float32(math.exp(89))
    flops_a_byte = {name: flops / moved_bytes for name, flops, moved_bytes in INTENSITIES}
    return {
        "t4_bandwidth": f"{T4_BYTES / 1e9:.0f} GB/s",
        "t4_float32": f"{T4_FLOPS / 1e12:.1f} TFLOP/s",
        "t4_numbers": f"{T4_BYTES / FLOAT / 1e9:.0f} billion",
        "add_intensity": f"{flops_a_byte['vector add']:.2f}",
        "unfused_intensity": f"{flops_a_byte['attention, S written']:.0f}",
        "fused_intensity": f"{flops_a_byte['attention, fused']:.0f}",
        "matmul_intensity": f"{flops_a_byte['matmul of 1024 x 1024']:.0f}",
        "add_share": f"{100 * flops_a_byte['vector add'] * T4_BYTES / T4_FLOPS:.1f}%",
        "matmul_plain": amount_of_reads(_SQUARE, 1),
        "matmul_tiled": amount_of_reads(_SQUARE, 32),
        "scores_one_head": binary(s),
        "scores_one_layer": binary(s * HEADS),
        "scores_all": binary(s * HEADS * LAYERS),
        "tensors_one_head": binary(4 * TOKENS * HEAD * FLOAT),
        "traffic_unfused": binary(4 * s),
        "traffic_ratio": f"{4 * s / (4 * TOKENS * HEAD * FLOAT):.0f}",
        "fused_one_head": binary(fused_bytes(TOKENS)),
        "fused_ratio": f"{s / fused_bytes(TOKENS):.0f}",
        "scores_64k": binary(scores_bytes(65536)),
        "first_overflow": str(next(x for x in range(200) if float32(math.exp(x)) == math.inf)),
        "alpha": f"{alpha:.3f}",
        "l_one": f"{l_one:.3f}",
        "acc_one": f"{acc_one:.2f}",
        "o_one": f"{acc_one / l_one:.2f}",
        "l_two": f"{l_two:.3f}",
        "acc_two": f"{acc_two:.2f}",
        "o_two": f"{acc_two / l_two:.2f}",
        "exp_minus_120": f"{float32(math.exp(-120)):g}",
        "model_parameters": f"{model.parameters / 1e9:.1f} billion",
        "model_cached": f"{model.cached}",
        "step_bytes": surgery.amount(total, "B"),
        "step_bandwidth": f"{model.gigabytes_a_second:.0f} GB/s",
        "t4_float32_per_byte": f"{T4_FLOPS / T4_BYTES:.0f}",
        "step_time": f"{surgery.step_time(model, parts) * 1e3:.1f} ms",
        "step_attention": surgery.amount(moved["attention"].bytes, "B"),
        "step_attention_16x": surgery.amount(
            moved["attention"].bytes + 15 * 2 * model.kv_heads * model.head * model.cached * model.bytes * model.layers,
            "B",
        ),
        "scale_two_bytes": f"{4 * SCALED * FLOAT / 1e6:.0f} MB",
        "scale_two_time": milliseconds(4 * SCALED * FLOAT),
        "scale_one_bytes": f"{2 * SCALED * FLOAT / 1e6:.0f} MB",
        "scale_one_time": milliseconds(2 * SCALED * FLOAT),
        "scale_arithmetic": f"{2 * SCALED / T4_FLOPS * 1e3:.2f} ms",
        "norm_row": binary(NORM_TOKENS * NORM_WIDTH * FLOAT),
        "norm_apart_time": milliseconds(10 * NORM_TOKENS * NORM_WIDTH * FLOAT),
        "norm_fused_time": milliseconds(4 * NORM_TOKENS * NORM_WIDTH * FLOAT),
        "norms_apart_time": milliseconds(2 * LAYERS * 10 * NORM_TOKENS * NORM_WIDTH * FLOAT),
        "norms_fused_time": milliseconds(2 * LAYERS * 4 * NORM_TOKENS * NORM_WIDTH * FLOAT),
        "cache_one_token": surgery.amount(2 * model.kv_heads * model.head * model.bytes * model.layers, "B"),
        "step_intensity": f"{sum(part.flops for part in parts) / total:.1f}",
        "step_flops": surgery.amount(sum(part.flops for part in parts), "flop"),
        "step_weights_share": f"{100 * matrices / total:.0f}%",
    }


FACTS = _facts()


if __name__ == "__main__":
    for name, text in FACTS.items():
        print(f"{name:<20} {text}")
