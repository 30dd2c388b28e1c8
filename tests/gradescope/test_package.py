"""The zip for Gradescope: what is in it, and what `course release` says of it."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from autograder.cli.course import cli
from autograder.errors import UsageError
from autograder.gradescope import make_package
from autograder.gradescope._cores import allowed_cores
from tests.release.making import SECRET, WHEEL, make_course, make_wheel


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("course")
    make_course(folder)
    (folder / "solutions" / ".secret").write_text(SECRET.hex())
    (folder / WHEEL).write_bytes(make_wheel())
    return folder


def test_the_zip_has_its_scripts_at_the_root_and_all_that_grading_needs(place: Path) -> None:
    command = ["release", "--root", str(place), "--to", "gradescope", "--out", str(place / "out")]
    done = CliRunner().invoke(cli, [*command, "--wheel", str(place / WHEEL), "--hidden-checks", "hidden"])
    assert done.exit_code == 0, done.output
    assert "give it to nobody else" in done.output
    (path,) = (place / "out").iterdir()
    assert path.name.endswith("-gradescope-autograder.zip")
    with zipfile.ZipFile(path) as archive:
        modes = {info.filename: info.external_attr >> 16 & 0o777 for info in archive.infolist()}
        assert json.loads(archive.read("gradescope.json"))["hidden_checks"] == "hidden"
        assert archive.read("solutions/.secret").decode().strip() == SECRET.hex()
        assert b"triton==" in archive.read("requirements.txt")
        assert b"give it to nobody else" in archive.read("README.txt")
    assert modes["setup.sh"] == modes["run_autograder"] == 0o755
    assert modes["solutions/hidden.toml"] == 0o644
    assert {"course/course.toml", "solutions/lesson7/flash_attention.py", f"wheels/{WHEEL}"} <= set(modes)
    assert not any("__pycache__" in name or name.startswith("assignments") for name in modes)


def test_the_same_course_gives_the_same_zip(place: Path) -> None:
    from autograder.catalogue import load_course

    course = load_course(place)
    one, other = (make_package(course, wheel=place / WHEEL) for _ in range(2))
    assert one.data == other.data
    with zipfile.ZipFile(io.BytesIO(one.data)) as archive:
        assert archive.testzip() is None


@pytest.mark.parametrize(
    "options", [["--stubs-only", "--to", "gradescope"], ["--hidden-checks", "hidden"], ["--lesson", "7"]]
)
def test_options_that_do_not_go_together_are_refused(place: Path, options: list[str]) -> None:
    done = CliRunner().invoke(cli, ["release", "--root", str(place), *options], standalone_mode=False)
    assert done.exception is not None
    assert "eave it out" in str(done.exception)


def test_a_zip_for_one_lesson_says_so_and_a_lesson_that_is_not_there_is_refused(place: Path) -> None:
    from autograder.catalogue import load_course

    course = load_course(place)
    package = make_package(course, wheel=place / WHEEL, lesson=7)
    points = sum(exercise.points for exercise in course.select(lessons=(7,)) if not exercise.optional)
    assert "-lesson7-" in package.name
    assert json.loads(package.files["gradescope.json"])["lesson"] == 7
    assert "lesson 7: the autograder for Gradescope" in package.files["README.txt"].decode()
    assert f" {points:g} points" in package.files["README.txt"].decode()
    with pytest.raises(UsageError, match="no lesson 70"):
        make_package(course, wheel=place / WHEEL, lesson=70)


def test_a_container_gets_no_more_workers_than_its_share_of_the_machine(tmp_path: Path) -> None:
    none, v2 = tmp_path / "none", tmp_path / "cpu.max"
    quota, period = tmp_path / "quota", tmp_path / "period"
    machine = allowed_cores(none, (none, none))
    assert machine >= 1
    v2.write_text("max 100000\n")
    assert allowed_cores(v2, (none, none)) == machine
    v2.write_text("50000 100000\n")
    assert allowed_cores(v2, (none, none)) == 1
    quota.write_text("-1\n")
    period.write_text("100000\n")
    assert allowed_cores(none, (quota, period)) == machine
    quota.write_text("100000\n")
    assert allowed_cores(none, (quota, period)) == 1
