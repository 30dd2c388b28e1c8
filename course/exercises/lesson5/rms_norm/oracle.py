"""RMSNorm of a sum in three lines, in whatever precision the inputs have."""

import torch

_SAME = 1e-4  # relative to the largest y; rounding is a hundred times smaller


def make_inputs(case, generator):
    """x and residual (rows, width), weight (width,), float32; ``spread`` scales the first two.

    In the first ``cancelled`` rows the residual is -x. With ``factor`` the second half of the rows is that many times
    the first half.
    """
    shape = (case["rows"], case["width"])
    x, residual = (torch.randn(shape, generator=generator) * case["spread"] for _ in range(2))
    weight = 0.5 + torch.rand(case["width"], generator=generator)
    cancelled = case.get("cancelled", 0)
    residual[:cancelled] = -x[:cancelled]
    if "factor" in case:
        half = case["rows"] // 2
        x[half : 2 * half], residual[half : 2 * half] = case["factor"] * x[:half], case["factor"] * residual[:half]
    return {"x": x, "residual": residual, "weight": weight}


def oracle(case, inputs):
    """h (rows, width) = x + residual, y (rows, width) = h / sqrt(mean h^2 + eps) * weight; alike: all true."""
    h = inputs["x"] + inputs["residual"]
    y = h / torch.sqrt((h * h).mean(1, keepdim=True) + case["eps"]) * inputs["weight"]
    return {"h": h, "y": y, "alike": torch.ones(_pairs(case), dtype=torch.bool)}


def limits(case):
    """A program's part of h and y is one row."""
    return dict.fromkeys(("largest_share.h", "largest_share.y"), case["width"])


def observe(case, inputs, outputs):
    """h and y as they are; alike (pairs,): whether a row and its multiple have the same y."""
    y, pairs = outputs["y"].double(), _pairs(case)
    off = (y[:pairs] - y[pairs : 2 * pairs]).abs()
    return {**outputs, "alike": off.amax(1) <= _SAME * y[: 2 * pairs].abs().max() if pairs else torch.ones(0).bool()}


def _pairs(case):
    return case["rows"] // 2 if "factor" in case else 0
