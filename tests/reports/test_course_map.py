"""`grade list` is a map that can be read at 80 columns, aloud, and of a course of any size."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from autograder.attempts import Memory
from autograder.catalogue import Course, Exercise, Lesson, load_course
from autograder.cli.grade import cli
from autograder.plan import plan_exercises
from autograder.reports.course_map import print_map, print_titles
from autograder.reports.terminal import make_console
from autograder.result import Environment, ExerciseResult, RunResult, Sandbox
from autograder.standing import CHANGED, FAILING, NOT_STARTED, PARTIAL, PASSED, STATES, UNGRADED, Standing, standings
from tests.lessons import of_lesson

ROOT = Path(__file__).parents[2]
ENVIRONMENT = Environment("cpu", None, "3.9", "2.13", "2.4", "3.11")


@pytest.fixture
def course(course: Course) -> Course:
    """Lesson 7 alone, whose exercises build on each other, without its bonus."""
    lesson = next(lesson for lesson in course.lessons if lesson.number == 7)
    needed = tuple(exercise for exercise in of_lesson(course, 7) if not exercise.optional)
    return replace(course, lessons=(replace(lesson, exercises=needed),))


def made_up(model: Exercise) -> Course:
    """Seven lessons with thirty exercises, some with long names."""
    lessons = []
    count = 0
    for number in range(1, 8):
        exercises = []
        for place in range(5 if number < 3 else 4):
            count += 1
            name = f"lesson{number}_exercise_{place}" + ("_with_quite_a_long_name" if place == 3 else "")
            needs = tuple(item.id for item in exercises[-2:])
            exercises.append(replace(model, id=name, lesson=number, needs=needs, points=1.5, optional=count % 10 == 0))
        lessons.append(Lesson(number, f"The title of lesson {number}, which goes on for a while", tuple(exercises)))
    return Course(Path("/nowhere"), "A made-up course", "", (), tuple(lessons))


def printed(course: Course, found: tuple[Standing, ...], plain: bool = True) -> str:
    stream = io.StringIO()
    print_map(make_console(stream, plain), course, found, plain)
    return stream.getvalue()


def test_thirty_exercises_fit_into_80_columns(course: Course) -> None:
    made = made_up(course.exercises[0])
    found = tuple(
        Standing(exercise, STATES[number % len(STATES)], 0.75, number, exercise.needs)
        for number, exercise in enumerate(made.exercises)
    )
    assert len(found) == 30
    text = printed(made, found)
    assert text.isascii()
    lines = text.split("\n")
    assert max(map(len, lines)) <= 80
    for number, item in enumerate(found):
        (place,) = [place for place, line in enumerate(lines) if f" {item.exercise.id} " in line and "/ 1.5" in line]
        assert lines[place].split(None, 1)[1].startswith(item.state)
        both = " ".join(lines[place : place + 2]) if lines[place + 1].startswith(17 * " ") else lines[place]
        assert ("attempt" in both) == (number > 0)
        assert ("optional" in both) == item.exercise.optional
    assert [line for line in lines if line.startswith("Lesson ")][6].startswith("Lesson 7: The title of lesson 7")
    assert "score so far 20.25 / 40.5, bonus 2.25" in text


def test_states_are_symbols_and_words_with_and_without_plain(course: Course) -> None:
    found = tuple(Standing(exercise, state) for exercise, state in zip(course.exercises, STATES, strict=True))
    plain, fancy = printed(course, found), printed(course, found, plain=False)
    for text in (plain, fancy):
        symbols = [line.split()[0] for line in text.split("\n") if line.startswith("  ") and " / " in line]
        assert len(set(symbols)) == len(STATES)
        assert all(state in text for state in STATES)
    assert not fancy.isascii()


def test_what_is_open_and_what_a_pass_has_opened(course: Course) -> None:
    pieces = {"kernel_loads", "score_mask", "ghost_row_pin"}
    states = {exercise.id: PASSED if exercise.id in pieces else NOT_STARTED for exercise in course.exercises}
    found = tuple(
        Standing(
            exercise,
            states[exercise.id],
            waits_for=tuple(need for need in exercise.needs if states[need] != PASSED),
            unlocks=("one_shot_attention",) if exercise.id in pieces else (),
        )
        for exercise in course.exercises
    )
    text = printed(course, found)
    assert text.count("opened one_shot_attention") == 3
    assert "waits for online_softmax_update" in text
    assert "open now: one_shot_attention, online_softmax_update\nnext: grade watch one_shot_attention" in text
    everything = tuple(replace(item, state=PASSED, waits_for=()) for item in found)
    assert "Every exercise passes." in printed(course, everything)


def test_titles_show_all_that_is_known_beforehand(course: Course) -> None:
    stream = io.StringIO()
    print_titles(make_console(stream, True), made_up(course.exercises[0]))
    assert max(map(len, stream.getvalue().split("\n"))) <= 80
    assert "builds on lesson7_exercise_1 and lesson7_exercise_2" in stream.getvalue()


# Where a student stands -----------------------------------------------------------------------------------------------


@pytest.fixture
def own(course: Course, tmp_path: Path) -> Course:
    """A student's course: everything but the solutions, with one file solved."""
    for folder in ("course", "assignments"):
        (tmp_path / folder).mkdir()
    (tmp_path / "course" / "exercises").symlink_to(ROOT / "course" / "exercises")
    (tmp_path / "course" / "course.toml").symlink_to(ROOT / "course" / "course.toml")
    (tmp_path / "course" / "pristine").symlink_to(ROOT / "assignments")
    target = tmp_path / "assignments" / "lesson7" / "one_shot_attention.py"
    target.parent.mkdir()
    target.write_text((ROOT / "solutions" / "lesson7" / target.name).read_text(encoding="utf-8"), encoding="utf-8")
    return replace(course, root=tmp_path)


