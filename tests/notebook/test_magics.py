"""The magics in an IPython shell: what is saved, shown, completed, and said when something is wrong."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from autograder import doctor
from autograder.catalogue import Course
from autograder.cli.grade import cli
from autograder.errors import WorkerError
from autograder.notebook._magics import Notebook
from autograder.notebook._show import run_bundle
from autograder.reports.terminal import make_console, print_run
from autograder.result import RunResult, from_document
from autograder.session import Grader, Request
from autograder.warm import Warm

from .shells import Shell, shell_without_history, student

pytest.importorskip("IPython", reason="IPython is not installed")

ROOT = Path(__file__).parents[2]
FLASH = "assignments/lesson7/flash_attention.py"
SNAPSHOTS = sorted((ROOT / "tests" / "reports" / "snapshots").glob("*.json"))


class Opening:
    """Opens the grader of all tests in place of one of their own, and counts; its worker may be made to fail."""

    def __init__(self, grader: Grader) -> None:
        self.grader = grader
        self.opened: list[str] = []
        self.closed = 0
        self.failures: list[BaseException] = []

    def __call__(self, course: Course, device: str) -> Opening:
        self.opened.append(device)
        return self

    def grade(self, request: Request) -> RunResult:
        if self.failures:
            raise self.failures.pop(0)
        return self.grader.grade(request)

    def close(self) -> None:
        self.closed += 1


@pytest.fixture(scope="module")
def grader(course: Course) -> Iterator[Grader]:
    with Grader(course, "cpu", targets="off") as grader:
        yield grader


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    with shell_without_history(tmp_path_factory.mktemp("ipython")) as shell:
        shell.ip.run_line_magic("load_ext", "autograder")
        yield shell


@pytest.fixture
def opening(grader: Grader, loaded: Shell) -> Opening:
    opening = Opening(grader)
    Notebook(loaded.ip, Warm(opening)).register()  # type: ignore[arg-type]
    return opening


@pytest.fixture
def shell(loaded: Shell, opening: Opening, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """The magics in a student's folder."""
    monkeypatch.chdir(student(tmp_path / "here"))
    monkeypatch.setenv("AUTOGRADER_DRIVE", str(tmp_path / "no drive"))
    return loaded


def solution(change: tuple[str, str] = ("", "")) -> str:
    text = (ROOT / "solutions" / "lesson7" / "flash_attention.py").read_text(encoding="utf-8")
    body = text[text.index("@triton.jit") : text.index("@triton.jit", text.index("@triton.jit") + 5)]
    assert change[0] in body
    return body.replace(*change)


WRONG = ("acc * alpha[:, None]", "acc")


def said(shell: Shell, source: str) -> str:
    """The sentence that a cell ends with: no traceback, and IPython's own kind of error."""
    ran = shell.run(source)
    assert type(ran.error).__name__ == "UsageError"
    assert "Traceback" not in ran.stdout + ran.stderr
    return ran.stderr


