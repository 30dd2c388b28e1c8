"""What three slips do to a pool of cache slots that belong to other requests: rows of 3 go to slots 4, -1 and 1.

    python course/lessons/experiments/wrong_slots.py

The pool has six slots, and each dot is a number that somebody else still needs.  The -1 is padding.
"""

from start import DEVICE, tl, torch, triton

WIDTH, POOL, TOKENS = 3, 6, 3


@triton.jit
def scatter_kernel(x_ptr, slots_ptr, pool_ptr, TOKENS, LIMIT, LEAST: tl.constexpr, SLOTS: tl.constexpr):
    t, c = tl.arange(0, 4)[:, None], tl.arange(0, 4)[None, :]
    listed = tl.load(slots_ptr + t, mask=t < TOKENS, other=-9)
    slots = listed if SLOTS else t
    write = (listed >= LEAST) & (c < LIMIT) & (t < TOKENS)
    tl.store(pool_ptr + slots * WIDTH_OF + c, tl.load(x_ptr + t * WIDTH_OF + c, mask=write), mask=write)


WIDTH_OF = tl.constexpr(WIDTH)


def main():
    room = [7] * 9 + [8] * 4  # k, row after row, and what lies behind it
    for row in range(TOKENS):
        room[row * WIDTH : (row + 1) * WIDTH] = [row + 1] * WIDTH
    x = torch.tensor(room, device=DEVICE)
    slots = torch.tensor([4, -1, 1], device=DEVICE)
    cases = (
        ("as it should be", WIDTH, 0, True),
        ("padding is written too", WIDTH, -1, True),
        ("no column mask", 4, 0, True),
        ("the place in the batch for a slot", WIDTH, 0, False),
    )
    for name, limit, least, by_slot in cases:
        memory = torch.full(((POOL + 2) * WIDTH,), -1, device=DEVICE)  # a slot's room before the pool, and one behind
        scatter_kernel[(1,)](x, slots, memory[WIDTH:], TOKENS, limit, LEAST=least, SLOTS=by_slot)
        shown = ["." if v == -1 else str(v) for v in memory.tolist()]
        groups = [" ".join(shown[at : at + WIDTH]) for at in range(0, len(shown), WIDTH)]
        print(f"{name:<33} {groups[0]} [ {' | '.join(groups[1:-1])} ] {groups[-1]}")


if __name__ == "__main__":
    main()
