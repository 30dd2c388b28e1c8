"""Lesson 7's ten homework exercises as they are timed: the case at a length N, and what torch does for the same inputs.

Blocks are the course's own, float32 but for half_flash.  Sizes are chosen so that all ten together take well under two
minutes on a GPU of a data centre.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention as sdpa

Case = Mapping[str, Any]
Tensors = Mapping[str, torch.Tensor]
Call = Callable[[], Tensors]

_HEAD = 64
_SCALE = _HEAD**-0.5
_DECODE_HEAD = 128
_WINDOW = 255  # keys before a query's own place
_GROUP = 4  # query heads that share a key head


@dataclass(frozen=True)
class Timed:
    """One exercise: ``case(n)`` at each of ``lengths``, which are N, 2 N and 4 N.

    ``prepare(case, inputs)`` gives torch's form as a function without arguments, which returns the outputs by their
    names in the exercise.  ``torch_form`` says which form that is; what it has to ``make`` of the inputs beforehand, as
    a mask, counts in its memory and not in its time.  ``answers`` are the outputs that were asked for: what else the
    launch has to have is memory on top.  ``flops(case)`` is the arithmetic that the task needs, ``moved(case)`` the
    bytes that it has to read where those decide.
    """

    exercise: str
    lengths: tuple[int, int, int]
    case: Callable[[int], Case]
    torch_form: str
    prepare: Callable[[Case, Tensors], Call]
    answers: tuple[str, ...]
    flops: Callable[[Case], float] | None = None
    moved: Callable[[Case], float] | None = None
    make: bool = False


def _triangle(n: int) -> float:
    """Pairs of a query and a key that a causal square of n by n has."""
    return n * (n + 1) / 2


def _one_head(n: int, block: int = 32, **more: Any) -> Case:
    return {
        "seqlen_q": n,
        "seqlen_k": n,
        "head": _HEAD,
        "block_m": block,
        "block_n": block,
        "scale": _SCALE,
        "spread": 1.0,
        **more,
    }


def _batched(n: int) -> Case:
    layouts = dict.fromkeys("qkvo", "bnhd")
    return _one_head(n, shift=0.0, batch=2, heads=4, block_d=_HEAD, causal=False, twin="", **layouts)


def _causal(n: int) -> Case:
    return _one_head(n, shift=0.0, poisoned=0)


def _grouped(n: int) -> Case:
    return _one_head(n, shift=0.0, batch=2, heads_q=2 * _GROUP, heads_kv=2, causal=False, twin=False)


def _half(n: int) -> Case:
    flat = dict.fromkeys(("shift", "last", "size", "centre"), 0.0)
    return _one_head(n, 64, causal=False, dtype="float16", twin=False, **flat)


def _window(n: int) -> Case:
    return _one_head(n, left=_WINDOW, right=0, shift=0.0, rising=False, again=False, streaming=False)


def _bias(n: int) -> Case:
    kind = {"bias": "keys", "bias_spread": 1.0, "centre": 0.0, "padded": 0, "hidden": False, "gap": 0, "alibi": True}
    return _one_head(n, heads=4, causal=True, again="none", streaming=False, **kind)


def _varlen(n: int) -> Case:
    seqlens = " ".join(str(n // part) for part in (2, 4, 8, 8))
    flags = {"causal": True, "rising": False, "turned": False, "streaming": False}
    return _one_head(n, shift=0.0, heads=4, seqlens_q=seqlens, seqlens_k=seqlens, **flags)


def _split(n: int) -> Case:
    return {
        "batch": 8,
        "capacity": n,
        "head": _DECODE_HEAD,
        "chunk": 1024,
        "block_n": 32,
        "fewer": 0,
        "scale": _DECODE_HEAD**-0.5,
        "spread": 1.0,
        "shift": 0.0,
        "rising": False,
        "poisoned": False,
        "other_chunk": 0,
        "counted": False,
    }


def _paged(n: int) -> Case:
    return {
        "batch": 64,
        "seqlen": n,
        "fewer": 0,
        "heads": 8,
        "head": _HEAD,
        "page": 32,
        "block_h": 16,
        "spare": 7,
        "shared": 0,
        "from_0": False,
        "scale": _SCALE,
        "spread": 1.0,
        "shift": 0.0,
        "rising": False,
        "poisoned": False,
        "moved": False,
        "counted": False,
    }


def _backward(n: int) -> Case:
    return _one_head(n, causal=True, shift=0.0, doubled=False, counted=False)


def _torch_heads(case: Case, inputs: Tensors) -> Call:
    """Inputs with a batch and heads, or with neither."""
    q, k, v = (inputs[name] for name in "qkv")
    more = {"scale": case["scale"], "enable_gqa": q.ndim == 4 and q.shape[1] != k.shape[1]}
    causal = case.get("causal", True)
    if q.ndim == 2:
        return lambda: {"o": sdpa(q[None, None], k[None, None], v[None, None], is_causal=causal, **more)[0, 0]}
    return lambda: {"o": sdpa(q, k, v, is_causal=causal, **more)}


def _torch_window(case: Case, inputs: Tensors) -> Call:
    q, k, v = (inputs[name][None, None] for name in "qkv")
    places = torch.arange(case["seqlen_q"], device=q.device)
    behind = places[:, None] - places[None, :]
    mask = (behind >= 0) & (behind <= case["left"])
    return lambda: {"o": sdpa(q, k, v, attn_mask=mask, scale=case["scale"])[0, 0]}


def _torch_bias(case: Case, inputs: Tensors) -> Call:
    q, k, v = (inputs[name][None] for name in "qkv")
    places = torch.arange(case["seqlen_q"], device=q.device)
    behind = places[:, None] - places[None, :]
    mask = inputs["bias"] - inputs["slopes"][:, None, None] * behind.abs()
    mask = mask.masked_fill_(behind < 0, float("-inf"))[None]
    return lambda: {"o": sdpa(q, k, v, attn_mask=mask, scale=case["scale"])[0]}


def _torch_varlen(case: Case, inputs: Tensors) -> Call:
    seqlens = [int(length) for length in case["seqlens_q"].split()]
    parts = list(zip(*(inputs[name].transpose(0, 1)[None].split(seqlens, 2) for name in "qkv"), strict=True))

    def call() -> Tensors:
        found = [sdpa(q, k, v, is_causal=True, scale=case["scale"]) for q, k, v in parts]
        return {"o": torch.cat(found, 2)[0].transpose(0, 1)}

    return call


def _torch_decode(case: Case, inputs: Tensors) -> Call:
    q, k, v = inputs["q"][:, None, None], inputs["k"][:, None], inputs["v"][:, None]
    return lambda: {"o": sdpa(q, k, v, scale=case["scale"])[:, 0, 0]}


def _torch_paged(case: Case, inputs: Tensors) -> Call:
    q, table = inputs["q"][:, None], inputs["table"].long()

    def call() -> Tensors:
        k, v = (inputs[name][table].flatten(1, 2)[:, None] for name in ("k_pages", "v_pages"))
        return {"o": sdpa(q, k, v, scale=case["scale"])[:, 0]}

    return call


def _torch_backward(case: Case, inputs: Tensors) -> Call:
    leaves = [inputs[name].detach()[None, None].requires_grad_() for name in "qkv"]
    o = sdpa(*leaves, is_causal=True, scale=case["scale"])
    do = inputs["do"][None, None]

    def call() -> Tensors:
        found = torch.autograd.grad(o, leaves, do, retain_graph=True)
        return {name: x[0, 0] for name, x in zip(("dq", "dk", "dv"), found, strict=True)}

    return call


def _pairs_in_window(n: int) -> float:
    return sum(min(i, _WINDOW) + 1 for i in range(n))


TIMED = (
    Timed(
        "batched_heads",
        (1024, 2048, 4096),
        _batched,
        "SDPA, the same strides",
        _torch_heads,
        ("o",),
        lambda case: 4.0 * _HEAD * 8 * case["seqlen_q"] ** 2,
    ),
    Timed(
        "causal_skip",
        (2048, 4096, 8192),
        _causal,
        "SDPA, is_causal",
        _torch_heads,
        ("o", "lse"),
        lambda case: 4.0 * _HEAD * _triangle(case["seqlen_q"]),
    ),
    Timed(
        "grouped_query",
        (1024, 2048, 4096),
        _grouped,
        "SDPA, enable_gqa",
        _torch_heads,
        ("o",),
        lambda case: 4.0 * _HEAD * 2 * case["heads_q"] * case["seqlen_q"] ** 2,
    ),
    Timed(
        "half_flash",
        (2048, 4096, 8192),
        _half,
        "SDPA in float16",
        _torch_heads,
        ("o", "lse"),
        lambda case: 4.0 * _HEAD * case["seqlen_q"] ** 2,
    ),
    Timed(
        "sliding_window",
        (2048, 4096, 8192),
        _window,
        "SDPA, the window as a mask",
        _torch_window,
        ("o", "lse"),
        lambda case: 4.0 * _HEAD * _pairs_in_window(case["seqlen_q"]),
        make=True,
    ),
    Timed(
        "attention_bias",
        (1024, 2048, 4096),
        _bias,
        "SDPA, bias and ALiBi as a mask",
        _torch_bias,
        ("o", "lse"),
        lambda case: 4.0 * _HEAD * case["heads"] * _triangle(case["seqlen_q"]),
        make=True,
    ),
    Timed(
        "varlen",
        (2048, 4096, 8192),
        _varlen,
        "eager: SDPA, a call a sequence",
        _torch_varlen,
        ("o", "lse"),
        lambda case: 4.0 * _HEAD * case["heads"] * sum(_triangle(int(n)) for n in case["seqlens_q"].split()),
    ),
    Timed(
        "split_kv_decode",
        (16384, 32768, 65536),
        _split,
        "SDPA with one query",
        _torch_decode,
        ("o", "lse"),
        moved=lambda case: 2.0 * 4 * case["batch"] * case["capacity"] * case["head"],
    ),
    Timed(
        "paged_kv",
        (1024, 2048, 4096),
        _paged,
        "eager: gather the pages, SDPA",
        _torch_paged,
        ("o", "lse"),
        moved=lambda case: 2.0 * 4 * case["batch"] * case["seqlen"] * case["head"],
    ),
    Timed(
        "flash_backward",
        (2048, 4096, 8192),
        _backward,
        "autograd of SDPA, is_causal",
        _torch_backward,
        ("dq", "dk", "dv"),
        lambda case: 10.0 * _HEAD * _triangle(case["seqlen_q"]),
    ),
)
