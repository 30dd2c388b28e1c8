"""Grading a class: only what is missing or changed, whatever stopped it, and nobody pays for another."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from autograder.bulk import grading
from autograder.bulk.desk import Desk
from autograder.bulk.store import Store
from autograder.catalogue import Course, load_course
from autograder.errors import CourseError, UsageError
from autograder.result import RunResult
from autograder.session import Grader, Request

from .conftest import Run

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.exhaustive


def result(tmp_path: Path, student: str) -> RunResult:
    found = Store(tmp_path / "out").read(student)
    assert found is not None
    return found


def outcomes(run: RunResult) -> list[str]:
    return [exercise.outcome for exercise in run.exercises]


def test_a_second_run_grades_only_what_changed(
    own_course: Course, hand_ins: Path, grade_class: Run, tmp_path: Path
) -> None:
    summary, graded = grade_class(own_course)
    assert graded == ["anna", "ben", "cleo"]
    assert (summary.graded, summary.kept, summary.faults) == (3, 0, {})
    assert outcomes(result(tmp_path, "anna")) == ["pass"] * 6
    assert outcomes(result(tmp_path, "ben")) == ["not-started"] * 6
    assert outcomes(result(tmp_path, "cleo")) == ["pass"] * 4 + ["not-started"] * 2

    written = {path: path.stat().st_mtime_ns for path in (tmp_path / "out" / "results").iterdir()}
    assert grade_class(own_course)[1] == []
    assert written == {path: path.stat().st_mtime_ns for path in (tmp_path / "out" / "results").iterdir()}

    shutil.copy(ROOT / "solutions" / "lesson7" / "flash_attention.py", hand_ins / "cleo")
    assert grade_class(own_course)[1] == ["cleo"]
    assert outcomes(result(tmp_path, "cleo")) == ["pass"] * 6

    (tmp_path / "out" / "results" / "anna.json").write_text("{")
    assert grade_class(own_course)[1] == ["anna"]
    assert grade_class(own_course, seed=8)[1] == ["anna", "ben", "cleo"]


def test_a_changed_exercise_is_graded_again_and_no_other(
    own_course: Course, hand_ins: Path, grade_class: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grade_class(own_course)
    toml = own_course.exercise("flash_attention").folder / "exercise.toml"
    toml.write_text(toml.read_text().replace("points = 3", "points = 4"))
    asked: list[list[str]] = []
    grade = Grader.grade

    def spy(self: Grader, request: object, *rest: object) -> RunResult:
        if request.student is not None:  # type: ignore[attr-defined]
            asked.append([exercise.id for exercise in request.exercises])  # type: ignore[attr-defined]
        return grade(self, request, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(Grader, "grade", spy)
    assert grade_class(load_course(own_course.root))[1] == ["anna", "ben", "cleo"]
    # Part B's file, as its pieces and its kernel are graded with each other's references.
    assert asked == [["online_softmax_update", "flash_attention"]] * 3
    again = result(tmp_path, "anna")
    assert (again.score, again.points) == (11.0, 11.0)
    assert outcomes(again) == ["pass"] * 6


def test_hidden_cases_count_and_a_change_of_theirs_is_graded_again(
    own_course: Course, grade_class: Run, tmp_path: Path
) -> None:
    grade_class(own_course)
    hidden = [check for exercise in result(tmp_path, "anna").exercises for check in exercise.checks if check.hidden]
    assert {check.outcome for check in hidden} == {"pass"}
    assert len({check.seed for check in hidden}) == len(hidden) > 0
    path = own_course.root / "solutions" / "hidden.toml"
    path.write_text(path.read_text().replace("nseq = 77", "nseq = 78"))
    assert grade_class(own_course)[1] == ["anna", "ben", "cleo"]


def test_another_secret_is_other_hidden_inputs_and_the_same_public_ones(
    own_course: Course, grade_class: Run, tmp_path: Path
) -> None:
    def seeds() -> tuple[list[int | None], list[int | None]]:
        checks = [check for exercise in result(tmp_path, "anna").exercises for check in exercise.checks]
        return [c.seed for c in checks if not c.hidden], [c.seed for c in checks if c.hidden]

    grade_class(own_course)
    public, hidden = seeds()
    secret = own_course.root / "solutions" / ".secret"
    assert secret.stat().st_mode & 0o077 == 0
    secret.unlink()
    assert grade_class(own_course)[1] == ["anna", "ben", "cleo"]
    assert seeds()[0] == public
    assert not set(seeds()[1]) & set(hidden)
    secret.write_text("not hexadecimal\n")
    with pytest.raises(CourseError, match="32 hexadecimal digits"):
        grade_class(own_course)


def test_a_part_of_the_exercises_can_be_graded_first_and_the_rest_later(
    own_course: Course, grade_class: Run, tmp_path: Path
) -> None:
    grade_class(own_course, exercises=("score_mask",))
    assert [exercise.id for exercise in result(tmp_path, "anna").exercises] == ["score_mask"]
    grade_class(own_course)
    grade_class(own_course, exercises=("score_mask",))
    assert outcomes(result(tmp_path, "anna")) == ["pass"] * 6


def test_a_dead_worker_is_replaced_and_nobody_loses(
    own_course: Course, grade_class: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed: list[int] = []
    ready = Grader.grade
    one_at_a_time = threading.Lock()

    def grade(self: Grader, *rest: object) -> RunResult:
        with one_at_a_time:
            if not killed:
                self._pool.wait_ready()
                killed.append(self._pool._process.pid)
                os.kill(killed[0], signal.SIGKILL)
                self._pool._process.wait()
        return ready(self, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(Grader, "grade", grade)
    summary, _ = grade_class(own_course)
    assert killed
    assert summary.faults == {}
    assert outcomes(result(tmp_path, "anna")) == ["pass"] * 6


def test_a_fault_of_the_grader_costs_nobody_points_and_is_graded_again(
    own_course: Course, grade_class: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that comes up when the solutions have passed."""
    monkeypatch.setattr(Desk, "require_passing_solutions", lambda *_: None)
    launch = own_course.exercise("score_mask").launch
    text = launch.read_text()
    launch.write_text("raise OSError('no such disk')\n")
    summary, _ = grade_class(own_course)
    assert sorted(summary.faults) == ["anna", "cleo"]
    assert outcomes(result(tmp_path, "anna"))[1] == "grader-error"
    launch.write_text(text)
    summary, graded = grade_class(own_course)
    assert {"anna", "cleo"} <= set(graded)
    assert summary.faults == {}
    assert outcomes(result(tmp_path, "anna")) == ["pass"] * 6


