"""Notebooks: code cells in order as one Python text, with lines that lead back to their cells."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from autograder.errors import HandInError
from autograder.handin import Source, definitions, read_handin
from autograder.handin import _model as model

from .making import FLASH, NAMES, ONE_SHOT, SOFTMAX, notebook, noted, read, stub, texts, work, write

DEF = "def softmax_kernel(x):\n    return x\n"


def source_of(folder: Path, *cells: object) -> Source:
    """The source that a notebook with these code cells and a last one with softmax_kernel gives."""
    path = folder / "hw.ipynb"
    path.write_text(notebook(*cells, DEF))
    return read(path).sources[SOFTMAX]


def cell_text(folder: Path, cell: str) -> list[str]:
    """The lines that one cell becomes."""
    source = source_of(folder, cell)
    assert source.text is not None
    return source.text.split("\n")[: source.cells[1] - 1]


def test_code_cells_are_joined_in_order_and_lines_lead_back_to_cells(tmp_path: Path) -> None:
    path = tmp_path / "hw.ipynb"
    cells = [
        {"cell_type": "markdown", "source": "# def load_tiles(): no code"},
        {"cell_type": "code", "source": ["import triton\n", "x = 1"]},
        {"cell_type": "code", "source": ""},
        {"cell_type": "raw", "source": "raw"},
        {"cell_type": "code", "source": DEF},
        {"cell_type": "code", "source": "y = 2\r\nz = 3"},
    ]
    path.write_text(notebook(cells=cells))
    source = read(path).sources[SOFTMAX]
    assert source.text == f"import triton\nx = 1\n\n{DEF}y = 2\nz = 3\n"
    assert source.cells == (1, 3, 4, 6)
    assert [source.locate(line) for line in (1, 2, 3, 5, 7)] == [
        "cell 1, line 1", "cell 1, line 2", "cell 2, line 1", "cell 3, line 2", "cell 4, line 2",
    ]  # fmt: skip


def test_one_notebook_serves_every_place_whose_functions_it_defines(tmp_path: Path) -> None:
    path = tmp_path / "hw.ipynb"
    path.write_text(notebook(work(FLASH), work(ONE_SHOT)))
    handin = read(path)
    assert set(handin.sources) == {FLASH, ONE_SHOT}
    assert handin.notes == ()
    assert handin.sources[FLASH] == handin.sources[ONE_SHOT]
    assert handin.sources[FLASH].path == "hw.ipynb"


def test_the_last_definition_comes_last(tmp_path: Path) -> None:
    text = source_of(tmp_path, "def softmax_kernel(x):\n    return 'first'").text
    assert text is not None
    assert text.index("'first'") < text.index("return x")


def test_a_broken_cell_hides_no_other(tmp_path: Path) -> None:
    source = source_of(tmp_path, 'x = ("""', "%matplotlib inline")
    assert source.text == f'x = ("""\n\n{DEF}'


@pytest.mark.parametrize(
    "magic",
    [
        "%%time",
        "%%timeit -n 1",
        "%%capture out",
        "%%writefile lesson3/softmax.py",
        "%%writefile -a 'softmax.py'",
        "%%file softmax.py",
        "%%unheard_of --of it",
        "%%time\n%%capture",
        "\n\n%%time",
    ],
)
def test_cell_magics_that_keep_python_are_blanked(tmp_path: Path, magic: str) -> None:
    blank = [""] * len(magic.split("\n"))
    assert cell_text(tmp_path, f"{magic}\n{DEF}") == [*blank, *DEF.rstrip("\n").split("\n")]


@pytest.mark.parametrize(
    "magic",
    [
        "%%bash",
        "%%html",
        "%%HTML",
        "%%javascript",
        "%%writefile notes.txt",
        "%%!",
        "%%script python",
        "%%time\n%%sh",
    ],
)
def test_cells_in_other_languages_are_dropped_but_keep_their_lines(tmp_path: Path, magic: str) -> None:
    cell = f"{magic}\n{DEF}"
    assert cell_text(tmp_path, cell) == [""] * len(cell.rstrip("\n").split("\n"))


def test_an_unknown_magic_without_a_function_is_dropped(tmp_path: Path) -> None:
    assert cell_text(tmp_path, "%%mermaid\ngraph TD; a --> b") == ["", ""]


