"""``grade trace``: its exit codes, its table within 80 columns, its document, and sentences where there is no trace."""

from __future__ import annotations

import io
import json
import shutil
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console

from autograder.catalogue import load_course
from autograder.cli.grade import cli
from autograder.errors import AutograderError
from autograder.release import bundle
from autograder.release.stubs import create_missing_stubs
from autograder.reports.trace import print_trace
from autograder.traced import Traced
from tests.conftest import Run
from tests.release.making import WHEEL, make_course, make_notebook, make_wheel

from .conftest import ROOT, STUB, Trace, mistake


def hand_in(folder: Path, more: str = "", **replace: str) -> Path:
    text = (ROOT / "solutions" / STUB).read_text(encoding="utf-8")
    for old, new in replace.values():
        assert old in text
        text = text.replace(old, new)
    path = folder / "work" / STUB
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{text}\n{more}", encoding="utf-8")
    return path


def test_a_difference_ends_with_1_and_is_shown_within_80_columns(grade: Run, tmp_path: Path) -> None:
    path = hand_in(tmp_path, mistake("flash_attention", "acc_not_rescaled"))
    printed = grade("trace", "flash_attention", "--dir", "work", "--plain", "--root", ROOT)
    assert printed.returncode == 1, printed.stderr
    assert printed.stdout.isascii()
    assert max(map(len, printed.stdout.split("\n"))) <= 80
    rows = [row.split() for row in printed.stdout.split("\n")]
    words = [row[-1] for row in rows if len(row) == 9 and row[0].isdecimal()]
    assert words == ["same", "differs", "differs"]
    assert "First difference after chunk 1 (keys 32-63): acc is " in printed.stdout
    line = next(
        number for number, row in enumerate(path.read_text().split("\n"), 1) if row.strip().startswith("acc = acc + ")
    )
    assert f"acc was last assigned in line {line}: acc = acc + tl.dot(p, v," in printed.stdout


@pytest.mark.parametrize(
    ("name", "part"), [("acc_not_rescaled", "|acc|"), ("l_not_rescaled", "l"), ("scale_forgotten", "m")]
)
def test_the_mark_stands_at_the_part_that_differs(traced: Trace, name: str, part: str) -> None:
    found = traced(more=mistake("flash_attention", name))
    wide = printed_trace(found, 80)
    head = next(line for line in wide if line.startswith("chunk "))
    mark = next(line for line in wide if "^ first difference" in line)
    assert head[mark.index("^")] == part[-1]
    assert head[: mark.index("^") + 1].split()[-1] == part
    assert max(map(len, wide)) <= 80
    narrow = printed_trace(found, 60)
    assert next(line.split()[0] for line in narrow if line.endswith(" < first difference")) == part
    assert max(map(len, narrow)) <= 60
    assert not any(line.endswith(" ") for line in (*wide, *narrow))


def test_what_is_shown_is_explained_once(traced: Trace) -> None:
    lines = printed_trace(traced(), 80)
    for name in ("spread", "rising", "m", "l", "|acc|"):
        assert sum(line.startswith(f"  {name}: ") for line in lines) == 1
    assert not any(line.startswith("  shift: ") for line in lines)  # it is 0


def printed_trace(found: Traced, width: int) -> list[str]:
    stream = io.StringIO()
    print_trace(Console(file=stream, width=width, highlight=False, emoji=False), found, "grade check flash_attention")
    return stream.getvalue().split("\n")


def test_a_right_kernel_ends_with_0_and_its_document_is_whole(grade: Run, tmp_path: Path) -> None:
    out = tmp_path / "trace.json"
    options = ("--dir", ROOT / "solutions", "--root", ROOT, "--json")
    printed = grade("trace", "online_softmax_update", *options, "-")
    assert printed.returncode == 0, printed.stderr
    document = json.loads(printed.stdout)
    assert document["schema"] == 1
    assert document["outcome"] == "same"
    assert [case["id"] for case in document["cases"]] == ["rising_chunks", "falling_chunks", "chunks_out_of_sight"]
    step = document["cases"][2]["steps"][0]
    assert step["keys"] == [0, 31]
    assert step["got"] == step["expected"] == {"m": "-inf", "l": 0.0, "|acc|": 0.0}
    assert document["cases"][0]["difference"] is None
    printed = grade("trace", "online_softmax_update", *options, out)
    assert json.loads(out.read_text()) == document
    assert "Every state is as expected, and so is the output." in printed.stdout


def test_the_difference_is_in_the_document(grade: Run, tmp_path: Path) -> None:
    hand_in(tmp_path, mistake("online_softmax_update", "l_not_rescaled"))
    printed = grade("trace", "flash_attention", "--dir", "work", "--root", ROOT, "--json", "-", "--row", "2")
    assert printed.returncode == 1
    difference = json.loads(printed.stdout)["cases"][0]["difference"]
    assert (difference["step"], difference["name"], difference["variable"]) == (1, "l", "l_i")
    assert difference["index"] == [2]
    assert difference["function"] == "flash_attention_kernel"
    assert difference["helper"]["function"] == "online_softmax_update"
    assert difference["helper"]["source"] == "l_i = l_i + tl.sum(p, 1)"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("score_mask",), "nothing to trace. Those that have one: online_softmax_update, flash_attention"),
        (("flash",), "There is no exercise called 'flash'"),
        (
            ("flash_attention", "--case", "x"),
            "no case 'x'. It has: ragged_chunks, causal_chunks, one_chunk",
        ),
        (("flash_attention", "--case", "long_sequence_gpu"), "long_sequence_gpu does not run on cpu. The cases of "),
        (("flash_attention", "--case", "gpu_targets"), "gpu_targets compiles the kernels and has no case to run."),
        (("flash_attention", "--row", "20"), "There is no row 20 on this case."),
        (("flash_attention", "--row", "3", "--program", "1"), "There is no row 3 in program 1."),
        (("flash_attention", "--program", "2"), "There is no program 2 on this case: there are programs 0 to 1."),
        (("flash_attention", "--dir", "missing"), "missing"),
    ],
)
def test_what_cannot_be_traced_ends_with_2_and_a_sentence(options: tuple[str, ...], words: str) -> None:
    folder = () if "--dir" in options else ("--dir", str(ROOT / "solutions"))
    command = ["trace", *options, *folder, "--root", str(ROOT)]
    done = CliRunner().invoke(cli, command, standalone_mode=False)
    assert isinstance(done.exception, AutograderError)
    assert done.exception.exit_code == 2
    assert "\n" not in str(done.exception)
    assert words in str(done.exception)
    assert done.stdout == ""


