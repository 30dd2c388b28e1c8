"""A child that loops, crashes, exits, floods or lies costs its own check alone, and the outcome says which it was.

The modules here are what no lift would ever let through: the pool must hold even if the lift did not.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from autograder.errors import WorkerError
from autograder.pool import Crew, Pool, _pool
from autograder.protocol import CheckJob, CheckReply, Job, Limits, RawTensor

LAUNCH = """
def outputs(case):
    return {"y": ((case["n"],), "float32")}

def launch(run, student, case, inputs, outputs):
    run(student.kernel, (1,), inputs["x"], outputs["y"], case["n"], BLOCK=16)
"""

COPY = """
@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    {extra}
    tl.store(y_ptr + offs, tl.load(x_ptr + offs, mask=offs < n), mask=offs < n)
"""

# Run while a check is under way, as a plain Python function in place of a kernel.
HOSTILE = """
import ctypes, os, sys, time
class Kernel:
    def __getitem__(self, grid):
        return self.run
    def run(self, x, y, n, BLOCK):
        if n != {victim}:
            y.copy_(x)
            return
        {attack}
kernel = Kernel()
"""

ATTACKS = {
    "segfault": ("ctypes.string_at(0)", "crashed"),
    "exit": ("os._exit(0)", "crashed"),
    "exit_code": ("os._exit(3)", "crashed"),
    "abort": ("os.abort()", "crashed"),
    "kill_group": ("os.killpg(0, 9)", "crashed"),
    "endless_loop": ("while True: pass", "timeout"),
    "endless_sleep": ("time.sleep(1000)", "timeout"),
    "memory": ("z = bytearray(1 << 40)", "out-of-memory"),
    "recursion": ("f = lambda: f(); f()", "compile-error"),
    "disk": ("open('big', 'wb').write(bytes(1 << 28))", "compile-error"),
    "stdout": ("[print('PASS' * 10000) for _ in range(100000)]", "compile-error"),
    "close_everything": ("os.closerange(3, 200); time.sleep(1000)", "crashed"),
    "garbage": ("[os.write(fd, b'x' * 100) for fd in SOCKETS()]; time.sleep(1000)", "crashed"),
    "system_exit": ("sys.exit(0)", "crashed"),
}
SOCKETS = """
def SOCKETS():
    import stat
    return [fd for fd in range(3, 200) if _is_socket(fd)]
def _is_socket(fd):
    import stat
    try:
        return stat.S_ISSOCK(os.fstat(fd).st_mode)
    except OSError:
        return False