@pytest.mark.parametrize(
    ("line", "left"),
    [
        ("%matplotlib inline", ""),
        ("%time f(x)", ""),
        ("!pip install triton", ""),
        ('!echo "it\'s ("', ""),
        ("!!ls", ""),
        ("?print", ""),
        ("print?", ""),
        ("torch.nn.Linear??", ""),
        ("files = !ls", ""),
        ("t = %timeit -o f()", ""),
        ("    %time f(x)", "    pass"),
        ("\t!ls", "\tpass"),
        ("x = a % b", "x = a % b"),
        ("x != y", "x != y"),
        ("# what?", "# what?"),
        ("s = 'why?'", "s = 'why?'"),
        ("x = '%s' % y", "x = '%s' % y"),
        ("x %= 3", "x %= 3"),
    ],
)
def test_line_magics_shell_and_help_lines_are_blanked_and_python_is_not(tmp_path: Path, line: str, left: str) -> None:
    assert cell_text(tmp_path, f"a = 1\n{line}\nb = 2") == ["a = 1", left, "b = 2"]


@pytest.mark.parametrize(
    "cell",
    [
        "x = (a\n%b)",
        "x = [\n    # (\n    1\n    % 2]",
        's = """\n%time\n!ls\nwhat?\n"""',
        "s = '''a \\''' \n%x\n'''",
        "x = a \\\n% b",
        "s = '(' # (\ny = 1",
    ],
)
def test_what_looks_like_a_magic_inside_a_statement_is_kept(tmp_path: Path, cell: str) -> None:
    assert cell_text(tmp_path, cell) == cell.split("\n")


def test_a_shell_line_goes_on_after_a_backslash(tmp_path: Path) -> None:
    assert cell_text(tmp_path, "!pip install \\\n  triton \\\n  torch\nx = 1") == ["", "", "", "x = 1"]


def test_a_bracket_never_closed_hides_no_magic_after_the_next_function(tmp_path: Path) -> None:
    assert cell_text(tmp_path, "x = (\ndef f():\n    pass\n%time") == ["x = (", "def f():", "    pass", ""]


def test_a_line_full_of_quotes_is_scanned_once(tmp_path: Path) -> None:
    for line in ('\\"' * 200_000, "'\\" * 200_000, "?" * 400_000, "x" * 400_000 + " ="):
        assert cell_text(tmp_path, f"x = 1; {line}") == [f"x = 1; {line}"]


def test_half_a_surrogate_pair_cannot_reach_the_parser(tmp_path: Path) -> None:
    text = source_of(tmp_path, "# \ud800 and \U0001f600").text
    assert text is not None
    assert text.startswith("# \ufffd and \U0001f600\n")
    assert text.encode()


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ("", "damaged"),
        ("{", "damaged"),
        ("[]", "damaged"),
        ("[" * 100_000, "damaged"),
        ("9" * 10_000, "damaged"),
        (json.dumps({"nbformat": 4}), "damaged"),
        (json.dumps({"nbformat": 3, "worksheets": []}), "format 3"),
        (json.dumps({"nbformat": "4", "cells": []}), "unknown format"),
        (json.dumps({"cells": []}), "unknown format"),
    ],
)
def test_other_documents_are_refused_with_the_reason(tmp_path: Path, document: str, words: str) -> None:
    root = write(tmp_path / "hw", {"hw.ipynb": document, "flash_attention.py": work(FLASH)})
    assert noted(read(root), "hw.ipynb", words)
    with pytest.raises(HandInError, match=words):
        read(root / "hw.ipynb")


@pytest.mark.parametrize("cell", [None, 5, {}, {"cell_type": "code"}, {"cell_type": "code", "source": 7}])
def test_a_malformed_cell_costs_only_itself(tmp_path: Path, cell: object) -> None:
    path = tmp_path / "hw.ipynb"
    path.write_text(notebook(cells=[cell, {"cell_type": "code", "source": [DEF, 3]}]))
    text = read(path).sources[SOFTMAX].text
    assert text is not None
    assert text.strip() == DEF.strip()


def test_a_notebook_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    path = tmp_path / "hw.ipynb"
    path.write_bytes(notebook(DEF).encode("utf-8-sig"))
    assert read(path).sources[SOFTMAX].text == DEF


def test_a_notebook_that_is_not_utf8_is_refused_with_the_line(tmp_path: Path) -> None:
    path = tmp_path / "hw.ipynb"
    path.write_bytes(b'{\n"nbformat": "\xe9"}')
    with pytest.raises(HandInError, match="line 2"):
        read(path)


def test_a_notebook_that_defines_nothing_serves_nothing(tmp_path: Path) -> None:
    root = write(tmp_path / "hw", {"hw.ipynb": notebook("x = 1"), "softmax.py": stub(SOFTMAX)})
    assert texts(read(root)) == {SOFTMAX: stub(SOFTMAX)}


# Cells that begin with %%exercise -------------------------------------------------------------------------------------

