"""What a masked lane reads as, and which of three questions about a row that is the right answer for.

    python course/lessons/experiments/other.py

A row of three negative numbers lies in a tile of four columns; the ghost reads as 0, as minus infinity, or as NaN,
which stands for anything at all.
"""

from start import DEVICE, tl, torch, triton


@triton.jit
def three_answers_kernel(x_ptr, out_ptr, n, OTHER: tl.constexpr, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + columns, mask=columns < n, other=OTHER)
    tl.store(out_ptr, tl.sum(x, 0))
    tl.store(out_ptr + 1, tl.max(x, 0))
    tl.store(out_ptr + 2, tl.sum(tl.exp(x), 0))


def main():
    x = torch.tensor([-2.0, -1.0, -3.0], device=DEVICE)
    print("the row is -2 -1 -3\n")
    print(f"{'the ghost reads as':<20} {'sum':>6} {'max':>6} {'sum of exp':>11}")
    exact = (x.sum(), x.max(), x.exp().sum())
    print(f"{'(no ghost)':<20} {exact[0]:>6.0f} {exact[1]:>6.0f} {exact[2]:>11.3f}")
    for other in (0.0, float("-inf"), float("nan")):
        out = torch.zeros(3, device=DEVICE)
        three_answers_kernel[(1,)](x, out, 3, OTHER=other, BLOCK=4)
        total, largest, exponentials = out.tolist()
        print(f"{other:<20g} {total:>6.0f} {largest:>6.0f} {exponentials:>11.3f}")


if __name__ == "__main__":
    main()
