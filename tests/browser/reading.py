"""The playground's numbers as a page shows them, and what they should be in float64."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

MINUS, INFINITY = "\N{MINUS SIGN}", "\N{INFINITY}"


def number(text: str) -> float:
    """A number as the page shows it."""
    return float(text.strip().replace(MINUS, "-").replace(INFINITY, "inf"))


def texts(page: Any, selector: str) -> list[str]:
    return list(page.locator(f"attention-playground {selector}").all_inner_texts())


def numbers(page: Any, selector: str) -> list[float]:
    return [number(text) for text in texts(page, selector)]


def oracle(state: dict[str, Any]) -> dict[str, torch.Tensor]:
    """Attention of a playground's state, in float64 and in three lines: s, p, o and lse of the rows that exist.

    ``state`` is the element's own: q, k, v as lists of rows, scale, causal, padding, block, maskGhosts.
    """
    q, k, v = (torch.tensor(state[name], dtype=torch.float64) for name in "qkv")
    tokens = len(q)
    if not state["maskGhosts"]:  # zeros behind the end take part
        ghosts = torch.zeros(state["block"] - tokens, q.shape[1], dtype=torch.float64)
        k, v = torch.cat([k, ghosts]), torch.cat([v, ghosts])
    rows, columns = torch.arange(tokens)[:, None], torch.arange(len(k))[None, :]
    hidden = (columns < state["padding"]) | (state["causal"] & (columns > rows))
    s = (state["scale"] * q @ k.T).masked_fill(hidden, -math.inf)
    p = torch.softmax(s, 1).nan_to_num(0.0)
    return {"s": s, "p": p, "o": p @ v, "lse": torch.logsumexp(s, 1)}


def close(shown: Sequence[float], exact: torch.Tensor, digits: float = 1e-3) -> None:
    """What a page shows is what it should be, to the digits it shows (three or four)."""
    got = torch.tensor(shown, dtype=torch.float64).reshape(exact.shape)
    torch.testing.assert_close(got, exact, rtol=digits, atol=6e-4)
