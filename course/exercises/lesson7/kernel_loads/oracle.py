"""What load_tiles must return: each tile's rows of q, k and v, with zeros for rows beyond the sequence."""

import torch


def make_inputs(case, generator):
    """q, k, v: (nseq + spare, head) float32, no element 0, so that a zero in a tile can only be a ghost."""
    shape = (case["nseq"] + case.get("spare", 0), case["head"])
    inputs = {}
    for name in ("q", "k", "v"):
        x = torch.randn(shape, generator=generator)
        inputs[name] = torch.where(x < 0, x - 0.5, x + 0.5)
    return inputs


def oracle(case, inputs):
    """q (tiles_m, tiles_n, block_m, head), k and v (tiles_m, tiles_n, block_n, head)."""
    inputs = {name: x[: case["nseq"]] for name, x in inputs.items()}
    q = _tiles(inputs["q"], case["block_m"])
    k = _tiles(inputs["k"], case["block_n"])
    v = _tiles(inputs["v"], case["block_n"])
    tiles_m, tiles_n = q.shape[0], k.shape[0]
    return {
        "q": q[:, None].expand(-1, tiles_n, -1, -1),
        "k": k[None].expand(tiles_m, -1, -1, -1),
        "v": v[None].expand(tiles_m, -1, -1, -1),
    }


def _tiles(x, block):
    ghosts = -x.shape[0] % block
    return torch.nn.functional.pad(x, (0, 0, 0, ghosts)).reshape(-1, block, x.shape[1])
