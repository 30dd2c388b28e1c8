"""Lesson 2, on your own kernels: the same matrix in several layouts, and what a layout costs.

    python course/companions/lesson2_layouts.py [--dir assignments] [--device auto|cpu|cuda] [--seed N]

The script loads tiles with your `load_row_tile` from a plain matrix, a slice, every third column and a transpose, and
copies such matrices with your `strided_copy_kernel`; all have to be equal to torch's.  A picture shows where in memory
the elements of one tile lie.  On a GPU it times the copy with several tiles beside torch and beside a plain copy.  A
kernel that is still to do is named with the command that checks it.  Exit code 0 when both match, 1 otherwise.
"""

import sys
from dataclasses import dataclass

from beside_torch.buffers import Buffers
from beside_torch.page import companion
from beside_torch.speed import show_speed
from beside_torch.student import Part

LOAD = Part("Row tile load", 2, "row_tile_load.py", "load_row_tile", {"load_row_tile": "row_tile_load"})
COPY = Part("Strided copy", 2, "strided_copy.py", "strided_copy_kernel", {"strided_copy_kernel": "strided_copy"})


@dataclass(frozen=True)
class Layout:
    """An (m, n) matrix cut out of a larger one: every step_m-th row, every step_n-th column, perhaps transposed."""

    name: str
    m: int
    n: int
    step_m: int = 1
    step_n: int = 1
    transposed: bool = False
    block_m: int = 16
    block_n: int = 32

    def of(self, generator):
        """The matrix (m, n), float32, as a view of the larger one."""
        import torch

        shape = (self.n, self.m) if self.transposed else (self.m, self.n)
        large = torch.randn(shape[0] * self.step_m, shape[1] * self.step_n, generator=generator)
        view = large[:: self.step_m, :: self.step_n]
        return view.T if self.transposed else view

    @property
    def strides(self):
        across = self.m if self.transposed else self.n
        outer, inner = self.step_m * self.step_n * across, self.step_n
        return (inner, outer) if self.transposed else (outer, inner)

    @property
    def shape(self):
        return f"{self.m} x {self.n}"

    @property
    def stride_m(self):
        return self.strides[0]

    @property
    def stride_n(self):
        return self.strides[1]


LAYOUTS = (
    Layout("a matrix of its own", 40, 20),
    Layout("every other row", 40, 20, step_m=2),
    Layout("every third column", 40, 20, step_n=3),
    Layout("a transpose", 40, 20, transposed=True),
    Layout("a sliced transpose", 40, 20, step_m=2, step_n=3, transposed=True),
)


def load(kernel, case, device, generator):
    """{tile: (the tiles, one below the other; what torch has there; None, since they have to be equal)}."""
    import torch
    from beside_torch.tiles import store_tile

    x = case.of(generator)
    tiles = -(-case.m // case.block_m)
    buffers = Buffers(device)
    source, out = buffers.input(x), buffers.output((tiles * case.block_m, case.block_n))
    store_tile[(tiles,)](
        source,
        out,
        case.m,
        case.n,
        *x.stride(),
        BLOCK_M=case.block_m,
        BLOCK_N=case.block_n,
        load_tile=kernel,
    )
    (tile,) = buffers.collect(LOAD)
    padded = torch.nn.functional.pad(x, (0, case.block_n - case.n, 0, tiles * case.block_m - case.m))
    return {"tile": (tile, padded.double(), None)}


def copy(kernel, case, device, generator):
    """{y: (what the kernel wrote, x.T, None, since they have to be equal)}."""
    import triton

    x = case.of(generator)
    buffers = Buffers(device)
    source, y = buffers.input(x), buffers.output((case.n, case.m), strides=(case.m + 5, 1))
    grid = (triton.cdiv(case.m, case.block_m), triton.cdiv(case.n, case.block_n))
    sizes = {"BLOCK_M": case.block_m, "BLOCK_N": case.block_n}
    kernel[grid](source, y, case.m, case.n, *x.stride(), *y.stride(), **sizes)
    (y,) = buffers.collect(COPY)
    return {"y": (y, x.T.double(), None)}


def show_memory(page):
    """Where the elements of one 4 x 4 tile lie, in each layout of a small matrix."""
    page.heading("Where one tile lies")
    print("The first 4 x 4 elements of an 8 x 8 matrix, in several layouts. Memory runs")
    print("from left to right, each # is one of the 16, and a GPU fetches 8 elements at a")
    print("time:\n")
    for case in (
        Layout("a matrix of its own", 8, 8),
        Layout("every other row", 8, 8, step_m=2),
        Layout("every third column", 8, 8, step_n=3),
        Layout("a transpose", 8, 8, transposed=True),
    ):
        places = {i * case.stride_m + j * case.stride_n for i in range(4) for j in range(4)}
        fetched = sorted({place // 8 for place in places})
        cells = ["".join("#" if 8 * piece + k in places else "." for k in range(8)) for piece in fetched]
        print(f"  {case.name:<20} {len(fetched):>2} fetches, {16 / (8 * len(fetched)):>4.0%} of them used")
        for start in range(0, len(cells), 6):
            print(f"    {' '.join(cells[start : start + 6])}")
    print("\nThe strides decide how much of what is fetched is of use. A tile that is 8 wide")
    print("along the stride of 1 uses all of it.")


def show_times(page, kernel):
    """The transposing copy with several tiles, beside torch."""
    import torch
    import triton

    size = 8192
    x = torch.randn(size, size, device="cuda")
    y = torch.empty_like(x)

    def run(block_m, block_n):
        grid = (triton.cdiv(size, block_m), triton.cdiv(size, block_n))
        strides = (*x.stride(), *y.stride())
        return lambda: kernel[grid](x, y, size, size, *strides, BLOCK_M=block_m, BLOCK_N=block_n)

    page.heading("Transposing on this GPU")
    print(f"{size} x {size} float32, each element read and written once: 8 bytes an element.\n")
    tiles = ((1, 256), (8, 128), (16, 64), (32, 32), (64, 64))
    runs = {f"tiles of {m} x {n}": run(m, n) for m, n in tiles}
    runs["torch, y.copy_(x.T)"] = lambda: y.copy_(x.T)
    show_speed(runs, moved=8 * size * size)


def show(page):
    """The whole page; whether both kernels ran and match."""
    columns = {"shape": "shape", "stride_m": "stride_m", "stride_n": "stride_n"}
    loads = page.table(LOAD, LAYOUTS, load, columns)
    copies = page.table(COPY, LAYOUTS, copy, columns)
    show_memory(page)
    if copies is not None and page.device == "cuda":
        show_times(page, copies)
    if loads is None or copies is None:
        return False
    print("\nBoth kernels ran and match.")
    return True


if __name__ == "__main__":
    sys.exit(companion("Lesson 2: your kernels on matrices of any layout", show))
