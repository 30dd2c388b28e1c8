"""`course grade --engine dask` as typed: a scheduler that restarts, Slurm, and what goes wrong, as a sentence each."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

pytest.importorskip("distributed", reason="Dask is not installed: `make test-cluster` installs it")

from autograder import __version__
from autograder.bulk.engines import lasting, reach
from autograder.bulk.engines.certificates import Certificates
from autograder.cli import course as commands
from autograder.errors import AutograderError, UsageError

from .conftest import EXERCISES, ROOT, Ran, Setting, cluster_of, free_port, workers_under

pytestmark = pytest.mark.filterwarnings("default")  # Dask's own are not ours to forbid


def words_of(setting: Setting, out: str, *options: str | Path) -> list[str]:
    chosen = [word for exercise in EXERCISES for word in ("--exercise", exercise)]
    words = ("--root", setting.root, "grade", setting.hand_ins, "--out", setting.folder / out, "--engine", "dask")
    return [*map(str, words), "--device", "cpu", "--no-targets", "--plain", *chosen, *map(str, options)]


def grade(setting: Setting, out: str, *options: str | Path) -> Result:
    return CliRunner().invoke(commands.cli, words_of(setting, out, *options), standalone_mode=False)


def refused(result: Result, words: str, code: int = 2) -> None:
    assert isinstance(result.exception, AutograderError), result.output
    assert words in str(result.exception)
    assert result.exception.exit_code == code
    assert len(str(result.exception)) < 400


def wait_for(results: Path, many: int, run: subprocess.Popen[str]) -> None:
    """Return when a run has written so many results, or has ended."""
    while len(list(results.glob("*.json"))) < many and run.poll() is None:
        time.sleep(0.05)


@contextmanager
def dask(setting: Setting, *words: str | Path) -> Iterator[subprocess.Popen[bytes]]:
    """One of Dask's own commands, as the documentation has it: the settings come by DASK_CONFIG."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "DASK_CONFIG": str(setting.certificates.config)}
    command = [sys.executable, "-m", "dask", *map(str, words), "--dashboard-address", "127.0.0.1:0"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, env=environment, cwd=setting.folder, **quiet)  # type: ignore[call-overload]
    try:
        yield process
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@pytest.mark.exhaustive
def test_workers_and_a_scheduler_that_are_killed_lose_nothing(setting: Setting, local: Ran) -> None:
    """Dask's own commands, as the documentation has them; a worker is killed first, later the scheduler."""
    port, file = free_port(), setting.folder / "scheduler.json"
    scheduler = ("scheduler", "--host", "127.0.0.1", "--port", str(port), "--scheduler-file", file)
    worker = ("worker", "--scheduler-file", file, "--nworkers", "2", "--nthreads", "1")
    command = [sys.executable, "-m", "autograder.cli.course", *words_of(setting, "restarted", "--scheduler-file", file)]
    results = setting.folder / "restarted" / "results"
    with ExitStack() as ends:
        first = ends.enter_context(dask(setting, *scheduler))
        while not file.exists() and first.poll() is None:
            time.sleep(0.1)
        nanny = ends.enter_context(dask(setting, *worker))
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        run = subprocess.Popen(command, env=environment, text=True, **pipes)  # type: ignore[call-overload]
        ends.callback(run.kill)
        wait_for(results, 2, run)
        os.kill(workers_under(nanny.pid)[0], signal.SIGKILL)
        wait_for(results, 4, run)
        first.kill()
        first.wait()
        assert run.poll() is None, run.communicate()
        ends.enter_context(dask(setting, *scheduler))
        time.sleep(1)
        ends.enter_context(dask(setting, *worker))  # workers end with their scheduler
        out, err = run.communicate(timeout=400)
    assert run.returncode == 0, err
    assert "graded 12, unchanged 0" in out
    assert "Traceback" not in err
    assert "The connection to Dask's scheduler is lost; waiting for it to come back." in err or "No worker" in err
    assert Ran(setting.folder / "restarted").results() == local.results()


