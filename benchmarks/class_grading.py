"""A class of 30, none alike: `course grade` beside `nbgrader autograde` on the same checks, and beside the limit.

    python benchmarks/class_grading.py [--students 30] [--nbgrader-students 6]

Lesson 7, CPU, nothing cached, target checks off.  For nbgrader the same launches, inputs and oracles are the test cells
of a notebook.  It grades one hand-in after another, so that its time for a hand-in is taken from fewer of them.  The
limit is the kernels' own run time over the cores.  nbgrader is the one of `.venv-nbgrader`, which `make bench` sets up;
its notebooks run in a kernel of this Python.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_notebook

ROOT = Path(__file__).parents[1]
NBGRADER = ROOT / ".venv-nbgrader" / "bin" / "python"
sys.path.insert(0, str(ROOT))

from class_of import course_grade  # noqa: E402

from autograder.catalogue import Course, load_course  # noqa: E402
from tests.synthetic_class import FLASH, ONE_SHOT, solution, unlike_others  # noqa: E402

# What a test cell calls: the course's own inputs, oracle and launch, in the notebook's process.
_CHECKER = """
import os
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "TRITON_INTERPRET"):
    os.environ[variable] = "1"
import sys
sys.path.insert(0, {root!r})
from pathlib import Path
from types import SimpleNamespace
import torch
from autograder.catalogue import load_course, load_hidden
from autograder.judge.compare import compare
from autograder.judge.oracles import check_seed, load_oracle
from autograder.worker.loader import load_launch

COURSE = load_course(Path({root!r}))
HIDDEN = load_hidden(Path({root!r}) / "solutions" / "hidden.toml", COURSE)


def run(kernel, grid, *args, **meta):
    kernel[grid](*args, **meta)


def grade(exercise_id, names):
    exercise = COURSE.exercise(exercise_id)
    student = SimpleNamespace(**{{f.name: names[f.name] for f in exercise.functions}})
    launch, oracle = load_launch(exercise.launch), load_oracle(exercise.oracle)
    for check in (*exercise.checks, *HIDDEN.get(exercise_id, ())):
        if "cpu" not in check.devices:
            continue
        inputs = oracle.inputs(check, check_seed(exercise, check, 7, None))
        outputs = {{
            name: torch.full(shape, float("nan")).to(getattr(torch, dtype))
            for name, (shape, dtype) in launch.outputs(check.case).items()
        }}
        launch.launch(run, student, check.case, dict(inputs), outputs)
        exact, plain = oracle.exact(check, inputs), oracle.plain(check, inputs)
        observed = oracle.observed(check, inputs, outputs)
        for name, kind in exercise.compare.items():
            raw = outputs.get(name)
            same = raw if raw is not None and raw.shape == observed[name].shape else None
            found = compare(name, kind, observed[name], exact[name], plain[name], same, name)
            assert found.ok, found.message
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--students", type=int, default=30)
    parser.add_argument("--nbgrader-students", type=int, default=6)
    arguments = parser.parse_args()
    if not NBGRADER.exists():
        sys.exit("nbgrader's environment is not there: make bench sets it up")
    course = load_course(ROOT)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bare = _bare_seconds()
        ours = course_grade(folder / "ours", arguments.students, "--device", "cpu", "--no-targets")
        theirs = _nbgrader(course, folder / "nbgrader", arguments.nbgrader_students)
    cores = os.cpu_count() or 1
    limit = bare / cores
    print(f"limit            {60 / limit:7.1f} hand-ins a minute   ({bare:.2f} s of kernels a hand-in, {cores} cores)")
    print(
        f"course grade     {60 / ours:7.1f} hand-ins a minute   {ours / limit:5.2f} times the limit's time (goal 1.5)"
    )
    print(f"nbgrader         {60 / theirs:7.1f} hand-ins a minute")
    print(f"course grade is {theirs / ours:.1f} times as fast as nbgrader autograde (goal 10)")