def remember(course: Course, **outcomes: str) -> None:
    """Attempts at the files as they are."""
    handin = course.root / "assignments"
    plans, _ = plan_exercises(course, handin, course.exercises, None)
    results = tuple(
        ExerciseResult(
            id=plan.exercise.id,
            lesson=7,
            title="",
            points=plan.exercise.points,
            score=plan.exercise.points if outcomes[plan.exercise.id] == "pass" else 0.5,
            optional=False,
            outcome=outcomes[plan.exercise.id],
            seconds=0.1,
            file=plan.file,
            line=1,
            source=plan.mark,
        )
        for plan in plans
        if plan.exercise.id in outcomes
    )
    Memory(course, handin).take(RunResult("0.1", course.title, 7, False, ENVIRONMENT, Sandbox(), results))


def test_states_come_from_attempts_at_the_file_as_it_is(own: Course) -> None:
    remember(own, kernel_loads="pass", score_mask="partial", ghost_row_pin="crashed")
    found = standings(own, own.root / "assignments")
    assert [item.state for item in found] == [PASSED, PARTIAL, FAILING, UNGRADED, NOT_STARTED, NOT_STARTED]
    assert [item.is_open for item in found] == [False, True, True, False, True, False]
    assert found[3].waits_for == ("score_mask", "ghost_row_pin")
    file = own.root / "assignments" / "lesson7" / "one_shot_attention.py"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("other=0.0", "other=1.0"), encoding="utf-8")
    assert [item.state for item in standings(own, own.root / "assignments")][:2] == [CHANGED, PARTIAL]
    file.write_text("# a comment above\n\n" + text, encoding="utf-8")
    assert standings(own, own.root / "assignments")[0].state == PASSED  # the function is as it was
    file.unlink()
    assert {item.state for item in standings(own, own.root / "assignments")} == {NOT_STARTED}


def test_a_pass_opens_what_waits_for_nothing_else(own: Course) -> None:
    remember(own, kernel_loads="pass", score_mask="pass")
    assert standings(own, own.root / "assignments")[0].unlocks == ()
    remember(own, ghost_row_pin="pass")
    assert standings(own, own.root / "assignments")[0].unlocks == ("one_shot_attention",)


def test_the_command_prints_the_map(own: Course) -> None:
    remember(own, kernel_loads="pass")
    done = CliRunner().invoke(cli, ["list", "--plain", "--root", str(own.root)])
    assert done.exit_code == 0, done.output
    assert "+ passed       kernel_loads" in done.output
    whole = sum(exercise.points for exercise in load_course(own.root).exercises if not exercise.optional)
    assert f"score so far 1 / {whole:g}" in done.output
    assert "next: grade watch vector_add" in done.output
