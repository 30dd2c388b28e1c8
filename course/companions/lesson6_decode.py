"""Lesson 6 on your own kernels: rotary embedding, the KV cache and a split projection, then a decoder made of them.

    python course/companions/lesson6_decode.py [--dir assignments] [--device auto|cpu|cuda] [--seed N]

The script loads `rope.py`, `kv_cache_append.py` and `decode_gemv.py` from --dir (or from its folder lesson6/), runs
each beside torch, and then decodes a few tokens with all three: each token is projected, turned, put into its slot of a
scattered cache, and looks back at all earlier ones.  What comes out must be what plain causal attention gives for the
whole sequence at once.  On a GPU the kernels are timed.  What is still to do is named with the command that checks it.
Exit code 0 when everything ran and matches, 1 otherwise.
"""

import sys
from dataclasses import dataclass

from beside_torch.buffers import Buffers, measure
from beside_torch.page import companion
from beside_torch.speed import show_speed
from beside_torch.student import Part

ROPE = Part("Rotary position embedding", 6, "rope.py", "rope_kernel", {"rope_kernel": "rope"})
APPEND = Part(
    "Appending to the KV cache",
    6,
    "kv_cache_append.py",
    "kv_cache_append_kernel",
    {"kv_cache_append_kernel": "kv_cache_append"},
)
GEMV = Part(
    "One token's projection, split over K",
    6,
    "decode_gemv.py",
    "gemv_split_kernel",
    {"gemv_reduce_kernel": "decode_gemv", "gemv_split_kernel": "decode_gemv"},
)
BASE, PLACES = 10000.0, 64
BLOCK_T, BLOCK_N, BLOCK_K = 8, 32, 64


@dataclass(frozen=True)
class RopeCase:
    """Tokens with some heads each, and how columns are paired."""

    name: str
    tokens: int
    heads: int
    head: int
    interleaved: bool


@dataclass(frozen=True)
class AppendCase:
    """Tokens for a pool of slots, some of them padding."""

    name: str
    tokens: int
    pool: int
    width: int
    padding: int


@dataclass(frozen=True)
class GemvCase:
    """A matrix (rows, columns) and the columns that a split takes."""

    name: str
    rows: int
    columns: int
    chunk: int


ROPE_CASES = (
    RopeCase("half-split", 12, 4, 32, False),
    RopeCase("interleaved", 12, 4, 32, True),
    RopeCase("3 heads in a tile of 4", 12, 3, 32, True),
)
APPEND_CASES = (
    AppendCase("one tile", 8, 24, 32, 0),
    AppendCase("ragged, some padding", 21, 40, 24, 5),
    AppendCase("one token", 1, 9, 32, 0),
)
GEMV_CASES = (
    GemvCase("one split", 64, 256, 256),
    GemvCase("four splits", 64, 256, 64),
    GemvCase("ragged", 70, 391, 90),
)


# Each kernel beside torch --------------------------------------------------------------------------------------------


def run_rope(kernel, case, device, generator):
    import torch

    x = torch.randn(case.tokens, case.heads, case.head, generator=generator)
    positions = torch.randperm(PLACES, generator=generator)[: case.tokens]
    cos, sin = tables(case.head, PLACES)
    buffers = Buffers(device)
    y = buffers.output(x.shape)
    inputs = [buffers.input(values) for values in (x, positions, cos, sin)]
    launch_rope(kernel, inputs, y, case.interleaved)
    (y,) = buffers.collect(ROPE)
    exact, plain = (
        rotated(values, positions, cos.to(values.dtype), sin.to(values.dtype), case.interleaved)
        for values in (x.double(), x)
    )
    return {"y": (y, exact, plain)}


def launch_rope(kernel, inputs, y, interleaved):
    tokens, heads, head = y.shape
    block = 1 << (heads - 1).bit_length()
    kernel[(tokens,)](*inputs, y, heads, HEAD=head, BLOCK_H=block, INTERLEAVED=interleaved)