def _bare_seconds() -> float:
    """Seconds that one hand-in's launches take in one warm process, with no checking at all."""
    command = [sys.executable, str(Path(__file__).with_name("bare_launches.py"))]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def _nbgrader(course: Course, folder: Path, students: int) -> float:
    """Seconds a hand-in of `nbgrader autograde`, its start included."""
    source = folder / "source" / "lesson7"
    source.mkdir(parents=True)
    kernel = folder / "jupyter" / "kernels" / "this-python"
    kernel.mkdir(parents=True)
    launcher = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (kernel / "kernel.json").write_text(json.dumps({"argv": launcher, "display_name": "This", "language": "python"}))
    (folder / "nbgrader_config.py").write_text(f"c = get_config()\nc.CourseDirectory.root = {str(folder)!r}\n")
    nbformat.write(_notebook(course, None), source / "lesson7.ipynb")
    _run(folder, "generate_assignment", "lesson7", "--force")
    for number in range(students):
        own = folder / "submitted" / f"student{number:03d}" / "lesson7"
        own.mkdir(parents=True)
        nbformat.write(_notebook(course, number), own / "lesson7.ipynb")
    start = time.perf_counter()
    _run(folder, "autograde", "lesson7")
    seconds = time.perf_counter() - start
    _require_full_scores(folder, students)
    return seconds / students


def _notebook(course: Course, number: int | None) -> nbformat.NotebookNode:
    """The lesson as a notebook: two solution cells, one test cell an exercise."""
    cells = [_cell("checker", _CHECKER.format(root=str(ROOT)))]
    for name in (ONE_SHOT, FLASH):
        text = solution(name) if number is None else unlike_others(solution(name), number)
        text = re.sub(r"^.*### (?:BEGIN|END) SOLUTION.*\n", "", text, flags=re.MULTILINE)
        stem = name.removesuffix(".py")
        # Triton reads a kernel's source from a file.
        body = f"### BEGIN SOLUTION\nPath({name!r}).write_text({text!r})\nimport {stem}\n### END SOLUTION"
        cells.append(_cell(stem, body, solution=True))
    for exercise in course.exercises:
        module = exercise.file.removesuffix(".py")
        cells.append(_cell(f"test_{exercise.id}", f"grade({exercise.id!r}, vars({module}))", points=exercise.points))
    kernel = {"name": "this-python", "display_name": "This", "language": "python"}
    return new_notebook(cells=cells, metadata={"kernelspec": kernel})


def _cell(name: str, source: str, solution: bool = False, points: float | None = None) -> nbformat.NotebookNode:
    nbgrader = {
        "schema_version": 3,
        "grade_id": name,
        "locked": not solution,
        "solution": solution,
        "task": False,
        "grade": points is not None,
        "cell_type": "code",
    }
    if points is not None:
        nbgrader["points"] = points
    return new_code_cell(source, metadata={"nbgrader": nbgrader})


def _run(folder: Path, *arguments: str) -> str:
    """Run a command of nbgrader's, or a script with ``-c``; its output."""
    environment = {**os.environ, "PATH": f"{NBGRADER.parent}{os.pathsep}{os.environ['PATH']}"}
    environment["JUPYTER_PATH"] = str(folder / "jupyter")
    command = [str(NBGRADER), *(() if arguments[0] == "-c" else ("-m", "nbgrader")), *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"nbgrader {arguments[0]} failed:\n{done.stderr[-2000:]}")
    return done.stdout


_SCORES = """
from nbgrader.api import Gradebook
with Gradebook("sqlite:///gradebook.db") as gradebook:
    print(*(one.score for one in gradebook.assignment_submissions("lesson7")))
"""


def _require_full_scores(folder: Path, students: int) -> None:
    """All hand-ins are right: a notebook that lost points was not graded by the same checks."""
    scores = [float(score) for score in _run(folder, "-c", _SCORES).split()]
    assert scores == [10.0] * students, scores


if __name__ == "__main__":
    main()
