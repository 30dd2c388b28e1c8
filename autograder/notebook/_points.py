"""What an nbgrader grade cell calls: the points of an exercise's public checks, of the `%%exercise` cell above it."""

from __future__ import annotations

from typing import Any

from autograder.bridges import headline
from autograder.reports.public_view import public_exercise
from autograder.result import ExerciseResult


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
    print(f"{exercise_id}: {headline(public_exercise(result))}\nOnly public checks count in this cell.")
    return round(min(result.score, result.points), 6)


def _shell() -> Any:
    from IPython.core.getipython import get_ipython

    return get_ipython()
