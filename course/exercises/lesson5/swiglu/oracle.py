"""SwiGLU in two lines, in whatever precision the inputs have."""

import torch

_SAME = 1e-5  # relative to the largest y; a product by 2 is exact


def make_inputs(case, generator):
    """gate_up (rows, 2 * width) float32, gate times ``spread``, and up.

    With ``zeros`` the first half of the rows has gate 0, the second up 0. With ``twice`` the second half of the rows
    has the gate of the first half, and twice its up.
    """
    shape = (case["rows"], case["width"])
    gate = torch.randn(shape, generator=generator) * case["spread"]
    up = torch.randn(shape, generator=generator)
    half = case["rows"] // 2
    if case.get("zeros"):
        gate[:half], up[half:] = 0.0, 0.0
    if case.get("twice"):
        gate[half : 2 * half], up[half : 2 * half] = gate[:half], 2 * up[:half]
    return {"gate_up": torch.cat([gate, up], 1)}


def oracle(case, inputs):
    """y (rows, width) = gate * sigmoid(gate) * up; doubled: all true."""
    gate, up = inputs["gate_up"].chunk(2, 1)
    return {"y": gate * torch.sigmoid(gate) * up, "doubled": torch.ones(_pairs(case), dtype=torch.bool)}


def limits(case):
    """A program's part of y is one block of a row."""
    return {"largest_share.y": case["block"]}


def observe(case, inputs, outputs):
    """y as it is; doubled (pairs,): whether a row with twice the up has twice the y."""
    y, pairs = outputs["y"].double(), _pairs(case)
    off = (2 * y[:pairs] - y[pairs : 2 * pairs]).abs()
    return {**outputs, "doubled": off.amax(1) <= _SAME * y[: 2 * pairs].abs().max() if pairs else torch.ones(0).bool()}


def _pairs(case):
    return case["rows"] // 2 if case.get("twice") else 0
