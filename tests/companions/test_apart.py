"""A kernel that ends or hangs its process ends a companion's page in a sentence and an exit code."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.companions.running import ROOT, SOLUTIONS, hand_in

pytestmark = pytest.mark.exhaustive

SCRIPT = ROOT / "course/companions/lesson1_bandwidth.py"
FILES = ("vector_add.py", "fused_scale_shift.py")
ENDLESS = "    m = 0\n    while m < 1:\n        m = m * 1\n    a = tl.load("


def start(folder: Path, tmp_path: Path, **limits: object) -> subprocess.Popen[str]:
    """The companion with limits of its own: the child runs the same script again."""
    wrapper = tmp_path / "companion.py"
    settings = "".join(f"apart.{name} = {value!r}\n" for name, value in limits.items())
    wrapper.write_text(
        f"import runpy, sys\nsys.path.insert(0, {str(SCRIPT.parent)!r})\nfrom beside_torch import apart\n{settings}"
        f"runpy.run_path({str(SCRIPT)!r}, run_name='__main__')\n"
    )
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TRITON")}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    return subprocess.Popen(
        [sys.executable, str(wrapper), "--dir", str(folder), "--device", "cpu"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        cwd=tmp_path,
    )


def ended(folder: Path, tmp_path: Path, **limits: object) -> tuple[int, str]:
    with start(folder, tmp_path, **limits) as process:
        output, errors = process.communicate(timeout=300)
    assert errors == ""
    return process.returncode, output


def broken(tmp_path: Path, old: str, new: str) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return hand_in(folder, 1, FILES, replaced=[(old, new)])


def test_a_far_address_is_a_sentence_with_the_exercise(tmp_path: Path) -> None:
    folder = broken(tmp_path, "tl.load(a_ptr +", "tl.load(a_ptr + 2**42 +")
    code, output = ended(folder, tmp_path)
    assert code == 1
    assert "The kernel's process was ended by SIGSEGV. Is memory touched that is not the kernel's?" in output
    assert output.rstrip().endswith("grade check vector_add")


def test_an_endless_loop_is_named_by_its_line_and_the_other_kernel_goes_on(tmp_path: Path) -> None:
    folder = broken(tmp_path, "    a = tl.load(", ENDLESS)
    code, output = ended(folder, tmp_path, _CPU_SECONDS={"cpu": 4})
    assert code == 1
    rows = (folder / "vector_add.py").read_text().split("\n")
    lines = [number for number, row in enumerate(rows, 1) if "while m < 1" in row or "m = m * 1" in row]
    named = [f"vector_add.py, line {line} was still at work when its time was up." for line in lines]
    assert any(words in output for words in named)
    assert "grade check vector_add" in output
    assert output.count("Matches.") == 1


@pytest.mark.parametrize("limits", [{"_WALL_SECONDS": 6}, {"_CPU_SECONDS": {"cpu": 1}, "_GRACE": 1}], ids=str)
def test_what_no_exception_gets_out_of_is_ended(tmp_path: Path, limits: dict[str, object]) -> None:
    """Here the file catches all that comes, and begins anew."""
    stubborn = (
        "import triton\nwhile True:\n    try:\n        while True:\n            pass\n    except BaseException:\n"
    )
    folder = broken(tmp_path, "import triton\n", f"{stubborn}        pass\n")
    code, output = ended(folder, tmp_path, **limits)
    assert code == 1
    assert "The kernel did not come to its end. Is there a loop that never ends?" in output
    assert output.rstrip().endswith("grade check vector_add")


def test_options_and_their_errors_come_through(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, str(SCRIPT), "--device", "tpu"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "invalid choice" in done.stderr


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_child_ends_with_its_parent(tmp_path: Path, number: signal.Signals) -> None:
    folder = broken(tmp_path, "    a = tl.load(", ENDLESS)
    with start(folder, tmp_path) as process:
        assert process.stdout is not None
        while "Vector" not in process.stdout.readline():
            pass
        (child,) = children(process.pid)
        process.send_signal(number)
        output, errors = process.communicate(timeout=100)
    assert errors == ""
    if number == signal.SIGINT:
        assert (process.returncode, output.strip().split("\n")[-1]) == (1, "Stopped.")
    end = time.monotonic() + 60
    while Path(f"/proc/{child}").exists() and time.monotonic() < end:
        time.sleep(0.01)
    assert not Path(f"/proc/{child}").exists()


def test_in_a_notebook_the_page_is_shown_by_the_cell(tmp_path: Path) -> None:
    """Where stdout is not the process's own, as in `%run`."""
    wrapper = tmp_path / "companion.py"
    wrapper.write_text(
        "import contextlib, io, os, sys\n"
        "out = io.StringIO()\n"
        f"sys.path.insert(0, {str(SCRIPT.parent)!r})\n"
        "from beside_torch import apart\n"
        "if apart.is_apart():\n    print('from the child')\n    sys.exit(5)\n"
        "with contextlib.redirect_stdout(out):\n    code = apart.run_apart(None)\n"
        "print(code, repr(out.getvalue()))\n"
    )
    done = subprocess.run([sys.executable, str(wrapper)], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("5 'from the child\\n'\n", "")


def test_solutions_need_no_more_than_a_third_of_their_time(tmp_path: Path) -> None:
    code, output = ended(SOLUTIONS, tmp_path, _CPU_SECONDS={"cpu": 10})
    assert code == 0
    assert output.count("Matches.") == 2
