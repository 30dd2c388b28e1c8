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
SMALL = "The weights of a query add up to between 0.000359 and 0.00213 on the real keys, not to 1."


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
        (without(3), "Keys 12-13 (chunk 3) count for nothing: their values reach no query."),
        (without(1, 2), "Keys 4-11 (chunks 1-2) count for nothing: their values reach no query."),
        (weights() * torch.tensor([1e-8, 1e-6, 1e-4, 1e-2]), SMALL),
        (torch.zeros(8, 4), "The weights of a query add up to 0 on the real keys, not to 1."),
        (without(1, 2, 3), "Only keys 0-3 (chunk 0) count: the values of all others reach no query."),
        (weights() * 0.5, "The weights of a query add up to 0.5 on the real keys, not to 1."),
        (weights(seed=4), "The weights of each query add up to 1, as they should, but do not lie on the right keys."),
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
    assert clue(got) == "Keys 0-3 (chunk 0) count for nothing in query tile 1."
    got[:4, 2] = 0
    assert clue(got) == "Keys 8-11 (chunk 2) count for nothing in query tile 0, and others do so in theirs."


def test_weights_on_the_future() -> None:
    right = weights(causal=True)
    assert bool((right == 0).any())
    assert clue(weights(), right) == "Queries give weight to keys in the future."
    assert clue(right, right) is None


def test_chunks_that_count_the_same() -> None:
    got = torch.tensor([[0.2, 0.3, 0.3, 0.2]]).repeat(8, 1)
    assert clue(got) == "All whole chunks of keys but the first count the same for a query, whatever the keys are."
    assert clue(torch.tensor([[0.3, 0.3, 0.3, 0.1]]).repeat(8, 1)) == (
        "All whole chunks of keys count the same for a query, whatever the keys are."
    )


def test_some_queries_alone_may_be_off() -> None:
    got = weights()
    got[2] *= 3.0
    assert clue(got) == "The weights of query 2 add up to 3 on the real keys, not to 1."


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
    assert clue(got) == "The weights of queries 2-3 add up to 0 on the real keys, not to 1."
