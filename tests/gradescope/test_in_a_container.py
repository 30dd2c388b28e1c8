"""The zip's two scripts, run in a folder laid out like Gradescope's: /autograder with source, submission and results.

AUTOGRADER_ROOT stands for /autograder, and KIT_PYTHON for the environment that setup.sh would install from the network.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from autograder import gradescope
from autograder.catalogue import load_course
from autograder.errors import EnvironmentProblem
from autograder.pool import _pool as pool_module
from tests.lessons import keep_lesson
from tests.release.making import ROOT, SECRET, WHEEL, make_course, make_wheel

pytestmark = pytest.mark.exhaustive


class Container:
    """A folder laid out like the container's."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.source, self.submission = root / "source", root / "submission"
        self.results = root / "results" / "results.json"

    def run(self, script: Path) -> subprocess.CompletedProcess[str]:
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "AUTOGRADER_ROOT": str(self.root),
            "KIT_HOME": str(self.root / "home"),
            "KIT_PYTHON": sys.executable,
        }
        return subprocess.run(
            ["bash", script], cwd=self.root, env=environment, capture_output=True, text=True, check=False
        )

    def grade(self, **files: str) -> dict[str, Any]:
        """Hand files in, by their names without ``.py``, and read the results."""
        shutil.rmtree(self.submission)
        self.submission.mkdir()
        for name, text in files.items():
            (self.submission / f"{name}.py").write_text(text, encoding="utf-8")
        done = self.run(self.root / "run_autograder")
        assert done.returncode == 0, done.stdout + done.stderr
        document: dict[str, Any] = json.loads(self.results.read_text(encoding="utf-8"))
        return document


@pytest.fixture(scope="module")
def container(tmp_path_factory: pytest.TempPathFactory) -> Container:
    """Lesson 1's autograder, unpacked and set up."""
    folder = tmp_path_factory.mktemp("gradescope")
    make_course(folder)
    (folder / "solutions" / ".secret").write_text(SECRET.hex())
    keep_lesson(folder, 1)
    wheel = folder / WHEEL
    wheel.write_bytes(make_wheel())
    package = gradescope.make_package(load_course(folder), wheel=wheel)
    made = Container(folder / "autograder")
    for place in (made.source, made.submission, made.results.parent):
        place.mkdir(parents=True)
    (folder / package.name).write_bytes(package.data)
    with zipfile.ZipFile(folder / package.name) as archive:
        archive.extractall(made.source)
    shutil.copy(made.source / "run_autograder", made.root)
    done = made.run(made.source / "setup.sh")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "The solutions pass: " in done.stdout
    assert "Layers around a submission: lifted source" in done.stdout
    return made


def solution(name: str) -> str:
    return (ROOT / "solutions" / "lesson1" / f"{name}.py").read_text(encoding="utf-8")


def test_only_root_can_read_the_source_after_setup(container: Container) -> None:
    assert (container.source / "solutions" / ".secret").read_text().strip() == SECRET.hex()
    open_to_others = [path for path in (container.source, *container.source.rglob("*")) if path.stat().st_mode & 0o077]
    assert open_to_others == []


def test_partial_credit_is_shown_check_by_check_and_a_broken_file_in_words(container: Container) -> None:
    partly = solution("fused_scale_shift").replace("column = offs %", "column = tl.arange(0, BLOCK) %")
    document = container.grade(fused_scale_shift=partly, vector_add="def vector_add_kernel(:\n")
    tests = document["tests"]
    assert {test["visibility"] for test in tests} == {"visible", "after_published"}
    fused = {test["status"] for test in tests if "max_score" in test and not test["name"].startswith("Vector add")}
    assert fused == {"passed", "failed"}
    broken = next(test for test in tests if test["name"].startswith("Vector add"))
    assert broken["score"] == 0
    assert "Line 1" in broken["output"]
    assert document["score"] == pytest.approx(sum(test.get("score", 0) for test in tests))
    assert 0 < document["score"] < sum(test.get("max_score", 0) for test in tests)
    assert str(container.root) not in json.dumps(document)


def test_a_submission_without_a_usable_file_is_told_so(container: Container) -> None:
    document = container.grade()
    assert document["score"] == 0
    assert "There is no readable .py or notebook in your submission." in document["output"]
    assert all(test["score"] == 0 and test["max_score"] > 0 for test in document["tests"])
    assert str(container.root) not in json.dumps(document)


def test_without_a_layer_that_hides_the_source_nothing_is_graded(
    container: Container, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = str(ROOT / "tests" / "security" / "lacking_worker.py")
    monkeypatch.setattr(pool_module, "_PROGRAM", (program, "landlock,spare uid"))
    monkeypatch.setenv("PATH", str(container.root))  # where there is no bubblewrap
    container.results.write_text("{}")
    with pytest.raises(EnvironmentProblem, match="keeps a submission from reading the solutions"):
        gradescope.grade(container.source, container.submission, container.results)
    assert not container.results.exists()
