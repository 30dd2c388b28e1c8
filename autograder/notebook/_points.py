"""What an nbgrader grade cell calls: the points of an exercise's public checks, of the `%%exercise` cell above it."""

from __future__ import annotations

from typing import Any

from autograder.reports.public_view import public_exercise
from autograder.result import ExerciseResult

_PUBLIC = "Public checks only; the course's own score counts hidden checks as well."


def public_points(exercise_id: str) -> float:
    """The points that public checks gave the exercise's cell when it was last run in this kernel.

    nbgrader takes a number that ends a grade cell for partial credit.  0 where the cell was not run, or not graded.
    """
    notebook: Any = getattr(_shell(), "autograder_notebook", None)
    result: ExerciseResult | None = notebook.latest(exercise_id) if notebook is not None else None
    if result is None:
        print(
            f"Nothing was graded: run the cell that begins with %%exercise {exercise_id} first, and see what it says."
        )
        return 0.0
    checks = public_exercise(result).result.checks
    passed = sum(check.outcome == "pass" for check in checks)
    able = sum(check.outcome != "skipped" or bool(check.message) for check in checks)
    print(f"{exercise_id}: {result.outcome}, {passed} of {able} public checks passed. {_PUBLIC}")
    return round(min(result.score, result.points), 6)


def _shell() -> Any:
    from IPython.core.getipython import get_ipython

    return get_ipython()
