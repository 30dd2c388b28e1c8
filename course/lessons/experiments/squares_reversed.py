"""A complete kernel, started as a kernel is started: the squares of a vector, back to front.

    python course/lessons/experiments/squares_reversed.py

On a GPU the kernel is compiled; without one Triton's interpreter runs it.
"""

import os

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
if DEVICE == "cpu":
    os.environ["TRITON_INTERPRET"] = "1"  # Triton reads this when it is imported

import triton  # noqa: E402
import triton.language as tl  # noqa: E402


@triton.jit
def squares_reversed_kernel(src_ptr, dst_ptr, length, BLOCK: tl.constexpr):
    first = tl.program_id(0) * BLOCK
    here = first + tl.arange(0, BLOCK)
    there = length - 1 - here
    exists = here < length
    number = tl.load(src_ptr + here, mask=exists)
    tl.store(dst_ptr + there, number * number, mask=exists)


def main():
    src = torch.arange(10, dtype=torch.float32, device=DEVICE)
    dst = torch.full_like(src, float("nan"))
    length, block = len(src), 4
    squares_reversed_kernel[(triton.cdiv(length, block),)](src, dst, length, BLOCK=block)
    print("source", *(f"{x:>3.0f}" for x in src.tolist()))
    print("result", *(f"{x:>3.0f}" for x in dst.tolist()))


if __name__ == "__main__":
    main()
