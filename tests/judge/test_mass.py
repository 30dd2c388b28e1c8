"""What a map of attention shows is said only where it is certain."""

from __future__ import annotations

import pytest
import torch

from autograder.catalogue import Check
from autograder.judge.diagnosis import UNWRITTEN, Probe
from autograder.judge.mass import mass_clue, period
from autograder.probes import MassView

VIEW = MassView("mass", "o", "block_m", "block_n", "seqlen_k", hidden="keys in the future")
CASE = {"block_m": 4, "block_n": 4, "seqlen_k": 14}
CHUNKS = 4
SMALL = "The shares of the values that reach a query add up to between 0.000359 and 0.00213, not to 1."


def weights(causal: bool = False, seed: int = 3) -> torch.Tensor:
    """Softmax weights by chunk, of 8 queries on 14 keys."""
    s = torch.randn(8, 14, generator=torch.Generator().manual_seed(seed)).double()
    if causal:
        s = s.masked_fill(torch.ones(8, 14, dtype=torch.bool).triu(7), float("-inf"))
    p = torch.softmax(s, 1)
    return torch.stack([p[:, c * 4 : c * 4 + 4].sum(1) for c in range(CHUNKS)], 1)


def columns(got: torch.Tensor) -> torch.Tensor:
    """The output that weights by chunk make: its columns repeat."""
    return torch.nn.functional.pad(got, (0, period(CHUNKS) - got.shape[1])).repeat(1, 2)


def clue(got: torch.Tensor, right: torch.Tensor | None = None) -> str | None:
    right = weights() if right is None else right
    probe = Probe(Check("mass", "tiny", 0.0, "", CASE), {}, {"o": columns(got)}, {"o": columns(right)})
    found = mass_clue(VIEW, probe)
    return found[1] if found is not None else None


def without(*chunks: int) -> torch.Tensor:
    got = weights()
    got[:, list(chunks)] = 0
    return got / got.sum(1, keepdim=True)


@pytest.mark.parametrize(
    ("got", "said"),
    [
        (without(3), "The values of keys 12-13 (chunk 3) reach no query."),
        (without(1, 2), "The values of keys 4-11 (chunks 1-2) reach no query."),
        (weights() * torch.tensor([1e-8, 1e-6, 1e-4, 1e-2]), SMALL),
        (torch.zeros(8, 4), "The shares of the values that reach a query add up to 0, not to 1."),
        (without(1, 2, 3), "Only the values of keys 0-3 (chunk 0) reach a query."),
        (weights() * 0.5, "The shares of the values that reach a query add up to 0.5, not to 1."),
        (
            weights(seed=4),
            "The shares of the values that reach a query add up to 1, as they should, but of other keys' values.",
        ),
        (weights(), None),
        (weights() + 1e-5, None),
        (torch.full((8, 4), torch.nan), None),
        (torch.full((8, 4), UNWRITTEN, dtype=torch.float64), None),
        (torch.zeros(3, 4), None),
        (-weights(), None),
        (torch.cat([weights(), torch.full((8, 1), 0.5)], 1), None),
    ],
)
def test_the_sentence(got: torch.Tensor, said: str | None) -> None:
    assert clue(got) == said


def test_a_chunk_that_one_query_tile_does_not_see() -> None:
    got = weights()
    got[4:, 0] = 0
    assert clue(got) == "In query tile 1 the values of keys 0-3 (chunk 0) reach no query."
    got[:4, 2] = 0
    assert clue(got) == "In query tile 0 the values of keys 8-11 (chunk 2) reach no query, and likewise in other tiles."


def test_weights_on_the_future() -> None:
    right = weights(causal=True)
    assert bool((right == 0).any())
    assert clue(weights(), right) == "Values of keys in the future reach queries."
    assert clue(right, right) is None


def test_chunks_that_count_the_same() -> None:
    got = torch.tensor([[0.2, 0.3, 0.3, 0.2]]).repeat(8, 1)
    assert (
        clue(got)
        == "The values of all whole chunks of keys but the first reach a query in equal shares, whatever the keys are."
    )
    assert clue(torch.tensor([[0.3, 0.3, 0.3, 0.1]]).repeat(8, 1)) == (
        "The values of all whole chunks of keys reach a query in equal shares, whatever the keys are."
    )


def test_some_queries_alone_may_be_off() -> None:
    got = weights()
    got[2] *= 3.0
    assert clue(got) == "The shares of the values that reach query 2 add up to 3, not to 1."


def test_the_table_holds_the_means_of_each_query_tile() -> None:
    got, right = without(3), weights()
    found = mass_clue(VIEW, Probe(Check("mass", "tiny", 0.0, "", CASE), {}, {"o": columns(got)}, {"o": columns(right)}))
    assert found is not None
    table = found[2]
    assert table["rows"] == [[0, 3], [4, 7]]
    assert table["columns"] == [[0, 3], [4, 7], [8, 11], [12, 13]]
    assert table["got"][1][0] == pytest.approx(float(got[4:, 0].mean()), abs=1e-4)
    assert [row[3] for row in table["got"]] == [0.0, 0.0]
    assert all(sum(row) == pytest.approx(1.0, abs=1e-3) for row in table["expected"])


@pytest.mark.parametrize("wrong", [slice(0, 1), slice(0, 10, 2), slice(4, 10)])
def test_of_a_kernel_that_treats_columns_differently_nothing_is_said(wrong: slice) -> None:
    got = columns(weights())
    got[:, wrong] = 0
    probe = Probe(Check("mass", "tiny", 0.0, "", CASE), {}, {"o": got}, {"o": columns(weights())})
    assert mass_clue(VIEW, probe) is None


def test_weights_of_nothing_are_one_number() -> None:
    got = weights()
    got[2:4] = 0
    assert clue(got) == "The shares of the values that reach queries 2-3 add up to 0, not to 1."
