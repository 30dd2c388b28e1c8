"""What a failed exercise is told beside its message: seen on further runs, certain, and at most three remarks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from autograder import session
from autograder.catalogue import Course
from autograder.pool import CarryOn, Crew
from autograder.protocol import CheckJob, CheckReply, Job
from autograder.result import ExerciseResult
from autograder.session import Grader, Request

ROOT = Path(__file__).parents[2]
Wrong = Callable[[str, str], ExerciseResult]


@pytest.fixture(autouse=True)
def all_the_time_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which much else is running tells no less."""
    monkeypatch.setitem(session._PATIENCE, "cpu", None)


@pytest.fixture
def wrong(course: Course, cpu_grader: Grader, tmp_path: Path) -> Wrong:
    """Grades the solution of an exercise with a known mistake in it, or with text replaced."""

    def grade(
        exercise_id: str, mistake: str, old: str = "", new: str = "", seed: int = 7, unhurried: bool = False
    ) -> ExerciseResult:
        exercise = course.exercise(exercise_id)
        text = (ROOT / "solutions" / exercise.stub).read_text(encoding="utf-8")
        assert old in text
        if mistake:
            text += "\n\n" + (ROOT / "tests" / "mistakes" / exercise_id / f"{mistake}.py").read_text(encoding="utf-8")
        path = tmp_path / exercise.stub
        path.parent.mkdir(exist_ok=True)
        path.write_text(text.replace(old, new) if old else text, encoding="utf-8")
        result = cpu_grader.grade(Request(tmp_path, (exercise,), seed, unhurried=unhurried))
        return result.exercises[0]

    return grade


CASE = "With 70 queries and 102 keys"
FLASH = "With 32 queries and whole chunks of keys: "


@pytest.mark.parametrize(
    ("label", "said"),
    [
        ("flash_attention/tail_chunk_dropped", CASE + ": the values of keys 96-101 (chunk 3) reach no query."),
        ("flash_attention/chunk_stuck", CASE + ": only the values of keys 0-31 (chunk 0) reach a query."),
        (
            "flash_attention/causal_forgotten",
            CASE + ", with the causal mask: values of keys in the future reach queries.",
        ),
        (
            "one_shot_attention/causal_forgotten",
            "With 55 queries and 55 keys, with the causal mask: values of keys in the future reach queries.",
        ),
        (
            "flash_attention/chunk_max",
            FLASH + "the result is right with one chunk of keys and wrong from the second on.",
        ),
        (
            "flash_attention/acc_not_rescaled",
            FLASH + "o is right with one chunk of keys and wrong from the second on, and lse is right throughout. lse "
            "is made of m_i and l_i, which fit each other then: look at acc and what goes into it (v and its load, "
            "the weights), at what it is divided by, and at the store of o.",
        ),
        (
            "flash_attention/scale_forgotten",
            FLASH + "the result is wrong already with a single chunk of keys, before any are joined.",
        ),
        (
            "online_softmax_update/l_not_rescaled",
            "With 32 rows and nothing masked: the result is right with one chunk of keys and wrong from the second on.",
        ),
        ("flash_attention/loop_carried_type", None),
    ],
)
def test_what_is_seen(wrong: Wrong, label: str, said: str | None) -> None:
    result = wrong(*label.split("/"))
    assert [clue.message for clue in result.clues] == ([said] if said else [])
    assert len(result.clues) + len(result.diagnosis) <= 2  # and the message is the third


def test_without_a_name_for_it_two_things_may_be_said(wrong: Callable[..., ExerciseResult]) -> None:
    result = wrong("flash_attention", "", "acc / l_safe[:, None]", "acc / (l_safe[:, None] + m_i[:, None])")
    assert result.diagnosis == ()
    assert [clue.kind for clue in result.clues] == ["series", "mass"]
    assert "lse is right throughout" in result.clues[0].message
    assert "add up to" in result.clues[1].message
    table = result.clues[1].table
    assert table is not None
    assert len(table["got"]) == len(table["rows"])


def test_a_kernel_that_is_slow_is_told_less(
    wrong: Callable[..., ExerciseResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(session._PATIENCE, "cpu", 0.0)
    result = wrong("flash_attention", "acc_not_rescaled", seed=31)
    assert [item.mistake for item in result.diagnosis] == ["acc_not_rescaled"]
    assert result.clues == ()
    assert wrong("flash_attention", "acc_not_rescaled", seed=32, unhurried=True).clues != ()


def test_what_passes_costs_no_further_run(
    course: Course, cpu_grader: Grader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exercise = course.exercise("online_softmax_update")
    path = tmp_path / exercise.stub
    path.parent.mkdir()
    text = (ROOT / "solutions" / exercise.stub).read_text(encoding="utf-8")
    path.write_text(text + "\n\n# another file, which nothing is known of yet\n", encoding="utf-8")
    ran: list[str] = []
    plain = Crew.run

    def run(self: Crew, job: Job, carry_on: CarryOn) -> None:
        def listen(reply: CheckReply, following: CheckJob | None) -> bool:
            ran.append(reply.id)
            return carry_on(reply, following)

        return plain(self, job, listen)

    monkeypatch.setattr(Crew, "run", run)
    result = cpu_grader.grade(Request(tmp_path, (exercise,), 29)).exercises[0]
    assert result.outcome == "pass"
    assert result.clues == ()
    assert ran == [check.id for check in exercise.checks]


PIECES = [
    (
        "kernel_loads",
        "return q, k, v",
        "return q, tl.max(k, 1), v",
        "load_tiles returns k with shape (32,), where (32, 32) is",
    ),
    (
        "score_mask",
        "return s",
        "return tl.max(s, 1)",
        "mask_scores returns s with shape (16,), where (16, 16) is",
    ),
    ("ghost_row_pin", "return m", "return m[:, None]", "pin_ghost_rows returns m with shape (32, 1), where (32,) is"),
    (
        "online_softmax_update",
        "return m_i, l_i, acc",
        "return m_i, l_i[:, None] + 0 * acc, acc",
        "online_softmax_update returns l_i with shape (16, 16), where (16,) is expected.",
    ),
]


@pytest.mark.parametrize(("exercise", "old", "new", "says"), PIECES)
def test_what_comes_back_in_another_shape_is_not_spread_in_silence(
    wrong: Wrong, exercise: str, old: str, new: str, says: str
) -> None:
    result = wrong(exercise, "", old, new)
    message = next(check.message for check in result.checks if check.outcome == "compile-error")
    assert message.startswith(says)
    assert "Is a `[:, None]` missing, or one too many?" in message
    assert "harness" not in message
