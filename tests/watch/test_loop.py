"""Where `grade watch` stays, when it goes on, and in which order it says things; the grading is played."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from autograder.catalogue import Course
from autograder.errors import WorkerError, WorkStopped
from autograder.reports.terminal import make_console
from autograder.result import CheckResult, Environment, ExerciseResult, RunResult, Sandbox
from autograder.standing import UNGRADED, Standing
from autograder.watch._loop import Settings, _Watch
from autograder.watch._saves import Save
from autograder.watch._voice import KEYS, Voice
from autograder.watch._work import ANEW, Done
from tests.lessons import of_lesson

ENVIRONMENT = Environment("cpu", None, "3.9", "2.13", "2.4", "3.11")
TARGETS_PASS = CheckResult("gpu_targets", "target", 1.0, False, "pass", "It compiles.", "")
TARGETS_FAIL = replace(TARGETS_PASS, outcome="compile-error", message="Does not compile for sm_75.")


class PlayedWork:
    """Takes tasks and does none: the test says what comes of them."""

    handle = 0

    def __init__(self) -> None:
        self.started: list[str] = []
        self.busy = False
        self.at: tuple[str, ...] = ()

    def checks(self) -> tuple[str, ...]:
        return self.at

    def start(self, name: str, run: Callable[[Any], Any]) -> None:
        self.started.append(name)
        self.busy = True


class Table:
    """A watch on a course's untouched stubs, and what it prints."""

    def __init__(self, course: Course, folder: Path, start: str | None = None, keys: bool = True, **more: Any) -> None:
        (folder / "work").mkdir()
        (folder / "work" / "x.py").write_text("pass\n")
        self.course = course
        self.work = PlayedWork()
        self.printed = io.StringIO()
        begin = course.exercise(start) if start else None
        settings = Settings(course, folder / "work", "work", "cpu", None, 7, begin, plain=True, **more)
        voice = Voice(make_console(self.printed, plain=True), True, keys)
        self.watch = _Watch(settings, voice, self.work)  # type: ignore[arg-type]
        self.watch._grade()

    @property
    def at(self) -> str:
        return self.watch._at.id

    def ends(self, name: str, outcome: str = "pass", source: str = "a", *more: CheckResult) -> str:
        """A task ends with a result; what is said then."""
        assert self.work.started[-1] == name
        self.work.busy = False
        return self.said(lambda: self.watch._ended(Done(name, self.result(outcome, source, *more))))

    def result(self, outcome: str, source: str, *more: CheckResult) -> RunResult:
        exercise = self.watch._at
        ran = "pass" if outcome == "pass" or more else outcome
        checks = tuple(CheckResult(x.id, x.tier, 1.0, False, ran, x.proves, "") for x in exercise.checks)
        result = ExerciseResult(exercise.id, exercise.lesson, exercise.title, 1.0, 1.0, False, outcome, 0.1, "x.py", 3)
        result = replace(result, checks=(*checks, *more), source=source)
        return RunResult("0.1", self.course.title, 7, False, ENVIRONMENT, Sandbox(), (result,))

    def said(self, act: Callable[[], object]) -> str:
        before = len(self.printed.getvalue())
        act()
        return " ".join(self.printed.getvalue()[before:].split())


@pytest.fixture
def course(course: Course) -> Course:
    """Lesson 7 alone, so that its exercises come one after another."""
    lessons = (replace(lesson, exercises=of_lesson(course, 7)) for lesson in course.lessons if lesson.number == 7)
    return replace(course, lessons=tuple(lessons))


@pytest.fixture
def table(course: Course, tmp_path: Path) -> Table:
    return Table(course, tmp_path)


def test_it_begins_at_the_first_open_exercise_or_the_named_one(course: Course, tmp_path: Path) -> None:
    for number, (start, at) in enumerate(((None, "kernel_loads"), ("ghost_row_pin", "ghost_row_pin"))):
        (tmp_path / str(number)).mkdir()
        table = Table(course, tmp_path / str(number), start)
        assert (table.at, table.work.started) == (at, ["verdict"])


def test_the_verdict_comes_first_and_the_compiler_after_it(table: Table) -> None:
    said = table.ends("verdict", "fail")
    assert "kernel_loads: fail" in said
    assert "GPU targets" not in said
    assert said.endswith(KEYS)
    assert table.work.started == ["verdict", "targets"]
    assert table.ends("targets", "fail", "a", TARGETS_PASS) == "GPU targets of kernel_loads: pass"
    assert table.at == "kernel_loads"


def test_a_failure_is_said_before_it_is_known_why(table: Table) -> None:
    early = table.result("fail", "a").exercises[0]
    said = table.said(lambda: table.watch._ended(Done("early", early, more=True)))
    assert "kernel_loads: fail" in said
    assert "grade hint" not in said
    assert table.work.started == ["verdict"]
    said = table.ends("verdict", "fail")
    assert "kernel_loads: fail" not in said  # once is enough
    assert "grade hint kernel_loads" in said