MINE = "def softmax_kernel(x):\n    return 'mine'\n"
TRIED = "def softmax_kernel(x):\n    return 'tried out'\n"


def exercise_cells(folder: Path, *cells: object) -> Source:
    path = folder / "hw.ipynb"
    path.write_text(notebook(*cells))
    return read(path).sources[SOFTMAX]


def test_an_exercise_cell_counts_before_what_is_tried_out_below_it(tmp_path: Path) -> None:
    source = exercise_cells(tmp_path, "x = 1", f"%%exercise softmax\n{MINE}", TRIED, "y = 2")
    assert source.text == f"x = 1\n{TRIED}y = 2\n\n{MINE}"
    assert source.cells == (1, 5, 2, 4)
    assert source.answers == {2}
    assert [source.place_of(line) for line in range(1, 8)] == [
        (1, 1), (3, 1), (3, 2), (4, 1), (2, 1), (2, 2), (2, 3),
    ]  # fmt: skip


def test_of_two_exercise_cells_the_later_counts(tmp_path: Path) -> None:
    text = exercise_cells(tmp_path, f"%%exercise softmax\n{TRIED}", f"\n%%exercise  softmax --seed 3\n{MINE}").text
    assert text is not None
    assert text.index("tried out") < text.index("mine")


def test_an_exercise_cell_that_is_still_the_stub_hides_no_answer_elsewhere(tmp_path: Path) -> None:
    source = exercise_cells(tmp_path, MINE, f"%%exercise softmax\n{stub(SOFTMAX)}")
    assert source.text == f"\n{stub(SOFTMAX)}{MINE}"
    assert source.cells == (4, 1)
    assert source.answers == frozenset()
    assert source.place_of(5) == (1, 2)


def test_exercise_cells_as_large_as_can_be_are_not_looked_into_without_end(tmp_path: Path) -> None:
    looked_at: list[int] = []
    large = notebook(*[f"%%exercise softmax\n{MINE}#{'x' * 100_000}"] * 9)
    root = write(tmp_path / "hw", {f"{number}.ipynb": large for number in range(4)})
    read_handin(root, tuple(NAMES), NAMES, lambda place, text: bool(looked_at.append(len(text))) or False)
    assert 9 <= sum(size < 200_000 for size in looked_at) <= 11


def test_thousands_of_exercise_cells_are_no_work(tmp_path: Path) -> None:
    asked = []
    path = tmp_path / "hw.ipynb"
    path.write_text(notebook(*[f"%%exercise softmax\n{stub(SOFTMAX)}"] * 3000, MINE))
    read_handin(path, tuple(NAMES), NAMES, lambda place, text: bool(asked.append(place)) or text.strip() != stub(place))
    assert len(asked) < 1000


def test_a_notebook_of_too_many_cells_is_refused_before_each_is_looked_at(tmp_path: Path) -> None:
    """Hundreds of thousands of cells, empty ones too, would hold up a whole class."""
    path = write(tmp_path / "hw", {"hw.ipynb": notebook(MINE, *[""] * 5_000)}) / "hw.ipynb"
    source = read(path).sources[SOFTMAX]
    assert source.text is None
    assert source.problem == "hw.ipynb was not read: it has more than 5000 cells with code."
    path.write_text(notebook(MINE, *[""] * 4_999))
    assert read(path).sources[SOFTMAX].text is not None


def test_a_line_is_found_among_cells_without_going_through_them_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A function that is defined in each of thousands of cells is looked up for each of them."""
    path = tmp_path / "hw.ipynb"
    path.write_text(notebook(*[DEF, "", f"%%exercise softmax\n{MINE}", DEF] * 1_000))
    source = read(path).sources[SOFTMAX]
    assert source.text is not None
    counted = 0
    plain = sorted

    def counting(things: Iterable[Any]) -> list[Any]:
        nonlocal counted
        counted += 1
        return plain(things)

    monkeypatch.setattr(model, "sorted", counting, raising=False)
    lines = definitions(source.text)["softmax_kernel"]
    assert len(lines) == 3_000
    began = time.process_time()
    cells = [source.place_of(line)[0] for line in lines]
    assert time.process_time() - began < 3.0  # it was 4 s and more
    assert counted <= 1
    assert sorted(number for number in cells if number is not None) == [n for n in range(1, 4_001) if n % 4 != 2]


def test_tens_of_thousands_of_definitions_of_one_name_are_listed_at_once() -> None:
    text = "def softmax_kernel(): 0\n" * 40_000
    began = time.process_time()
    assert definitions(text)["softmax_kernel"] == tuple(range(1, 40_001))
    assert time.process_time() - began < 6.0  # it was 10 s and more
