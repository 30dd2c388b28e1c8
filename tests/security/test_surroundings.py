"""What lies around: modules by the names of real ones, environment variables, caches; and what a worker can see."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from autograder.catalogue import Course
from autograder.judge.oracles import check_seed, load_oracle
from autograder.judge.tensors import to_raw
from autograder.plan import Reference
from autograder.pool import Pool
from autograder.pool import _conversation as pool_module
from autograder.protocol import CheckJob, CheckReply, Job, RawTensor
from autograder.session import Grader, Request

from .making import RIGHT_PIN, ROOT, function, hostile, write

SHADOWS = """
torch triton numpy json ctypes struct socket select sitecustomize usercustomize click rich tomllib ast evil pathlib
"""
COMMAND = "import sys\nsys.path.insert(1, {root!r})\nfrom autograder.cli.grade import main\nmain()\n"


@pytest.fixture
def surrounded(tmp_path: Path) -> Path:
    """A hand-in with a module by every name that Python might look for, each of which leaves a trace if imported."""
    folder = write(tmp_path / "handin", hostile(function("pin_ghost_rows", RIGHT_PIN)))
    traces = tmp_path / "traces"
    traces.mkdir()
    trap = "import builtins\nbuiltins.open({!r}, 'w').close()\nraise SystemExit(9)\n"
    for name in SHADOWS.split():
        (folder / f"{name}.py").write_text(trap.format(str(traces / name)))
    for name in ("autograder", "course", "solutions", "lesson7"):
        (folder / name).mkdir(exist_ok=True)
        (folder / name / "__init__.py").write_text(trap.format(str(traces / name)))
    (folder / "evil.pth").write_text(f"import os; os.mkdir({str(traces / 'pth')!r})\n")
    (folder / "pyvenv.cfg").write_text(f"home = {folder}\n")
    (folder / "conftest.py").write_text(trap.format(str(traces / "conftest")))
    return folder


def assert_untouched(folder: Path) -> None:
    """No module of the hand-in was imported."""
    assert [path.name for path in (folder.parent / "traces").iterdir()] == []


def grade_in(folder: Path, scripts: Path, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run ``grade`` as its console script does, from within the hand-in."""
    script = scripts / "grade"
    script.write_text(COMMAND.format(root=str(ROOT)))
    command = [
        sys.executable,
        str(script),
        "score_mask",
        "--root",
        str(ROOT),
        "--dir",
        ".",
        "--json",
        "-",
        "--no-targets",
    ]
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "TRITON"))}
    return subprocess.run(
        [*command, *options], cwd=folder, env={**clean, **environment}, capture_output=True, text=True, check=False
    )


