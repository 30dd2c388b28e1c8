"""Bubblewrap around the server: what it hides by itself, and that all goes on as before where it is not there.

The worker inside lacks all other layers, and each attempt is also made on one without bubblewrap, where it succeeds.
"""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from autograder import wrapping
from autograder.pool import Pool
from autograder.pool import _pool as pool_module
from autograder.protocol import CheckJob, CheckReply, Job
from autograder.worker.sandbox import _bubblewrap
from tests.security.test_sandbox import HARNESS, KERNEL, LIMITS, tell

HERE = Path(__file__).parent
ALONE = "landlock,seccomp,spare uid,capabilities"


@pytest.fixture(autouse=True)
def wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the run as a whole does without it, as in continuous integration."""
    monkeypatch.delenv("AUTOGRADER_BUBBLEWRAP", raising=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the launch file lies, inside."""
    return tmp_path_factory.mktemp("launches")


@pytest.fixture(scope="module")
def wrapped(folder: Path) -> Iterator[Pool]:
    """A pool whose worker is in bubblewrap and has no other layer."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("AUTOGRADER_BUBBLEWRAP", raising=False)
        patch.setattr(pool_module, "_PROGRAM", (str(HERE / "lacking_worker.py"), ALONE))
        pool = Pool("cpu", [folder, HERE])
    with pool:
        if "bubblewrap" not in pool.sandbox.layers:
            pytest.skip("no bubblewrap on this machine, or it may make no namespaces here")
        yield pool


@pytest.fixture(scope="module")
def bare(folder: Path) -> Iterator[Pool]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pool_module, "_PROGRAM", (str(HERE / "lacking_worker.py"), ALONE))
        pool = Pool("cpu")
    with pool:
        yield pool


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[dict[str, object]]:
    """A solution, a folder, a process and a server that are not the worker's."""
    (tmp_path / "solution.py").write_text("the answer")
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield {"file": str(tmp_path / "solution.py"), "port": listening.getsockname()[1], "pid": os.getpid()}


ATTEMPTS = {
    "read a file": "return open({file!r}).read()",
    "write a file": "return open({file!r} + '.new', 'w').write('x')",
    "write among Python's": "return os.close(os.open(os.path.dirname(os.__file__) + '/mark', os.O_CREAT | os.O_RDWR))",
    "see a process": "return open('/proc/{pid}/cmdline').read() and {pid} > 8 or int('x')",
    "signal a process": "return os.kill({pid}, 0)",
    "connect": "return socket.create_connection(('127.0.0.1', {port}), 5).close()",
}


@pytest.mark.parametrize("name", ATTEMPTS)
def test_what_is_outside_is_not_there(wrapped: Pool, folder: Path, outside: dict[str, object], name: str) -> None:
    told = tell(wrapped, folder, ATTEMPTS[name].format(**outside))
    assert "error" in told, told
    assert "ValueError" not in told["error"]


@pytest.mark.parametrize("name", [name for name in ATTEMPTS if name != "write among Python's"])
def test_without_it_each_attempt_succeeds(bare: Pool, folder: Path, outside: dict[str, object], name: str) -> None:
    told = tell(bare, folder, ATTEMPTS[name].format(**outside))
    assert "value" in told, told


def test_a_launch_file_that_is_written_anew_is_seen_inside(wrapped: Pool, folder: Path) -> None:
    tell(wrapped, folder, "return 1")
    new = folder / "new.py"
    new.write_text((folder / "launch.py").read_text().replace('student.kernel(outputs["y"])', 'outputs["y"].fill_(7)'))
    new.replace(folder / "launch.py")
    replies: list[CheckReply] = []
    check = CheckJob("c", {}, {})
    job = Job(str(folder / "launch.py"), "k.py", "def kernel(y): pass", ("kernel",), (check,), limits=LIMITS)
    wrapped.run(job, lambda reply, following: replies.append(reply) is None)
    assert replies[0].outcome == "ran", replies
    assert set(np.frombuffer(replies[0].outputs["y"].data, np.uint8)) == {7}


