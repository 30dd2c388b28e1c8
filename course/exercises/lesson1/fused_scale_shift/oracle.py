"""y[i, j] = x[i, j] * scale[j] + shift[j]."""

import torch


def make_inputs(case, generator):
    """x (rows, columns), scale and shift (columns,), float32; with ``spare_rows``, in probes, more of each.

    ``scale`` and ``shift`` in the case are "random" if nothing else is said, "ones" or "zeros". With ``multiples`` row i
    of x is i + 1 times row 0.
    """
    rows, columns, spare = case["rows"] + case.get("spare_rows", 0), case["columns"], case.get("spare_rows", 0)
    x = torch.randn(rows, columns, generator=generator)
    if case.get("multiples"):
        x = x[0] * torch.arange(1.0, rows + 1)[:, None]
    length = columns * (1 + spare)
    # Scales away from 0 and 1, shifts away from 0: whichever is left out or taken twice shows.
    scale = torch.rand(length, generator=generator) + torch.randint(1, 3, (length,), generator=generator) + 0.25
    shift = torch.randn(length, generator=generator).sign() * (1.0 + 3.0 * torch.rand(length, generator=generator))
    kinds = {"ones": torch.ones(length), "zeros": torch.zeros(length)}
    return {
        "x": x,
        "scale": {"random": scale, **kinds}[case.get("scale", "random")],
        "shift": {"random": shift, **kinds}[case.get("shift", "random")],
    }


def oracle(case, inputs):
    """y (rows, columns); spare rows hold what stands for never written."""
    columns = case["columns"]
    y = inputs["x"] * inputs["scale"][:columns] + inputs["shift"][:columns]
    y[case["rows"] :] = torch.finfo(y.dtype).min
    return {"y": y}


def limits(case):
    """A program's part of y is one block; and proof of one pass, for one case: x is loaded once, and y not at all."""
    once = {"total_load.x": case["rows"] * case["columns"], "total_load.y": 0} if case.get("one_pass") else {}
    return {"largest_share.y": case["block"], **once}
