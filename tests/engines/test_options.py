"""What `course grade --engine dask` refuses before it reaches out, and how the local engine shares its GPUs."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from autograder import devices
from autograder.bulk.engines import reach
from autograder.bulk.engines.attempts import MOST, Attempts
from autograder.bulk.engines.graders import Graders
from autograder.cli import course as commands
from autograder.errors import AutograderError, WorkerError, WorkStopped
from autograder.machine import gpus_alike
from autograder.pool._surroundings import environment

ROOT = Path(__file__).parents[2]


@pytest.fixture
def hand_ins(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "assignments" / "lesson7", tmp_path / "hand-ins" / "ben")
    return tmp_path / "hand-ins"


def grade(hand_ins: Path, *options: str | Path) -> Result:
    words = ("--root", ROOT, "grade", hand_ins, "--out", hand_ins.parent / "out", "--device", "cpu", *options)
    return CliRunner().invoke(commands.cli, [str(word) for word in words], standalone_mode=False)


def refused(result: Result, words: str, code: int = 2) -> None:
    assert isinstance(result.exception, AutograderError), result.output
    assert words in str(result.exception)
    assert result.exception.exit_code == code


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--scheduler", "localhost:8786"), "go with --engine dask: add it."),
        (("--no-tls",), "go with --engine dask: add it."),
        (("--engine", "dask"), "Say where the cluster is with one of --scheduler ADDRESS"),
        (("--engine", "dask", "--slurm", "--scheduler", "x:1"), "Say where the cluster is with one of"),
        (("--engine", "dask", "--scheduler", "x:1", "--no-tls", "--certificates", "."), "--certificates are for TLS"),
        (("--engine", "dask", "--scheduler", "x:1", "--certificates", "."), "Make them with `course certificates`"),
        (("--engine", "dask", "--scheduler", "login one", "--no-tls"), "'login one' is no address of a scheduler."),
        (("--engine", "dask", "--scheduler", "tls://x:1", "--no-tls"), "does not speak TCP. Start it so, or leave out"),
        (("--engine", "dask", "--scheduler-file", "none.json", "--no-tls"), "none.json is no file of a scheduler."),
        (
            ("--engine", "dask", "--scheduler", "x:1", "--no-tls", "--replay", "--student", "ben"),
            "A replay runs on this machine",
        ),
    ],
)
def test_options_that_make_no_sense_are_a_sentence(
    hand_ins: Path, options: tuple[str, ...], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reach, "_CONNECT_SECONDS", 0.0)
    refused(grade(hand_ins, *options), words)
    assert not (hand_ins.parent / "out" / "results").exists()


def test_without_dask_it_says_what_to_install(hand_ins: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    told = "The engine Dask is not installed here. Install what it needs: pip install"
    refused(grade(hand_ins, "--engine", "dask", "--scheduler", "x:1", "--no-tls"), told)


def test_a_hand_in_that_is_begun_and_not_ended_is_begun_three_times_at_most(tmp_path: Path) -> None:
    attempts = Attempts(tmp_path / "running", "first")
    attempts.open()
    assert attempts.here
    for earlier in range(MOST):
        assert len(attempts.earlier("ada")) == earlier
        assert attempts.begin("ada")
    assert not attempts.begin("ada")
    assert attempts.begin("ben"), "nobody else is counted"
    attempts.end("ada")
    assert attempts.earlier("ada") == []
    assert len(attempts.earlier("ben")) == 1
    Attempts(tmp_path / "running", "second").open()
    assert attempts.earlier("ben") == [], "another run begins anew"
    with pytest.raises(WorkStopped):
        attempts.require_here()


class _Fake:
    """Stands in for a grader: one GPU's."""

    def __init__(self, gpu: str) -> None:
        self.gpu = gpu
        self.closed = False

    def close(self) -> None:
        self.closed = True


def test_each_gpu_gets_the_same_share_of_the_hand_ins() -> None:
    made: list[_Fake] = []

    def maker(gpu: str):  # type: ignore[no-untyped-def]
        def make() -> _Fake:
            made.append(_Fake(gpu))
            return made[-1]

        return make

    together = threading.Barrier(4)
    used: list[str] = []

    def borrow(graders: Graders) -> None:
        with graders.lend() as grader:
            used.append(grader.gpu)  # type: ignore[attr-defined]
            together.wait(10)

    with Graders([maker("a"), maker("b")]) as graders:
        threads = [threading.Thread(target=borrow, args=(graders,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(used) == ["a", "a", "b", "b"]
        assert len(made) == 2
        graders.replace(made[0])  # type: ignore[arg-type]
        assert made[0].closed
        graders.start()
        assert len(made) == 3
    assert all(fake.closed for fake in made)
    with pytest.raises(WorkerError, match="was stopped"), graders.lend():
        pass


def test_a_worker_sees_the_one_gpu_that_is_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2,3")
    assert environment("cuda", tmp_path)["CUDA_VISIBLE_DEVICES"] == "2,3"
    assert environment("cuda", tmp_path, "3")["CUDA_VISIBLE_DEVICES"] == "3"
    assert environment("cpu", tmp_path, "3")["CUDA_VISIBLE_DEVICES"] == ""
    assert devices._visible_names(["u", "v"]) == ["2", "3"]
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    assert devices._visible_names(["u", "v"]) == ["GPU-u", "GPU-v"]
    assert devices._visible_names(["u", "u"]) == ["0", "1"]


_LIBCUDA = r"""
#include <stddef.h>
#include <string.h>
int cuInit(int flags) { return 0; }
int cuDeviceGetCount(int *count) { *count = 3; return 0; }
int cuDeviceGetName(char *name, int size, int device) { strcpy(name, device == 2 ? "Small" : "Large"); return 0; }
int cuDeviceGetAttribute(int *value, int which, int device) { *value = which == 75 ? 9 : 0; return 0; }
int cuDeviceTotalMem_v2(size_t *memory, int device) { *memory = 1000; return 0; }
int cuDeviceGetUuid(char *uuid, int device) { memset(uuid, 0x10 + device, 16); return 0; }
"""


def test_gpus_of_the_first_ones_kind_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a library of three GPUs in the place of the driver's."""
    compiler = shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("no C compiler is here")
    (tmp_path / "cuda.c").write_text(_LIBCUDA)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", "libcuda.so.1", "cuda.c"], cwd=tmp_path, check=True)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    look = devices.find_gpus.__wrapped__  # what it remembers is of this machine
    found = look()
    assert [(gpu.name, gpu.capability) for gpu in found] == [("Large", (9, 0)), ("Large", (9, 0)), ("Small", (9, 0))]
    assert len({gpu.visible for gpu in found}) == 3
    assert found[1].visible == "GPU-11111111-1111-1111-1111-111111111111"
    monkeypatch.setattr(devices, "find_gpus", lambda: found)
    assert gpus_alike() == (found[0].visible, found[1].visible)
