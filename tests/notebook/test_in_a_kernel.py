"""In a kernel: a student's hour, and no process that outlives the kernel.  Whole notebooks: tests/site."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

pytest.importorskip("nbformat", reason="nbformat is not installed")
pytest.importorskip("nbclient", reason="nbclient is not installed")
pytest.importorskip("ipykernel", reason="ipykernel is not installed")

pytestmark = pytest.mark.exhaustive

ROOT = Path(__file__).parents[2]


def load_capture() -> ModuleType:
    import sys

    spec = importlib.util.spec_from_file_location("capture_notebook", ROOT / "docs" / "capture_notebook.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look themselves up
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def capture() -> ModuleType:
    return load_capture()


@pytest.fixture(scope="module")
def quiet_kernels() -> Iterator[None]:
    """What ipykernel and zmq leave open when a client goes is not ours."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AUTOGRADER_DRIVE", "/nonexistent")
        patch.setenv("CUDA_VISIBLE_DEVICES", "")
        yield


def alive(pid: int) -> bool:
    """Whether a process is there, and no zombie."""
    try:
        return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def workers_of(pid: int) -> list[int]:
    """The grader's workers among the children of a process."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                command = (entry / "cmdline").read_bytes()
            except (OSError, ValueError):
                continue
            if parent == pid and b"autograder.worker" in command:
                found.append(int(entry.name))
    return found


def test_a_students_hour_in_part_and_no_worker_outlives_a_killed_kernel(
    capture: ModuleType, quiet_kernels: None, tmp_path: Path
) -> None:
    """As the page shows it, word for word; docs/capture_notebook.py plays all of it."""
    steps = capture.hour()
    some = [steps[number] for number in (0, 1, 2, 5, 8)]
    page = capture.shown_now()
    with capture.kernel_in(capture.student_folder(tmp_path / "course")) as kernel:
        played = capture.play(kernel, some)
        assert [shown.failed for _, shown in played] == [False, False, True, False, False]
        for one in played:
            assert capture.transcript([one]) in page, "run python docs/capture_notebook.py"
        assert "Traceback" not in "".join(shown.text for _, shown in played)
        assert all(
            "grade-report" in shown.html for step, shown in played if "exercise" in step.source and not shown.failed
        )
        assert "public 9 of 9" in played[-1][1].text
        pid, workers = kernel.pid, workers_of(kernel.pid)
        assert workers
        kernel.kill()
        end = time.monotonic() + 60
        while any(map(alive, workers)) and time.monotonic() < end:
            time.sleep(0.05)
        assert not alive(pid)
        assert not any(map(alive, workers))
