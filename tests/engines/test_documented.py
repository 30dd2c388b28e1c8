"""The commands of docs/clusters.md, as they stand there: only places, the port and the size of the class are others."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("distributed", reason="Dask is not installed: `make test-cluster` installs it")

from .conftest import EXERCISES, ROOT, Ran, Setting, free_port

pytestmark = [pytest.mark.cluster, pytest.mark.filterwarnings("default")]

PAGE = (ROOT / "docs" / "clusters.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"(?ms)^```\w*\n(.*?)^```$", PAGE)


def block(words: str) -> str:
    """The one block of the page with some words in it."""
    found = [text for text in BLOCKS if words in text]
    assert len(found) == 1, words
    return found[0]


@pytest.fixture
def course(setting: Setting, tmp_path: Path) -> Path:
    """A course without certificates, with a class in it, and the page's commands on a path of their own."""
    root = tmp_path / "course"
    shutil.copytree(setting.root, root, ignore=shutil.ignore_patterns(".dask-tls"))
    shutil.copytree(setting.hand_ins, root / "hand-ins")
    few = " ".join(f"--exercise {exercise}" for exercise in EXERCISES)
    python = f'exec "{sys.executable}" -m'
    less = f"--device cpu --no-targets {few}"
    shims = {
        "dask": f'{python} dask "$@"',
        "course": f'[ "$1" = grade ] && set -- "$@" {less}\n{python} autograder.cli.course "$@"',
        "srun": '"$@" & "$@" & trap "kill $(jobs -p | xargs)" TERM; wait',
    }
    (root / ".venv" / "bin").mkdir(parents=True)
    for name, text in shims.items():
        (root / ".venv" / "bin" / name).write_text(f"#!/bin/bash\n{text}\n")
        (root / ".venv" / "bin" / name).chmod(0o755)
    (root / ".venv" / "bin" / "activate").write_text(f'PATH="{root}/.venv/bin:$PATH"\n')
    return root


def run(course: Path, script: str, port: int) -> str:
    """Run what the page says in bash; what it printed, all of whose processes are gone."""
    script = script.replace("/shared/course", str(course)).replace("login1:8786", f"127.0.0.1:{port}")
    script = script.replace("--port 8786", f"--port {port} --host 127.0.0.1")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "SLURM_JOB_ID": "7"}
    environment["PATH"] = f"{course}/.venv/bin{os.pathsep}{environment['PATH']}"
    words = {"cwd": course, "env": environment, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    process = subprocess.Popen(["bash", "-c", script], start_new_session=True, **words)  # type: ignore[call-overload]
    try:
        said = str(process.communicate(timeout=400)[0])
        assert process.returncode == 0, said
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    return said


def test_certificates_and_the_two_commands(course: Path, local: Ran) -> None:
    port = free_port()
    certificates = block("course certificates            #")
    workers = block("CUDA_VISIBLE_DEVICES=1 dask worker").replace(":0\n", ":0 &\n")
    scheduler = block("dask scheduler --port 8786").replace(":8787\n", ":0 &\n")
    (grade,) = {text for text in BLOCKS if re.fullmatch(r"course grade [^\n]* --scheduler login1:8786\n", text)}
    end = "\nstatus=$?\nkill $(jobs -p)\nwait\nexit $status\n"
    said = run(course, f"set -m\n{certificates}{scheduler}{workers}{grade}{end}", port)
    assert "graded 12, unchanged 0" in said
    assert Ran(course / "results").results() == local.results()


def test_the_batch_job(course: Path, local: Ran) -> None:
    subprocess.run(
        [sys.executable, "-m", "autograder.cli.course", "--root", str(course), "certificates"],
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
    )
    said = run(course, block("#SBATCH"), 0)
    assert "graded 12, unchanged 0" in said
    assert not list(course.glob("cluster-*.json"))
    assert Ran(course / "results").results() == local.results()
