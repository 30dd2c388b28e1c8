"""pytest in a student's folder: the same verdicts and words as `grade`, one grading run an exercise, and no import."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from click.testing import CliRunner

from autograder import doctor, pytest_plugin
from autograder.catalogue import Course
from autograder.cli.grade import cli
from autograder.pytest_plugin import _runs
from autograder.result import RunResult
from autograder.session import Grader, Request

pytest_plugins = "pytester"

ROOT = Path(__file__).parents[2]
FLASH = "assignments/lesson7/flash_attention.py"
ONE_SHOT = "assignments/lesson7/one_shot_attention.py"
LESSON = "assignments/lesson7"
# Where the package is installed, pytest loads the plugin by itself, and would not take it twice.
INSTALLED = any(point.value == "autograder.pytest_plugin" for point in entry_points(group="pytest11"))
PLUGIN = (*(() if INSTALLED else ("-p", "autograder.pytest_plugin")), "--grade-device", "cpu")


class Counting:
    """The grader of all tests, which stays warm; counts the runs and the sessions that asked for one."""

    def __init__(self, grader: Grader) -> None:
        self.grader = grader
        self.runs: list[str] = []
        self.opened = 0

    def grade(self, request: Request) -> RunResult:
        self.runs += [exercise.id for exercise in request.exercises]
        return self.grader.grade(request)

    def close(self) -> None:
        """It belongs to all tests."""


@pytest.fixture(scope="module")
def without_targets(course: Course) -> Iterator[Grader]:
    with Grader(course, "cpu", targets="off") as grader:
        grader.pool.wait_ready()
        import autograder.judge.inquiry  # noqa: F401 - pytester forgets what is first imported in a run of its own

        yield grader


@pytest.fixture
def warm(without_targets: Grader, monkeypatch: pytest.MonkeyPatch) -> Counting:
    """In place of a worker a test."""
    counting = Counting(without_targets)

    def opened(course: Course, device: str) -> Counting:
        assert device == "cpu"
        counting.opened += 1
        return counting

    monkeypatch.setattr(_runs, "open_grader", opened)
    return counting


@pytest.fixture
def student(pytester: pytest.Pytester) -> Path:
    """A student's folder with the stubs in place, as a bundle makes it."""
    root = pytester.path
    shutil.copytree(ROOT / "course", root / "course", ignore=shutil.ignore_patterns("__pycache__", "notebooks"))
    shutil.copytree(ROOT / "assignments", root / "course" / "pristine")
    shutil.copytree(ROOT / "assignments", root / "assignments")
    (root / "pytest.ini").write_text("[pytest]\ntestpaths = assignments\n")
    return root


def solve(student: Path, file: str, change: tuple[str, str] | None = None) -> None:
    text = (ROOT / "solutions" / "lesson7" / Path(file).name).read_text(encoding="utf-8")
    if change is not None:
        assert change[0] in text
        text = text.replace(*change)
    (student / file).write_text(text, encoding="utf-8")


WRONG = ("acc = acc * alpha[:, None]", "acc = acc * 1.0")
Run = Callable[..., pytest.RunResult]
Items = Callable[..., int]


@pytest.fixture(scope="module")
def items(course: Course) -> Items:
    """How many items exercises have, or the whole lesson: their checks, and one on GPU targets each."""
    lesson = [exercise for exercise in course.exercises if exercise.lesson == 7]
    return lambda *ids: sum(len(exercise.checks) + 1 for exercise in lesson if not ids or exercise.id in ids)


@pytest.fixture
def run(pytester: pytest.Pytester, student: Path) -> Run:
    return lambda *arguments: pytester.runpytest_inprocess(*PLUGIN, *arguments)


