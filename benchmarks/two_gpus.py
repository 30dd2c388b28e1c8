"""A class on two GPUs of one host beside the same class on one: what a second GPU brings.

    python benchmarks/two_gpus.py [--students 64] [--engine local|dask] [--at-once 16]

Lesson 7 with hidden cases, none alike, nothing cached.  Grading on a GPU is bound by compiling, on cores: so one GPU
gets half of the cores, as a host with two has twice as many, and, for comparison, all of them.  With ``--engine dask``
each GPU has a worker of its own, and the scheduler is on this host (it needs the extra `[dask]`; without the library
cryptography it speaks plain TCP on localhost).
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from class_of import ROOT, course_grade

sys.path.insert(0, str(ROOT))

from autograder.bulk.engines.certificates import Certificates
from autograder.devices import find_gpus

_GOAL = 1.8


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--students", type=int, default=64, help="Hand-ins for each GPU.")
    parser.add_argument("--engine", choices=["local", "dask"], default="local")
    parser.add_argument(
        "--at-once", type=int, help="Hand-ins that a GPU grades at once; default one a core of its half."
    )
    arguments = parser.parse_args()
    gpus = [gpu.visible for gpu in find_gpus()][:2]
    if len(gpus) < 2:
        sys.exit("This needs two GPUs.")
    all_cores = sorted(os.sched_getaffinity(0))
    half = all_cores[: len(all_cores) // 2]
    at_once = arguments.at_once or len(half)

    def rate(name: str, chosen: Sequence[str], cores: Sequence[int], width: int) -> float:
        """Hand-ins a second."""
        with tempfile.TemporaryDirectory() as folder, ExitStack() as ends:
            os.sched_setaffinity(0, cores)
            options = ["--device", "cuda", "--workers", str(width * len(chosen))]
            if arguments.engine == "dask":
                options += ends.enter_context(_cluster(Path(folder), chosen, width))
            else:
                os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(chosen)
            try:
                seconds = course_grade(Path(folder) / "class", arguments.students * len(chosen), *options)
            finally:
                os.environ.pop("CUDA_VISIBLE_DEVICES", None)
                os.sched_setaffinity(0, all_cores)
        print(f"{name:28} {1 / seconds:6.3f} hand-ins a second   {seconds:6.2f} s a hand-in", flush=True)
        return 1 / seconds

    print(f"{arguments.engine} engine, {arguments.students} hand-ins for each GPU, {at_once} at once on each")
    one = rate(f"one GPU,  {len(half):3} cores", gpus[:1], half, at_once)
    whole = rate(f"one GPU,  {len(all_cores):3} cores", gpus[:1], all_cores, at_once)
    two = rate(f"two GPUs, {len(all_cores):3} cores", gpus, all_cores, at_once)
    print(f"two GPUs over one, each with its cores   {two / one:5.2f} (goal {_GOAL})")
    print(f"two GPUs over one with all cores         {two / whole:5.2f}")


@contextmanager
def _cluster(folder: Path, gpus: Sequence[str], at_once: int) -> Iterator[list[str]]:
    """A scheduler and one worker a GPU; the options by which `course grade` finds them."""
    file = folder / "cluster.json"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    options = ["--engine", "dask", "--scheduler-file", str(file)]
    if importlib.util.find_spec("cryptography") is not None:
        made = Certificates(folder / "tls")
        made.make(days=1)
        environment["DASK_CONFIG"] = str(made.config)
        options += ["--certificates", str(made.folder)]
    else:
        options += ["--no-tls"]
    dask = [sys.executable, "-m", "dask"]
    common = ["--scheduler-file", str(file), "--dashboard-address", "127.0.0.1:0"]
    started = [_start([*dask, "scheduler", "--host", "127.0.0.1", "--port", "0", *common], environment)]
    try:
        for gpu in gpus:
            words = ["worker", *common, "--nthreads", str(at_once), "--resources", f"GPU={at_once}"]
            started.append(_start([*dask, *words], {**environment, "CUDA_VISIBLE_DEVICES": gpu}))
        while not file.exists() and started[0].poll() is None:
            time.sleep(0.1)
        yield options
    finally:
        for process in started:
            process.terminate()
        for process in started:
            process.wait()


def _start(command: Sequence[str], environment: dict[str, str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
