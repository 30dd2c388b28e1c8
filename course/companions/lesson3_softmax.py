"""Lesson 3, start to finish, on your own kernels: softmax and log-sum-exp of rows that fit in a tile, and of long ones.

    python course/companions/lesson3_softmax.py [--dir assignments] [--device auto|cpu|cuda] [--seed N]

The script loads `softmax.py` from --dir (or from its folder lesson3/), runs its kernels on ragged, masked and far-off
rows, and prints the largest error against float64 with torch's own float32 error beside it.  Then come scores that exp
cannot take as they stand, the memory that five library calls would move, and on a GPU a timing.  A kernel that is still
to do is named with the command that checks it, and the others go on.  Exit code 0 when all of them ran and match, 1
otherwise.  It grades nothing: that is what `grade` does.
"""

import sys
from dataclasses import dataclass

from beside_torch.buffers import Buffers
from beside_torch.page import companion
from beside_torch.speed import show_speed
from beside_torch.student import Part

FILE = "softmax.py"
ROW = Part("Softmax, rows in one tile", 3, FILE, "row_softmax_kernel", {"row_softmax_kernel": "row_softmax"})
LSE = Part("Log-sum-exp", 3, FILE, "log_sum_exp_kernel", {"log_sum_exp_kernel": "log_sum_exp"})
LONG = Part(
    "Softmax, rows in chunks", 3, FILE, "long_row_softmax_kernel", {"long_row_softmax_kernel": "long_row_softmax"}
)
MIB = 2**20


@dataclass(frozen=True)
class Case:
    """One run of a kernel: the matrix, its tiles, where its scores lie, and how many rows are -inf at their beginning.

    ``masked`` columns at the beginning of every other row are -inf.
    """

    name: str
    rows: int
    columns: int
    block_m: int
    block_n: int
    centre: float = 0.0
    masked: int = 0


IN_ONE_TILE = (
    Case("full tile", 32, 64, 16, 64),
    Case("ragged", 37, 50, 16, 64),
    Case("half of it masked", 20, 50, 16, 64, masked=25),
    Case("scores near -1000", 20, 50, 16, 64, centre=-1000.0),
)
DEAD_ROWS = (*IN_ONE_TILE, Case("dead rows", 20, 50, 16, 64, masked=50))
IN_CHUNKS = (
    Case("two full chunks", 32, 128, 16, 64),
    Case("ragged", 37, 150, 16, 64),
    Case("padded on the left", 20, 150, 16, 64, masked=90),
    Case("scores near -1000", 20, 150, 16, 64, centre=-1000.0),
    Case("5000 columns", 16, 5000, 16, 256),
)


def scores(case, generator):
    """x (rows, columns) float32 of a case."""
    import torch

    x = 3 * torch.randn(case.rows, case.columns, generator=generator) + case.centre
    x[::2, : case.masked] = float("-inf")
    return x


def launch(part, kernel, x, block_m, block_n, device):
    """What a kernel makes of x (rows, columns): a matrix of the same shape, or for the log-sum-exp a vector."""
    import triton

    buffers = Buffers(device)
    x_dev = buffers.input(x)
    out = buffers.output(x.shape[:1] if part is LSE else x.shape)
    kernel[(triton.cdiv(x.shape[0], block_m),)](x_dev, out, *x.shape, BLOCK_M=block_m, BLOCK_N=block_n)
    return buffers.collect(part)[0]


def run_on(part):
    """The run of a part's kernel for the table: {output: (got, exact, plain)}."""

    def run(kernel, case, device, generator):
        import torch

        x = scores(case, generator)
        got = launch(part, kernel, x, case.block_m, case.block_n, device)
        if part is LSE:
            return {"lse": (got, torch.logsumexp(x.double(), 1), torch.logsumexp(x, 1))}
        return {"y": (got, torch.softmax(x.double(), 1), torch.softmax(x, 1))}

    return run