def test_all_layers_hold_inside_and_triton_compiles_to_the_end(wrapped: Pool, tmp_path: Path) -> None:
    """With the assembler, which is a program of its own."""
    (tmp_path / "launch.py").write_text(HARNESS)
    case = {"cases": [{"case": {}, "inputs": {"x": ["float32", [4]]}}], "every_variant": True, "depth": "cubin"}
    replies: list[CheckReply] = []
    with Pool("targets", [tmp_path]) as pool, Pool("targets") as plain:
        assert {*plain.sandbox.layers, "bubblewrap"} <= set(pool.sandbox.layers)
        check = CheckJob("sm_75", case, {})
        job = Job(str(tmp_path / "launch.py"), "k.py", KERNEL, ("twice",), (check,), device="targets", limits=LIMITS)
        pool.run(job, lambda reply, following: replies.append(reply) is None)
    assert [reply.outcome for reply in replies] == ["ran"], replies
    assert "registers" in replies[0].measurements


@pytest.mark.parametrize("program", ["", "#!/bin/sh\nexit 1\n", '#!/bin/sh\nshift $(($# - 7))\nexec "$@"\n'])
def test_where_it_does_not_work_all_goes_on_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    """It is not installed, it fails, or it wraps nothing."""
    place = tmp_path / "programs"
    place.mkdir()
    if program:
        (place / "bwrap").write_text(program)
        (place / "bwrap").chmod(0o755)
        monkeypatch.setenv("PATH", f"{place}:{os.environ['PATH']}")
    else:
        monkeypatch.setenv("PATH", str(place))
    with Pool("targets", [tmp_path]) as pool, Pool("targets") as plain:
        assert pool.sandbox == plain.sandbox


def test_a_program_of_that_name_that_hangs_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bwrap").write_text("#!/bin/sh\nexec sleep 600\n")
    (tmp_path / "bwrap").chmod(0o755)
    (tmp_path / "worker.py").write_text(
        "from autograder.worker import __main__ as worker\n"
        "from autograder.worker.sandbox import _bubblewrap\n"
        "_bubblewrap._BEGIN_SECONDS = 0.5\n"
        "worker.main()\n"
    )
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(pool_module, "_PROGRAM", (str(tmp_path / "worker.py"),))
    monkeypatch.setattr(pool_module, "_START_SECONDS", 60.0)
    with Pool("targets", [tmp_path]) as pool:
        assert "bubblewrap" not in pool.sandbox.layers
        assert not _descendants(pool._process.pid), "what hung was ended"


def test_a_killed_supervisor_takes_everything_along(wrapped: Pool, tmp_path: Path) -> None:
    with Pool("targets", [tmp_path]) as pool:
        assert "bubblewrap" in pool.sandbox.layers
        supervisor = pool._process.pid
        inside = _descendants(supervisor)
        assert len(inside) >= 3  # bubblewrap's two, and the server
        os.kill(supervisor, signal.SIGKILL)
        for pid in inside:
            _wait_until_gone(pid)


def test_on_cuda_only_who_asks_gets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert wrapping.is_wanted("cpu")
    assert not wrapping.is_wanted("cuda")
    monkeypatch.setenv("AUTOGRADER_BUBBLEWRAP", "cuda")
    assert wrapping.is_wanted("cuda")
    assert wrapping.is_wanted("cpu")
    options = _bubblewrap.command("bwrap", "cuda", ())
    assert options[options.index("--dev-bind") :][:3] == ["--dev-bind", "/dev", "/dev"]
    assert "--unshare-net" not in options


def test_it_can_be_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUTOGRADER_BUBBLEWRAP", "off")
    assert not any(wrapping.is_wanted(device) for device in ("cpu", "targets", "cuda"))


def test_no_folder_hides_another_and_none_is_bound_twice() -> None:
    found = _bubblewrap._topmost(["/usr/lib", "/a/b/c", "/a/b", "/a-b", "/a/b/d"])
    assert found == ["/a/b", "/a-b", "/usr/lib"]


def _descendants(pid: int) -> list[int]:
    children = [int(word) for path in Path(f"/proc/{pid}/task").glob("*/children") for word in path.read_text().split()]
    return [found for child in children for found in (child, *_descendants(child))]


def _wait_until_gone(pid: int) -> None:
    """A killed process is gone in a moment; a test that hangs says that it is not."""
    while True:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return
        if state == "Z":
            return
        time.sleep(0.02)