def test_an_error_goes_to_stderr_alone(grade: Run) -> None:
    printed = grade("trace", "score_mask", "--dir", ROOT / "solutions", "--root", ROOT)
    assert (printed.returncode, printed.stdout) == (2, "")
    assert printed.stderr.startswith("Error: ")
    assert printed.stderr.count("\n") == 1


KERNEL = "    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)\n"


TAIL = "    tl.store(lse_ptr + offs_m, lse, mask=offs_m < seqlen_q)"
STOPPED = {
    "refused": (KERNEL, KERNEL + "    import os\n", "refused", "Line 77: "),
    "odd tile": (KERNEL, KERNEL + "    x = tl.arange(0, 3)\n", "compile-error", "Line 77: tl.arange must span a power"),
    "stray store": (TAIL, TAIL.partition(", mask")[0] + ")", "fail", ": The kernel stores outside lse"),
    "cut off": ("in range(0, seqlen_k, BLOCK_N)", "in range(0, seqlen_k, BLOCK_N", "compile-error", "Line "),
}


@pytest.mark.parametrize("stopped", STOPPED)
def test_a_kernel_that_does_not_run_gets_its_sentence(traced: Trace, stopped: str) -> None:
    old, new, outcome, words = STOPPED[stopped]
    found = traced(replace={old: new})
    assert found.outcome == outcome
    assert words in (found.cases[-1].message if found.cases else found.message)


PIECE = "    m_new = tl.maximum(m_i, tl.max(s, 1))  # (BLOCK_M,)\n"


def test_a_piece_that_cannot_be_used_is_named(traced: Trace) -> None:
    refused = traced(replace={PIECE: PIECE + "    import os\n"})
    assert refused.outcome == "refused"
    assert refused.message.startswith("Calls online_softmax_update, and that is refused: Line ")
    stub = (ROOT / "assignments" / STUB).read_text(encoding="utf-8")
    body = "    return m_i, l_i, acc\n"
    piece = stub[stub.index("def online_softmax_update") : stub.index(body) + len(body)]
    untouched = traced(more=f"@triton.jit\n{piece}")
    assert untouched.outcome == "not-started"
    assert untouched.message == "Calls online_softmax_update, and that is not started."


def test_the_sentence_is_that_of_check(grade: Run, tmp_path: Path) -> None:
    hand_in(tmp_path, change=(KERNEL, KERNEL + "    x = tl.arange(0, 3)\n"))
    options = ("flash_attention", "--dir", "work", "--root", ROOT)
    printed = grade("trace", *options)
    assert printed.returncode == 1, printed.stderr
    checked = json.loads(grade("check", *options, "--device", "cpu", "--no-targets", "--json", "-").stdout)
    message = checked["exercises"][0]["checks"][0]["message"]
    assert " ".join(f"compile-error: {message}".split()) in " ".join(printed.stdout.split())


def test_what_is_not_started_is_said_to_be(grade: Run) -> None:
    printed = grade("trace", "flash_attention", "--dir", ROOT / "assignments", "--root", ROOT)
    assert printed.returncode == 1
    assert "Not started: the stub is as it was handed out." in printed.stdout
    assert "grade hint flash_attention" in printed.stdout


def test_lines_of_a_notebook_are_told_by_cell(grade: Run, tmp_path: Path) -> None:
    source = (ROOT / "solutions" / STUB).read_text() + mistake("flash_attention", "acc_not_rescaled")
    (tmp_path / "work.ipynb").write_bytes(make_notebook(source))
    printed = grade("trace", "flash_attention", "--dir", "work.ipynb", "--root", ROOT)
    assert printed.returncode == 1, printed.stderr
    assert "acc was last assigned in cell 1, line 1" in printed.stdout


@pytest.mark.exhaustive
def test_it_works_in_a_students_bundle(grade: Run, tmp_path: Path) -> None:
    """Where there are no solutions, and models of mistakes are packed."""
    wheel = tmp_path / WHEEL
    wheel.write_bytes(make_wheel(sources="autograder/__init__.py"))
    made = bundle.make_bundle(make_course(tmp_path / "instructor"), wheel)
    student = tmp_path / "student"
    with zipfile.ZipFile(io.BytesIO(made.data)) as archive:
        archive.extractall(student)
    create_missing_stubs(load_course(student))
    shutil.copy(ROOT / "solutions" / STUB, student / "assignments" / STUB)
    with (student / "assignments" / STUB).open("a") as stream:
        stream.write(mistake("flash_attention", "acc_not_rescaled"))
    printed = grade("trace", "flash_attention", cwd=student)
    assert printed.returncode == 1, printed.stderr
    assert "First difference after chunk 1 (keys 32-63): acc is " in printed.stdout
