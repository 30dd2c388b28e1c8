"""The layers around a child: each test does the forbidden thing from inside one, as if the lift had been escaped.

Every attempt is also made on a worker without layers, where it has to succeed: what is refused here is refused by them.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import json
import os
import shutil
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autograder.devices import find_gpu
from autograder.pool import Pool
from autograder.protocol import CheckJob, CheckReply, Job, Limits, RawTensor
from autograder.worker.sandbox import _landlock

from . import test_worker_escape as escapes
from .making import ROOT

LAUNCH = """
def outputs(case):
    return {"y": ((1 << 14,), "uint8")}

def launch(run, student, case, inputs, outputs):
    student.kernel(outputs["y"])
"""
MODULE = """
import builtins, ctypes, errno, json, os, resource, signal, socket, sys, tempfile, threading, time, torch

def kernel(y):
    def attempt():
        {code}
    try:
        told = {{"value": attempt()}}
    except BaseException as error:
        told = {{"error": repr(error), "errno": getattr(error, "errno", None)}}
    y.copy_(torch.frombuffer(bytearray(json.dumps(told, default=repr).encode().ljust(y.numel())), dtype=torch.uint8))

def call(name, *arguments):
    from autograder.worker.sandbox import _kernel
    number = _kernel.number(name, os.uname().machine)
    libc = ctypes.CDLL(None, use_errno=True)
    if (result := libc.syscall(ctypes.c_long(number), *map(ctypes.c_long, arguments))) == -1:
        raise OSError(ctypes.get_errno(), "refused")
    return result
