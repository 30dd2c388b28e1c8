"""Any bytes whatever, as any kind of hand-in, give a hand-in or a HandInError and nothing else."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autograder.errors import HandInError
from autograder.handin import HandIn, split_lines

from .making import FLASH, SOFTMAX, notebook, read, work, zip_bytes

bounded = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
ZIP = zip_bytes({"lesson7/flash_attention.py": work(FLASH), "in.zip": zip_bytes({"softmax.py": work(SOFTMAX)})})


def read_bytes(name: str, data: bytes) -> HandIn | None:
    """Read ``data`` handed in under ``name``; None for a HandInError."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(data)
        try:
            handin = read(path)
        except HandInError:
            return None
    for source in handin.sources.values():
        assert (source.text is None) is (source.problem is not None)
    return handin


@pytest.mark.parametrize("name", ["x.py", "flash_attention.py", "x.ipynb", "x.zip"])
@bounded
@given(data=st.binary(max_size=400))
def test_random_bytes_never_raise_anything_else(name: str, data: bytes) -> None:
    read_bytes(name, data)


@bounded
@given(changes=st.lists(st.tuples(st.integers(0, len(ZIP) - 1), st.integers(0, 255)), min_size=1, max_size=8))
def test_a_zip_with_changed_bytes_never_raises_anything_else(changes: list[tuple[int, int]]) -> None:
    data = bytearray(ZIP)
    for position, value in changes:
        data[position] = value
    read_bytes("x.zip", bytes(data))


@bounded
@given(length=st.integers(0, len(ZIP)), head=st.binary(max_size=40))
def test_a_zip_cut_or_with_something_before_it_never_raises_anything_else(length: int, head: bytes) -> None:
    read_bytes("x.zip", head + ZIP[:length])
    read_bytes("x.zip", head + ZIP[length:])


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=10,
)


@bounded
@given(cells=st.lists(json_values | st.fixed_dictionaries({"cell_type": st.just("code"), "source": json_values})))
def test_a_notebook_with_anything_for_cells_never_raises_anything_else(cells: list[object]) -> None:
    read_bytes("x.ipynb", notebook(cells=cells).encode())


pieces = ["def softmax_kernel(x):", "%", "%%time", "!ls", "?", "(", ")", '"""', "'"]
pieces += ["\\", "#", " ", "\n", "\r", "\r\n"]


@bounded
@given(cells=st.lists(st.lists(st.sampled_from(pieces)).map("".join), max_size=6))
def test_cells_keep_their_number_of_lines_whatever_is_in_them(cells: list[str]) -> None:
    handin = read_bytes("x.ipynb", notebook(*cells, "def softmax_kernel(x): pass").encode())
    assert handin is not None
    source = handin.sources[SOFTMAX]
    assert source.text is not None
    assert len(source.cells) == len(cells) + 1
    lines = [max(1, len(split_lines(cell))) for cell in cells]
    assert source.cells == tuple(1 + sum(lines[:number]) for number in range(len(cells) + 1))
    assert len(split_lines(source.text)) == sum(lines) + 1