def test_a_file_system_without_locks_is_not_taken_for_another_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(UsageError, match=r"keeps no locks \(function not implemented\)"), Store(tmp_path).locked():
        pass


def test_two_runs_in_one_folder_do_not_meet(own_course: Course, grade_class: Run, tmp_path: Path) -> None:
    with Store(tmp_path / "out").locked(), pytest.raises(UsageError, match="Another `course grade` is at work"):
        grade_class(own_course)
    assert grade_class(own_course)[1] == ["anna", "ben", "cleo"]


def test_the_same_kernel_is_run_once_for_the_whole_class_and_in_the_next_run(
    own_course: Course, hand_ins: Path, grade_class: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[str] = []
    judged = Grader._judged

    def spy(self: Grader, plan: object, *rest: object) -> object:
        ran.append(plan.exercise.id)  # type: ignore[attr-defined]
        return judged(self, plan, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(Grader, "_judged", spy)
    grade_class(own_course)
    assert sorted(ran) == sorted(exercise.id for exercise in own_course.exercises)
    shutil.copytree(hand_ins / "anna", hand_ins / "dora")
    (hand_ins / "dora" / "one_shot_attention.py").write_text(
        "# Dora's\n\n" + (hand_ins / "anna" / "one_shot_attention.py").read_text()
    )
    assert grade_class(own_course)[1] == ["dora"]
    assert len(ran) == 6


def test_an_interrupt_keeps_what_is_done_and_writes_nothing_half_graded(
    own_course: Course, grade_class: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = grading._count

    def stop(*arguments: object) -> None:
        real(*arguments)  # type: ignore[arg-type]
        raise KeyboardInterrupt

    monkeypatch.setattr(grading, "_count", stop)
    with pytest.raises(KeyboardInterrupt):
        grade_class(own_course)
    monkeypatch.undo()
    before = {student: result(tmp_path, student) for student in Store(tmp_path / "out").students()}
    assert before
    _, graded = grade_class(own_course)
    assert not set(graded) & set(before)
    assert outcomes(result(tmp_path, "anna")) == ["pass"] * 6


def test_a_run_that_is_killed_goes_on_where_it_was_and_leaves_no_process(
    own_course: Course, hand_ins: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    command = [sys.executable, "-m", "autograder.cli.course", "--root", str(own_course.root), "grade", str(hand_ins)]
    command += ["--out", str(out), "--no-targets", "--device", "cpu", "--workers", "1"]
    first = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not (out / "results").is_dir() and first.poll() is None:
        time.sleep(0.01)
    workers = _children(first.pid)
    first.kill()
    first.wait()
    assert workers
    end = time.monotonic() + 30
    while any(Path(f"/proc/{pid}").exists() for pid in workers) and time.monotonic() < end:
        time.sleep(0.05)
    assert not [pid for pid in workers if Path(f"/proc/{pid}").exists()]
    for path in (out / "results").glob("*.json"):
        json.loads(path.read_text())
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert outcomes(result(tmp_path, "anna")) == ["pass"] * 6
    assert len((out / "grades.csv").read_text().splitlines()) == 4


def _children(pid: int) -> list[int]:
    return [int(child) for path in Path(f"/proc/{pid}/task").glob("*/children") for child in path.read_text().split()]


def test_what_was_not_foreseen_in_one_hand_in_stops_nobody_else(
    own_course: Course, grade_class: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grade = Grader.grade

    def stumble(self: Grader, request: Request, *rest: object) -> RunResult:
        if request.student == "anna":
            raise ArithmeticError("a number of 4300 digits")
        return grade(self, request, *rest)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(Grader, "grade", stumble)
        summary, graded = grade_class(own_course)
    assert graded == ["anna", "ben", "cleo"]
    assert list(summary.faults) == ["anna"]
    assert "ArithmeticError: a number of 4300 digits" in summary.faults["anna"]
    assert outcomes(result(tmp_path, "anna")) == ["grader-error"] * 6
    assert grade_class(own_course)[1] == ["anna"]
    assert outcomes(result(tmp_path, "anna")) == ["pass"] * 6


def test_a_temporary_folder_that_fills_up_costs_nobody_points_and_is_named(
    own_course: Course, grade_class: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grade = Grader.grade

    def full(self: Grader, request: Request, *rest: object) -> RunResult:
        if request.student == "anna":
            raise OSError(28, "No space left on device")
        return grade(self, request, *rest)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(Grader, "grade", full)
        summary, _ = grade_class(own_course, ("score_mask",))
    assert list(summary.faults) == ["anna"]
    assert summary.faults["anna"].startswith("No room is left on ")
    assert summary.faults["anna"].endswith("with TMPDIR. Then run the same command again.")
    assert grade_class(own_course, ("score_mask",))[1] == ["anna"]


@pytest.mark.parametrize("times", [1, 9])
def test_a_hand_in_that_changes_while_it_is_graded_has_no_result_of_something_else(
    own_course: Course,
    hand_ins: Path,
    grade_class: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    times: int,
) -> None:
    """It is there for the fingerprint, is another when it is read, and itself again in the end."""
    grade, file = Grader.grade, hand_ins / "anna" / "one_shot_attention.py"
    right, changed = file.read_text(), 0

    def change(self: Grader, request: Request, *rest: object) -> RunResult:
        nonlocal changed
        if request.student != "anna" or changed == times:
            return grade(self, request, *rest)  # type: ignore[arg-type]
        changed += 1
        shutil.copy(hand_ins / "ben" / file.name, file)
        try:
            return grade(self, request, *rest)  # type: ignore[arg-type]
        finally:
            file.write_text(right + "#" * changed)

    with monkeypatch.context() as patch:
        patch.setattr(Grader, "grade", change)
        summary, _ = grade_class(own_course, ("score_mask",))
    if times == 1:
        assert not summary.faults
        assert outcomes(result(tmp_path, "anna")) == ["pass"]
    else:
        assert list(summary.faults) == ["anna"]
        assert "changed each time while it was graded" in summary.faults["anna"]
        assert not (tmp_path / "out" / "results" / "anna.json").exists()
        assert grade_class(own_course, ("score_mask",))[1] == ["anna"]
        assert outcomes(result(tmp_path, "anna")) == ["pass"]


def test_hand_ins_that_vanish_keep_what_they_had(
    own_course: Course, hand_ins: Path, grade_class: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grade_class(own_course)
    before = result(tmp_path, "anna")
    grade = Grader.grade

    def vanish(self: Grader, request: Request, *rest: object) -> RunResult:
        if hand_ins.exists():
            hand_ins.rename(tmp_path / "elsewhere")
        return grade(self, request, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(Grader, "grade", vanish)
    summary, graded = grade_class(own_course, seed=8)
    assert graded == []
    assert sorted(summary.faults) == ["anna", "ben", "cleo"]
    assert "gone" in summary.faults["anna"]
    assert result(tmp_path, "anna") == before


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            ("block_m = 16", "block_m = 15"),
            "Nothing was graded: the solution of score_mask itself is compile-error here (nothing_to_mask: ",
        ),
        (("nseq = 16, ", ""), "score_mask/oracle.py fails on the case of nothing_to_mask: KeyError('nseq')"),
    ],
)
def test_a_fault_of_the_course_costs_nobody_a_point(
    own_course: Course, hand_ins: Path, grade_class: Run, tmp_path: Path, change: tuple[str, str], said: str
) -> None:
    toml = own_course.exercise("score_mask").folder / "exercise.toml"
    text = toml.read_text()
    assert change[0] in text
    toml.write_text(text.replace(*change))
    with pytest.raises(CourseError) as caught:
        grade_class(load_course(own_course.root))
    assert said in str(caught.value)
    assert not (tmp_path / "out" / "results").exists()
    toml.write_text(text)
    assert grade_class(load_course(own_course.root))[1] == ["anna", "ben", "cleo"]
