"""Lesson 4, start to finish, on your own kernels: matrix products in float32 and from float16, a tile for each program.

    python course/companions/lesson4_matmul.py [--dir assignments] [--device auto|cpu|cuda] [--seed N]

The script loads `matmul.py` from --dir (or from its folder lesson4/), runs its kernels on full and on ragged matrices,
and prints the largest error against float64 with torch's own float32 error beside it.  Then come sums that float16
cannot hold, the memory that tiles save, and on a GPU a timing.  A kernel that is still to do is named with the command
that checks it, and the other goes on.  Exit code 0 when both of them ran and match, 1 otherwise.  It grades nothing:
that is what `grade` does.
"""

import sys
from dataclasses import dataclass

from beside_torch.buffers import Buffers
from beside_torch.page import companion
from beside_torch.speed import show_speed
from beside_torch.student import Part

FILE = "matmul.py"
TILED = Part("Tiled matmul, float32", 4, FILE, "tiled_matmul_kernel", {"tiled_matmul_kernel": "tiled_matmul"})
HALF = Part("Half-precision matmul", 4, FILE, "half_matmul_kernel", {"half_matmul_kernel": "half_matmul"})


@dataclass(frozen=True)
class Case:
    """One run of a kernel: (m, k) times (k, n), in tiles of 32 x 32 and steps of 32."""

    name: str
    m: int
    n: int
    k: int
    spread: float = 1.0


CASES = (
    Case("one tile", 32, 32, 32),
    Case("four steps along K", 32, 32, 128),
    Case("ragged", 45, 70, 50),
    Case("one row", 1, 70, 100),
    Case("1000 terms", 32, 32, 1000),
)
HALF_CASES = (*CASES, Case("sums above 65504", 20, 20, 256, spread=150.0))


def launch(part, kernel, a, b, device):
    """c (m, n) float32, on CPU, of a (m, k) and b (k, n)."""
    import triton

    (m, k), n = a.shape, b.shape[1]
    buffers = Buffers(device)
    a_dev, b_dev, c_dev = buffers.input(a), buffers.input(b), buffers.output((m, n))
    grid = (triton.cdiv(m, 32), triton.cdiv(n, 32))
    kernel[grid](a_dev, b_dev, c_dev, m, n, k, BLOCK_M=32, BLOCK_N=32, BLOCK_K=32)
    return buffers.collect(part)[0]


def run_on(part):
    """The run of a part's kernel for the table: {output: (got, exact, plain)}."""

    def run(kernel, case, device, generator):
        import torch

        a = case.spread * torch.randn(case.m, case.k, generator=generator)
        b = case.spread * torch.randn(case.k, case.n, generator=generator)
        if part is HALF:
            a, b = a.half(), b.half()
        got = launch(part, kernel, a, b, device)
        return {"c": (got, a.double() @ b.double(), a.float() @ b.float())}

    return run


def show_sums(page, kernel):
    """Sums of ones and of 90000s: one after another in float16, and by the student's kernel."""
    import torch

    page.heading("What float16 can hold")
    print("A row of numbers times a column of the same: the sum as float16 makes it, term")
    print(f"by term, and {HALF.kernel}, which takes the same float16 numbers in.\n")
    print(f"{'numbers':>8} {'how many':>9} {'the sum':>10} {'in float16':>11} {'yours':>10}")
    for number, count in ((1.0, 1024), (1.0, 2048), (1.0, 3072), (300.0, 1), (300.0, 64), (0.0001, 64)):
        row = torch.full((1, count), number).half()
        in_half = torch.zeros((), dtype=torch.float16)
        for term in row[0] * row[0]:
            in_half = in_half + term
        yours = launch(HALF, kernel, row, row.T.contiguous(), page.device)[0, 0]
        right = float(row[0, 0].double() ** 2) * count
        print(f"{number:>8g} {count:>9} {right:>10.6g} {float(in_half):>11.6g} {float(yours):>10.6g}")


def show_reads(page):
    """How often memory is read, by tile size."""
    page.heading("What tiles save")
    print("Numbers read for a product of 4096 x 4096 matrices, and operations for each:\n")
    print(f"{'tile of c':>10} {'numbers read':>16} {'GiB, float32':>13} {'operations each':>16}")
    size = 4096
    for tile in (1, 16, 32, 64, 128):
        read = 2 * size**3 // tile
        print(f"{tile:>4} x {tile:<3} {read:>16,} {4 * read / 2**30:>13,.1f} {2 * size**3 / read:>16,.0f}")
    print("\nA GPU does tens of operations in the time that it takes to read one number:")
    print("small tiles wait for memory.")


def show_timing(page, kernels):
    """The student's kernels beside torch, and beside what this GPU does at best."""
    import torch
    import triton

    page.heading("Time on this GPU")
    for part, dtype, size, (block, step) in (
        (TILED, torch.float32, 2048, (32, 32)),
        (HALF, torch.float16, 4096, (64, 32)),
    ):
        kernel = kernels[part.kernel]
        a, b = (torch.randn(size, size, device="cuda").to(dtype) for _ in range(2))
        c = torch.empty(size, size, device="cuda")
        grid = (triton.cdiv(size, block), triton.cdiv(size, block))
        meta = {"BLOCK_M": block, "BLOCK_N": block, "BLOCK_K": step}
        runs = {
            part.kernel: lambda: kernel[grid](a, b, c, size, size, size, **meta),  # noqa: B023
            "torch": lambda: a @ b,  # noqa: B023
        }
        print(f"\n{size} x {size}, {str(dtype).removeprefix('torch.')}, tiles of {block} x {block}, nothing tuned:\n")
        moved = 2 * a.element_size() * a.numel() + 4 * c.numel()
        show_speed(runs, moved=moved, flops=2 * size**3, dtype=dtype)
    print("\nTrue float32 leaves the tensor cores idle; float16 tiles go to them. What is")
    print("still missing to torch is larger tiles, and loads that run ahead of the dots.")


def show(page):
    """The whole page; whether both kernels ran and match."""
    columns = {"M": "m", "N": "n", "K": "k"}
    tables = ((TILED, CASES), (HALF, HALF_CASES))
    kernels = {part.kernel: page.table(part, cases, run_on(part), columns) for part, cases in tables}
    if kernels[HALF.kernel] is not None:
        show_sums(page, kernels[HALF.kernel])
    show_reads(page)
    if None in kernels.values():
        return False
    if page.device == "cuda":
        show_timing(page, kernels)
    print("\nBoth kernels ran and match.")
    return True


if __name__ == "__main__":
    sys.exit(companion("Lesson 4: your matrix products beside torch", show))