"""
EVERY = ("landlock", "seccomp", "spare uid")
EVERY_IN_ORDER = ("spare uid", "landlock", "seccomp")
REFUSALS = (errno.EPERM, errno.EACCES, errno.EXDEV)
LIMITS = Limits(cpu_seconds=60, wall_seconds=60)


def tell(pool: Pool, folder: Path, code: str) -> dict[str, Any]:
    """What ``code``, the body of a function, returned or raised inside a child."""
    (folder / "launch.py").write_text(LAUNCH)
    check = CheckJob("c", {}, {"x": RawTensor("float32", (1,), bytes(4))})
    module = MODULE.format(code=code)
    job = Job(str(folder / "launch.py"), "k.py", module, ("kernel",), (check,), device=pool.device, limits=LIMITS)
    replies: list[CheckReply] = []
    pool.run(job, lambda reply, following: replies.append(reply) is None)
    assert replies[0].outcome == "ran", replies[0]
    told: dict[str, Any] = json.loads(bytes(replies[0].outputs["y"].data))
    return told


def require(pool: Pool, *layers: str) -> None:
    """Skip unless one of ``layers`` holds on this machine; those that do not are said to be missing, each once."""
    lacking = [layer for layer in layers if layer not in pool.sandbox.layers]
    for layer in lacking:
        assert [row.startswith(f"{layer}: ") for row in pool.sandbox.missing].count(True) == 1
    if len(lacking) == len(layers):
        pytest.skip(" ".join(row for row in pool.sandbox.missing if row.startswith(tuple(lacking))))


def landlock_version() -> int:
    try:
        return _landlock.abi()
    except OSError:
        return 0


@pytest.fixture(scope="module", params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def pool(request: pytest.FixtureRequest) -> Iterator[Pool]:
    if request.param == "cuda" and find_gpu() is None:
        pytest.skip("no CUDA GPU on this machine")
    with Pool(request.param) as pool:
        yield pool


@pytest.fixture(scope="module")
def bare(pool_without: Callable[..., Pool]) -> Iterator[Pool]:
    with pool_without("cpu", *EVERY, "capabilities") as pool:
        yield pool


@dataclass(frozen=True)
class Attempt:
    """Something forbidden.  Each of ``layers`` refuses it by itself; of landlock, from version ``abi`` on.

    ``needs_none``: refused only where no program has to be started and no GPU to be opened.
    """

    code: str
    layers: tuple[str, ...]
    abi: int = 1
    needs_none: bool = False


ATTEMPTS = {
    "read_solutions": Attempt("return open({solution!r}).read()", ("landlock",)),
    "list_the_course": Attempt("return os.listdir({root!r})", ("landlock",)),
    "read_another_childs_folder": Attempt("return open({sibling!r}).read()", ("landlock",)),
    "list_the_pools_folder": Attempt("return os.listdir('..')", ("landlock", "spare uid")),
    "read_what_is_its_users_alone": Attempt("return open({private!r}).read()", ("landlock", "spare uid")),
    "read_etc_shadow": Attempt("return len(open('/etc/shadow').read())", ("landlock", "spare uid")),
    "write_outside": Attempt("return open({outside!r}, 'w').close()", ("landlock",)),
    "make_a_folder_outside": Attempt("return os.mkdir({outside!r} + '-folder')", ("landlock",)),
    "remove_outside": Attempt("return os.unlink({victim!r})", ("landlock",)),
    "move_out_of_its_folder": Attempt("open('f', 'w').close(); os.rename('f', {outside!r} + '-f')", ("landlock",)),
    "cut_off_a_file": Attempt("os.truncate({victim!r}, 0)", ("landlock", "seccomp"), abi=3),
    "mode_of_a_file": Attempt("os.chmod({victim!r}, 0o777)", ("seccomp", "spare uid"), needs_none=True),
    "time_of_a_file": Attempt("os.utime({victim!r}, (0, 0))", ("seccomp", "spare uid"), needs_none=True),
    "owner_of_a_file": Attempt("os.chown({victim!r}, os.getuid(), os.getgid())", ("seccomp", "spare uid")),
    "read_the_graders_memory": Attempt("return open('/proc/{pool}/mem', 'rb').readable()", ("landlock", "spare uid")),
    "read_the_graders_environment": Attempt(
        "return len(open('/proc/{pool}/environ').read())", ("landlock", "spare uid")
    ),
    "connect": Attempt("socket.create_connection(('127.0.0.1', {port}), 5).close()", ("landlock", "seccomp"), abi=4),
    "listen": Attempt("socket.create_server(('127.0.0.1', 0)).close()", ("landlock", "seccomp"), abi=4),
    "udp": Attempt(
        "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', {port}))", ("seccomp",)
    ),
    "netlink": Attempt("socket.socket(socket.AF_NETLINK, socket.SOCK_RAW).close()", ("seccomp",)),
    "a_service_by_its_path": Attempt(
        "socket.socket(socket.AF_UNIX).connect({service!r})", ("seccomp",), needs_none=True
    ),
    "signal_the_grader": Attempt("os.kill({pool}, 0)", ("landlock", "seccomp", "spare uid"), abi=6),
    "signal_the_server": Attempt("os.kill(os.getppid(), 0)", ("landlock", "seccomp", "spare uid"), abi=6),
    "signal_everybody": Attempt("os.kill(-1, 0)", ("seccomp",)),
    "signal_through_a_handle": Attempt("os.close(os.pidfd_open(os.getppid()))", ("seccomp",)),
    "signals_by_the_kernel": Attempt("import fcntl; fcntl.fcntl(0, fcntl.F_SETOWN, os.getppid())", ("seccomp",)),
    "outlive_the_server": Attempt("call('prctl', 1, 0, 0, 0, 0)", ("seccomp",)),
    "limit_the_server": Attempt(
        "resource.prlimit(os.getppid(), resource.RLIMIT_CORE, (0, 0))", ("seccomp", "spare uid")
    ),
    "slow_the_server": Attempt("os.setpriority(os.PRIO_PROCESS, os.getppid(), 1)", ("seccomp", "spare uid")),
    "bind_the_server_to_one_core": Attempt(
        "os.sched_setaffinity(os.getppid(), os.sched_getaffinity(0))", ("seccomp", "spare uid"), needs_none=True
    ),
    "trace": Attempt("call('ptrace', 0, 0, 0, 0)", ("seccomp",)),
    "memory_of_a_process": Attempt("call('process_vm_readv', os.getpid(), 0, 0, 0, 0, 0)", ("seccomp",)),
    "namespace": Attempt("call('unshare', 0)", ("seccomp",)),
    "namespace_with_a_process": Attempt("call('clone', 0x10000000 | 0x7fff, 0, 0, 0, 0)", ("seccomp",)),
    "mount": Attempt("call('mount', 0, 0, 0, 0, 0)", ("seccomp",)),
    "keys": Attempt("call('keyctl', 0, -3, 0)", ("seccomp",)),
    "ring": Attempt("call('io_uring_setup', 0, 0)", ("seccomp",)),
    "fork": Attempt("pid = os.fork(); os._exit(0) if pid == 0 else os.waitpid(pid, 0)", ("seccomp",), needs_none=True),
    "exec": Attempt("os.execv('/nonexistent', ['x'])", ("seccomp",), needs_none=True),
    "program": Attempt("return __import__('subprocess').run(['true']).returncode", ("seccomp",), needs_none=True),
    "memory_that_stays": Attempt("call('shmget', 0x5eed, 4096, 0o1600)", ("seccomp",), needs_none=True),
}


@pytest.fixture
def places(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[dict[str, Any]]:
    """What attempts are made on.  Everybody on the machine may read and write there: no file mode is in the way."""
    for parent in tmp_path.parents[:2]:  # pytest's own
        if not parent.stat().st_mode & 0o001:
            parent.chmod(0o711)
    tmp_path.chmod(0o777)
    outside, private, victim = (tmp_path / name for name in ("outside", "private", "victim"))
    for file in (private, victim):
        file.write_text("precious")
    private.chmod(0o600)
    victim.chmod(0o644)
    sibling = tmp_path / "sibling"
    sibling.mkdir(mode=0o755)
    (sibling / "k.py").write_text("# another student's")
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as service:
        service.bind(str(tmp_path / "service"))
        service.listen()
        (tmp_path / "service").chmod(0o777)
        yield {
            "root": str(ROOT),
            "solution": str(ROOT / "solutions" / "lesson7" / "flash_attention.py"),
            "sibling": str(sibling / "k.py"),
            "private": str(private),
            "outside": str(outside),
            "victim": str(victim),
            "service": str(tmp_path / "service"),
            "port": server.getsockname()[1],
            "pool": os.getpid(),
        }


def is_refused(told: dict[str, Any]) -> bool:
    return told.get("errno") in REFUSALS


@pytest.mark.parametrize("name", list(ATTEMPTS))
def test_what_is_forbidden_is_refused(pool: Pool, tmp_path: Path, places: dict[str, Any], name: str) -> None:
    attempt = ATTEMPTS[name]
    if attempt.needs_none and pool.device == "cuda":
        pytest.skip("CUDA needs it")
    require(pool, *(layer for layer in attempt.layers if layer != "landlock" or landlock_version() >= attempt.abi))
    told = tell(pool, tmp_path, attempt.code.format(**places))
    assert is_refused(told), told
    assert (tmp_path / "victim").read_text() == "precious"
    assert not (tmp_path / "outside").exists()


@pytest.mark.parametrize("name", list(ATTEMPTS))
def test_without_layers_each_attempt_would_succeed(
    bare: Pool, tmp_path: Path, places: dict[str, Any], name: str
) -> None:
    told = tell(bare, tmp_path, ATTEMPTS[name].code.format(**places))
    if is_refused(told):
        pytest.skip(f"this machine refuses it to everybody: {told}")
    assert "value" in told or told["errno"] is not None, told


@pytest.fixture(scope="module")
def pool_with(pool_without: Callable[..., Pool]) -> Iterator[Callable[[str], Pool]]:
    """A worker that has one of the three layers only."""
    with contextlib.ExitStack() as stack:

        @functools.cache
        def make(layer: str) -> Pool:
            return stack.enter_context(pool_without("cpu", *(other for other in EVERY if other != layer)))

        yield make


@pytest.mark.parametrize(
    ("layer", "name"), [(layer, name) for layer in EVERY for name in ATTEMPTS if layer in ATTEMPTS[name].layers]
)
def test_each_layer_refuses_its_part_by_itself(
    pool_with: Callable[[str], Pool], tmp_path: Path, places: dict[str, Any], layer: str, name: str
) -> None:
    attempt = ATTEMPTS[name]
    require(pool_with(layer), layer)
    if layer == "landlock" and landlock_version() < attempt.abi:
        pytest.skip(f"landlock refuses it from version {attempt.abi} on, and this kernel has {landlock_version()}")
    told = tell(pool_with(layer), tmp_path, attempt.code.format(**places))
    assert is_refused(told), told


ALLOWED = {
    "own_files": "os.mkdir('d'); open('d/f', 'w').write('x'); os.rename('d/f', 'g'); return open('g').read()",
    "temporary_files": "return tempfile.mkdtemp().startswith(os.getcwd())",
    "threads": "t = threading.Thread(target=time.sleep, args=(0.01,)); t.start(); return t.join() is None",
    "late_imports": "import sqlite3, xml.dom.minidom, torch.fft, numpy.polynomial; return True",
    "randomness": "return len(os.urandom(8)) + len(open('/dev/urandom', 'rb', 0).read(8))",
    "nowhere": "return open('/dev/null', 'w').write('x')",
    "signals_to_itself": "signal.signal(10, lambda *_: None); return os.kill(os.getpid(), 10) is None",
}


@pytest.mark.parametrize("name", list(ALLOWED))
def test_what_a_launch_may_need_still_works(pool: Pool, tmp_path: Path, name: str) -> None:
    told = tell(pool, tmp_path, ALLOWED[name])
    assert told.get("value"), told


KERNEL = """
@triton.jit
def twice(x):
    return tl.where(x > 0.0, x + x, tl.exp(x))
