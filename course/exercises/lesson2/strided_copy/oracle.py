"""y[j, i] = x[i, j], and nothing else written."""

import torch

# What the grader fills an output with, as bits: the type to look at them in, and their value.
_POISON = {
    "float32": (torch.int32, 0x7FC5DEAD),
    "float16": (torch.int16, 0x7E5D),
    "int32": (torch.int32, 0x5A5A5A5A),
}


def strides(case):
    """(stride_xm, stride_xn) of every step_m-th row and every step_n-th column of a larger matrix."""
    step_m, step_n = case["step_m"], case["step_n"]
    if case["columns_first"]:
        return step_m, step_n * step_m * case["m"]
    return step_m * step_n * case["n"], step_n


def make_inputs(case, generator):
    """x: the memory of an (m, n) matrix of ``dtype``, from its first element to its last; with ``spare``, and more."""
    stride_m, stride_n = strides(case)
    length = (case["m"] - 1) * stride_m + (case["n"] - 1) * stride_n + 1 + 30 * case.get("spare", 0)
    if case["dtype"] == "int32":
        return {"x": torch.randint(-(2**31), 2**31, (length,), generator=generator).int()}
    return {"x": torch.randn(length, generator=generator).to(getattr(torch, case["dtype"]))}


def oracle(case, inputs):
    """y (n, m), of x twice over (m, n); between (n, gap), all true. What is spare, in probes, was never written."""
    y = inputs["x"].as_strided((case["m"], case["n"]), strides(case)).T
    if case.get("twice"):
        y = y.T
    if case.get("spare"):
        y = torch.nn.functional.pad(y, (0, 0, 0, case["spare"]), value=torch.finfo(y.dtype).min)
    return {"y": y, "between": torch.ones(len(y), case["gap"], dtype=torch.bool)}


def limits(case):
    """A program's part is one tile."""
    return dict.fromkeys(("largest_share.y", "largest_share.turned"), case["block_m"] * case["block_n"])


def observe(case, inputs, outputs):
    """y without the gap behind each row; and of the gap whether it was left alone."""
    y = outputs["y"]
    width = y.shape[1] - case["gap"]
    gap = y[:, width:]
    bits, poison = _POISON[case["dtype"]]
    return {"y": y[:, :width], "between": gap.view(bits) == poison}
