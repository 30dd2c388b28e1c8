"""CONTRIBUTING is followed to the letter: one folder and one solution make an exercise that the self-check proves."""

from __future__ import annotations

import re
import shutil
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from autograder.catalogue import load_course
from autograder.release.bundle import write_stubs
from autograder.selfcheck import PROOFS, Proof, SelfCheck
from autograder.session import Grader

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
STUB = "lesson7/one_shot_attention.py"

EXERCISE = """
title = "Row sum"
points = 1.0
file = "one_shot_attention.py"

[[functions]]
name = "row_sum"
parameters = ["x"]

[compare]
total = "close"

[axes]
total = [{ of = "row" }]

[[checks]]
id = "square"
tier = "tiny"
proves = "Each row is summed, not each column."
case = { rows = 16, columns = 16 }

[[checks]]
id = "wide"
tier = "ragged"
proves = "Rows that are longer than there are rows are summed whole."
case = { rows = 16, columns = 64 }
"""

LAUNCH = '''
"""Harness for row_sum: one tile, and the sum of each of its rows."""

import triton
import triton.language as tl


@triton.jit
def harness(x_ptr, total_ptr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, row_sum: tl.constexpr):
    rows, columns = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    tl.store(total_ptr + rows, row_sum(tl.load(x_ptr + rows[:, None] * COLUMNS + columns[None, :])))


def outputs(case):
    return {"total": ((case["rows"],), "float32")}


def launch(run, student, case, inputs, outputs):
    sizes = {"ROWS": case["rows"], "COLUMNS": case["columns"]}
    run(harness, (1,), inputs["x"], outputs["total"], **sizes, row_sum=student.row_sum)
'''

ORACLE = '''
"""The sum of each row."""

import torch


def make_inputs(case, generator):
    return {"x": torch.randn(case["rows"], case["columns"], generator=generator)}


def oracle(case, inputs):
    return {"total": inputs["x"].sum(1)}
'''

HINTS = "# Hints\n\n## 1\nWhich axis?\n\n## 2\nIt has two.\n\n## 3\nSee `tl.sum`.\n"

WRONG = '"""Sums columns."""\n\n\n@triton.jit\ndef row_sum(x):\n    return tl.sum(x, 0)\n'
# A mistake of row_sum that breaks another exercise of its file as well.
BYSTANDER = WRONG + "\n\n@triton.jit\ndef pin_ghost_rows(s, offs_m, NSEQ):\n    return tl.max(s, 1) * 0.5\n"


def shown(beginning: str) -> str:
    """A block of the page that begins with a line, without its indentation."""
    lines = PAGE.split("\n")
    first = lines.index(f"    {beginning}")
    block = []
    for line in lines[first:]:
        if line and not line.startswith("    "):
            break
        block.append(line)
    return textwrap.dedent("\n".join(block)).strip() + "\n"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The course with ghost_row_pin in it, and the exercise of the page beside it."""
    root = tmp_path_factory.mktemp("contributing")
    for folder in ("course", "solutions"):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__", ".secret", "site"))
    toml = root / "course" / "course.toml"
    head = toml.read_text(encoding="utf-8").split("[[lesson]]")[0]
    toml.write_text(f'{head}[[lesson]]\nnumber = 7\ntitle = "L"\nexercises = ["ghost_row_pin", "row_sum"]\n')
    solution = root / "solutions" / STUB
    marked = shown("@triton.jit").replace("...the reference...", "tl.sum(x, 1)")
    assert marked.startswith("@triton.jit\ndef row_sum(x):")
    solution.write_text(f"{solution.read_text(encoding='utf-8')}\n\n{marked}", encoding="utf-8")
    folder = root / "course" / "exercises" / "lesson7" / "row_sum"
    folder.mkdir()
    files = {"exercise.toml": EXERCISE, "launch.py": LAUNCH, "oracle.py": ORACLE, "handout.md": "# Row sum\n"}
    for name, text in {**files, "hints.md": HINTS}.items():
        (folder / name).write_text(text.lstrip("\n"), encoding="utf-8")
    (root / "solutions" / "hidden.toml").write_text(shown("[[row_sum.checks]]"), encoding="utf-8")
    mistakes = root / "tests" / "mistakes" / "row_sum"
    mistakes.mkdir(parents=True)
    for name in ("wrong_axis.py", "wrong_axis__again.py"):
        (mistakes / name).write_text(WRONG, encoding="utf-8")
    write_stubs(load_course(root))
    return root


@pytest.fixture(scope="module")
def grader(root: Path) -> Iterator[Grader]:
    with Grader(load_course(root), "cpu", targets="if-passed") as grader:
        yield grader


def prove(root: Path, grader: Grader, name: str, exercise: str | None = "row_sum") -> Proof:
    course = load_course(root)
    exercises = [course.exercise(exercise)] if exercise else []
    return SelfCheck(course, grader, 2, exercises=exercises).run(name, lambda done, total: None)


@pytest.mark.parametrize("name", PROOFS)
def test_an_exercise_made_as_the_page_says_is_proved(root: Path, grader: Grader, name: str) -> None:
    proof = prove(root, grader, name)
    assert [f"{item.subject}: {item.message}" for item in proof.findings] == []
    assert proof.checked > 0 or name in ("streaming", "unusual")
    stub = (root / "assignments" / STUB).read_text(encoding="utf-8")
    assert re.search(r"# TODO: which axis has to go\?", stub)
    assert "tl.sum(x, 1)" not in stub


def test_a_mistake_that_harms_a_bystander_is_found(root: Path, grader: Grader) -> None:
    path = root / "tests" / "mistakes" / "row_sum" / "harms_another.py"
    path.write_text(BYSTANDER, encoding="utf-8")
    try:
        found = prove(root, grader, "mistakes", None).findings
    finally:
        path.unlink()
    assert [item.subject for item in found] == ["row_sum/harms_another"]
    assert found[0].message.startswith("costs points on ghost_row_pin")