"""
HARNESS = """
import triton
import triton.language as tl

@triton.jit
def harness(x_ptr, y_ptr, n, BLOCK: tl.constexpr, piece: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(y_ptr + offs, piece(tl.load(x_ptr + offs, mask=offs < n)), mask=offs < n)

def outputs(case):
    return {"y": ((4,), "float32")}

def launch(run, student, case, inputs, outputs):
    run(harness, (1,), inputs["x"], outputs["y"], 4, BLOCK=16, piece=student.twice)
"""


def test_a_launch_runs_though_its_file_is_for_the_grader_alone(pool: Pool, tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    launch = tmp_path / "launch.py"
    launch.write_text(HARNESS)
    launch.chmod(0o600)
    check = CheckJob("c", {}, {"x": RawTensor("float32", (4,), np.array([0, 1, 2, 3], np.float32).tobytes())})
    replies: list[CheckReply] = []
    job = Job(str(launch), "k.py", KERNEL, ("twice",), (check,), device=pool.device, limits=LIMITS)
    pool.run(job, lambda reply, following: replies.append(reply) is None)
    assert replies[0].outcome == "ran", replies[0]
    assert np.frombuffer(replies[0].outputs["y"].data, np.float32).tolist() == [1, 2, 4, 6]


@pytest.mark.parametrize("depth", ["shared", "cubin"])
def test_kernels_are_lowered_under_the_layers(tmp_path: Path, depth: str) -> None:
    """To the end, too, where the assembler is a program of its own."""
    (tmp_path / "launch.py").write_text(HARNESS)
    case = {"cases": [{"case": {}, "inputs": {"x": ["float32", [4]]}}], "every_variant": True, "depth": depth}
    checks = tuple(CheckJob(target, case, {}) for target in ("sm_75", "sm_90", "sm_100"))
    replies: list[CheckReply] = []
    with Pool("targets") as pool:
        require(pool, *EVERY)
        job = Job(str(tmp_path / "launch.py"), "k.py", KERNEL, ("twice",), checks, device="targets", limits=LIMITS)
        pool.run(job, lambda reply, following: replies.append(reply) is None)
    assert [reply.outcome for reply in replies] == ["ran"] * 3, replies
    assert all(("registers" in reply.measurements) == (depth == "cubin") for reply in replies)


PROGRAMS = """
import ctypes, os, subprocess, triton
open("stub.c", "w").write("int seven(void) { return 7; }")
subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", "stub.so", "stub.c"], check=True)
printed = subprocess.run([triton.knobs.nvidia.ptxas.path, "--version"], check=True, capture_output=True).stdout
raise RuntimeError(f"{ctypes.CDLL('./stub.so').seven()} {b'release' in printed} {os.getpid() != os.getppid()}")
"""


def test_the_programs_that_triton_starts_for_cuda_run_under_the_layers(tmp_path: Path) -> None:
    """Seen without a GPU too: a module's own lines are run before the GPU is opened."""
    if shutil.which("gcc") is None:
        pytest.skip("no gcc on this machine")
    (tmp_path / "launch.py").write_text(LAUNCH)
    check = CheckJob("c", {}, {"x": RawTensor("float32", (1,), bytes(4))})
    replies: list[CheckReply] = []
    with Pool("cuda") as pool:
        require(pool, *EVERY)
        job = Job(str(tmp_path / "launch.py"), "k.py", PROGRAMS, ("kernel",), (check,), device="cuda", limits=LIMITS)
        pool.run(job, lambda reply, following: replies.append(reply) is None)
    assert "RuntimeError: 7 True True" in replies[0].message, replies[0]


def test_each_child_has_a_user_and_a_cache_of_its_own(pool: Pool, tmp_path: Path) -> None:
    code = "time.sleep(1); return [os.getuid(), os.environ['TRITON_CACHE_DIR'], os.getcwd(), os.getgroups()]"
    folders = [tmp_path / name for name in ("a", "b", "c")]
    for folder in folders:
        folder.mkdir()
    with ThreadPoolExecutor(3) as executor:
        told = [one["value"] for one in executor.map(lambda folder: tell(pool, folder, code), folders)]
    assert all(cache == f"{own}/triton-cache" for _, cache, own, _ in told)
    assert len({own for _, _, own, _ in told}) == 3
    require(pool, "spare uid")
    uids = {uid for uid, *_ in told}
    assert len(uids) == 3
    assert min(uids) > 60000
    assert [groups for *_, groups in told] == [[], [], []]


def test_a_child_has_no_capability_and_cannot_get_one(pool: Pool, tmp_path: Path) -> None:
    told = tell(
        pool, tmp_path, "return [row.split() for row in open('/proc/self/status') if row.startswith(('Cap', 'No'))]"
    )
    rows = {name.rstrip(":"): value for name, value in told["value"]}
    assert [int(rows[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")] == [0] * 4
    assert rows["NoNewPrivs"] == "1"


def test_a_user_has_so_many_threads_and_files(pool: Pool, tmp_path: Path) -> None:
    files = tell(pool, tmp_path, "return len([os.open('/dev/null', 0) for _ in range(5000)])")
    assert files["errno"] == 24
    require(pool, "spare uid")
    threads = "[threading.Thread(target=time.sleep, args=(9,), daemon=True).start() for _ in range(2000)]"
    assert "can't start new thread" in tell(pool, tmp_path, threads)["error"]


@pytest.mark.parametrize("name", sorted(set(escapes.ATTACKS) - {"stop_itself", "ignore_signals", "raise_limits"}))
def test_an_attack_on_its_surroundings_ends_in_the_sandbox_or_costs_its_check(
    tmp_path: Path, shared: Pool, name: str
) -> None:
    attack, outcomes = escapes.ATTACKS[name]
    precious = tmp_path / "precious"
    precious.mkdir()
    replies = escapes.run(shared, tmp_path, attack.replace("PRECIOUS", repr(str(precious))))
    assert replies["n1"].outcome in outcomes | {"compile-error"}
    spared = ("n0",) if name in escapes.LINGERING and replies["n1"].outcome == "ran" else ("n0", "n2")
    assert all(replies[other].outcome == "ran" for other in spared)


@pytest.fixture(scope="module")
def shared() -> Iterator[Pool]:
    with Pool("cpu") as pool:
        yield pool


def test_a_machine_without_layers_says_what_a_hand_in_could_do_and_grades(bare: Pool, tmp_path: Path) -> None:
    assert not set(EVERY) & set(bare.sandbox.layers)
    said = {row.partition(":")[0]: row for row in bare.sandbox.missing}
    assert list(said) == list(EVERY_IN_ORDER)
    assert said["landlock"] == (
        "landlock: this kernel has none (Linux has it since 5.13), so code that breaks out of a kernel could read "
        "whatever file its user may read, solutions and other hand-ins among them, and write where its user may write."
    )
    assert said["seccomp"].startswith("seccomp: this kernel has none, so code that breaks out of a kernel could open")
    assert "the other layers alone keep it from this user's files" in said["spare uid"]
    assert bare.sandbox.weak == ()
    assert tell(bare, tmp_path, "return 7")["value"] == 7


def test_a_layer_under_which_python_cannot_work_is_left_out_and_said_so(
    pool_without: Callable[..., Pool], tmp_path: Path
) -> None:
    with pool_without("cpu", "room") as pool:
        assert "landlock" not in pool.sandbox.layers
        [said] = [row for row in pool.sandbox.missing if row.startswith("landlock: ")]
        assert "are hidden by it, so code that breaks out" in said
        assert tell(pool, tmp_path, ALLOWED["late_imports"])["value"]


def test_nothing_of_a_students_runs_if_a_layer_fails_late(pool_without: Callable[..., Pool], tmp_path: Path) -> None:
    (tmp_path / "launch.py").write_text(LAUNCH)
    marker = tmp_path / "marker"
    check = CheckJob("c", {}, {"x": RawTensor("float32", (1,), bytes(4))})
    module = f"open({str(marker)!r}, 'w').close()\nkernel = None"
    replies: list[CheckReply] = []
    with pool_without("cpu", "late") as pool:
        job = Job(str(tmp_path / "launch.py"), "k.py", module, ("kernel",), (check,))
        pool.run(job, lambda reply, following: replies.append(reply) is None)
    assert [reply.outcome for reply in replies] == ["grader-error"]
    assert "A layer of the sandbox did not go on" in replies[0].message
    assert not marker.exists()


def test_layers_are_named_once_here_or_there(pool: Pool) -> None:
    every = {"lifted source", "separate process", "process group", "rlimits", "scrubbed environment", "output to files"}
    sandbox = pool.sandbox
    missing = [row.partition(": ")[0] for row in sandbox.missing]
    assert sorted([*sandbox.layers, *missing]) == sorted({*every, *EVERY})
    assert all(row.endswith(".") and "\n" not in row for row in sandbox.missing)
    assert sandbox.weak == ()
