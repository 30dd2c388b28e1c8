"""A small course, a class of a few, and clusters of real processes that may be killed."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import shutil
import socket
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from autograder.bulk.desk import Work
from autograder.bulk.engines.certificates import Certificates
from autograder.bulk.engines.dask_engine import DaskEngine
from autograder.bulk.engines.lasting import Patience
from autograder.bulk.engines.local import LocalEngine
from autograder.bulk.engines.model import Engine
from autograder.bulk.engines.reach import Reach
from autograder.bulk.grading import ClassRun, Progress, Summary
from autograder.bulk.hand_ins import list_hand_ins
from autograder.bulk.secret import load_secret
from autograder.bulk.store import Store
from autograder.catalogue import load_course
from autograder.plan import Reference
from autograder.session import Grader
from tests.lessons import keep_lesson
from tests.synthetic_class import invent, write_folders

ROOT = Path(__file__).parents[2]
EXERCISES = ("score_mask", "online_softmax_update")


@dataclass(frozen=True)
class Setting:
    """A course of its own in ``root``, certificates for it, and twelve hand-ins of all kinds."""

    folder: Path
    certificates: Certificates

    @property
    def root(self) -> Path:
        return self.folder / "own"

    @property
    def hand_ins(self) -> Path:
        return self.folder / "hand-ins"

    def work(self, out: str) -> Work:
        course = load_course(self.root)
        reference = Reference.load(course, load_secret(course.root / "solutions" / ".secret"))
        return Work(course, Store(self.folder / out), reference, course.select(EXERCISES), 7)

    def engine(self, address: str, patience: Patience | None = None) -> DaskEngine:
        reach = Reach(self.certificates, scheduler=address)
        return DaskEngine(reach, self.hand_ins, "cpu", False, False, patience=patience or Patience(30.0, 60.0))

    def local(self, out: str) -> LocalEngine:
        work = self.work(out)
        return LocalEngine([lambda: Grader(work.course, "cpu", targets="off", kept=work.store.kept)], 2)

    def run(self, out: str, engine: Engine, step: Callable[[Progress], None] | None = None) -> Ran:
        ran = Ran(self.folder / out)

        def progress(one: Progress) -> None:
            ran.seen.append(one.student)
            if step is not None:
                step(one)

        ran.summary = ClassRun(self.work(out), engine).run(list_hand_ins(self.hand_ins)[0], progress)
        return ran


@dataclass
class Ran:
    """What a run left behind."""

    out: Path
    summary: Summary = field(default_factory=Summary)
    seen: list[str] = field(default_factory=list)

    def results(self) -> dict[str, Any]:
        """All results, without what differs from run to run: times."""
        found = {}
        for path in sorted((self.out / "results").glob("*.json")):
            document = json.loads(path.read_text(encoding="utf-8"))
            for exercise in document["exercises"]:
                exercise.pop("seconds")
                for check in exercise["checks"]:
                    check["measurements"].pop("seconds", None)
            found[path.stem] = document
        return found


@pytest.fixture(scope="module")
def setting(tmp_path_factory: pytest.TempPathFactory) -> Setting:
    folder = tmp_path_factory.mktemp("cluster")
    for part in ("course", "solutions"):
        shutil.copytree(ROOT / part, folder / "own" / part, ignore=shutil.ignore_patterns(".secret", "__pycache__"))
    keep_lesson(folder / "own", 7)
    write_folders(folder / "hand-ins", invent(12))
    certificates = Certificates(folder / "own" / ".dask-tls")
    if importlib.util.find_spec("cryptography") is not None:  # it comes with Dask, whose tests are skipped without
        certificates.make(days=1)
    return Setting(folder, certificates)


@pytest.fixture(scope="module")
def local(setting: Setting) -> Ran:
    """The class graded by the local engine."""
    return setting.run("local", setting.local("local"))


@contextlib.contextmanager
def cluster_of(setting: Setting, workers: int = 2, threads: int = 1, strange: str = "") -> Iterator[Any]:
    """A LocalCluster over TLS; its workers are processes, which come again when they are killed."""
    from distributed import LocalCluster

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STRANGE", strange)
        patch.setenv("PYTHONPATH", f"{ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
        with LocalCluster(
            n_workers=workers,
            threads_per_worker=threads,
            processes=True,
            protocol="tls",
            security=setting.certificates.security(),
            dashboard_address=None,
            preload=["tests.engines.strange"] if strange else [],
            silence_logs=60,
        ) as cluster:
            yield cluster


def worker_pids(cluster: Any) -> Sequence[int]:
    """The processes of a LocalCluster's workers that are up now."""
    return [nanny.pid for nanny in cluster.workers.values() if nanny.pid is not None]


def workers_under(nanny: int) -> Sequence[int]:
    """The workers' processes that the command `dask worker` of this process id has started."""
    children = (int(pid) for path in Path(f"/proc/{nanny}/task").glob("*/children") for pid in path.read_text().split())
    return [pid for pid in children if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def free_port() -> int:
    """A port on which nothing listens."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
