"""The product of two float16 matrices, summed in float32 or better."""

import torch


def make_inputs(case, generator):
    """a (m, k) and b (k, n) float16.

    ``signs`` is ``mixed`` for numbers around 0 of size ``spread``; ``positive`` for numbers from spread / 2 to
    3 spread / 2, so that sums only grow; ``turning`` for such numbers whose products turn negative after two thirds of
    the sum.  The terms grow along K, by the factor ``growth`` in all.  ``k_made``, in probes, is how long a sum is made,
    of which the first k terms are used, and ``spare_a`` and ``spare_b`` how many more rows of a and of b are in memory.
    """
    m, n, k = case["m"], case["n"], case["k"]
    made, spare_b = case.get("k_made", k), case.get("spare_b", 0)
    rows_a, rows_b = m + case.get("spare_a", 0), made + spare_b
    if case["signs"] == "mixed":
        a = torch.randn(rows_a, made, generator=generator) * case["spread"]
        b = torch.randn(rows_b, n, generator=generator) * min(case["spread"], 1.0)
    else:
        a = (0.5 + torch.rand(rows_a, made, generator=generator)) * case["spread"]
        b = (0.5 + torch.rand(rows_b, n, generator=generator)) * case["spread"]
    a = a * torch.logspace(0, 1, made, base=case["growth"])
    if case["signs"] == "turning":
        a = torch.where(torch.arange(made) < 2 * made // 3, a, -a)
    return {"a": a[:, :k].half().contiguous(), "b": b[: k + spare_b].half()}


def oracle(case, inputs):
    """c (m, n) = a b in float32, or in float64 where the inputs are; block_size is true wherever it is looked at."""
    wide = {name: x.to(torch.promote_types(x.dtype, torch.float32)) for name, x in inputs.items()}
    rows, none = torch.ones(case["m"], dtype=torch.bool), torch.ones(0, dtype=torch.bool)
    return {"c": wide["a"][: case["m"]] @ wide["b"][: case["k"]], "block_size": rows if case["other_block"] else none}


def observe(case, inputs, outputs):
    """c, and whether it is the same in steps of another size, as far as rounding lets it be."""
    c, none = outputs["c"], torch.ones(0, dtype=torch.bool)
    return {"c": c, "block_size": _same(c, outputs["c_other"]) if case["other_block"] else none}


def limits(case):
    """A program's part of c is one tile. For the long sum: no load takes more than a tile, and no tile is larger than the
    block sizes; and where it is counted: each program reads its own rows and columns, and nothing over and over."""
    part = dict.fromkeys(("largest_share.c", "largest_share.c_other"), case["block_m"] * case["block_n"])
    if case.get("streaming"):
        return {
            **part,
            "largest_load.a": case["block_m"] * case["block_k"],
            "largest_load.b": case["block_k"] * case["block_n"],
            "largest_dimension": max(case["block_m"], case["block_n"], case["block_k"]),
        }
    if case.get("counted"):
        tiles_m, tiles_n = -(-case["m"] // case["block_m"]), -(-case["n"] // case["block_n"])
        return {
            **part,
            "total_load.a": 2 * tiles_n * case["m"] * case["k"],
            "total_load.b": 2 * tiles_m * case["k"] * case["n"],
        }
    return part


def _same(one, other):
    """Per row, within a few roundings of its largest element."""
    return (one - other).abs().amax(1) <= 4e-6 * other.abs().amax(1)