def show_shifts(page, kernel):
    """The softmax of 2, 1, 0 moved up and down: by the definition as it stands, and by the student's kernel."""
    import torch

    page.heading("The same row, moved")
    print("Scores 2, 1 and 0 plus a shift: exp(x) / sum exp(x) as it stands in float32,")
    print(f"and {ROW.kernel}. A shift changes nothing in a softmax.\n")
    shifts = (0.0, 80.0, 100.0, -60.0, -120.0)
    x = torch.tensor([2.0, 1.0, 0.0]) + torch.tensor(shifts)[:, None]
    as_it_stands = torch.exp(x) / torch.exp(x).sum(1, keepdim=True)
    yours = launch(ROW, kernel, x, 16, 16, page.device)
    print(f"{'shift':>7}   {'as it stands':<24} yours")
    for shift, plain, stable in zip(shifts, as_it_stands, yours):
        print(f"{shift:>7.0f}   {_numbers(plain):<24} {_numbers(stable)}")


def show_memory(page):
    """The bytes that a softmax moves, call by call, and in a kernel."""
    page.heading("What a softmax moves")
    print("Five library calls: max reads x; x - m, exp and the division read and write a")
    print("matrix each; the sum reads one. Of matrices of float32, in MiB:\n")
    print(f"{'rows':>7} {'columns':>8} {'five calls':>11} {'three loops':>12} {'two loops':>10} {'one tile':>9}")
    for rows, columns in ((4096, 1024), (4096, 32768), (512, 131072)):
        matrix = rows * columns * 4 / MIB
        one_tile = f"{2 * matrix:>9,.0f}" if columns <= 16384 else f"{'-':>9}"
        print(f"{rows:>7} {columns:>8} {8 * matrix:>11,.0f} {4 * matrix:>12,.0f} {3 * matrix:>10,.0f} {one_tile}")
    print("\nOne tile: a row stays on the chip. Two loops: the online trick, x read twice.")


def show_timing(page, kernels):
    """The student's kernels beside torch, and beside the time that the bytes alone take."""
    import torch
    import triton

    page.heading("Time on this GPU")
    for part, (rows, columns), (block_m, block_n) in (
        (ROW, (16384, 1024), (4, 1024)),
        (LSE, (16384, 1024), (4, 1024)),
        (LONG, (2048, 32768), (1, 4096)),
    ):
        kernel = kernels[part.kernel]
        x = torch.randn(rows, columns, device="cuda")
        out = torch.empty(rows if part is LSE else (rows, columns), device="cuda")
        grid = (triton.cdiv(rows, block_m),)
        torch_call = torch.logsumexp if part is LSE else torch.softmax
        runs = {
            part.kernel: lambda: kernel[grid](x, out, rows, columns, BLOCK_M=block_m, BLOCK_N=block_n),  # noqa: B023
            "torch": lambda: torch_call(x, 1),  # noqa: B023
        }
        if part is not LSE:
            runs["five torch calls"] = lambda: _five_calls(x)  # noqa: B023
        print(f"\n{rows} rows of {columns}, tiles of {block_m} x {block_n}, nothing tuned:\n")
        show_speed(runs, moved=4 * (x.numel() + out.numel()))


def _five_calls(x):
    import torch

    p = torch.exp(x - x.amax(1, keepdim=True))
    return p / p.sum(1, keepdim=True)


def _numbers(row):
    return "  ".join(f"{float(value):.3f}" for value in row)


def show(page):
    """The whole page; whether all three kernels ran and match."""
    columns = {"rows": "rows", "columns": "columns"}
    tables = ((ROW, IN_ONE_TILE), (LSE, DEAD_ROWS), (LONG, IN_CHUNKS))
    kernels = {part.kernel: page.table(part, cases, run_on(part), columns) for part, cases in tables}
    if kernels[ROW.kernel] is not None:
        show_shifts(page, kernels[ROW.kernel])
    show_memory(page)
    if None in kernels.values():
        return False
    if page.device == "cuda":
        show_timing(page, kernels)
    print("\nAll three kernels ran and match.")
    return True


if __name__ == "__main__":
    sys.exit(companion("Lesson 3: your softmax beside torch", show))