@pytest.mark.cluster
def test_a_scheduler_that_stays_away_ends_the_run(
    setting: Setting, local: Ran, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lasting, "SCHEDULER_SECONDS", 3.0)
    file, results = setting.folder / "leaving.json", setting.folder / "left" / "results"
    with ExitStack() as ends:
        first = ends.enter_context(
            dask(setting, "scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", file)
        )
        ends.enter_context(dask(setting, "worker", "--scheduler-file", file, "--nthreads", "1"))

        def leave() -> None:
            while len(list(results.glob("*.json"))) < 2:
                time.sleep(0.05)
            first.kill()

        leaving = threading.Thread(target=leave, daemon=True)
        leaving.start()
        told = grade(setting, "left", "--scheduler-file", file)
        leaving.join(60)
    refused(told, "Dask's scheduler is gone and did not come back; what is done is kept.", code=3)
    again = setting.run("left", setting.local("left"))
    assert again.summary.kept >= 2
    assert again.summary.kept + again.summary.graded == 12
    assert again.results() == local.results()


def test_no_scheduler_no_worker_and_other_certificates(
    setting: Setting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reach, "_CONNECT_SECONDS", 2.0)
    refused(grade(setting, "none", "--scheduler", f"127.0.0.1:{free_port()}"), "No scheduler of Dask answers at tls://")
    strangers = Certificates(tmp_path / "theirs")
    strangers.make(days=1)
    assert (strangers.folder / "key.pem").stat().st_mode & 0o077 == 0
    with pytest.raises(UsageError, match="Remove the folder to have new ones made"):
        strangers.make(days=1)
    with cluster_of(setting, workers=0) as cluster:
        address = cluster.scheduler_address.removeprefix("tls://")
        told = grade(setting, "none", "--scheduler", address, "--certificates", strangers.folder)
        refused(told, "one side does not take the other's certificates")
        refused(grade(setting, "none", "--scheduler", f"tcp://{address}"), "does not speak TLS")
        monkeypatch.setattr(lasting, "WORKER_SECONDS", 1.0)
        told = grade(setting, "none", "--scheduler", address)
        refused(told, "Dask's scheduler has no worker, and none came in 1 s.")
        assert told.stderr.splitlines()[:2] == [
            f"Connecting to {address}",
            "Waiting up to 1 s for workers of the cluster (start some with `dask worker`)",
        ]
    assert not (setting.folder / "none" / "results").exists()


@pytest.mark.parametrize(
    ("strange", "words"),
    [
        ("old", f"has version 0.0.9 of the kit, and here it is {__version__}. Install the same there"),
        ("blind", "must lie in folders that all machines see by the same path."),
    ],
)
def test_workers_that_cannot_grade_this_class_are_told_apart(setting: Setting, strange: str, words: str) -> None:
    with cluster_of(setting, workers=1, strange=strange) as cluster:
        refused(grade(setting, strange, "--scheduler", cluster.scheduler_address), words)
    assert not (setting.folder / strange / "results").exists()


_SBATCH = """#!/bin/sh
# Stands in for Slurm's: runs the script at once, on this machine.
sh "$1" >"$0.log.$$" 2>&1 &
echo "Submitted batch job $!"
"""
_SCANCEL = "#!/bin/sh\nkill $1\n"


@pytest.mark.cluster
def test_slurm_is_asked_for_workers(
    setting: Setting, local: Ran, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in (("sbatch", _SBATCH), ("scancel", _SCANCEL)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.chdir(tmp_path)
    settings = {"jobqueue.slurm.cores": 2, "jobqueue.slurm.memory": "4GB", "jobqueue.slurm.interface": "lo"}
    import dask

    with monkeypatch.context() as patch:
        patch.setenv("PATH", str(tmp_path / "nothing"))
        refused(grade(setting, "slurm", "--slurm"), "the command sbatch is not found")
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    refused(grade(setting, "slurm", "--slurm"), "Slurm could not be asked for workers: You must specify how much cores")
    with dask.config.set(settings):
        done = grade(setting, "slurm", "--slurm", "--workers", "1")
    assert done.return_value == 0, (done.output, done.exception)
    assert "graded 12, unchanged 0" in done.output
    assert Ran(setting.folder / "slurm").results() == local.results()
