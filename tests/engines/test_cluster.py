"""Dask with real processes that are killed: the same grades, nothing lost, nothing counted twice, and nobody pays."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("distributed", reason="Dask is not installed: `make test-cluster` installs it")

from autograder.bulk.grading import Progress
from autograder.bulk.store import Store
from autograder.errors import UsageError

from .conftest import EXERCISES, ROOT, Ran, Setting, cluster_of, worker_pids

pytestmark = pytest.mark.filterwarnings("default")  # Dask's own are not ours to forbid


def descendants(pid: int) -> set[int]:
    """The processes that a process has started, and those that these have."""
    found: set[int] = set()
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, path.read_text().split()):
            found |= {child, *descendants(child)}
    return found


def pids_of_workers_that_are_up(cluster: Any) -> Sequence[int]:
    """They come again when they are killed, and after a few at once there may be none for a moment."""
    end = time.monotonic() + 60
    while not (pids := worker_pids(cluster)) and time.monotonic() < end:
        time.sleep(0.05)
    return pids


def gone(pids: set[int]) -> bool:
    """Whether all of them are gone, given some time."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        if not any(Path(f"/proc/{pid}").exists() for pid in pids):
            return True
        time.sleep(0.05)
    return False


@pytest.mark.cluster
def test_workers_killed_at_random_give_the_grades_of_the_local_engine(setting: Setting, local: Ran) -> None:
    chance = random.Random(20261130)
    killed: list[int] = []
    theirs: set[int] = set()

    with cluster_of(setting) as cluster:

        def kill(progress: Progress) -> None:
            if progress.done in (1, 3, 5, 8):
                victim = chance.choice(pids_of_workers_that_are_up(cluster))
                theirs.update(descendants(victim))
                os.kill(victim, signal.SIGKILL)
                killed.append(victim)

        ran = setting.run("killed", setting.engine(cluster.scheduler_address), kill)
    assert len(killed) == 4
    assert theirs, "a worker that graded had a sandboxed server"
    assert gone(theirs), "no student's process outlives the worker that it belonged to"
    assert sorted(ran.seen) == sorted(local.seen)
    assert len(ran.seen) == len(set(ran.seen)) == 12
    assert (ran.summary.graded, ran.summary.kept, ran.summary.faults) == (12, 0, {})
    assert ran.results() == local.results()
    assert not Store(ran.out).running.exists()
    again = setting.run("killed", setting.local("killed"))
    assert (again.summary.graded, again.summary.kept) == (0, 12), "what a cluster graded, a local run keeps"


@pytest.mark.cluster
@pytest.mark.parametrize(("way", "code"), [(signal.SIGKILL, -9), (signal.SIGINT, 130)], ids=["killed", "Ctrl-C"])
def test_a_run_that_is_stopped_is_carried_on_by_the_next_on_the_same_workers(
    setting: Setting, local: Ran, way: signal.Signals, code: int
) -> None:
    out = f"again{code}"
    with cluster_of(setting) as cluster:
        words = ["--root", setting.root, "grade", setting.hand_ins, "--out", setting.folder / out, "--plain"]
        words += ["--engine", "dask", "--scheduler", cluster.scheduler_address, "--device", "cpu", "--no-targets"]
        words += [word for exercise in EXERCISES for word in ("--exercise", exercise)]
        command = [sys.executable, "-m", "autograder.cli.course", *map(str, words)]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        first = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
        results = setting.folder / out / "results"
        while len(list(results.glob("*.json"))) < 3 and first.poll() is None:
            time.sleep(0.05)
        first.send_signal(way)
        _, said = first.communicate()
        assert first.returncode == code, said
        assert Store(setting.folder / out).running.exists() == (way == signal.SIGKILL)
        if way == signal.SIGINT:
            assert "of 12 hand-ins are done. Run the same command again for the rest." in said
            assert "Traceback" not in said
        before = {path: path.stat().st_mtime_ns for path in results.glob("*.json")}
        ran = setting.run(out, setting.engine(cluster.scheduler_address))
        assert ran.summary.graded + ran.summary.kept == len(ran.seen) == 12
        assert ran.summary.kept >= len(before) >= 3
        assert before == {path: path.stat().st_mtime_ns for path in before}
        servers = {pid for worker in worker_pids(cluster) for pid in descendants(worker)}
        assert gone(servers), "the workers keep nothing of either run"
    assert ran.results() == local.results()


@pytest.mark.parametrize(
    "threads", [pytest.param(1, marks=pytest.mark.exhaustive), pytest.param(2, marks=pytest.mark.cluster)]
)
def test_a_hand_in_that_kills_its_worker_takes_nobody_along(setting: Setting, local: Ran, threads: int) -> None:
    killer = setting.hand_ins / "killer"
    shutil.copytree(setting.hand_ins / "student_1000", killer)
    try:
        with cluster_of(setting, 2, threads, strange="kills") as cluster:
            ran = setting.run(f"killer{threads}", setting.engine(cluster.scheduler_address))
        assert list(ran.summary.faults) == ["killer"]
        assert ran.summary.faults["killer"].startswith("The process that grades ended 3 times while it was at this")
        results = ran.results()
        assert {exercise["outcome"] for exercise in results.pop("killer")["exercises"]} == {"grader-error"}
        assert results == local.results()
        again = setting.run(f"killer{threads}", setting.local(f"killer{threads}"))
        assert (again.summary.graded, again.summary.kept) == (1, 12), "who was left out is graded by the next run"
        assert {exercise["outcome"] for exercise in again.results()["killer"]["exercises"]} == {"pass"}
    finally:
        shutil.rmtree(killer)


@pytest.mark.cluster
def test_a_full_disk_ends_the_run_with_a_sentence_and_loses_nothing(setting: Setting, local: Ran) -> None:
    with (
        cluster_of(setting, strange="full") as cluster,
        pytest.raises(UsageError, match=r"cannot be written \(no space left on device\)\.") as caught,
    ):
        setting.run("full", setting.engine(cluster.scheduler_address))
    assert caught.value.exit_code == 2
    written = list((setting.folder / "full" / "results").glob("*.json"))
    assert len(written) in (3, 4), "two workers write at once"
    assert not Store(setting.folder / "full").running.exists()
    again = setting.run("full", setting.local("full"))
    assert (again.summary.graded, again.summary.kept) == (12 - len(written), len(written))
    assert again.results() == local.results()
