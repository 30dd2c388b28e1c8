"""Ghosts along K: a product whose sum has 20 terms, in steps of 16, with the masks in one factor or in both.

    python course/lessons/experiments/ghosts_along_k.py

A is 16 x 20 and all ones; behind its last row lies memory that holds NaN.  Each element of the product should be 20.
"""

from start import DEVICE, tl, torch, triton

SIZE, K, STEP = 16, 20, 16


@triton.jit
def product_kernel(
    a_ptr, b_ptr, c_ptr, K, STEP: tl.constexpr, MASK_A: tl.constexpr, MASK_B: tl.constexpr, SIZE: tl.constexpr
):
    i, j = tl.arange(0, SIZE)[:, None], tl.arange(0, SIZE)[None, :]
    total = tl.zeros((SIZE, SIZE), tl.float32)
    for start in range(0, K, STEP):
        across = start + tl.arange(0, STEP)[None, :]
        down = start + tl.arange(0, STEP)[:, None]
        a = tl.load(a_ptr + i * K + across, mask=across < (K if MASK_A else 2 * K), other=0.0)
        b = tl.load(b_ptr + down * SIZE + j, mask=down < (K if MASK_B else 2 * K), other=0.0)
        total += tl.dot(a, b, input_precision="ieee")
    tl.store(c_ptr + (j + i * SIZE), total)


def main():
    room = torch.full((SIZE * K + 2 * STEP,), float("nan"), device=DEVICE)
    room[: SIZE * K] = 1.0  # A, row after row
    b = torch.ones(2 * STEP, SIZE, device=DEVICE)
    b[K:] = 5.0  # what lies behind B
    print(f"{'ghosts read as 0 in':<20} {'rows 0 to 14':>13} {'row 15':>8}")
    for name, mask_a, mask_b in (
        ("both", True, True),
        ("A only", True, False),
        ("B only", False, True),
        ("none", False, False),
    ):
        c = torch.zeros(SIZE, SIZE, device=DEVICE)
        product_kernel[(1,)](room, b, c, K, STEP=STEP, MASK_A=mask_a, MASK_B=mask_b, SIZE=SIZE)
        assert len(set(c[:15].flatten().tolist())) == 1
        print(f"{name:<20} {c[0, 0]:>13.0f} {c[15, 0]:>8.0f}")


if __name__ == "__main__":
    main()
