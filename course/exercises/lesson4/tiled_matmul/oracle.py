"""The product of two matrices, and properties that it has."""

import torch


def make_inputs(case, generator):
    """a (m, k) and b (k, n) float32, spread around 0 by ``spread`` and 1.

    With ``identity`` b has ones on its diagonal and zeros elsewhere; with ``doubled`` the rows of the second half of a are
    twice those of the first; with ``zeros`` a is 0.  In probes, ``k_made`` is how long a sum is made, of which the first k
    terms are used, and ``spare_a`` and ``spare_b`` are how many more rows of a and of b there are in memory.
    """
    m, n, k = case["m"], case["n"], case["k"]
    spare_b = case.get("spare_b", 0)
    a = torch.randn(m + case.get("spare_a", 0), case.get("k_made", k), generator=generator) * case["spread"]
    b = torch.randn(case.get("k_made", k) + spare_b, n, generator=generator)
    if case["identity"]:
        b = torch.eye(k, n)
    if case["doubled"]:
        a[m // 2 : m // 2 * 2] = 2 * a[: m // 2]
    if case["zeros"]:
        a = torch.zeros_like(a)
    return {"a": a[:, :k].contiguous(), "b": b[: k + spare_b]}


def oracle(case, inputs):
    """c (m, n) = a b; the properties are true wherever they are looked at."""
    rows, none = torch.ones(case["m"], dtype=torch.bool), torch.ones(0, dtype=torch.bool)
    return {
        "c": inputs["a"][: case["m"]] @ inputs["b"][: case["k"]],
        "identity": rows if case["identity"] else none,
        "doubled": rows[: case["m"] // 2] if case["doubled"] else none,
        "zeros": rows if case["zeros"] else none,
        "block_size": rows if case["other_block"] else none,
    }


def observe(case, inputs, outputs):
    """c, and whether the properties hold, as far as rounding lets them."""
    c, half, none = outputs["c"], case["m"] // 2, torch.ones(0, dtype=torch.bool)
    same = torch.nn.functional.pad(inputs["a"], (0, max(0, case["n"] - case["k"])))[:, : case["n"]]
    return {
        "c": c,
        "identity": _same(c, same) if case["identity"] else none,
        "doubled": _same(2 * c[:half], c[half : 2 * half]) if case["doubled"] else none,
        "zeros": (c == 0).all(1) if case["zeros"] else none,
        "block_size": _same(c, outputs["c_other"]) if case["other_block"] else none,
    }


def limits(case):
    """A program's part of c is one tile; for the long sum: no load takes more than a tile of a or b, and each program
    reads its rows and columns once."""
    part = dict.fromkeys(("largest_share.c", "largest_share.c_other"), case["block_m"] * case["block_n"])
    if not case["streaming"]:
        return part
    tiles_m, tiles_n = -(-case["m"] // case["block_m"]), -(-case["n"] // case["block_n"])
    return {
        **part,
        "largest_load.a": case["block_m"] * case["block_k"],
        "largest_load.b": case["block_k"] * case["block_n"],
        "total_load.a": tiles_n * case["m"] * case["k"],
        "total_load.b": tiles_m * case["k"] * case["n"],
        "largest_dimension": max(case["block_m"], case["block_n"], case["block_k"]),
    }


def _same(one, other):
    """Per row, within a few roundings of its largest element."""
    return (one - other).abs().amax(1) <= 2e-6 * other.abs().amax(1)
