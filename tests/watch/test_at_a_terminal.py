"""`grade watch` as a student has it: at a pseudo-terminal, with a real worker, which is kept for the whole file."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pexpect
import pytest

ROOT = Path(__file__).parents[2]
ENDLESS = "    m = 0\n    while m < 1:\n        m = m * 1\n    return q, k, v\n"


@pytest.fixture(scope="module")
def sitting(student: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with student.Sitting(tmp_path_factory.mktemp("sitting"), "--no-targets") as sitting:
        sitting.wait_for("not-started", "keys:")
        yield sitting


def ending_in(student: ModuleType, lines: str) -> str:
    """A file that is solved, but for the end of its first function."""
    return solved(student).replace("    return q, k, v\n", lines, 1)


def solved(student: ModuleType) -> str:
    stub = (ROOT / "assignments" / student.STUB).read_text(encoding="utf-8")
    text: str = student.solved_file(stub, ["load_tiles"])
    return text


def worker_of(pid: int) -> int:
    """The fork server that a process has started."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
                if parent == pid and b"autograder.worker" in (folder / "cmdline").read_bytes():
                    return int(folder.name)
        time.sleep(0.05)
    raise AssertionError("there is no worker")


def is_there(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_a_part_of_the_hour_in_the_documentation_is_real(student: ModuleType, tmp_path: Path) -> None:
    """Compiling for GPU targets included; the whole of it is `python docs/capture_watch.py`."""
    shown = student.shown()
    assert [step.words for step in student.HOUR] == list(shown)
    some = [step for step in student.HOUR if not step.mistake]
    with student.Sitting(tmp_path) as sitting:
        for words, answer in student.play(sitting, some[:3]):
            assert answer == shown[words], f"{words} Run python docs/capture_watch.py."
        sitting.press("q")
        sitting.child.expect(pexpect.EOF)
        sitting.child.close()
        assert sitting.child.exitstatus == 0


def test_an_endless_loop_ends_with_the_next_save(student: ModuleType, sitting: Any) -> None:
    sitting.save(ending_in(student, ENDLESS))
    said = sitting.wait_for("Still running kernel_loads, check [a-z_]+", "quits")
    assert "kernel_loads: " not in said
    sitting.save(ending_in(student, "    return q, v, k\n"))
    assert "timeout" not in sitting.wait_for("kernel_loads: [a-z-]+", "keys:")


def test_a_worker_that_is_killed_is_started_again(student: ModuleType, sitting: Any) -> None:
    worker = worker_of(sitting.child.pid)
    os.kill(worker, signal.SIGKILL)
    sitting.save(ending_in(student, "    return k, q, v\n"))
    sitting.wait_for("The worker had stopped, and is started again", "kernel_loads: [a-z-]+", "keys:")
    assert worker_of(sitting.child.pid) != worker


def test_a_file_that_goes_and_comes_back(student: ModuleType, sitting: Any) -> None:
    sitting.file.unlink()
    sitting.wait_for("kernel_loads: not-started", "keys:")
    new = sitting.file.with_name("new.tmp")
    new.write_text(solved(student), encoding="utf-8")
    new.replace(sitting.file)
    said = sitting.wait_for("kernel_loads: pass", "history: ", "Next: ", "keys:")
    assert "passed for the first time, after " in said


def test_r_runs_again_and_t_says_where_there_is_a_trace(sitting: Any) -> None:
    sitting.press("r")
    sitting.wait_for("kernel_loads: pass", "Next: ", "keys:")
    sitting.press("t")
    sitting.wait_for("Those that have one: online_softmax_update")


def test_the_exercise_after_a_pass_is_gone_to_by_a_save(sitting: Any) -> None:
    sitting.save(sitting.file.read_text(encoding="utf-8") + "\n# on to the next\n")
    sitting.wait_for("passes as before: on to score_mask", "At score_mask", "keys:")


def test_ctrl_c_ends_it_with_130_and_leaves_nothing_behind(student: ModuleType, tmp_path: Path) -> None:
    """In a shell that looks at its terminal before and after; while checks are running."""
    root = student.student_folder(tmp_path)
    stub = root / "assignments" / student.STUB
    stub.parent.mkdir(parents=True)
    stub.write_text(ending_in(student, ENDLESS), encoding="utf-8")
    watch = f"{sys.executable} -P -m autograder.cli.grade watch {student.EXERCISE} --plain --device cpu --no-targets"
    script = f"trap : INT; stty -a > before; {watch}; echo ended with $?; stty -a > after"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    shell = pexpect.spawn("/bin/bash", ["-c", script], cwd=str(root), env=environment, encoding="utf-8", timeout=120)
    shell.expect("At kernel_loads")
    children = Path(f"/proc/{shell.pid}/task/{shell.pid}/children").read_text().split()
    worker = worker_of(int(children[0]))
    shell.sendintr()
    shell.expect("Stopped.")
    shell.expect(r"ended with (\d+)")
    assert shell.match[1] == "130"
    shell.expect(pexpect.EOF)
    shell.close()
    assert (root / "before").read_text() == (root / "after").read_text()
    assert not is_there(worker)
    assert list(tmp_path.glob("autograder-*")) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_ends_it_and_its_worker_while_both_still_import(
    student: ModuleType, tmp_path: Path, number: signal.Signals
) -> None:
    """The worker is held up on purpose, for longer than this test waits: it must not be waited for."""
    root = student.student_folder(tmp_path)
    slow = tmp_path / "slow"
    slow.mkdir()
    (slow / "torch.py").write_text("import time\ntime.sleep(600)\n")
    command = [sys.executable, "-P", "-m", "autograder.cli.grade", "watch", student.EXERCISE]
    command += ["--device", "cpu", "--no-targets"]
    environment = {**os.environ, "PYTHONPATH": f"{slow}:{ROOT}", "XDG_CACHE_HOME": str(tmp_path)}
    environment |= {"PYTHONUNBUFFERED": "1", "TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        command, cwd=root, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert any("At kernel_loads" in line for line in iter(process.stdout.readline, ""))
        worker = worker_of(process.pid)
        process.send_signal(number)
        assert process.wait(timeout=100) == 128 + number
    end = time.monotonic() + 60
    while is_there(worker) and time.monotonic() < end:
        time.sleep(0.01)
    assert not is_there(worker)
    assert list(tmp_path.glob("autograder-*")) == []


def test_without_a_terminal_it_works_without_keys_and_ends_when_told(student: ModuleType, tmp_path: Path) -> None:
    root = student.student_folder(tmp_path)
    command = [sys.executable, "-P", "-m", "autograder.cli.grade", "watch", student.EXERCISE]
    command += ["--device", "cpu", "--no-targets"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(tmp_path), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, cwd=root, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        lines = iter(process.stdout.readline, "")
        assert any("Ctrl-C ends it." in line for line in lines)
        assert any("kernel_loads: not-started" in line for line in lines)
        (root / "assignments" / student.STUB).write_text(solved(student), encoding="utf-8")
        assert any("kernel_loads passes: 1 / 1" in line for line in lines)
        process.send_signal(signal.SIGTERM)
        rest = "".join(lines)
    assert process.returncode == 128 + signal.SIGTERM
    assert "keys:" not in rest