@pytest.mark.parametrize("outcome", ["timeout", "crashed", "not-started", "refused", "skipped"])
def test_what_did_not_run_well_is_not_compiled(table: Table, outcome: str) -> None:
    if outcome in ("not-started", "refused", "skipped"):
        run = table.result("fail", "a")
        nothing = tuple(replace(check, outcome="skipped") for check in run.exercises[0].checks)
        run = replace(run, exercises=(replace(run.exercises[0], outcome=outcome, checks=nothing),))
        table.watch._ended(Done("verdict", run))
    else:
        table.ends("verdict", outcome)
    assert table.work.started == ["verdict"]


def test_without_targets_a_pass_is_said_at_once(course: Course, tmp_path: Path) -> None:
    table = Table(course, tmp_path, "kernel_loads", targets=False)
    assert "kernel_loads passes: 1 / 1" in table.ends("verdict")
    assert table.work.started == ["verdict"]


def test_a_pass_is_said_after_the_compiler_and_the_next_is_offered(course: Course, tmp_path: Path) -> None:
    table = Table(course, tmp_path, "kernel_loads")
    assert "passes" not in table.ends("verdict")
    said = table.ends("targets", "pass", "a", TARGETS_PASS)
    assert said.index("GPU targets of kernel_loads: pass") < said.index("kernel_loads passes") < said.index("Next: ")
    assert "Next: score_mask, in lesson7/one_shot_attention.py. Press n" in said
    assert table.at == "kernel_loads"
    table.watch._press("n")
    assert (table.at, table.work.started[-1]) == ("score_mask", "verdict")


def test_a_kernel_that_a_gpu_refuses_does_not_pass(course: Course, tmp_path: Path) -> None:
    table = Table(course, tmp_path, "kernel_loads")
    table.ends("verdict")
    said = table.ends("targets", "partial", "a", TARGETS_FAIL)
    assert "compile-error Does not compile for sm_75." in said
    assert "passes" not in said
    assert table.at == "kernel_loads"


def test_the_next_save_goes_on_unless_it_changes_what_passed(course: Course, tmp_path: Path) -> None:
    table = Table(course, tmp_path, "kernel_loads", targets=False)
    table.ends("verdict", "pass", "a")
    table.watch._saved(Save(changed=True))
    table.ends("verdict", "fail", "b")
    assert table.at == "kernel_loads"
    table.watch._saved(Save(changed=True))
    table.ends("verdict", "pass", "c")
    table.watch._saved(Save(changed=True))
    assert "kernel_loads passes as before: on to score_mask." in table.ends("verdict", "pass", "c")
    assert (table.at, table.work.started[-1]) == ("score_mask", "verdict")


def test_at_the_start_exercises_that_pass_are_left_behind(table: Table) -> None:
    table.ends("verdict")
    table.ends("targets", "pass", "a", TARGETS_PASS)
    assert table.at == "score_mask"
    table.ends("verdict", "fail")
    table.watch._saved(Save(changed=True))
    table.ends("verdict", "pass", "b")
    table.ends("targets", "pass", "b", TARGETS_PASS)
    assert table.at == "score_mask"  # from the first that does not pass on, the student decides


def test_what_passed_in_this_sitting_is_not_offered_again(course: Course, tmp_path: Path) -> None:
    """Work outside the course's folder is not remembered from one sitting to the next."""
    table = Table(course, tmp_path, course.exercises[-1].id, targets=False)
    said = table.ends("verdict", "pass", "a")
    assert f"Next: {course.exercises[0].id}" in said
    table.watch._passes = dict.fromkeys((exercise.id for exercise in course.exercises), "a")
    found = [Standing(exercise, UNGRADED, source="a") for exercise in course.exercises]
    assert all(map(table.watch._is_passed, found))
    assert not table.watch._is_passed(replace(found[0], source="changed since"))
    assert not table.watch._is_passed(Standing(course.exercises[0], UNGRADED))


def test_a_save_begins_anew_and_one_without_a_change_does_not(table: Table) -> None:
    table.ends("verdict", "fail")
    assert table.work.started == ["verdict", "targets"]
    assert "nothing in it changed" in table.said(lambda: table.watch._saved(Save(changed=False)))
    table.watch._saved(Save(changed=True))
    assert table.work.started == ["verdict", "targets", "verdict"]


def test_what_the_compiler_says_of_an_older_source_is_not_said(table: Table) -> None:
    table.ends("verdict", "fail", "a")
    assert table.ends("targets", "fail", "other", TARGETS_FAIL) == ""


def test_errors_are_sentences_and_it_goes_on(table: Table) -> None:
    said = table.said(lambda: table.watch._ended(Done(ANEW, more=True)))
    assert said == "The worker had stopped, and is started again."
    said = table.said(lambda: table.watch._ended(Done("verdict", error=WorkerError("The worker stopped."))))
    assert said == "The worker stopped. The next save is graded again."
    said = table.said(lambda: table.watch._ended(Done("verdict", error=ZeroDivisionError("oops"))))
    assert said.startswith("The grader itself failed (ZeroDivisionError: oops). This costs no points.")
    assert table.said(lambda: table.watch._ended(Done("verdict", error=WorkStopped("Stopped.")))) == ""


