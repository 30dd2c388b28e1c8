"""An address that is data: rows of a table, picked by numbers that are loaded from memory.

python course/lessons/experiments/pick_rows.py
"""

from start import DEVICE, tl, torch, triton

WIDTH = 3


@triton.jit
def pick_rows_kernel(table_ptr, ids_ptr, out_ptr, COUNT, WIDTH, BLOCK_T: tl.constexpr, BLOCK_W: tl.constexpr):
    tokens = tl.program_id(0) * BLOCK_T + tl.arange(0, BLOCK_T)
    columns = tl.arange(0, BLOCK_W)
    token_exists, column_exists = tokens < COUNT, columns < WIDTH
    ids = tl.load(ids_ptr + tokens, mask=token_exists)
    exists = token_exists[:, None] & column_exists[None, :]
    came_from, goes_to = ids * WIDTH, tokens * WIDTH
    rows = tl.load(table_ptr + (came_from[:, None] + columns[None, :]), mask=exists)
    tl.store(out_ptr + (goes_to[:, None] + columns[None, :]), rows, mask=exists)


def main():
    table = torch.tensor([[10 * row + column for column in range(WIDTH)] for row in range(6)], device=DEVICE)
    ids = torch.tensor([4, 0, 4, 2, 5], device=DEVICE)
    out = torch.full((len(ids), WIDTH), -1, device=DEVICE)
    pick_rows_kernel[(triton.cdiv(len(ids), 4),)](table, ids, out, len(ids), WIDTH, BLOCK_T=4, BLOCK_W=4)
    for chosen, row in zip(ids.tolist(), out.tolist(), strict=True):
        print(f"id {chosen}:", *(f"{v:>2}" for v in row))


if __name__ == "__main__":
    main()