def tables(head, places):
    import torch

    frequencies = BASE ** (-2 * torch.arange(head // 2).double() / head)
    angles = torch.arange(places)[:, None] * frequencies
    return angles.cos().float(), angles.sin().float()


def rotated(x, positions, cos, sin, interleaved):
    import torch

    cos, sin = cos[positions][:, None], sin[positions][:, None]
    a, b = (x[..., 0::2], x[..., 1::2]) if interleaved else x.chunk(2, -1)
    pair = a * cos - b * sin, b * cos + a * sin
    return torch.stack(pair, -1).flatten(-2) if interleaved else torch.cat(pair, -1)


def run_append(kernel, case, device, generator):
    import torch

    k, v = (torch.randn(case.tokens, case.width, generator=generator) for _ in range(2))
    held = [torch.randn(case.pool, case.width, generator=generator) for _ in range(2)]
    slots = torch.randperm(case.pool, generator=generator)[: case.tokens]
    slots[torch.randperm(case.tokens, generator=generator)[: case.padding]] = -1
    buffers = Buffers(device)
    inputs = [buffers.input(values) for values in (k, v, slots)]
    caches = [buffers.output(values.shape) for values in held]
    for cache, values in zip(caches, held):
        cache.copy_(values)
    launch_append(kernel, inputs, caches)
    written = buffers.collect(APPEND)
    results = {}
    for name, cache, values, new in zip(("k_cache", "v_cache"), written, held, (k, v)):
        exact = values.double()
        exact[slots[slots >= 0]] = new.double()[slots >= 0]
        results[name] = (cache, exact, None)
    return results


def launch_append(kernel, inputs, caches):
    tokens, width = inputs[0].shape
    block = 1 << (width - 1).bit_length()
    grid = (-(-tokens // BLOCK_T),)
    kernel[grid](*inputs, *caches, tokens, width, width, BLOCK_T=BLOCK_T, BLOCK_W=block)


def run_gemv(kernel, case, device, generator):
    import torch

    x = torch.randn(case.columns, generator=generator)
    w = torch.randn(case.rows, case.columns, generator=generator)
    buffers = Buffers(device)
    x_there, w_there = buffers.input(x), buffers.input(w)
    partial, y = buffers.output((-(-case.columns // case.chunk), case.rows)), buffers.output((case.rows,))
    launch_gemv(kernel, x_there, w_there, partial, y, case.chunk)
    partial, y = buffers.collect(GEMV)
    exact, plain = (gemv(w.to(dtype), x.to(dtype), case.chunk) for dtype in (torch.float64, torch.float32))
    return {"partial": (partial, exact[0], plain[0]), "y": (y, exact[1], plain[1])}


def launch_gemv(kernel, x, w, partial, y, chunk):
    """The split kernel, then the one that adds the parts, which stands in the same file."""
    rows, columns = w.shape
    splits, tiles = len(partial), -(-rows // BLOCK_N)
    kernel[tiles, splits](x, w, partial, rows, columns, chunk, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K)
    kernel.fn.__globals__["gemv_reduce_kernel"][(tiles,)](partial, y, rows, splits, BLOCK_N=BLOCK_N)


def gemv(w, x, chunk):
    import torch

    parts = [part @ piece for part, piece in zip(w.split(chunk, 1), x.split(chunk))]
    return torch.stack(parts), w @ x


# All three at work ---------------------------------------------------------------------------------------------------


def decode(rope, append, split, device, generator, tokens=10, heads=2, head=32, hidden=96):
    """Decode token by token on the student's kernels; {output: (got, exact, plain)} of all tokens' attention."""
    import torch

    width = heads * head
    x = torch.randn(tokens, hidden, generator=generator)
    w = torch.randn(3 * width, hidden, generator=generator) / hidden**0.5
    cos, sin = tables(head, PLACES)
    slots = torch.randperm(3 * tokens, generator=generator)[:tokens]
    caches = [torch.zeros(3 * tokens, width, device=device) for _ in range(2)]
    w_there, cos_there, sin_there = (values.to(device) for values in (w, cos, sin))
    got = []
    for token in range(tokens):
        chunk = 48
        partial = torch.empty(-(-hidden // chunk), 3 * width, device=device)
        qkv = torch.empty(3 * width, device=device)
        launch_gemv(split, x[token].to(device), w_there, partial, qkv, chunk)
        query_and_key = qkv[: 2 * width].reshape(1, 2 * heads, head)
        turned = torch.empty_like(query_and_key)
        position = torch.tensor([token], device=device)
        launch_rope(rope, [query_and_key, position, cos_there, sin_there], turned, False)
        key, value = turned[:, heads:].reshape(1, width).contiguous(), qkv[2 * width :].reshape(1, width)
        launch_append(append, [key, value, slots[token : token + 1].to(device)], caches)
        seen = slots[: token + 1].to(device)
        k, v = (cache[seen].reshape(-1, heads, head).transpose(0, 1) for cache in caches)
        q = turned[:, :heads].transpose(0, 1)
        o = torch.nn.functional.scaled_dot_product_attention(q[None], k[None], v[None])
        got.append(o.reshape(width).cpu())
    exact, plain = (at_once(x.to(dtype), w.to(dtype), cos, sin, heads) for dtype in (torch.float64, torch.float32))
    return {"o": (torch.stack(got), exact, plain)}


def at_once(x, w, cos, sin, heads):
    """Causal attention over the whole sequence, without a cache."""
    import torch

    q, k, v = ((x @ part.T).reshape(len(x), heads, -1) for part in w.chunk(3))
    positions = torch.arange(len(x))
    q, k = (rotated(part, positions, cos.to(x.dtype), sin.to(x.dtype), False) for part in (q, k))
    q, k, v = (part.transpose(0, 1)[None] for part in (q, k, v))
    o = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    return o[0].transpose(0, 1).reshape(len(x), -1)


def show_decoding(page, kernels):
    """Whether decoding on the three kernels gives what attention over the whole sequence gives."""
    import torch

    page.heading("Ten tokens, decoded one by one on your kernels")
    results = decode(*kernels, page.device, torch.Generator().manual_seed(page.seed))
    error, own, wrong = measure(results)
    print("Each token is projected, turned, put into a slot of a scattered cache, and")
    print("looks back at all earlier ones. Against attention over the whole sequence:")
    print(f"  largest error {error:.1e}, torch's own {own:.1e}: {wrong or 'ok'}")
    return not wrong


# On a GPU ------------------------------------------------------------------------------------------------------------


def show_speeds(page, rope, append, split):
    import torch

    tokens, heads, head, width = 8192, 32, 128, 1024
    page.heading(f"Rotary embedding on this GPU, {tokens} tokens, {heads} heads of {head}")
    x = torch.randn(tokens, heads, head, device="cuda")
    y, positions = torch.empty_like(x), torch.arange(tokens, device="cuda") % 4096
    cos, sin = (table.cuda() for table in tables(head, 4096))
    runs = {
        "yours": lambda: launch_rope(rope, [x, positions, cos, sin], y, False),
        "torch, in steps": lambda: rotated(x, positions, cos, sin, False),
    }
    show_speed(runs, moved=4 * 2 * x.numel())

    page.heading(f"Appending on this GPU, {tokens} tokens of width {width}")
    k, v = (torch.randn(tokens, width, device="cuda") for _ in range(2))
    caches = [torch.zeros(4 * tokens, width, device="cuda") for _ in range(2)]
    slots = torch.randperm(4 * tokens, device="cuda")[:tokens]

    def by_index():
        caches[0][slots], caches[1][slots] = k, v

    runs = {"yours": lambda: launch_append(append, [k, v, slots], caches), "torch, by index": by_index}
    show_speed(runs, moved=4 * 4 * tokens * width)

    rows, columns = 1024, 32768
    page.heading(f"One token's projection on this GPU, W ({rows}, {columns})")
    x, w = torch.randn(columns, device="cuda"), torch.randn(rows, columns, device="cuda")
    y = torch.empty(rows, device="cuda")

    def in_splits(splits):
        partial = torch.empty(splits, rows, device="cuda")
        return lambda: launch_gemv(split, x, w, partial, y, columns // splits)

    runs = {f"yours, splits: {splits}": in_splits(splits) for splits in (1, 4, 16, 64)}
    show_speed({**runs, "torch": lambda: w @ x}, moved=4 * w.numel())


def show(page):
    rope = page.table(ROPE, ROPE_CASES, run_rope, {"tokens": "tokens", "heads": "heads", "head": "head"})
    append = page.table(APPEND, APPEND_CASES, run_append, {"tokens": "tokens", "pool": "pool", "width": "width"})
    split = page.table(GEMV, GEMV_CASES, run_gemv, {"rows": "rows", "columns": "columns", "chunk": "chunk"})
    kernels = rope, append, split
    if None in kernels:
        return False
    matches = show_decoding(page, kernels)
    if page.device == "cuda":
        show_speeds(page, *kernels)
    if matches:
        print("\nAll three kernels ran and match, alone and together.")
    return matches


if __name__ == "__main__":
    sys.exit(companion("Lesson 6: decoding on your own kernels, beside torch", show))
