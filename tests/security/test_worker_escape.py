"""What a process can do to those around it: threads, forks, signals, files. Others still get their results.

The modules here are what no lift would ever let through: the pool must hold even if the lift did not.  Nor does it rely
on the sandbox: nearly all of this runs on a worker that has no layer of it, and `test_sandbox.py` is about the layers.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from autograder.errors import WorkerError
from autograder.pool import Pool
from autograder.pool import _pool as pool_module
from autograder.protocol import CheckJob, CheckReply, Job, Limits, RawTensor

LAUNCH = """
def outputs(case):
    return {"y": ((4,), "float32")}

def launch(run, student, case, inputs, outputs):
    student.kernel(case["n"], inputs["x"], outputs["y"])
"""
MODULE = """
import builtins, ctypes, os, resource, signal, subprocess, sys, threading, time
def kernel(n, x, y):
    if n == 1:
        {attack}
    y.copy_(x)
"""

# Attack on the second of three checks, and how that check may end. The others must run, and give what they should.
ATTACKS = {
    "threads": (
        "[threading.Thread(target=time.sleep, args=(99,), daemon=True).start() for _ in range(50)]",
        {"ran", "compile-error"},
    ),
    "threads_that_stay": ("[threading.Thread(target=time.sleep, args=(99,)).start() for _ in range(5)]", {"ran"}),
    "stop_itself": ("os.kill(os.getpid(), signal.SIGSTOP)", {"timeout"}),
    "ignore_signals": ("[signal.signal(n, signal.SIG_IGN) for n in (15, 2, 24, 1)]; time.sleep(99)", {"timeout"}),
    "alarm": ("signal.alarm(1); time.sleep(9)", {"crashed"}),
    "raise_limits": (
        "resource.setrlimit(resource.RLIMIT_CPU, resource.getrlimit(resource.RLIMIT_CPU)[1:] * 2)\n"
        "        while True: pass",
        {"timeout", "crashed"},
    ),
    "leave_the_folder": ("os.chdir('/')", {"ran"}),
    "remove_the_folder": ("__import__('shutil').rmtree(os.getcwd())", {"ran"}),
    "lock_the_folder": ("os.chmod('.', 0)", {"ran"}),
    "deep_folders": ("[(os.mkdir('d'), os.chdir('d')) for _ in range(3000)]", {"ran"}),
    "link_for_the_log": ("os.unlink('log'); os.symlink('/etc/passwd', 'log')", {"ran"}),
    "link_for_the_folder": (
        "here = os.getcwd(); os.rename(here, here + 'x'); os.symlink(PRECIOUS, here)",
        {"ran"},
    ),
    "link_for_the_module": ("os.unlink('job1/k.py'); os.symlink('/dev/zero', 'job1/k.py')", {"ran"}),
    "pipe_for_the_log": ("os.unlink('log'); os.mkfifo('log')", {"ran"}),
    "modules_for_the_next": (
        "[builtins.open(f'../{m}.py', 'w').write('raise SystemExit') for m in "
        "('random', 'secrets', 'colorsys', 'plistlib', 'autograder', 'torch', 'sitecustomize')]",
        {"ran"},
    ),
    "own_python": ("sys.modules.clear()", {"ran", "crashed", "compile-error"}),
    "no_exit_status": ("os.kill(os.getpid(), 40)", {"crashed"}),
    "close_everything": ("os.closerange(0, 256)", {"crashed"}),
    "answer_from_a_fork": ("os.fork()", {"ran", "crashed"}),
    "no_memory_left": (
        "resource.setrlimit(resource.RLIMIT_AS, (1, 1)); bytearray(1 << 26)",
        {"out-of-memory", "crashed"},
    ),
}


BARE = ("landlock", "seccomp", "spare uid", "capabilities")


@pytest.fixture(scope="module")
def pool(pool_without: Callable[..., Pool]) -> Iterator[Pool]:
    with pool_without("cpu", *BARE) as pool:
        yield pool


def run(pool: Pool, folder: Path, attack: str) -> dict[str, CheckReply]:
    (folder / "launch.py").write_text(LAUNCH)
    x = RawTensor("float32", (4,), bytes(range(16)))
    job = Job(
        launch=str(folder / "launch.py"),
        file_name="k.py",
        module=MODULE.format(attack=attack),
        functions=("kernel",),
        checks=tuple(CheckJob(f"n{n}", {"n": n}, {"x": x}) for n in range(3)),
        limits=Limits(cpu_seconds=2, wall_seconds=4, memory_bytes=1 << 30, file_bytes=1 << 20),
    )
    replies: dict[str, CheckReply] = {}
    pool.run(job, lambda reply, following: replies.update({reply.id: reply}) is None)
    return replies


LINGERING = {"own_python", "answer_from_a_fork"}


@pytest.mark.parametrize("name", list(ATTACKS))
def test_an_attack_from_within_costs_its_own_check_alone(pool: Pool, tmp_path: Path, name: str) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("still here")
    attack, outcomes = ATTACKS[name]
    replies = run(pool, tmp_path, attack.replace("PRECIOUS", repr(str(precious))))
    assert replies["n1"].outcome in outcomes, replies["n1"]
    # One child runs an exercise's checks: what breaks it and lets it live may cost the checks that follow, no other's.
    spared = ("n0",) if name in LINGERING and replies["n1"].outcome == "ran" else ("n0", "n2")
    for other in spared:
        assert replies[other].outcome == "ran"
        assert bytes(replies[other].outputs["y"].data) == bytes(range(16))
    assert (precious / "file").read_text() == "still here"


def alive(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False


CHAIN = (
    "depth = 0\n"
    "        while depth < 12 and (pid := os.fork()) == 0:\n"
    "            os.setsid(); signal.signal(signal.SIGTERM, signal.SIG_IGN); depth += 1\n"
    "            builtins.open(PIDS, 'a').write(f'{os.getpid()}\\n')\n"
    "        if depth: time.sleep(999)\n"
    "        time.sleep(0.5)"
)
BOMB = (
    "def bomb(level):\n"
    "            for _ in range(3 if level else 0):\n"
    "                if os.fork() == 0:\n"
    "                    os.setsid()\n"
    "                    builtins.open(PIDS, 'a').write(f'{os.getpid()}\\n')\n"
    "                    bomb(level - 1)\n"
    "                    time.sleep(999)\n"
    "        bomb(4)\n"
    "        time.sleep(0.5)"
)


@pytest.mark.parametrize("attack", [CHAIN, BOMB], ids=["chain", "bomb"])
def test_no_process_outlives_its_check_however_it_is_related(pool: Pool, tmp_path: Path, attack: str) -> None:
    """Each has a session of its own, and is handed to the server only once its parent is dead."""
    pids = tmp_path / "pids"
    assert run(pool, tmp_path, attack.replace("PIDS", repr(str(pids))))["n1"].outcome == "ran"
    started = {int(row) for row in pids.read_text().split()}
    assert len(started) >= 12
    for _ in range(200):
        if not any(map(alive, started)):
            return
        time.sleep(0.05)
    pytest.fail(f"still there: {[pid for pid in started if alive(pid)]}")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP, signal.SIGSEGV])
def test_a_server_that_is_shot_is_one_plain_error_and_no_result(
    number: int, pool_without: Callable[..., Pool], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server may run as the same user. That it is gone is noticed, nothing is guessed, and nobody waits for ever."""
    monkeypatch.setattr(pool_module, "_EXIT_SECONDS", 1.0)
    monkeypatch.setattr(pool_module, "_CLOSE_SECONDS", 1.0)
    with pool_without("cpu", *BARE) as pool:
        pool.wait_ready()
        with pytest.raises(WorkerError, match=r"^The worker (stopped|does not answer)\. Run the command again\.$"):
            run(pool, tmp_path, f"os.kill(os.getppid(), {int(number)}); time.sleep(99)")
        server, folder = pool._process, pool._folder
    assert server.poll() is not None
    assert not folder.exists()


def test_files_of_a_job_are_gone_after_it(pool: Pool, tmp_path: Path) -> None:
    before = sorted(os.listdir(pool._folder))
    run(pool, tmp_path, "[builtins.open(f'f{i}', 'wb').write(bytes(1 << 19)) for i in range(20)]")
    assert sorted(os.listdir(pool._folder)) == before
