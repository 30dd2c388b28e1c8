"""From save to verdict in `grade watch`, on CPU, against the kernels' own run time in the same run.

    python benchmarks/watch.py

A file is saved and the clock runs until the verdict would be printed: noticing the save, the files keeping still,
reading, lifting, running the checks in a warm worker, judging.  The kernels' own time is what the worker measured
around each launch.  Both right and wrong kernels are saved; after a wrong one its cause is looked for, and the story
follows.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from autograder.catalogue import Course, Exercise, load_course  # noqa: E402
from autograder.result import RunResult  # noqa: E402
from autograder.session import Grader, Request  # noqa: E402
from autograder.watch._loop import _SHORT_TICK, _TICK  # noqa: E402
from autograder.watch._saves import Saves  # noqa: E402
from autograder.watch._work import Work  # noqa: E402

WRONG = 3  # known wrong kernels of each exercise


def main() -> None:
    course = load_course(ROOT)
    with tempfile.TemporaryDirectory() as name, Work(lambda: Grader(course, "cpu", targets="off")) as work:
        folder = Path(name)
        write(folder, course.exercises[0], "")
        saves = Saves(folder)
        _verdict(work, Request(ROOT / "solutions", course.exercises))  # warm
        for title, wrong in (("right kernels", False), ("wrong kernels", True)):
            waits, stories, ratios = [], [], []
            for exercise, text in texts(course, wrong):
                wait, story, result = _save(work, saves, folder, exercise, text)
                own = sum(check.measurements.get("seconds", 0.0) for check in result.exercises[0].checks)
                waits.append(wait)
                stories.append(story)
                ratios.append(wait / own if own else float("nan"))
            ratios = [ratio for ratio in ratios if ratio == ratio]
            print(f"{title}: {len(waits)} saves")
            middle, most = statistics.median(waits), max(waits)
            print(f"  save to verdict        {middle:5.2f} s   (largest {most:.2f}, goal: under 1)")
            print(f"  save to story          {statistics.median(stories):5.2f} s   (largest {max(stories):.2f})")
            print(f"  over kernels' own time {statistics.median(ratios):5.1f}     (median of {len(ratios)})")


def texts(course: Course, wrong: bool) -> Iterator[tuple[Exercise, str]]:
    """What is appended to the solution: nothing that changes it, or a known mistake."""
    for exercise in course.exercises:
        if not wrong:
            yield from ((exercise, f"\n# save {number}\n") for number in range(WRONG))
            continue
        paths = sorted((ROOT / "tests" / "mistakes" / exercise.id).glob("*.py"))
        for path in paths[:: max(1, len(paths) // WRONG)][:WRONG]:
            yield exercise, f"\n\n{path.read_text(encoding='utf-8')}"


def write(folder: Path, exercise: Exercise, more: str) -> None:
    target = folder / exercise.stub
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text((ROOT / "solutions" / exercise.stub).read_text(encoding="utf-8") + more, encoding="utf-8")


def _save(work: Work, saves: Saves, folder: Path, exercise: Exercise, more: str) -> tuple[float, float, RunResult]:
    """Save, and wait as the loop of `grade watch` does; the seconds to the verdict and to all of it, and the result."""
    start = time.perf_counter()
    write(folder, exercise, more)
    time.sleep(_TICK / 2)  # a save comes on average half-way between two looks
    while saves.look() is None:
        time.sleep(_SHORT_TICK)
    told, result = _verdict(work, Request(folder, (exercise,), targets=False))
    return told - start, time.perf_counter() - start, result


def _verdict(work: Work, request: Request) -> tuple[float, RunResult]:
    """When the verdict was there, and the result once all of it is."""

    def run(grader: Grader) -> RunResult:
        grader.forget()
        return grader.grade(request, early=lambda result: work.tell("early", result.id))

    wanted = {exercise.id for exercise in request.exercises}
    told = None
    work.start("verdict", run)
    while True:
        while (done := work.ended()) is None:
            time.sleep(0.002)
        if done.error is not None:
            raise done.error
        if not done.more:
            break
        if done.value in wanted:
            told = time.perf_counter()
    result: RunResult = done.value
    return told or time.perf_counter(), result


if __name__ == "__main__":
    main()
