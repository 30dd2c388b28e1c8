"""What wrong SwiGLU kernels store: a torch model of each known mistake, with what to tell the student about it."""

import math

import torch

UNWRITTEN = torch.finfo(torch.float64).min  # what the grader shows for elements that were never written
_BEHIND = r": row {}, column 0\b"  # the first element behind the last row


def _silu(g):
    return g * torch.sigmoid(g)


def _halves(case, inputs):
    return inputs["gate_up"].chunk(2, 1)


def _made(case, inputs, make):
    """y made from the right gate and up."""
    return {"y": make(*_halves(case, inputs))}


def halves_swapped(case, inputs):
    """Gate and up have changed places: silu is taken of the second half of a row.

    Which half comes first in a row of gate_up? The docstring says so.
    """
    return _made(case, inputs, lambda gate, up: _silu(up) * gate)


def halves_interleaved(case, inputs):
    """Gate and up are taken for neighbours, the even and the odd columns of a row.

    The gate's WIDTH elements lie together, and up's behind them. How far apart are gate and up of one column?
    """
    x = inputs["gate_up"]
    return {"y": _silu(x[:, 0::2]) * x[:, 1::2]}


def rows_too_close(case, inputs):
    """From the second row on, gate and up come from other rows: rows of gate_up are taken to be WIDTH long.

    How many elements does a row of gate_up have?
    """
    flat, width = inputs["gate_up"].flatten(), case["width"]
    at = torch.arange(case["rows"])[:, None] * width + torch.arange(width)
    return {"y": _silu(flat[at]) * flat[at + width]}


def stored_two_widths_apart(case, inputs):
    """The rows of y are stored two widths apart, as those of gate_up lie, and the last ones behind its end.

    How many elements does a row of y have?
    """
    if case["rows"] == 1:
        return _made(case, inputs, lambda gate, up: _silu(gate) * up)
    first = 2 * math.ceil(case["rows"] / 2)
    return rf"stores outside y\b.*: row {first}, column 0\b|wrote past the end of y\b"


def gate_not_multiplied(case, inputs):
    """up is multiplied by sigmoid(gate): the gate itself is missing.

    silu has two factors. Far above 0, what should it come to?
    """
    return _made(case, inputs, lambda gate, up: torch.sigmoid(gate) * up)


def sign_in_exp(case, inputs):
    """The sigmoid is turned around: it goes to 0 for large gates and to 1 far below 0.

    Look at the sign in the exponent, and work silu(100) out by hand.
    """
    return _made(case, inputs, lambda gate, up: gate * torch.sigmoid(-gate) * up)


def silu_of_the_product(case, inputs):
    """silu is taken of gate * up, and should be taken of the gate alone.

    Look at which of the two comes into the exponent.
    """
    return _made(case, inputs, lambda gate, up: _silu(gate * up))


def silu_of_both(case, inputs):
    """silu is taken of up as well, which should be let through as it is.

    Look at what happens to up before the product.
    """
    return _made(case, inputs, lambda gate, up: _silu(gate) * _silu(up))


def up_left_out(case, inputs):
    """y is silu(gate): up is missing.

    Look for the product of the two halves.
    """
    return _made(case, inputs, lambda gate, up: _silu(gate))


def relu_for_silu(case, inputs):
    """Gates below 0 are cut off and the others let through whole, as ReLU does.

    silu is smooth: what is it at -1?
    """
    return _made(case, inputs, lambda gate, up: gate.clamp(min=0.0) * up)


def gelu_for_silu(case, inputs):
    """The gate goes through GELU, which is near silu and not the same.

    Compare the formula with g / (1 + exp(-g)).
    """
    return _made(case, inputs, lambda gate, up: torch.nn.functional.gelu(gate) * up)


def exp2_for_exp(case, inputs):
    """The sigmoid is made of powers of 2, where powers of e belong.

    exp(x) is exp2 of something: what has x to be multiplied by?
    """
    return _made(case, inputs, lambda gate, up: gate / (1 + torch.exp2(-gate)) * up)


def sigmoid_overflows(case, inputs):
    """Gates above 88 give NaN: exp(gate) is infinite there, and stands above and below a division.

    Divide exp(g) / (1 + exp(g)) by exp(g), above and below. Which exponent is left, and where does it overflow?
    """

    def make(gate, up):
        grown = torch.exp(gate.float()).double()
        return gate * (grown / (1 + grown)) * up

    return _made(case, inputs, make)


def only_the_first_block(case, inputs):
    """Only the first block of each row is ever written.

    A row has several programs. What tells them apart, and where does it come into the columns?
    """
    y = _silu(_halves(case, inputs)[0]) * _halves(case, inputs)[1]
    y[:, case["block"] :] = UNWRITTEN
    return {"y": y}


def ghosts_loaded(case, inputs):
    """Columns behind a row's last one are loaded, and behind the last row of gate_up there are none.

    At which column do the gate, up and y each end? A row of gate_up is longer than that.
    """
    return _beyond(case, inputs, "loads outside gate_up")


def store_without_mask(case, inputs):
    """More columns are stored than y has: behind a last block that is not full they overwrite what comes next in memory.

    Look at the mask of the store: which columns of a block does a row of y have, and which only a row of gate_up?
    """
    return _beyond(case, inputs, "stores outside y")


def _beyond(case, inputs, stopped):
    """The right y where every block is full; else what stops a kernel that goes on behind a row."""
    ragged = case["width"] % case["block"]
    where = _BEHIND.format(case["rows"])
    return (
        rf"{stopped}\b.*{where}|wrote past the end of y\b"
        if ragged
        else _made(case, inputs, lambda gate, up: _silu(gate) * up)
    )


MISTAKES = (
    halves_swapped,
    halves_interleaved,
    rows_too_close,
    stored_two_widths_apart,
    gate_not_multiplied,
    sign_in_exp,
    silu_of_the_product,
    silu_of_both,
    up_left_out,
    relu_for_silu,
    gelu_for_silu,
    exp2_for_exp,
    sigmoid_overflows,
    only_the_first_block,
    ghosts_loaded,
    store_without_mask,
)

ALIASES = {"masked_by_two_widths": "ghosts_loaded"}  # one column too many looks the same

# A GPU notices no load behind the end, and stores that go too far are much the same.
GPU_ALIASES = {"ghosts_loaded": "store_without_mask"}

# What outputs cannot tell: how often something is read.
SIGNS = (
    (
        "done_by_every_program",
        "fail",
        r"\belements of gate_up are loaded in all|\bone program stores",
        "A program does more than its own part, as where every program does the work of all.\n\n"
        "Which elements does it own, and where does its number say so?",
    ),
)
