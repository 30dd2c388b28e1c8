"""A class on two GPUs of one host beside half of it on one: what a second GPU brings.

    python benchmarks/two_gpus.py [--students 24] [--engine local|dask] [--at-once N] [--all-cores]

Lesson 7 with hidden cases, none alike, nothing cached; one hand-in of six has a known mistake.  Grading on a GPU is
bound by compiling, on cores: one GPU gets half of them, as a host with two has twice as many; with ``--all-cores`` one
GPU is tried with all of them, too.  With ``--engine dask`` (the extra `[dask]`) each GPU has a worker of its own, and
the scheduler is on this host.  ``--device cpu`` tries the script where there is no GPU: the same runs, and no ratio.

All runs have to give the same grades, and the right ones.  The ratio is the lower of two: of whole runs, and from the
first result to the last, where the start of a run has no part.  Exit code 1 if it is below the goal.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from autograder.bulk.engines.certificates import Certificates  # noqa: E402
from autograder.devices import find_gpus  # noqa: E402
from tests.lessons import keep_lesson  # noqa: E402
from tests.synthetic_class import FLASH, ONE_SHOT, mistaken, solution, unlike_others  # noqa: E402

_GOAL = 1.8
_WRONG = 6  # one hand-in of so many has a mistake
_MISTAKES = (
    (ONE_SHOT, "score_mask", "causal_reversed"),
    (FLASH, "online_softmax_update", "acc_not_rescaled"),
)

Grades = dict[str, list[tuple[str, str, float]]]


@dataclass(frozen=True)
class Run:
    """What came of one run: seconds, of the whole and from the first result to the last, and grades by student."""

    students: int
    whole: float
    steady: float
    grades: Grades

    @property
    def rates(self) -> tuple[float, float]:
        """Hand-ins a second, as a whole and behind the first result."""
        return self.students / self.whole, (self.students - 1) / self.steady


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--students", type=int, default=24, help="Hand-ins for each GPU.")
    parser.add_argument("--engine", choices=["local", "dask"], default="local")
    parser.add_argument("--at-once", type=int, help="Hand-ins that a GPU grades at once; default one a core of its.")
    parser.add_argument("--all-cores", action="store_true", help="Also one GPU with all cores.")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    arguments = parser.parse_args()
    gpus = [gpu.visible for gpu in find_gpus()][:2] if arguments.device == "cuda" else ["", ""]
    if len(gpus) < 2:
        sys.exit("This needs two GPUs; --device cpu tries the script without any.")
    if arguments.engine == "dask" and importlib.util.find_spec("distributed") is None:
        sys.exit("Dask is not installed here (the extra [dask]): leave out --engine.")
    if arguments.students < 2:
        sys.exit("--students has to be 2 or more.")
    all_cores = sorted(os.sched_getaffinity(0))
    half = all_cores[: max(1, len(all_cores) // 2)]
    at_once = arguments.at_once or len(half)
    print(
        f"{arguments.engine} engine, {arguments.students} hand-ins for each GPU, {at_once} at once on each", flush=True
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _prepare(folder, arguments.students)

        def graded(out: str, chosen: Sequence[str], cores: Sequence[int]) -> Run:
            own = folder / out
            own.mkdir()
            os.sched_setaffinity(0, cores)
            try:
                run = _grade(own, folder, chosen, arguments.students, at_once, arguments.device, arguments.engine)
            finally:
                os.sched_setaffinity(0, all_cores)
            whole, steady = run.rates
            name = f"{len(chosen)} GPU{'s' * (len(chosen) > 1)}, {len(cores)} cores"
            print(f"{name:20} {run.whole:7.1f} s   hand-ins a second: {whole:6.3f}, steady {steady:6.3f}", flush=True)
            return run

        one = graded("one", gpus[:1], half)
        two = graded("two", gpus, all_cores)
        runs = [one, two]
        if arguments.all_cores:
            runs.append(graded("all", gpus[:1], all_cores))
    _require_right(runs)
    print(f"the same grades in all runs, and the right ones: {len(one.grades)} and {len(two.grades)} students")
    if arguments.device == "cpu":
        print("no ratio: these were no GPUs")
        return
    ratio = _compared("two GPUs over one, each with its cores", two, one)
    if arguments.all_cores:
        _compared("two GPUs over one with all cores", two, runs[-1])
    print(f"goal {_GOAL}: {'reached' if ratio >= _GOAL else 'NOT reached'}")
    sys.exit(0 if ratio >= _GOAL else 1)


def _compared(name: str, two: Run, one: Run) -> float:
    """Print how much more two GPUs did; the lower of the two ratios."""
    whole, steady = (more / less for more, less in zip(two.rates, one.rates, strict=True))
    print(f"ratio, {name}: {min(whole, steady):.2f} (whole runs {whole:.2f}, steady {steady:.2f})")
    return min(whole, steady)


def _prepare(folder: Path, students: int) -> None:
    """A course of lesson 7, and the hand-ins of one GPU and of two; the first half is the same."""
    for part in ("course", "solutions"):
        shutil.copytree(ROOT / part, folder / "own" / part, ignore=shutil.ignore_patterns(".secret", "__pycache__"))
    keep_lesson(folder / "own", 7)
    for number in range(2 * students):
        files = {name: solution(name) for name in (ONE_SHOT, FLASH)}
        if number % _WRONG == _WRONG - 1:
            name, exercise, mistake = _MISTAKES[number // _WRONG % len(_MISTAKES)]
            files[name] = mistaken(name, exercise, mistake)
        for count in (1, 2) if number < students else (2,):
            own = folder / f"class-{count}" / f"student{number:03d}"
            own.mkdir(parents=True)
            for name, text in files.items():
                (own / name).write_text(unlike_others(text, number), encoding="utf-8")


def _grade(out: Path, folder: Path, gpus: Sequence[str], students: int, at_once: int, device: str, engine: str) -> Run:
    """One `course grade`, its start included."""
    environment = _surroundings(out)
    command = [sys.executable, "-m", "autograder.cli.course", "--root", str(folder / "own"), "grade"]
    command += [str(folder / f"class-{len(gpus)}"), "--out", str(out / "results"), "--device", device, "--plain"]
    command += ["--workers", str(at_once * len(gpus))]
    if device == "cuda":
        environment["CUDA_VISIBLE_DEVICES"] = ",".join(gpus)
    with ExitStack() as ends:
        if engine == "dask":
            command += ends.enter_context(_cluster(out, gpus, at_once, device))
        begin = time.time()
        done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
        whole = time.time() - begin
    if done.returncode:
        sys.exit(f"`course grade` ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    written = sorted((out / "results" / "results").glob("*.json"))
    assert len(written) == students * len(gpus), f"{len(written)} results of {students * len(gpus)}"
    times = [path.stat().st_mtime for path in written]
    return Run(len(written), whole, max(times) - min(times), {path.stem: _grades(path) for path in written})


def _grades(result: Path) -> list[tuple[str, str, float]]:
    """(exercise, outcome, score) of each exercise in a result file."""
    exercises = json.loads(result.read_text(encoding="utf-8"))["exercises"]
    return [(exercise["id"], exercise["outcome"], exercise["score"]) for exercise in exercises]


def _require_right(runs: Sequence[Run]) -> None:
    """Nothing, if every student has the same grades in all runs: a mistake costs its own exercise, and nothing else."""
    for run in runs:
        for student, grades in run.grades.items():
            number = int(student.removeprefix("student"))
            wrong = _MISTAKES[number // _WRONG % len(_MISTAKES)][1] if number % _WRONG == _WRONG - 1 else None
            lost = [exercise for exercise, outcome, _ in grades if outcome != "pass"]
            assert lost == ([wrong] if wrong else []), f"{student} lost points in {lost}, and should in {wrong}"
            assert grades == runs[1].grades[student], f"{student} has other grades in another run"


@contextmanager
def _cluster(folder: Path, gpus: Sequence[str], at_once: int, device: str) -> Iterator[list[str]]:
    """A scheduler and one worker a GPU; the options by which `course grade` finds them."""
    file = folder / "cluster.json"
    made = Certificates(folder / "tls")
    made.make(days=1)
    environment = {**_surroundings(folder), "DASK_CONFIG": str(made.config)}
    dask = [sys.executable, "-m", "dask"]
    common = ["--scheduler-file", str(file), "--dashboard-address", "127.0.0.1:0"]
    started = [_start([*dask, "scheduler", "--host", "127.0.0.1", "--port", "0", *common], environment)]
    try:
        for gpu in gpus:
            words = ["worker", *common, "--nthreads", str(at_once), "--resources", f"GPU={at_once}"]
            own = {"CUDA_VISIBLE_DEVICES": gpu} if device == "cuda" else {}
            started.append(_start([*dask, *words], environment | own))
        while not file.exists() and started[0].poll() is None:
            time.sleep(0.1)
        yield ["--engine", "dask", "--scheduler-file", str(file), "--certificates", str(made.folder)]
    finally:
        for process in started:
            process.terminate()
        for process in started:
            process.wait()


def _surroundings(folder: Path) -> dict[str, str]:
    """The environment of a run: what was found out for the course's GPU targets by another is not known to it."""
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "PYTHONPATH": path, "XDG_CACHE_HOME": str(folder / "cache")}


def _start(command: Sequence[str], environment: dict[str, str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
