"""Three slips in a first kernel, and what memory looks like after each: ten numbers are doubled in a row of 16.

    python course/lessons/experiments/three_slips.py

The ten numbers are the beginning of a longer row, so that one sees what is written behind their end.
"""

from start import DEVICE, tl, torch, triton

LENGTH, ROOM, BLOCK = 10, 16, 4


@triton.jit
def double_kernel(x_ptr, length, BLOCK: tl.constexpr, MASKED: tl.constexpr, NUMBERED: tl.constexpr):
    first = tl.program_id(0) * BLOCK if NUMBERED else 0
    mine = first + tl.arange(0, BLOCK)
    exists = mine < length if MASKED else mine >= 0
    tl.store(x_ptr + mine, 2 * tl.load(x_ptr + mine, mask=exists), mask=exists)


def main():
    blocks = triton.cdiv(LENGTH, BLOCK)
    cases = (
        ("as it should be", blocks, True, True),
        ("without the mask", blocks, False, True),
        ("grid rounded down", LENGTH // BLOCK, True, True),
        ("without program_id", 1, True, False),
    )
    print(f"{LENGTH} ones are to be doubled; what lies behind the bar is somebody else's\n")
    for name, programs, masked, numbered in cases:
        row = torch.ones(ROOM, device=DEVICE)
        double_kernel[(programs,)](row, LENGTH, BLOCK=BLOCK, MASKED=masked, NUMBERED=numbered)
        shown = [f"{x:.0f}" for x in row.tolist()]
        print(f"{name:<20} {' '.join(shown[:LENGTH])} | {' '.join(shown[LENGTH:])}")


if __name__ == "__main__":
    main()
