"""Lesson 1, on your own kernels: vector add and scale-and-shift beside torch, and why the bytes decide.

    python course/companions/lesson1_bandwidth.py [--dir assignments] [--device auto|cpu|cuda] [--seed N]

The script runs `vector_add_kernel` and `fused_scale_shift_kernel` on vectors and matrices that fill their blocks and
on some that do not, beside torch.  Then it counts the bytes that each way of computing x * scale + shift has to move,
and on a GPU it times them beside a plain copy, which is as fast as memory goes.  A kernel that is still to do is named
with the command that checks it.  Exit code 0 when both ran and match, 1 otherwise.
"""

import sys
from dataclasses import dataclass

from beside_torch.buffers import Buffers
from beside_torch.page import companion
from beside_torch.speed import show_speed
from beside_torch.student import Part

ADD = Part("Vector add", 1, "vector_add.py", "vector_add_kernel", {"vector_add_kernel": "vector_add"})
FUSED = Part(
    "Fused scale and shift",
    1,
    "fused_scale_shift.py",
    "fused_scale_shift_kernel",
    {"fused_scale_shift_kernel": "fused_scale_shift"},
)
MIB = 2**20

# Memory bandwidth in GB/s and true float32 arithmetic in TFLOP/s, from NVIDIA's data sheets.
GPUS = {"T4": (320, 8.1), "A100, 80 GB": (2039, 19.5), "H100, SXM": (3350, 67)}


@dataclass(frozen=True)
class Vectors:
    """One vector addition: the length, and elements a program."""

    name: str
    n: int
    block: int

    @property
    def programs(self):
        return -(-self.n // self.block)


@dataclass(frozen=True)
class Matrix:
    """One scale-and-shift: the shape, and elements a program."""

    name: str
    rows: int
    columns: int
    block: int

    @property
    def programs(self):
        return -(-self.rows * self.columns // self.block)


VECTORS = (
    Vectors("one full block", 128, 128),
    Vectors("four full blocks", 512, 128),
    Vectors("last block cut short", 1000, 128),
    Vectors("one element over", 129, 128),
)
MATRICES = (
    Matrix("a row a block", 8, 128, 128),
    Matrix("blocks amid rows", 23, 50, 128),
    Matrix("rows of many blocks", 2, 1000, 128),
)


def add(kernel, case, device, generator):
    """{c: (what the kernel wrote, the sum in float64, torch's sum)}."""
    import torch

    a, b = (torch.randn(case.n, generator=generator) for _ in range(2))
    buffers = Buffers(device)
    tensors = buffers.input(a), buffers.input(b), buffers.output(a.shape)
    kernel[(case.programs,)](*tensors, case.n, BLOCK=case.block)
    (c,) = buffers.collect(ADD)
    return {"c": (c, a.double() + b.double(), a + b)}


def scale_and_shift(kernel, case, device, generator):
    """{y: (what the kernel wrote, the result in float64, torch's result)}."""
    import torch

    x = torch.randn(case.rows, case.columns, generator=generator)
    scale, shift = (torch.randn(case.columns, generator=generator) for _ in range(2))
    buffers = Buffers(device)
    tensors = *(buffers.input(values) for values in (x, scale, shift)), buffers.output(x.shape)
    kernel[(case.programs,)](*tensors, x.numel(), case.columns, BLOCK=case.block)
    (y,) = buffers.collect(FUSED)
    return {"y": (y, x.double() * scale.double() + shift.double(), x * scale + shift)}


def show_bytes(page):
    """What has to be moved and what has to be computed, and how long each takes at best."""
    n = 2**26
    page.heading("Why the bytes decide")
    print(f"x * scale + shift of {n / 1e6:.0f} million elements is {2 * n / 1e6:.0f} million operations.")
    print("The bytes depend on how often x and y travel:\n")
    passes = {"one pass: read x, write y": 2, "two passes: and y once more each way": 4}
    for name, trips in passes.items():
        print(f"  {name:<38} {trips * 4 * n / 1e6:>7,.0f} MB")
    print("\nThe time at best, in microseconds, by the GPUs' data sheets:\n")
    print(f"  {'':<14} {'arithmetic':>11} {'one pass':>10} {'two passes':>11}")
    for gpu, (bandwidth, tera) in GPUS.items():
        arithmetic, one, two = 2 * n / tera / 1e6, 2 * 4 * n / bandwidth / 1e3, 4 * 4 * n / bandwidth / 1e3
        print(f"  {gpu:<14} {arithmetic:>11,.0f} {one:>10,.0f} {two:>11,.0f}")
    print("\nThe arithmetic is done long before the bytes have come and gone, on every GPU.")


def show_times(page, add_kernel, fused_kernel):
    """Each kernel beside torch on 67 million elements, as shares of what a copy does."""
    import torch
    import triton

    n, columns, block = 2**26, 1024, 1024
    a, b, c = (torch.randn(n, device="cuda") for _ in range(3))
    grid = (triton.cdiv(n, block),)
    page.heading("Vector add on this GPU")
    print(f"{n / 1e6:.0f} million elements, float32, blocks of {block}: 12 bytes an element.\n")
    runs = {
        "vector_add_kernel": lambda: add_kernel[grid](a, b, c, n, BLOCK=block),
        "torch.add": lambda: torch.add(a, b, out=c),
    }
    show_speed(runs, moved=12 * n)

    x, y = a.view(-1, columns), c.view(-1, columns)
    scale, shift = (torch.randn(columns, device="cuda") for _ in range(2))

    def two_passes():
        torch.mul(x, scale, out=y)
        y.add_(shift)

    page.heading("Scale and shift on this GPU")
    print("As many elements in rows of 1024: 8 bytes an element in one pass.\n")
    runs = {
        "fused_scale_shift_kernel": lambda: fused_kernel[grid](x, scale, shift, y, n, columns, BLOCK=block),
        "torch, two passes": two_passes,
        "torch.addcmul": lambda: torch.addcmul(shift, x, scale, out=y),
    }
    times = show_speed(runs, moved=8 * n)
    print(f"\n  {'two passes / yours':<24} {times['torch, two passes'] / times['fused_scale_shift_kernel']:>9.2f}")


def show(page):
    """The whole page; whether both kernels ran and match."""
    add_kernel = page.table(ADD, VECTORS, add, {"elements": "n", "block": "block", "programs": "programs"})
    columns = {"rows": "rows", "columns": "columns", "block": "block", "programs": "programs"}
    fused_kernel = page.table(FUSED, MATRICES, scale_and_shift, columns)
    show_bytes(page)
    if add_kernel is None or fused_kernel is None:
        return False
    if page.device == "cuda":
        show_times(page, add_kernel, fused_kernel)
    print("\nBoth kernels ran and match.")
    return True


if __name__ == "__main__":
    sys.exit(companion("Lesson 1: your first kernels beside torch", show))
