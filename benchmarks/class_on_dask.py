"""The synthetic class of 60 on a cluster whose workers are killed at random and whose scheduler is restarted.

    python benchmarks/class_on_dask.py [--students 60] [--kills 8]

It has to end with the grades of the local engine, to the last digit; prints what the trouble cost.  Lesson 7 with
hidden cases on the CPU, nothing cached; needs the extra `[dask]`.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from autograder.bulk.engines.certificates import Certificates  # noqa: E402
from tests.lessons import keep_lesson  # noqa: E402
from tests.synthetic_class import invent, write_folders  # noqa: E402

_ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
_SILENT = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--students", type=int, default=60)
    parser.add_argument("--kills", type=int, default=8, help="Of workers, spread over the run.")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part in ("course", "solutions"):
            ignored = shutil.ignore_patterns(".secret", "__pycache__")
            shutil.copytree(ROOT / part, folder / "own" / part, ignore=ignored)
        keep_lesson(folder / "own", 7)
        write_folders(folder / "hand-ins", invent(arguments.students))
        certificates = Certificates(folder / "own" / ".dask-tls")
        certificates.make(days=1)
        begin = time.perf_counter()
        subprocess.run(_command(folder, "local"), check=True, env=_ENVIRONMENT, **_SILENT)  # type: ignore[call-overload]
        local = time.perf_counter() - begin
        print(f"local                      {local:7.1f} s", flush=True)
        cluster = Cluster(folder, certificates)
        try:
            quiet = _graded_on(cluster, folder, "quiet", arguments.students, 0)
            print(f"cluster, left alone        {quiet:7.1f} s", flush=True)
            troubled = _graded_on(cluster, folder, "troubled", arguments.students, arguments.kills)
        finally:
            cluster.stop()
        print(f"cluster, {arguments.kills} workers and the scheduler killed {troubled:7.1f} s")
        for out in ("quiet", "troubled"):
            assert _results(folder / out) == _results(folder / "local"), f"{out}: other grades than the local engine's"
        print(f"the same grades of {arguments.students} students, three times")
        print(f"ratio cluster to local     {quiet / local:7.2f}")
        print(f"ratio of the trouble       {troubled / quiet:7.2f}")


class Cluster:
    """A scheduler and two workers, as the documentation starts them."""

    def __init__(self, folder: Path, certificates: Certificates) -> None:
        self.file = folder / "cluster.json"
        self._environment = {**_ENVIRONMENT, "DASK_CONFIG": str(certificates.config)}
        self._started: list[subprocess.Popen[bytes]] = []
        self.start()

    def start(self) -> None:
        self.file.unlink(missing_ok=True)
        scheduler = self._start("scheduler", "--host", "127.0.0.1", "--port", "0")
        while not self.file.exists() and scheduler.poll() is None:
            time.sleep(0.05)
        self._start("worker", "--nworkers", "2", "--nthreads", "1")

    def restart_scheduler(self) -> None:
        """Its workers, which end with it sooner or later, are ended at once."""
        for pid in self.workers():
            os.kill(pid, signal.SIGKILL)
        for process in self._started:
            process.kill()
            process.wait()
        self._started.clear()
        self.start()

    def workers(self) -> Sequence[int]:
        """The processes of the workers: children of their nannies."""
        nanny = self._started[-1].pid
        children = [
            int(pid) for path in Path(f"/proc/{nanny}/task").glob("*/children") for pid in path.read_text().split()
        ]
        return [pid for pid in children if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]

    def stop(self) -> None:
        for process in reversed(self._started):
            process.send_signal(signal.SIGTERM)
            process.wait()

    def _start(self, *words: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "dask", *words, "--scheduler-file", str(self.file)]
        command += ["--dashboard-address", "127.0.0.1:0"]
        self._started.append(subprocess.Popen(command, env=self._environment, **_SILENT))  # type: ignore[call-overload]
        return self._started[-1]


def _command(folder: Path, out: str, *options: str | Path) -> list[str]:
    words = ("--root", folder / "own", "grade", folder / "hand-ins", "--out", folder / out, "--device", "cpu")
    return [sys.executable, "-m", "autograder.cli.course", *map(str, (*words, "--no-targets", "--plain", *options))]


def _graded_on(cluster: Cluster, folder: Path, out: str, students: int, kills: int) -> float:
    """Seconds of a run in which ``kills`` workers are killed, and the scheduler in the middle, if any are."""
    chance = random.Random(7)
    results = folder / out / "results"
    begin = time.perf_counter()
    options = ("--engine", "dask", "--scheduler-file", cluster.file)
    run = subprocess.Popen(_command(folder, out, *options), env=_ENVIRONMENT, stdout=subprocess.PIPE, text=True)
    for number in range(kills):
        while len(list(results.glob("*.json"))) < (number + 1) * students // (kills + 1) and run.poll() is None:
            time.sleep(0.02)
        time.sleep(chance.random())
        if alive := cluster.workers():
            os.kill(chance.choice(alive), signal.SIGKILL)
        if number == kills // 2:
            cluster.restart_scheduler()
    said, _ = run.communicate()
    assert run.returncode == 0, said
    assert f"graded {students}, unchanged 0" in said, said
    return time.perf_counter() - begin


def _results(out: Path) -> dict[str, Any]:
    """All results, without what differs from run to run: times."""
    found = {}
    for path in (out / "results").glob("*.json"):
        document = json.loads(path.read_text(encoding="utf-8"))
        for exercise in document["exercises"]:
            exercise.pop("seconds")
            for check in exercise["checks"]:
                check["measurements"].pop("seconds", None)
        found[path.stem] = document
    return found


if __name__ == "__main__":
    main()
