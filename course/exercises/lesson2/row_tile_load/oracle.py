"""What load_row_tile must return: each tile's rows of the matrix, with zeros for what is beyond it."""

import torch


def strides(case):
    """(stride_m, stride_n): neighbours are 1 + gap_n apart, and gap_m elements follow each row (or column)."""
    step = 1 + case["gap_n"]
    if case["columns_first"]:
        return step, step * case["m"] + case["gap_m"]
    return step * case["n"] + case["gap_m"], step


def make_inputs(case, generator):
    """x: the memory of an (m, n) float32 matrix, from its first element to its last, and ``spare`` elements more.

    None of it is 0, so that a zero in a tile can only be a ghost.
    """
    stride_m, stride_n = strides(case)
    length = (case["m"] - 1) * stride_m + (case["n"] - 1) * stride_n + 1 + case.get("spare", 0)
    x = torch.randn(length, generator=generator)
    return {"x": torch.where(x < 0, x - 0.5, x + 0.5)}


def oracle(case, inputs):
    """tile (tiles, block_m, block_n)."""
    m, n, block_m, block_n = (case[name] for name in ("m", "n", "block_m", "block_n"))
    matrix = inputs["x"].as_strided((m, n), strides(case))
    padded = torch.nn.functional.pad(matrix, (0, block_n - n, 0, -m % block_m))
    return {"tile": padded.reshape(-1, block_m, block_n)}


def limits(case):
    """Where it is counted: each tile is loaded by itself, and nothing over and over."""
    if not case.get("counted"):
        return {}
    return {"total_load.x": 2 * case["m"] * case["n"]}
