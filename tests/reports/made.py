"""Results made by hand: a class of any size without grading anybody, and a reader of pages."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path

from autograder.bulk.grades import ClassGrades, StudentGrade, class_grades
from autograder.bulk.overrides import Override, save_overrides
from autograder.bulk.store import Store
from autograder.bulk.submissions import Submission
from autograder.catalogue import Course, load_course
from autograder.result import (
    AFTER_A_FAILURE,
    CheckResult,
    Diagnosis,
    Environment,
    ExerciseResult,
    RunResult,
    Sandbox,
    TargetResult,
)

ROOT = Path(__file__).parents[2]

MESSAGE = "o is off by up to 3.1 where at most 9.5e-06 is rounding. Worst at row 5, column 16."
HIDDEN = CheckResult(
    id="secret_lengths",
    tier="ragged",
    weight=1.0,
    hidden=True,
    outcome="fail",
    proves="Lengths that nobody announced.",
    message="row 41 of the secret case is off by 0.4142.",
    measurements={"error": 0.4142, "bar": 1.25e-05},
    where={
        "output": "secret_output",
        "index": [41, 3],
        "got": 17.5,
        "expected": 17.25,
        "wrong": 1,
        "of": 9,
        "picture": {
            "kind": "share",
            "label": "secret_output",
            "of": "secret tile 3",
            "wrong": [[0.0625, 0.0], [0.0, 0.0625]],
            "rows": {"of": "secret row", "tile": "secret tile", "spans": [[0, 40], [41, 41]], "borders": [1]},
            "columns": {"of": "secret column", "tile": "", "spans": [[0, 2], [3, 8]], "borders": []},
        },
    },
    repro="grade check flash_attention --seed 987654321",
    seed=987654321,
)
HIDDEN_WORDS = (
    "secret",
    "nobody announced",
    "0.4142",
    "0.414",
    "1.25e-05",
    "41, 3",
    "0.0625",
    "17.5",
    "17.25",
    "987654321",
)


def check(name: str, outcome: str = "pass", weight: float = 1.0, message: str = "", tier: str = "tiny") -> CheckResult:
    """A public check; one that failed comes with an error, a bar and a place."""
    failed = outcome == "fail"
    return CheckResult(
        id=name,
        tier=tier,
        weight=weight,
        hidden=False,
        outcome=outcome,
        proves=f"What {name} proves.",
        message=message or (MESSAGE if failed else ""),
        measurements={"error": 3.1, "bar": 9.5e-06, "torch_error": 2.375e-06, "rms": 1.2}
        if failed
        else {"error": 2.4e-07, "bar": 9.5e-06},
        where={
            "output": "o",
            "index": [5, 16],
            "got": -2.4627,
            "expected": 0.633269,
            "wrong": 992,
            "of": 1024,
            "rows": [[0, 27], [29, 31]],
        }
        if failed
        else None,
        repro="grade check flash_attention --seed 7 --device cpu --dir '/srv/the class/doe'" if failed else None,
        seed=7,
    )


def exercise(outcome: str = "partial", score: float = 1.0, points: float = 2.0, **changes: object) -> ExerciseResult:
    """``flash_attention`` with one passed, one failed and one skipped public check, and two hidden ones."""
    made = ExerciseResult(
        id="flash_attention",
        lesson=7,
        title="FlashAttention (Part B)",
        points=points,
        score=score,
        optional=False,
        outcome=outcome,
        seconds=31.25,
        file="flash_attention.py",
        line=8,
        checks=(
            check("one_chunk"),
            check("two_chunks", "fail"),
            replace(HIDDEN, id="secret_scale", outcome="pass", message="", measurements={}, where=None),
            HIDDEN,
            check("dead_rows", "skipped", message=AFTER_A_FAILURE),
        ),
        gpu_targets=(
            TargetResult("sm_75", "compile-error", None, "m_i changes its type.", "error: <loop> carried type"),
            TargetResult("sm_80", "pass", 38912, ""),
        ),
        remarks=("Line 12: the print is left out.",),
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def run(*exercises: ExerciseResult, student: str = "doe_jane_101", **changes: object) -> RunResult:
    made = RunResult(
        kit_version="0.1.0",
        course_title="A Course",
        seed=7,
        hidden=True,
        environment=Environment("cpu", None, "3.9.0", "2.13.0", "2.4.6", "3.11.7"),
        sandbox=Sandbox(("rlimits",), ()),
        exercises=exercises or (exercise(),),
        student=student,
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def student(result: RunResult | None = None, name: str = "Jane Doe", **changes: object) -> StudentGrade:
    """One student's grade without rules."""
    from autograder.bulk.grades import ExerciseGrade

    result = result or run()
    grades = tuple(ExerciseGrade(item, item.score) for item in result.exercises)
    made = StudentGrade(result.student or "doe_jane_101", name, None, None, result, grades)
    return replace(made, **changes)  # type: ignore[arg-type]