def patient(table: Table, seconds: float) -> str:
    """What is said when so much time has gone since the task was begun."""
    return table.said(lambda: table.watch._be_patient(table.watch._since + seconds))


def test_what_takes_long_is_said_with_the_check_and_the_way_out(table: Table) -> None:
    table.ends("verdict", "fail")
    table.watch._saved(Save(changed=True))
    table.work.at = ("many_tiles",)
    assert patient(table, 0.9) == ""
    said = patient(table, 1.4)
    assert said == (
        "Still running kernel_loads, check many_tiles, after 1 s. The next save stops it, and so does q, which quits."
    )
    assert patient(table, 2) == ""
    assert "after 10 s. Is there a loop that never ends? The next save" in patient(table, 10)
    assert [bool(patient(table, seconds)) for seconds in (29, 31, 59, 61, 119, 121)] == [False, True] * 3
    table.watch._saved(Save(changed=True))
    assert "after 2 s" in patient(table, 2)
    table.ends("verdict", "timeout")
    assert patient(table, 500) == ""


def test_a_worker_that_starts_is_not_taken_for_a_kernel(table: Table) -> None:
    """That the first verdict takes some seconds was said."""
    assert patient(table, 2) == ""
    assert patient(table, 11).startswith("The worker is still starting, after 11 s. The next save")
    table.work.at = ("many_tiles",)
    assert "check many_tiles" in patient(table, 31)


def test_asking_why_tracing_and_compiling_are_said_too(table: Table) -> None:
    early = table.result("fail", "a").exercises[0]
    table.watch._ended(Done("early", early, more=True))
    assert patient(table, 2).startswith("Still asking why kernel_loads fails, after 2 s.")
    table.ends("verdict", "fail")
    assert patient(table, 2) == ""
    assert patient(table, 12).startswith("Still compiling kernel_loads for GPU targets, after 12 s.")
    table.watch._trace()
    assert patient(table, 2).startswith("Still tracing kernel_loads, after 2 s.")


def test_without_keys_the_way_out_is_ctrl_c(course: Course, tmp_path: Path) -> None:
    table = Table(course, tmp_path, "kernel_loads", keys=False)
    table.work.at = ("many_tiles",)
    assert "and so does Ctrl-C, which ends all." in patient(table, 2)


def test_hints_come_one_after_the_other(table: Table) -> None:
    said = [table.said(lambda: table.watch._press("h")) for _ in range(4)]
    assert [text.split(":")[0] for text in said] == [f"hint {n} of 3 for kernel_loads" for n in (1, 2, 3, 1)]
    table.watch._press("n")
    assert table.said(lambda: table.watch._press("h")).startswith("hint 1 of 3 for score_mask")


def test_next_and_previous_end_at_the_ends(table: Table) -> None:
    assert table.said(lambda: table.watch._press("p")) == "This is the first exercise."
    for _ in table.course.exercises[1:]:
        table.watch._press("n")
    assert table.at == table.course.exercises[-1].id
    assert table.said(lambda: table.watch._press("n")) == "This is the last exercise."
    table.watch._press("p")
    assert table.at == table.course.exercises[-2].id


def test_the_map_and_the_keys(table: Table) -> None:
    assert "You are at kernel_loads." in table.said(lambda: table.watch._press("l"))
    assert table.said(lambda: table.watch._press("?")) == KEYS
    assert len(KEYS) <= 80
    assert table.said(lambda: table.watch._press("x")) == ""


def test_without_a_terminal_no_keys_are_shown(course: Course, tmp_path: Path) -> None:
    table = Table(course, tmp_path, "kernel_loads", keys=False, targets=False)
    table.ends("verdict", "fail")
    table.watch._saved(Save(changed=True))
    table.ends("verdict")
    printed = table.printed.getvalue()
    assert "keys:" not in printed
    assert "Press" not in printed
    assert "Your next save goes there too" in " ".join(printed.split())


def test_every_line_fits_and_is_ascii(table: Table) -> None:
    table.ends("verdict", "fail")
    table.watch._press("l")
    printed = table.printed.getvalue()
    assert printed.isascii()
    assert "\x1b" not in printed
    assert max(map(len, printed.split("\n"))) <= 80


def test_files_are_named_as_an_editor_opens_them_and_counts_agree_with_a_check(course: Course, tmp_path: Path) -> None:
    table = Table(course, tmp_path)
    table.watch._voice = Voice(make_console(table.printed, plain=True), True, True, "work")
    stub = f"in work/{table.watch._at.stub}"
    target = CheckResult("gpu_targets", "target", 1.0, False, "pass", "It compiles.", "")
    failed = table.result("fail", "a")
    said = table.said(lambda: table.watch._voice.verdict(failed.exercises[0], 0.1))
    with_target = replace(failed.exercises[0], checks=(*failed.exercises[0].checks, target))
    assert said[8:] == table.said(lambda: table.watch._voice.verdict(with_target, 0.1))[8:]
    assert stub in table.said(lambda: table.watch._voice.at(table.watch._at))
    assert "in work/x.py" in table.said(lambda: table.watch._voice.story(failed, ""))