def test_nothing_is_imported_from_the_hand_in_or_the_current_folder(surrounded: Path, tmp_path: Path) -> None:
    scripts = tmp_path / "bin"
    scripts.mkdir()
    done = grade_in(
        surrounded,
        scripts,
        "--device",
        "cpu",
        PYTHONSTARTUP=str(surrounded / "evil.py"),
        TRITON_INTERPRET="0",
        TRITON_CACHE_DIR=str(surrounded / "cache"),
        TRITON_HOME=str(surrounded),
        TRITON_OVERRIDE_DIR=str(surrounded),
        TRITON_KERNEL_OVERRIDE="1",
        TRITON_PLUGIN_PATHS=str(surrounded / "evil.so"),
        TRITON_DEBUG="1",
        HOME=str(surrounded),
        LD_PRELOAD="",
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["exercises"][0]["outcome"] == "pass"
    assert_untouched(surrounded)


def test_the_search_for_a_gpu_imports_nothing_from_the_hand_in(surrounded: Path, tmp_path: Path) -> None:
    scripts = tmp_path / "bin"
    scripts.mkdir()
    done = grade_in(surrounded, scripts)
    assert done.returncode == 0, done.stderr
    assert_untouched(surrounded)


LAUNCH = """
def outputs(case):
    return {"y": ((case["n"],), "uint8")}

def launch(run, student, case, inputs, outputs):
    student.look(outputs["y"])
"""
LOOK = """
import json, os, stat, sys, torch
def look(y):
    def kind(fd):
        try:
            mode = os.fstat(fd).st_mode
        except OSError:
            return None
        return "socket" if stat.S_ISSOCK(mode) else os.readlink(f"/proc/self/fd/{fd}")
    seen = {
        "argv": open("/proc/self/cmdline").read().split("\\0"),
        "environ": sorted(os.environ),
        "path": sys.path,
        "cwd": os.getcwd(),
        "files": sorted(os.listdir(".")),
        "modules": sorted(name for name in sys.modules if name.startswith("autograder")),
        "fds": {fd: kind(fd) for fd in range(64) if kind(fd)},
        "cache": os.environ["TRITON_CACHE_DIR"],
    }
    raw = json.dumps(seen).encode().ljust(y.numel())
    y.copy_(torch.frombuffer(bytearray(raw), dtype=torch.uint8))
"""


def test_a_worker_sees_its_job_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even with all of Python at hand: no expected value, no token, no other file is in the process."""
    home = tmp_path / "home"
    for variable in ("TRITON_CACHE_DIR", "TRITON_HOME", "HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(variable, str(home))
    monkeypatch.setenv("PYTHONSTARTUP", str(home / "start.py"))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["", ".", "relative", str(ROOT)]))
    monkeypatch.setenv("GITHUB_TOKEN", "secret")
    monkeypatch.setenv("LD_PRELOAD_NOT", "x")
    (tmp_path / "launch.py").write_text(LAUNCH)
    check = CheckJob("c", {"n": 1 << 15}, {"x": RawTensor("float32", (4,), bytes(16))})
    replies: list[CheckReply] = []
    with Pool("cpu") as pool:
        job = Job(str(tmp_path / "launch.py"), "k.py", LOOK, ("look",), (check,))
        pool.run(job, lambda reply, following: replies.append(reply) is None)
        folder = str(pool._folder)
    assert replies[0].outcome == "ran", replies[0].message
    seen = json.loads(bytes(replies[0].outputs["y"].data))
    assert seen["argv"][1:4] == ["-P", "-m", "autograder.worker"]
    assert set(seen["environ"]) <= {
        *("PATH", "LD_LIBRARY_PATH", "LANG", "LC_ALL", "CUDA_VISIBLE_DEVICES", "CUDA_HOME", "CC", "TZ", "LC_CTYPE"),
        *("PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "PYTHONHASHSEED", "HOME", "TMPDIR"),
        *("TRITON_CACHE_DIR", "TRITON_DEFAULT_FP_FUSION", "TRITON_INTERPRET", "PYTHONUSERBASE"),
        *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "GLIBC_TUNABLES"),
    } | {name for name in seen["environ"] if name.startswith(("KMP_", "TORCH_"))}
    assert seen["cache"].startswith(folder)
    assert not any(entry.startswith(folder) or not os.path.isabs(entry) for entry in seen["path"])
    assert seen["cwd"].startswith(folder + "/")
    assert seen["files"] == ["job1", "log"]
    assert {name.split(".")[1] for name in seen["modules"] if "." in name} <= {"worker", "protocol", "recording"}
    kinds = list(seen["fds"].values())
    assert kinds.count("socket") == 1, kinds
    assert all(kind == "socket" or kind == "/dev/null" or kind.startswith(folder) for kind in kinds), kinds
    assert not home.exists()


def test_no_expected_value_and_no_secret_goes_to_a_worker(
    grader: Grader, course: Course, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that a worker gets is one frame, and in it is no row of what the oracle gives, in either precision."""
    frames: list[bytes] = []
    plain = pool_module.encode_job

    def recorded(job: Job, folder: str) -> bytes:
        frames.append(plain(job, folder))
        return frames[-1]

    monkeypatch.setattr(pool_module, "encode_job", recorded)
    secret = bytes(range(100, 116))
    reference = Reference.load(course, secret)
    exercise = course.exercise("one_shot_attention")
    folder = write(tmp_path, hostile(function("pin_ghost_rows", RIGHT_PIN)))
    result = grader.grade(Request(folder, (exercise,), seed=11, reference=reference))
    assert result.exercises[0].outcome == "pass"
    sent = b"".join(frames)
    oracle = load_oracle(exercise.oracle)
    for check in (*exercise.checks, *reference.hidden[exercise.id]):
        inputs = oracle.inputs(check, check_seed(exercise, check, 11, secret))
        assert bytes(to_raw(inputs["q"]).data) in sent, "the recording is of this run"
        for values in (oracle.exact(check, inputs), oracle.plain(check, inputs)):
            for value in values.values():
                # A row with one visible key, or one score far above all others, is a row of v.
                rows = value[1:] if check.case["spread"] < 10 else ()
                assert not any(bytes(to_raw(row).data) in sent for row in rows)
    for word in (secret, secret.hex().encode(), b"solutions/", b"oracle", b"hidden.toml", b"BEGIN SOLUTION"):
        assert word not in sent


def test_a_folder_whose_name_is_no_text_makes_a_report_that_can_be_written(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"h\xff\x1b[31m")
    write(folder, hostile(function("mask_scores", "return s * 1.0")))
    done = grade_in(tmp_path, tmp_path, "--device", "cpu", "--dir", str(folder), "--json", str(tmp_path / "out.json"))
    assert done.returncode == 1, done.stderr
    assert "\x1b" not in done.stdout
    assert json.loads((tmp_path / "out.json").read_bytes().decode("utf-8"))["exercises"][0]["outcome"] == "partial"
