"""The surgery map: what one decode step of a small language model moves and computes, row by row.

Counted are the bytes that have to come from memory or go there once, and multiplications and additions, for one new
token of one sequence.  `python course/site/making/surgery.py` prints the table.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

DATA = Path(__file__).resolve().parents[1] / "surgery.toml"


@dataclass(frozen=True, slots=True)
class Model:
    """The shape of a decoder, and the memory bandwidth that it is read with (GB/s, 1e9 bytes)."""

    layers: int
    width: int
    heads: int
    kv_heads: int
    head: int
    hidden: int
    vocabulary: int
    bytes: int
    cached: int
    gigabytes_a_second: float

    @property
    def parameters(self) -> int:
        """Weights of all layers, the embedding and the LM head."""
        layer = self.width * (self.heads + 2 * self.kv_heads) * self.head  # q, k, v
        layer += self.heads * self.head * self.width  # output
        layer += 3 * self.width * self.hidden + 2 * self.width  # SwiGLU, two norms
        return self.layers * layer + 2 * self.vocabulary * self.width + self.width


@dataclass(frozen=True, slots=True)
class Part:
    """One row of the map; bytes and flops are those of the whole step, all layers together."""

    id: str
    title: str
    what: str
    lesson: int
    exercises: tuple[str, ...]
    times: int
    bytes: int
    flops: int


Count = tuple[int, int]


def _matrix(model: Model, rows: int, columns: int) -> Count:
    """One vector of ``rows`` numbers times a matrix: (bytes, flops)."""
    return (rows * columns + rows + columns) * model.bytes, 2 * rows * columns


def _plus(*counts: Count) -> Count:
    return sum(count[0] for count in counts), sum(count[1] for count in counts)


def _qkv(m: Model) -> Count:
    return _matrix(m, m.width, (m.heads + 2 * m.kv_heads) * m.head)


def _attention(m: Model) -> Count:
    cache = 2 * m.kv_heads * m.head * m.cached
    queries = 2 * m.heads * m.head  # q in, o out
    # a score: a product of head numbers, then about five operations of softmax, then its share of the output
    return (cache + queries) * m.bytes, m.heads * m.cached * (4 * m.head + 5)


def _swiglu(m: Model) -> Count:
    up = _matrix(m, m.width, 2 * m.hidden)
    down = _matrix(m, m.hidden, m.width)
    return _plus(up, down, (3 * m.hidden * m.bytes, 5 * m.hidden))


# Each for one place in the model where it happens.
COUNTS: Mapping[str, Callable[[Model], Count]] = {
    "embedding": lambda m: (2 * m.width * m.bytes, 0),
    "rms_norm": lambda m: (
        2 * 5 * m.width * m.bytes,
        2 * 5 * m.width,
    ),  # twice a layer: x, residual in and out, weight, y
    "qkv": _qkv,
    "rope": lambda m: (2 * (m.heads + m.kv_heads) * m.head * m.bytes, 3 * (m.heads + m.kv_heads) * m.head),
    "kv_append": lambda m: (2 * 2 * m.kv_heads * m.head * m.bytes, 0),
    "attention": _attention,
    "output": lambda m: _matrix(m, m.heads * m.head, m.width),
    "swiglu": _swiglu,
    "lm_head": lambda m: _matrix(m, m.width, m.vocabulary),
    "sampling": lambda m: (2 * m.vocabulary * m.bytes, 5 * m.vocabulary),
}


def load(path: Path = DATA) -> tuple[Model, tuple[Part, ...]]:
    """The model, and the rows of the map in the order in which a token goes through them.

    Raises:
        KeyError, TypeError: the data file names a row that cannot be counted, or lacks a key.
    """
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    model = Model(**data["model"])
    parts = []
    for row in data["row"]:
        times = model.layers if row["place"] == "layer" else 1
        moved, flops = COUNTS[row["id"]](model)
        parts.append(
            Part(
                row["id"],
                row["title"],
                row["what"],
                row["lesson"],
                tuple(row["exercises"]),
                times,
                moved * times,
                flops * times,
            )
        )
    return model, tuple(parts)


def amount(number: float, unit: str) -> str:
    """A number with a prefix of a thousand: ``4.2 MB``; three figures at most."""
    for prefix in ("", "k", "M", "G"):
        if number < 999.5 or prefix == "G":
            break
        number /= 1000
    text = f"{number:.0f}" if number >= 99.5 or number == int(number) else f"{number:.2g}"
    return f"{text} {prefix}{unit}".strip()


def step_time(model: Model, parts: tuple[Part, ...]) -> float:
    """Seconds that reading and writing the bytes takes at the stated bandwidth, if nothing else costs anything."""
    return sum(part.bytes for part in parts) / (model.gigabytes_a_second * 1e9)


def main() -> None:
    model, parts = load()
    print(f"{model.parameters / 1e9:.2f} billion parameters, {model.cached} tokens in the cache\n")
    print(f"{'part':<28} {'times':>5} {'bytes':>9} {'flop':>9} {'flop/byte':>9}")
    for part in parts:
        moved, flops = amount(part.bytes, "B"), amount(part.flops, "")
        print(f"{part.title:<28} {part.times:>5} {moved:>9} {flops:>9} {part.flops / part.bytes:>9.1f}")
    total = sum(part.bytes for part in parts)
    print(f"{'all':<28} {'':>5} {amount(total, 'B'):>9} {amount(sum(part.flops for part in parts), ''):>9}")
    print(f"\nAt {model.gigabytes_a_second:.0f} GB/s: {step_time(model, parts) * 1e3:.1f} ms a token at least")


if __name__ == "__main__":
    main()
