"""The product of two float16 matrices, summed in float32 or better."""

import torch


def make_inputs(case, generator):
    """a (m, k) and b (k, n) float16.

    ``signs`` is ``mixed`` for numbers around 0 of size ``spread``; ``positive`` for numbers from spread / 2 to
    3 spread / 2, so that sums only grow; ``turning`` for such numbers whose products turn negative after two thirds of
    the sum.  The terms grow along K, by the factor ``growth`` in all.  ``k_made``, in probes, is how long a sum is made,
    of which the first k terms are used.
    """
    m, n, k = case["m"], case["n"], case["k"]
    made = case.get("k_made", k)
    if case["signs"] == "mixed":
        a = torch.randn(m, made, generator=generator) * case["spread"]
        b = torch.randn(made, n, generator=generator) * min(case["spread"], 1.0)
    else:
        a = (0.5 + torch.rand(m, made, generator=generator)) * case["spread"]
        b = (0.5 + torch.rand(made, n, generator=generator)) * case["spread"]
    a = a * torch.logspace(0, 1, made, base=case["growth"])
    if case["signs"] == "turning":
        a = torch.where(torch.arange(made) < 2 * made // 3, a, -a)
    return {"a": a[:, :k].half().contiguous(), "b": b[:k].half()}


def oracle(case, inputs):
    """c (m, n) = a b in float32, or in float64 where the inputs are; block_size is true wherever it is looked at."""
    wide = {name: x.to(torch.promote_types(x.dtype, torch.float32)) for name, x in inputs.items()}
    rows, none = torch.ones(case["m"], dtype=torch.bool), torch.ones(0, dtype=torch.bool)
    return {"c": wide["a"] @ wide["b"], "block_size": rows if case["other_block"] else none}


def limits(case):
    """A program's part of c is one tile."""
    return dict.fromkeys(("largest_share.c", "largest_share.c_other"), case["block_m"] * case["block_n"])


def observe(case, inputs, outputs):
    """c, and whether it is the same in steps of another size, as far as rounding lets it be."""
    c, none = outputs["c"], torch.ones(0, dtype=torch.bool)
    return {"c": c, "block_size": _same(c, outputs["c_other"]) if case["other_block"] else none}


def _same(one, other):
    """Per row, within a few roundings of its largest element."""
    return (one - other).abs().amax(1) <= 4e-6 * other.abs().amax(1)