"""


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool("cpu") as pool:
        yield pool


def make_job(folder: Path, module: str, sizes: tuple[int, ...] = (5, 6, 7)) -> Job:
    launch = folder / "launch.py"
    launch.write_text(LAUNCH)
    return Job(
        launch=str(launch),
        file_name="kernel.py",
        module=module,
        functions=("kernel",),
        checks=tuple(
            CheckJob(f"n{n}", {"n": n}, {"x": RawTensor("float32", (n,), bytes(range(n)) * 4)}) for n in sizes
        ),
        limits=Limits(cpu_seconds=2, wall_seconds=4, memory_bytes=1 << 30, file_bytes=1 << 20, output_bytes=1 << 20),
    )


def run(pool: Pool, job: Job) -> dict[str, CheckReply]:
    replies: dict[str, CheckReply] = {}

    def carry_on(reply: CheckReply, following: CheckJob | None) -> bool:
        replies[reply.id] = reply
        return True

    pool.run(job, carry_on)
    return replies


def test_a_kernel_runs_and_its_output_comes_back_as_bytes(pool: Pool, tmp_path: Path) -> None:
    replies = run(pool, make_job(tmp_path, COPY.format(extra="pass")))
    assert [reply.outcome for reply in replies.values()] == ["ran"] * 3
    assert bytes(replies["n5"].outputs["y"].data) == bytes(range(5)) * 4


@pytest.mark.parametrize("name", list(ATTACKS))
def test_an_attack_costs_its_own_check_alone(pool: Pool, tmp_path: Path, name: str) -> None:
    attack, outcome = ATTACKS[name]
    module = SOCKETS + HOSTILE.format(victim=6, attack=attack)
    replies = run(pool, make_job(tmp_path, module))
    assert {key: reply.outcome for key, reply in replies.items()} == {"n5": "ran", "n6": outcome, "n7": "ran"}
    assert replies["n6"].message


def test_an_attack_on_a_shared_child_costs_its_own_check_alone(pool: Pool, tmp_path: Path) -> None:
    """As on CUDA, where one child runs all checks of an exercise."""
    module = HOSTILE.format(victim=6, attack="os._exit(0)")
    job = replace(make_job(tmp_path, module), limits=replace(Limits(), wall_seconds=20))
    settled: list[CheckReply] = []

    def settle(reply: CheckReply) -> bool:
        settled.append(reply)
        return True

    crew = Crew(pool, {}, reuse=False)
    go_on, blame = crew._run_child(job, settle)
    assert [reply.id for reply in settled] == ["n5"]
    assert go_on
    assert blame is None  # it may have left by itself: the rest gets a fresh child, and there the blame is clear
    go_on, blame = crew._run_child(replace(job, checks=job.checks[1:]), settle)
    assert blame is not None
    assert (blame.reply.id, blame.reply.outcome) == ("n6", "crashed")


@pytest.mark.parametrize("kills", [1, 2])
def test_a_child_that_somebody_kills_is_tried_once_more(kills: int, pool: Pool, tmp_path: Path) -> None:
    job = make_job(tmp_path, HOSTILE.format(victim=6, attack="time.sleep(1.5); y.copy_(x)"))
    children = Path(f"/proc/{pool._process.pid}/task/{pool._process.pid}/children")
    replies: dict[str, CheckReply] = {}
    killed: set[str] = set()

    def kill() -> None:
        while len(killed) < kills and "n6" not in replies:
            for pid in set(children.read_text().split()) - killed if "n5" in replies else ():
                killed.add(pid)
                os.kill(int(pid), signal.SIGKILL)
            time.sleep(0.02)

    def carry_on(reply: CheckReply, following: CheckJob | None) -> bool:
        replies[reply.id] = reply
        return True

    killer = threading.Thread(target=kill)
    killer.start()
    pool.run(job, carry_on)
    killer.join()
    assert len(killed) == kills
    if kills == 1:
        assert replies["n6"].outcome == "ran"
    else:
        assert replies["n6"].outcome == "crashed"
        assert "SIGKILL, also with nothing else running" in replies["n6"].message


def test_a_reply_cannot_be_forged_for_another_check(pool: Pool, tmp_path: Path) -> None:
    attack = (
        "import autograder.protocol as P; "
        "[os.write(fd, P.encode_reply(P.CheckReply('n7', 'ran'))) for fd in SOCKETS()]; time.sleep(1000)"
    )
    replies = run(pool, make_job(tmp_path, SOCKETS + HOSTILE.format(victim=6, attack=attack)))
    assert {key: reply.outcome for key, reply in replies.items()} == {"n5": "ran", "n6": "crashed", "n7": "ran"}


def test_an_output_over_the_limit_is_not_read(pool: Pool, tmp_path: Path) -> None:
    attack = (
        "import autograder.protocol as P; big = P.RawTensor('uint8', (1 << 22,), bytes(1 << 22)); "
        "frame = P.encode_reply(P.CheckReply('n6', 'ran', outputs={'y': big})); "
        "[os.write(fd, frame[:5000]) for fd in SOCKETS()]; time.sleep(1000)"
    )
    replies = run(pool, make_job(tmp_path, SOCKETS + HOSTILE.format(victim=6, attack=attack)))
    assert replies["n6"].outcome == "crashed"
    assert replies["n7"].outcome == "ran"


def test_grandchildren_do_not_outlive_their_check(pool_without: Callable[..., Pool], tmp_path: Path) -> None:
    """Where no layer of the sandbox keeps a child from having children."""
    marker = tmp_path / "pid"
    attack = (
        f"p = os.fork(); (os.setsid(), open({str(marker)!r}, 'w').write(str(os.getpid())), time.sleep(1000)) "
        "if p == 0 else time.sleep(0.5); y.copy_(x)"
    )
    with pool_without("cpu", "landlock", "seccomp", "spare uid", "capabilities") as pool:
        replies = run(pool, make_job(tmp_path, HOSTILE.format(victim=6, attack=attack)))
    assert replies["n6"].outcome == "ran"
    pid = int(marker.read_text())
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    pytest.fail(f"process {pid} is still there")


def test_secrets_of_the_environment_stay_outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMS_TOKEN", "s3cret")
    attack = "y.fill_(float('LMS_TOKEN' in os.environ))"
    with Pool("cpu") as pool:
        replies = run(pool, make_job(tmp_path, HOSTILE.format(victim=6, attack=attack)))
    assert bytes(replies["n6"].outputs["y"].data) == bytes(24)


def test_closing_the_pool_leaves_no_process_and_no_file(tmp_path: Path) -> None:
    pool = Pool("cpu")
    pool.wait_ready()
    folder, process = pool._folder, pool._process
    assert folder.is_dir()
    pool.close()
    assert process.poll() is not None
    assert not folder.exists()


def test_a_dead_server_is_one_plain_error(tmp_path: Path) -> None:
    from autograder.errors import WorkerError

    with Pool("cpu") as pool:
        pool.wait_ready()
        pool._process.kill()
        pool._process.wait()
        with pytest.raises(WorkerError, match=r"The worker stopped\. Run the command again\."):
            run(pool, make_job(tmp_path, COPY.format(extra="pass")))


@pytest.mark.parametrize("changed", [0, 2**32], ids=["long ago", "when the clock was wrong"])
def test_what_a_killed_pool_left_behind_is_cleared_away_and_what_is_in_use_is_not(tmp_path: Path, changed: int) -> None:
    program = (
        "import time; from autograder.pool._workplace import Workplace\n"
        "place = Workplace(); print(place.folder, flush=True); time.sleep(600)"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": str(Path(__file__).parents[2])}

    def start() -> tuple[subprocess.Popen[str], Path]:
        process = subprocess.Popen([sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        return process, Path(process.stdout.readline().strip())

    (tmp_path / "autograder-by-hand").mkdir()
    (tmp_path / "autograder-link").symlink_to(tmp_path)
    first, left = start()
    (left / "source.py").write_text("# a student's")
    with first:
        first.kill()
    os.utime(left, (changed, changed))
    second, used = start()
    os.utime(used, (changed, changed))
    with second:
        third, other = start()
        with third:
            assert not left.exists()
            assert used.is_dir()
            assert other.is_dir()
            third.kill()
        second.kill()
    assert (tmp_path / "autograder-by-hand").is_dir()
    assert (tmp_path / "autograder-link").is_symlink()


def test_a_relative_temporary_folder_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", ".")
    with Pool("cpu") as pool:
        replies = run(pool, make_job(tmp_path, COPY.format(extra="pass")))
    assert [reply.outcome for reply in replies.values()] == ["ran"] * 3


def test_surroundings_in_which_nothing_runs_are_no_students_fault() -> None:
    """Too little memory for a child to begin with: the server has tried a kernel of its own, and does not start."""
    script = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (2 * 10**9, 2 * 10**9))\n"
        "from autograder.errors import WorkerError\n"
        "from autograder.pool import Pool\n"
        "with Pool('cpu') as pool:\n"
        "    try:\n"
        "        pool.wait_ready()\n"
        "    except WorkerError as error:\n"
        "        print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stdout.startswith("The worker did not start: "), done.stdout + done.stderr


def test_a_worker_that_finds_no_room_says_where_to_make_it(monkeypatch: pytest.MonkeyPatch) -> None:
    program = ("-c", "raise OSError(28, 'No space left on device')")
    monkeypatch.setattr(_pool, "_PROGRAM", program)
    room = rf"No room is left on .+ in the temporary folder {tempfile.gettempdir()}\. Make room there, or name another"
    with Pool("cpu") as pool, pytest.raises(WorkerError, match=rf"^The worker did not start\. {room} with TMPDIR\.$"):
        pool.wait_ready()


def test_a_folder_that_cannot_be_made_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile, "mkdtemp", full)
    with pytest.raises(WorkerError, match=r"no temporary folder can be made on .+ \(no space left on device\)\. Make"):
        Pool("cpu")
