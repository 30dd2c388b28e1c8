"""The command's contract: exit codes, sentences, and what it loads."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.bridges.classroom import FULL, Classroom
from tests.bridges.conftest import ROOT, Export


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--to", "nbgrader"), "with --out gradebook.db"),
        (("--to", "gradescope"), "with --out FOLDER"),
        (("--to", "csv", "--column", "X"), "--column means something only with --to canvas"),
        (("--to", "csv", "--with-bonus"), "--with-bonus means something only with"),
        (("--to", "csv", "--out-of", "5"), "only with --to canvas or moodle"),
        (("--to", "canvas", "--out-of", "0"), "points above 0"),
        (("--to", "canvas", "--out-of", "nan"), "points above 0"),
        (("--to", "canvas", "--python", "p"), "only with --to nbgrader"),
        (("--to", "moodle", "--student", "ann"), "only with --to gradescope"),
        (("--to", "gradescope", "--out", "x", "--excel"), "--excel means something only with"),
        (("--to", "blackboard"), "'blackboard' is not one of"),
        (("--to", "csv", "--roster", "none.csv"), "none.csv cannot be read"),
        (("--to", "csv", "--out", "no/such/folder.csv"), "cannot be written"),
        (("--to", "gradescope", "--out", "course/course.toml"), "cannot be made"),
    ],
)
def test_wrong_input_ends_with_2_and_one_sentence(
    classroom: Classroom, export: Export, arguments: tuple[str, ...], words: str
) -> None:
    classroom.add("ann", FULL)
    printed = export(*arguments)
    assert printed.returncode == 2, printed.stderr
    assert words in printed.stderr
    assert "Traceback" not in printed.stderr
    assert printed.stdout == ""


@pytest.mark.parametrize("target", ["csv", "canvas", "moodle", "gradescope", "nbgrader"])
@pytest.mark.parametrize(
    "name", ["overrides.csv", "roster.csv", "grades.csv", "results/ann.json", "results", "comments"]
)
def test_what_export_reads_is_never_overwritten(classroom: Classroom, export: Export, target: str, name: str) -> None:
    classroom.add("ann", FULL)
    classroom.override("ann", "loads", 1.0)
    before = {path: path.read_bytes() for path in classroom.out.rglob("*") if path.is_file()}
    printed = export("--to", target, "--out", classroom.out / name, *(["--replace"] if target == "csv" else []))
    assert printed.returncode == 2
    assert "is one of the kit's own files in" in printed.stderr
    assert before == {path: path.read_bytes() for path in classroom.out.rglob("*") if path.is_file()}


@pytest.mark.parametrize("target", ["csv", "canvas", "moodle"])
def test_only_an_earlier_export_is_overwritten_unasked(classroom: Classroom, export: Export, target: str) -> None:
    classroom.add("ann", FULL)
    roster, other = classroom.roster("student_id,name,lms_id\nann,Ann,17\n"), classroom.root / "submissions.zip"
    printed = export("--to", target, "--roster", roster, "--out", roster, "--replace")
    assert printed.returncode == 2
    assert "is the roster, which export reads. Name another file with --out." in printed.stderr
    other.write_bytes(b"PK everybody's work")
    printed = export("--to", target, "--roster", roster, "--out", other)
    assert printed.returncode == 2
    assert "is there already, and not as an export left it." in printed.stderr
    assert other.read_bytes() == b"PK everybody's work"
    for more in (("--replace",), ()):
        assert export("--to", target, "--roster", roster, "--out", other, *more).returncode == 0
    with other.open("a") as stream:
        stream.write("a word of the instructor's\n")
    assert export("--to", target, "--roster", roster, "--out", other).returncode == 2


def test_an_export_goes_into_a_pipe(classroom: Classroom, export: Export) -> None:
    classroom.add("ann", FULL)
    pipe, read = classroom.root / "pipe.csv", list[bytes]()
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()), daemon=True)
    reader.start()
    assert export("--to", "csv", "--out", pipe).returncode == 0
    reader.join(60)
    assert pipe.is_fifo()
    assert b"ann" in read[0]


def test_of_gradescopes_documents_only_such_are_overwritten(classroom: Classroom, export: Export) -> None:
    classroom.add("ann", FULL)
    place = classroom.root / "to" / "ann" / "results.json"
    for text, code in (("[1]", 2), ("no json", 2), ('{"tests": []}', 0), ("", 0)):
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        assert export("--to", "gradescope", "--out", "to").returncode == code, text
        assert (place.read_text() == text) == (code == 2)


def test_a_folder_without_results_ends_with_2(classroom: Classroom, export: Export) -> None:
    printed = export("--to", "csv")
    assert printed.returncode == 2
    assert "There are no results in" in printed.stderr


def test_exporting_loads_neither_torch_nor_the_grader() -> None:
    program = (
        "import sys, autograder.cli._export; "
        "heavy = ('torch', 'triton', 'numpy', 'nbgrader', 'autograder.session', 'autograder.judge'); "
        "print(*(name for name in heavy if name in sys.modules))"
    )
    printed = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert printed.stdout.strip() == ""


def test_the_writer_for_nbgrader_imports_only_nbgrader_and_the_standard_library() -> None:
    import ast

    source = (ROOT / "autograder" / "bridges" / "_nbgrader_writer.py").read_text(encoding="utf-8")
    roots = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            roots |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            roots.add((node.module or "").partition(".")[0])
    assert roots - set(sys.stdlib_module_names) == {"nbgrader"}


def test_no_module_beside_the_writer_hides_one_that_nbgrader_may_import() -> None:
    """A program's own folder comes first where Python looks for modules."""
    names = {path.stem for path in Path(ROOT / "autograder" / "bridges").glob("*.py")} - {"__init__"}
    assert names
    assert all(name.startswith("_") for name in names)
    assert not names & set(sys.stdlib_module_names)