def write_class(out: Path) -> ClassGrades:
    """Six students: Canvas and Moodle, an override, a fault of the grader, an unreadable hand-in, full marks."""
    store = Store(out)
    mistake = Diagnosis("acc_not_rescaled", "acc is not brought to the new maximum.", 0.25, 1.0)
    store.write("doe_jane_101", run(exercise(diagnosis=(mistake,))))
    other = MESSAGE.replace("3.1", "0.7").replace("row 5", "row 91")
    for name in ("abara_103", "silva_104"):
        checks = (check("one_chunk", "fail", message=MESSAGE if name == "abara_103" else other), HIDDEN)
        store.write(name, run(exercise("fail", 0.0, checks=checks), student=name))
    store.write("ours_105", run(exercise("grader-error", 0.0, checks=()), student="ours_105"))
    text = "There is no readable .py or notebook in /srv/the class/none_106. It takes a .py, .ipynb or .zip."
    nothing = exercise("not-started", 0.0, message=text, file=None, line=None, checks=(), gpu_targets=(), remarks=())
    store.write("none_106", run(nothing, student="none_106", error=text))
    full = exercise("pass", 2.0, checks=(check("one_chunk"), replace(HIDDEN, outcome="pass")))
    store.write("full_107", run(full, student="full_107", sandbox=Sandbox((), ("landlock: no kernel support",))))
    store.keep_submissions(
        {
            "doe_jane_101": Submission(
                "doe_jane_101", "Jane Doe", "canvas", "101", attempts=3, original=("doejane_LATE_101_9001_work.zip",)
            ),
            "abara_103": Submission("abara_103", "Chidi Abara", "canvas", "103", original=("abara_103_9003_a.py",)),
            "silva_104": Submission("silva_104", "João_Silva", "moodle", "104", datetime(2026, 11, 1, tzinfo=UTC)),
        }
    )
    save_overrides(
        store.overrides, {"silva_104": {"flash_attention": Override("silva_104", "flash_attention", 1.5, "Oral exam.")}}
    )
    return class_grades(the_course(), out)


def the_course() -> Course:
    return load_course(ROOT)


class Page(HTMLParser):
    """A page taken apart: its elements with their attributes, and its text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.ids: set[str] = set()
        self._texts: list[str] = []
        self._in_style = False
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._in_style = tag == "style"
        if found := dict(attrs).get("id"):
            self.ids.add(found)

    def handle_endtag(self, tag: str) -> None:
        self._in_style = False

    def handle_data(self, data: str) -> None:
        if not self._in_style:
            self._texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self._texts).split())

    @property
    def structure(self) -> list[tuple[str, tuple[str, ...]]]:
        """Elements and the names of their attributes: what no text of a student may change."""
        return [(tag, tuple(attributes)) for tag, attributes in self.elements]

    @property
    def links(self) -> list[str]:
        return [attributes["href"] or "" for tag, attributes in self.elements if tag == "a"]
