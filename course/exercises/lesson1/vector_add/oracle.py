"""c = a + b, on numbers whose sums float32 holds exactly."""

import torch


def make_inputs(case, generator):
    """a, b: (n + spare,) float32, multiples of 2**-10 below 2**10 in size: no sum is rounded, so c has to be equal."""
    n = case["n"] + case.get("spare", 0)
    a, b = (torch.randint(-(2**20), 2**20, (n,), generator=generator) / 2**10 for _ in range(2))
    kind = case.get("kind", "random")
    return {"a": a, "b": {"random": b, "zeros": torch.zeros(n), "opposites": -a}[kind]}


def oracle(case, inputs):
    """c (n + spare,); what is spare, in probes, holds what stands for never written."""
    c = inputs["a"] + inputs["b"]
    c[case["n"] :] = torch.finfo(c.dtype).min
    return {"c": c}


def limits(case):
    """A program's part of c is one block."""
    return {"largest_share.c": case["block"]}