def test_a_cell_is_saved_graded_and_shown(shell: Shell, opening: Opening, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice in one worker; the text is what `grade --plain` prints of the saved file; the cell itself is not run."""
    ran = shell.run(f"%%exercise online_softmax_update --device cpu\nNEVER = {{}}['run']\n{solution(WRONG)}")
    assert ran.error is None
    assert ran.stdout.startswith(f"Saved to {FLASH}: line 3 of this cell is line 25 there.\nStarting the grader")
    (shown,) = ran.shown
    assert set(shown) == {"text/html", "text/plain"}
    monkeypatch.setattr("autograder.cli.grade.require_machine", lambda _: None)
    words = ["check", "online_softmax_update", "--device", "cpu", "--plain", "--no-targets"]
    assert f"{shown['text/plain']}\n" == CliRunner().invoke(cli, words).stdout
    assert "likely cause: acc keeps its old scale" in shown["text/plain"]
    assert "NEVER" in Path(FLASH).read_text()
    assert "online_softmax_update" not in shell.ip.user_ns
    ran = shell.run(f"%%exercise online_softmax_update --device cpu\n{solution()}")
    assert "Starting" not in ran.stdout
    assert "public 9 of 9" in ran.shown[0]["text/plain"]
    assert opening.opened == ["cpu"]


def test_grade_grades_what_is_saved(shell: Shell, opening: Opening, course: Course) -> None:
    text = shell.run("%grade").shown[0]["text/plain"]
    assert text.count("not-started ") == len(course.exercises)
    text = shell.run("%grade score_mask ghost_row_pin --seed 3").shown[0]["text/plain"]
    assert text.count("not-started ") == 2
    assert opening.opened == ["auto"]


def test_hints_the_list_and_the_way_back(shell: Shell) -> None:
    shown = shell.run("%hint score_mask").shown[0]
    assert shown["text/markdown"] == shown["text/plain"]
    assert shown["text/plain"].endswith("The next hint: `%hint score_mask 2`")
    assert "next hint" not in shell.run("%hint score_mask 3").shown[0]["text/plain"]
    listed = shell.run("%course").stdout
    assert "%%exercise score_mask" in listed
    assert "builds on online_softmax_update" in listed
    before = Path(FLASH).read_text()
    shell.run(f"%%exercise online_softmax_update\n{solution()}")
    assert "m_safe" in shell.run("%course show online_softmax_update").stdout
    newer = Path(FLASH).read_text()
    stdout = shell.run("%course undo online_softmax_update").stdout
    assert stdout.startswith(f"online_softmax_update in {FLASH} is as it was before its last change. What was there is")
    assert Path(FLASH).read_text() == before
    assert "%course undo online_softmax_update brings it" in shell.run("%course redo online_softmax_update").stdout
    assert Path(FLASH).read_text() == newer


def test_work_comes_back_from_drive(shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUTOGRADER_DRIVE", str(tmp_path))
    shell.run(f"%%exercise online_softmax_update\n{solution()}")
    monkeypatch.chdir(student(tmp_path / "new machine"))
    assert "%course restore brings it back" in shell.run("%reload_ext autograder").stdout
    assert shell.run("%course restore").stdout == f"Brought back from Drive: {FLASH}\n"
    assert "m_safe" in Path(FLASH).read_text()
    assert shell.run("%course restore").stdout == "All is as in Drive.\n"


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("%%exercise", "kernel_loads, score_mask, ghost_row_pin"),
        ("\n%%exercise  \n\n", "Name one exercise"),
        ("%%exercise\nx = 1", "Name one exercise"),
        (
            "%%exercise score_mask",
            "Below %%exercise score_mask write the function mask_scores; the handout is in course/",
        ),
        ("%%exercise score_msk\nx = 1", "no exercise called 'score_msk'. Did you mean score_mask?"),
        ("%%exercise score_mask\nx = 1", "defines no function mask_scores"),
        ("%%exercise score_mask\nx = (", "Line 2 of the cell is no Python"),
        ("%%exercise score_mask --device tpu\nx = 1", "invalid choice"),
        ("%%exercise 'score_mask\nx = 1", "a quotation mark is not closed"),
        ("%grade nope", "no exercise called 'nope'"),
        ("%grade --seed x", "%grade: argument --seed: invalid int"),
        ("%grade --seed -1", "a whole number from 0"),
        ("%hint", "It is %hint ID"),
        ("%hint score_mask 4", "There are three hints"),
        ("%course lost", "It is %course, %course show ID"),
        ("%course undo score_mask", "No earlier version"),
        ("%course redo score_mask", "no %course undo of score_mask to take back"),
        ("%course restore", "Google Drive is not mounted"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(shell: Shell, opening: Opening, source: str, words: str) -> None:
    before = Path(FLASH).read_text()
    assert words in said(shell, source)
    assert Path(FLASH).read_text() == before
    assert opening.opened == []


def test_a_folder_without_a_course_is_a_sentence(shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for source in ("%grade", "%course", "%%exercise score_mask\nx = 1"):
        assert "No course found at or above" in said(shell, source)
        assert "%cd FOLDER" in said(shell, source)
    assert shell.run("%reload_ext autograder").error is None
    from IPython.core.completer import provisionalcompleter

    with provisionalcompleter():
        assert "score_mask" not in {one.text for one in shell.ip.Completer.completions("%hint sc", 8)}


def test_a_folder_that_was_removed_is_a_sentence(shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    for source in ("%grade", "%course", "%hint score_mask", "%%exercise score_mask\nx = 1"):
        assert "The current folder is not there any more. Go to the course's folder with %cd" in said(shell, source)
    from IPython.core.completer import provisionalcompleter

    monkeypatch.setattr(shell.ip.Completer, "use_jedi", False)  # which needs a folder, in IPython 7
    with provisionalcompleter():
        assert "score_mask" not in {one.text for one in shell.ip.Completer.completions("%hint sc", 8)}


def test_what_is_dropped_from_a_cell_is_named(shell: Shell) -> None:
    """Magics, shell and help lines as much as statements."""
    cell = f"%%exercise online_softmax_update\n!ls\n%time 1\n?tl.load\n{solution()}\nprint('hi')\n%matplotlib inline\n"
    last = cell.count("\n")
    assert (
        f"Lines 2, 3, 4, {last - 1}, {last} of the cell are no function, constant or import" in shell.run(cell).stdout
    )
    assert "no function, constant" not in shell.run(f"%%exercise online_softmax_update\n\n{solution()}").stdout


def test_a_helper_that_another_answer_uses_is_named_before_anything_is_graded(shell: Shell) -> None:
    helper = "@triton.jit\ndef twice(x):\n    return x + x\n\n"
    shell.run(f"%%exercise online_softmax_update\n{helper}{solution(('acc * alpha', 'twice(acc) * alpha'))}")
    kernel = "@triton.jit\ndef flash_attention_kernel(q_ptr):\n    twice(1)\n"
    ran = shell.run(f"%%exercise flash_attention\n{helper.replace('x + x', 'x')}{kernel}")
    assert "`twice` is used by online_softmax_update too" in ran.stdout
    assert "%course undo flash_attention" in ran.stdout


def test_a_machine_that_cannot_grade_is_a_sentence(
    loaded: Shell, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "blocking", lambda device: "Triton is not installed.")
    Notebook(loaded.ip).register()
    assert "Triton is not installed. `grade doctor` says more." in said(shell, "%grade --device cpu")


def test_a_worker_that_was_killed_is_started_anew_once(shell: Shell, opening: Opening) -> None:
    opening.failures = [WorkerError("The worker stopped.")]
    assert shell.run("%grade score_mask").error is None
    assert opening.opened == ["auto", "auto"]
    assert opening.closed == 1
    opening.failures = [WorkerError("The worker stopped.")] * 2
    assert "The worker stopped." in said(shell, "%grade score_mask")


def test_an_interrupted_run_ends_its_worker_and_the_next_starts_one(shell: Shell, opening: Opening) -> None:
    opening.failures = [KeyboardInterrupt()]
    assert "Stopped. Your work is saved" in said(shell, "%grade score_mask")
    assert opening.closed == 1
    assert shell.run("%grade score_mask").error is None
    assert opening.opened == ["auto", "auto"]


def test_a_fault_of_the_grader_is_called_ours_and_debug_shows_where(shell: Shell, opening: Opening) -> None:
    opening.failures = [RuntimeError("inside"), RuntimeError("inside")]
    words = said(shell, "%grade score_mask")
    assert "the grader itself failed (RuntimeError: inside). This costs no points" in words
    ran = shell.run("%grade score_mask --debug")
    assert isinstance(ran.error, RuntimeError)
    assert "Traceback" in ran.stdout + ran.stderr


@pytest.mark.parametrize(
    ("text", "offered"),
    [
        ("%%exercise on", {"one_shot_attention", "online_softmax_update"}),
        ("%%exercise ", {"kernel_loads", "flash_attention"}),
        ("%hint gh", {"ghost_row_pin"}),
        ("%grade score_mask gh", {"ghost_row_pin"}),
        ("%course re", {"redo", "restore"}),
        ("%course undo gh", {"ghost_row_pin"}),
    ],
)
def test_words_complete(shell: Shell, text: str, offered: set[str]) -> None:
    """As a notebook asks, with and without a body below."""
    from IPython.core.completer import provisionalcompleter

    for below in ("", "\ndef f():\n    pass"):
        with provisionalcompleter():
            found = {one.text for one in shell.ip.Completer.completions(text + below, len(text))}
        assert offered <= found
        if not text.endswith(" "):
            assert found == offered


def test_no_exercise_is_offered_where_none_belongs(shell: Shell) -> None:
    from IPython.core.completer import provisionalcompleter

    with provisionalcompleter():
        text = "%%exercise score_mask gh"
        assert "ghost_row_pin" not in {one.text for one in shell.ip.Completer.completions(text, len(text))}


def test_the_package_is_light_until_the_extension_is_loaded() -> None:
    """In a process of its own: `import autograder` brings neither IPython nor any room."""
    code = "import sys, autograder; print(*sys.modules)"
    printed = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = printed.stdout.split()
    assert "autograder" in loaded
    assert [name for name in loaded if name.startswith(("autograder.", "IPython", "torch"))] == []


@pytest.mark.parametrize("path", SNAPSHOTS, ids=lambda path: path.stem)
def test_a_run_is_shown_as_the_terminals_text_and_as_html_of_its_own(path: Path) -> None:
    result = from_document(json.loads(path.read_text(encoding="utf-8")))
    bundle = run_bundle(result)
    stream = io.StringIO()
    print_run(make_console(stream, plain=True), result, plain=True, folder="assignments")
    assert bundle["text/plain"] == stream.getvalue().rstrip("\n")
    html = bundle["text/html"]
    assert "<script" not in html
    assert "http" not in html
    assert " id=" not in html  # several reports share a page
    assert " src=" not in html
    drawn = sum(bool((check.where or {}).get("picture")) for item in result.exercises for check in item.checks)
    assert html.count("<svg") == drawn
    for check in (check for item in result.exercises for check in item.checks):
        assert f"<code>{check.id}</code>" in html
    assert html.count("<div") == html.count("</div>")


def test_public_points_are_those_of_the_cell_as_it_was_last_run(
    loaded: Shell, shell: Shell, opening: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What an nbgrader grade cell calls."""
    notebook = Notebook(loaded.ip, Warm(opening))  # type: ignore[arg-type]
    notebook.register()
    monkeypatch.setattr(loaded.ip, "autograder_notebook", notebook, raising=False)
    ask = "from autograder.notebook import public_points\nearned = public_points('online_softmax_update')"
    assert "Nothing was graded" in shell.run(ask).stdout
    shell.run(f"%%exercise online_softmax_update\n{solution()}")
    ran = shell.run(ask)
    assert (
        "online_softmax_update: pass: public 9 of 9; hidden checks run when the course grades.\nOnly public"
        in ran.stdout
    )
    assert loaded.ip.user_ns["earned"] == 2
    shell.run(f"%%exercise online_softmax_update\n{solution(WRONG)}")
    shell.run(ask)
    assert 0 < loaded.ip.user_ns["earned"] < 2
    # An answer that is no Python was not graded, whatever was right before.
    shell.run("%%exercise online_softmax_update\ndef online(:")
    assert "Nothing was graded" in shell.run(ask).stdout
    assert loaded.ip.user_ns["earned"] == 0