def test_checks_are_items_with_the_verdicts_and_words_of_grade(
    warm: Counting, student: Path, run: Run, items: Items, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wrong piece fails with its story; what comes after is skipped with the reason; each exercise is graded once."""
    solve(student, FLASH, WRONG)
    result = run("-rs", FLASH)
    update, kernel = items("online_softmax_update"), items("flash_attention")
    result.assert_outcomes(passed=1, failed=1, skipped=update - 2 + kernel)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert warm.runs == ["online_softmax_update", "flash_attention"]
    assert warm.opened == 1
    printed = result.stdout.str()
    assert "Traceback" not in printed
    assert "pytest_plugin.py" not in printed
    result.stdout.fnmatch_lines(
        [
            "*online_softmax_update: rising_maximum*",
            "      acc / l is off by up to *",
            "  likely cause: acc keeps its old scale*",
            f"SKIPPED [[]{update - 3}] {FLASH}:*: Not run, since an earlier check failed.",
            f"SKIPPED [[]{kernel}] {FLASH}:*: Calls online_softmax_update, which has to pass first.",
        ]
    )
    monkeypatch.setattr("autograder.cli.grade.require_machine", lambda _: None)
    words = ["check", "online_softmax_update", "flash_attention", "--device", "cpu", "--plain", "--no-targets"]
    same = CliRunner().invoke(cli, [*words, "--root", str(student)]).stdout
    assert same.count("\n") > 10
    assert same.strip() in printed


def test_a_selected_check_runs_alone_and_passes(warm: Counting, student: Path, run: Run) -> None:
    solve(student, FLASH)
    result = run(f"{FLASH}::flash_attention::ragged")
    result.assert_outcomes(passed=1)
    assert result.ret == pytest.ExitCode.OK
    assert warm.runs == ["flash_attention"]


def test_k_and_x_work_as_always(warm: Counting, student: Path, run: Run, items: Items) -> None:
    solve(student, FLASH, WRONG)
    run(LESSON, "-k", "online_softmax_update and one_chunk").assert_outcomes(passed=1, deselected=items() - 1)
    stopped = run(FLASH, "-x")
    stopped.assert_outcomes(passed=1, failed=1)
    assert warm.runs == ["online_softmax_update"] * 2


def test_what_is_not_started_is_skipped_and_no_success(warm: Counting, student: Path, run: Run, items: Items) -> None:
    result = run(LESSON, "-rs")
    result.assert_outcomes(skipped=items())
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        [
            f"{items()} checks skipped for now*",
            f"SKIPPED [[]{items('score_mask')}] {ONE_SHOT}:*Not started: the stub is *",
        ]
    )


def test_one_exercise_passed_and_another_not_started_is_no_success_either(
    warm: Counting, student: Path, run: Run, items: Items
) -> None:
    solve(student, FLASH)
    result = run(LESSON, "-k", "online_softmax_update or score_mask")
    # The target check is off in this grader, and skipped as what cannot be made here.
    update, mask = items("online_softmax_update"), items("score_mask")
    result.assert_outcomes(passed=update - 1, skipped=1 + mask, deselected=items() - update - mask)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert run(LESSON, "-k", "online_softmax_update").ret == pytest.ExitCode.OK


def test_a_refused_exercise_fails_with_the_line(warm: Counting, student: Path, run: Run, items: Items) -> None:
    solve(student, ONE_SHOT, ("tl.where(", "tl.atomic_add("))
    result = run(ONE_SHOT, "-k", "score_mask")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    others = items("kernel_loads", "ghost_row_pin", "one_shot_attention")
    result.assert_outcomes(failed=items("score_mask"), deselected=others)
    result.stdout.fnmatch_lines(["  Line *: *atomic_add*"])


def test_editors_see_a_level_for_each_exercise_and_failures_as_failures(
    warm: Counting, student: Path, run: Run, items: Items
) -> None:
    """VS Code's plugin nests by `pytest.Class` alone, and shows every exception but AssertionError as a broken test."""
    (student / "conftest.py").write_text(
        "import pytest\n"
        "def pytest_collection_finish(session):\n"
        "    for item in session.items:\n"
        "        assert isinstance(item.parent, pytest.Class) and isinstance(item.parent.parent, pytest.File)\n"
        "        assert not hasattr(item.parent, 'obj')\n"
        "def pytest_exception_interact(node, call):\n"
        "    print(f'{node.name} is of type {call.excinfo.typename}')\n"
    )
    solve(student, FLASH, WRONG)
    result = run(FLASH, "-s", "-k", "online_softmax_update")
    update, kernel = items("online_softmax_update"), items("flash_attention")
    result.assert_outcomes(passed=1, failed=1, skipped=update - 2, deselected=kernel)
    result.stdout.fnmatch_lines(["*rising_maximum is of type AssertionError"])


def test_a_stub_file_is_never_imported_whatever_its_name(warm: Counting, student: Path, run: Run, items: Items) -> None:
    """Named like a test, and named on the command line, with doctests asked for."""
    toml = student / "course" / "exercises" / "lesson7" / "score_mask" / "exercise.toml"
    toml.write_text(toml.read_text().replace('file = "one_shot_attention.py"', 'file = "test_mask.py"'))
    for folder in ("assignments", "course/pristine"):
        shutil.copy(student / ONE_SHOT, student / folder / "lesson7" / "test_mask.py")
    stub = student / "assignments" / "lesson7" / "test_mask.py"
    stub.write_text(f"raise SystemExit('it was run')\n{stub.read_text()}\n\ndef test_mine():\n    assert False\n")
    mask = items("score_mask")
    for place, others in ((LESSON, items() - mask), (f"{LESSON}/test_mask.py", 0)):
        result = run("--doctest-modules", "-k", "score_mask or mine", place)
        result.assert_outcomes(skipped=mask, deselected=others)
        assert "it was run" not in result.stdout.str()


def test_other_files_are_left_to_pytest(student: Path, run: Run) -> None:
    """A student's own test beside the stubs; a file of a stub's name elsewhere; a tree without a course."""
    (student / "assignments" / "lesson7" / "test_own.py").write_text("def test_own():\n    pass\n")
    for folder in ("mine/assignments/lesson7", "tests"):
        (student / folder).mkdir(parents=True)
        (student / folder / "flash_attention.py").write_text("def test_here():\n    pass\n")
    result = run(
        "assignments/lesson7/test_own.py",
        "mine/assignments/lesson7/flash_attention.py",
        "tests/flash_attention.py",
        "--import-mode=importlib",
    )
    result.assert_outcomes(passed=3)
    assert result.ret == pytest.ExitCode.OK
    assert "grade" not in result.stdout.str().replace("--grade", "").replace("autograder", "")


def test_listing_needs_neither_torch_nor_a_worker(student: Path, items: Items) -> None:
    """In a process of its own, by the name that the installed plugin has; node ids are stable."""
    (student / "conftest.py").write_text(
        "import sys\n"
        "def pytest_sessionfinish():\n"
        "    loaded = {'torch', 'triton', 'numpy', 'autograder.session', 'autograder.pool'} & set(sys.modules)\n"
        "    print(f'loaded: {sorted(loaded)}')\n"
    )
    shutil.rmtree(student / "assignments")  # as in a bundle that is new: the stubs are put there first
    command = [sys.executable, "-m", "pytest", *PLUGIN, "--collect-only", "-q", "-s"]
    environment = {"PYTHONPATH": str(ROOT), "PATH": ""}
    printed = subprocess.run(command, cwd=student, capture_output=True, text=True, env=environment, check=False)
    assert printed.returncode == 0, printed.stdout + printed.stderr
    rows = printed.stdout.splitlines()
    assert f"{FLASH}::flash_attention::ragged" in rows
    assert f"{ONE_SHOT}::score_mask::gpu_targets" in rows
    assert sum(row.startswith(f"{LESSON}/") for row in rows) == items()
    assert "loaded: []" in printed.stdout


def test_a_machine_that_cannot_grade_is_one_sentence_a_check(
    student: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "blocking", lambda device: "Triton is not installed.")
    result = run(f"{FLASH}::online_softmax_update::one_chunk")
    result.assert_outcomes(failed=1)
    assert "Traceback" not in result.stdout.str()
    result.stdout.fnmatch_lines(["Triton is not installed. `grade doctor` says more."])


def test_a_seed_that_is_none_is_one_sentence(run: Run) -> None:
    result = run("--grade-seed", "-1")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "--grade-seed is a whole number from 0 to" in result.stderr.str()


def test_a_broken_course_is_one_sentence(student: Path, run: Run) -> None:
    (student / "course" / "course.toml").write_text("title = 3\n")
    result = run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "course.toml" in result.stderr.str()
    assert "Traceback" not in result.stderr.str()


def test_the_plugin_is_installed_by_name_for_pytest() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["entry-points"]["pytest11"] == {"autograder": pytest_plugin.__name__}


@pytest.mark.parametrize("there", ["nothing", "a folder"])
def test_a_stub_file_that_is_gone_is_skipped_and_no_success(
    warm: Counting, student: Path, run: Run, items: Items, monkeypatch: pytest.MonkeyPatch, there: str
) -> None:
    """All else passes; in a bundle the stub would be put back, which is left out here."""
    monkeypatch.setattr("autograder.release.stubs.create_missing_stubs", lambda course: ())
    solve(student, ONE_SHOT)
    (student / FLASH).unlink()
    if there == "a folder":
        (student / FLASH).mkdir()
    gone = items("online_softmax_update", "flash_attention")
    result = run("-rs", LESSON, "-k", "kernel_loads or online_softmax_update or flash_attention and not one_shot")
    outcomes = result.parseoutcomes()
    assert outcomes["skipped"] >= gone
    assert "failed" not in outcomes
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines([f"SKIPPED [[]*] {FLASH}:1: There is no flash_attention.py*"])
    assert f"{FLASH}::flash_attention::ragged" in run("--collect-only", "-q", "assignments").stdout.str()
    assert f"{FLASH}::" not in run("--collect-only", "-q", ONE_SHOT).stdout.str()
    assert f"{FLASH}::" not in run("--collect-only", "-q", "assignments/lesson1").stdout.str()
