"""One long row, too long for a single program: each part's largest number first, then the largest of those.

python course/lessons/experiments/largest_in_parts.py
"""

from start import DEVICE, tl, torch, triton

LENGTH, PART, BLOCK = 100, 40, 16


@triton.jit
def largest_of_part_kernel(x_ptr, found_ptr, length, PART, BLOCK: tl.constexpr):
    part = tl.program_id(0)
    begin = part * PART
    end = tl.minimum(begin + PART, length)
    largest = tl.full((), float("-inf"), tl.float32)
    for start in range(begin, end, BLOCK):
        places = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + places, mask=places < end, other=float("-inf"))
        largest = tl.maximum(largest, tl.max(x, 0))
    tl.store(found_ptr + part, largest)


def main():
    generator = torch.Generator().manual_seed(7)
    x = torch.randint(0, 1000, (LENGTH,), generator=generator).float().to(DEVICE)
    parts = triton.cdiv(LENGTH, PART)
    found = torch.full((parts,), float("nan"), device=DEVICE)
    largest_of_part_kernel[(parts,)](x, found, LENGTH, PART, BLOCK=BLOCK)
    for part, value in enumerate(found.tolist()):
        begin, end = part * PART, min((part + 1) * PART, LENGTH)
        tiles = ", ".join(f"{at}-{at + BLOCK - 1}" for at in range(begin, end, BLOCK))
        print(f"part {part}: elements {begin} to {end - 1}, tiles {tiles}: {value:.0f}")
    print(f"largest of the parts {found.max():.0f}, torch {x.max():.0f}")


if __name__ == "__main__":
    main()
