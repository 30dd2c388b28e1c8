"""The proofs that the grader is real hold for this course; and each of them can fail."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from autograder import session
from autograder.catalogue import Course, load_course
from autograder.errors import UsageError
from autograder.release.markers import BEGIN, END
from autograder.result import RunResult
from autograder.selfcheck import PROOFS, Proof, SelfCheck
from autograder.selfcheck._mutants import mutants
from autograder.session import Grader

ROOT = Path(__file__).parents[2]
MARKERS = (BEGIN, END)


def prove(course: Course, grader: Grader, name: str) -> Proof:
    return SelfCheck(course, grader, jobs=2).run(name, lambda done, total: None)


@pytest.fixture(scope="module")
def grader(course: Course) -> Iterator[Grader]:
    with Grader(course, "cpu", targets="if-passed") as grader:
        yield grader


# Those that grade or compile a whole course and more: `make selfcheck` runs them, and a bare `pytest`.
MINUTES = {*PROOFS} - {"stubs"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.proof] if name in MINUTES else []) for name in PROOFS]
)
def test_proof_holds(course: Course, grader: Grader, name: str) -> None:
    proof = prove(course, grader, name)
    assert [f"{item.subject}: {item.message}" for item in proof.findings] == []
    assert proof.checked > 0


def test_every_mistake_is_written_twice(course: Course) -> None:
    """The second kernel has the same mistake, restructured and renamed."""
    for exercise in course.exercises:
        folder = ROOT / "tests" / "mistakes" / exercise.id
        names = {path.stem for path in folder.glob("*.py")}
        first = {name for name in names if not name.endswith("__again")}
        assert len(first) >= 5
        assert names == first | {f"{name}__again" for name in first}
        for name in first:
            one, again = (folder / f"{stem}.py" for stem in (name, f"{name}__again"))
            assert one.read_text(encoding="utf-8") != again.read_text(encoding="utf-8")


@pytest.fixture
def broken_course(tmp_path: Path) -> Path:
    """A copy of the course to break, with two exercises left in it and nothing but a few mistakes."""
    for folder in ("course", "solutions", "assignments"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    toml = tmp_path / "course" / "course.toml"
    text = toml.read_text(encoding="utf-8")
    head = text.partition("[[lesson]]")[0]
    toml.write_text(f'{head}[[lesson]]\nnumber = 7\ntitle = "Two"\nexercises = ["kernel_loads", "score_mask"]\n')
    shutil.copytree(ROOT / "tests" / "mistakes" / "score_mask", tmp_path / "tests" / "mistakes" / "score_mask")
    for path in (tmp_path / "tests" / "mistakes" / "score_mask").glob("[!cf]*.py"):
        path.unlink()
    (tmp_path / "solutions" / "hidden.toml").unlink()
    return tmp_path


def findings(root: Path, name: str) -> list[str]:
    course = load_course(root)
    with Grader(course, "cpu", targets="off") as grader:
        return [f"{item.subject}: {item.message}" for item in prove(course, grader, name).findings]


def test_a_stub_that_is_not_what_its_solution_makes_is_found(broken_course: Path) -> None:
    stub = broken_course / "assignments" / "lesson7" / "one_shot_attention.py"
    stub.write_text(stub.read_text(encoding="utf-8") + "# drift\n")
    assert any("is not what its solution makes" in item for item in findings(broken_course, "stubs"))


def test_a_solution_that_its_stub_would_give_away_is_found(broken_course: Path) -> None:
    solution = broken_course / "solutions" / "lesson7" / "one_shot_attention.py"
    lines = solution.read_text(encoding="utf-8").split("\n")
    begin, end = (next(n for n, line in enumerate(lines) if line.strip() == marker) for marker in MARKERS)
    region = [line for line in lines[begin + 1 : end] if "#:" not in line]
    with Grader(load_course(broken_course), "cpu", targets="off") as grader:
        solution.write_text("\n".join([*lines[:begin], *region, *lines[end + 1 :]]))
        proof = prove(load_course(broken_course), grader, "stubs")
    assert "load_tiles has no solution region" in proof.findings[0].message
    assert not proof.ok


def test_a_wrong_solution_is_found(broken_course: Path) -> None:
    solution = broken_course / "solutions" / "lesson7" / "one_shot_attention.py"
    text = solution.read_text(encoding="utf-8")
    solution.write_text(text.replace("mask=kv_rows < NSEQ", "mask=kv_rows <= NSEQ"))
    found = findings(broken_course, "solutions")
    assert any(item.startswith("kernel_loads: the solution is partial") for item in found)


def test_checks_too_weak_for_a_mistake_are_found(broken_course: Path) -> None:
    toml = broken_course / "course" / "exercises" / "lesson7" / "score_mask" / "exercise.toml"
    text = toml.read_text(encoding="utf-8")
    toml.write_text(text.split("[[checks]]")[0] + "[[checks]]" + text.split("[[checks]]")[1])
    found = findings(broken_course, "mistakes")
    assert "score_mask/causal_forgotten: passes every check of its exercise" in found


def test_a_quick_check_tries_one_kernel_of_every_second_mistake(broken_course: Path) -> None:
    course = load_course(broken_course)
    kernels = {path.stem for path in (broken_course / "tests" / "mistakes" / "score_mask").glob("*.py")}
    with Grader(course, "cpu", targets="off") as grader:
        proof = SelfCheck(course, grader, jobs=2, quick=True).run("mistakes", lambda done, total: None)
    first = {name for name in kernels if not name.endswith("__again")}
    assert (proof.ok, proof.checked) == (True, (len(first) + 1) // 2)
    assert 0 < proof.checked < len(kernels)


def test_some_mistakes_can_be_tried_alone_however_slow_the_machine(
    broken_course: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(session._PATIENCE, "cpu", 0.0)
    course = load_course(broken_course)
    wanted = ("score_mask/causal_forgotten", "score_mask/causal_forgotten__again")
    with Grader(course, "cpu", targets="off") as grader:
        proof = SelfCheck(course, grader, jobs=2, mistakes=wanted).run("mistakes", lambda done, total: None)
        assert (proof.ok, proof.checked) == (True, 2)
        check = SelfCheck(course, grader, jobs=2, mistakes=("score_mask/nobody_makes_it",))
        with pytest.raises(UsageError, match="There is no mistake score_mask/nobody_makes_it"):
            check.run("mistakes", lambda done, total: None)


def test_what_is_shown_is_repeated_by_the_command_that_showed_it(broken_course: Path) -> None:
    """`grade check` would grade what lies in assignments/."""
    shown: dict[str, RunResult] = {}
    course = load_course(broken_course)
    with Grader(course, "cpu", targets="off") as grader:
        check = SelfCheck(course, grader, 2, shown.__setitem__, ["score_mask/causal_forgotten"])
        check.run("mistakes", lambda done, total: None)
    [(title, result)] = shown.items()
    assert title == "a wrong kernel: score_mask/causal_forgotten, added to its solution"
    again = {check.repro for exercise in result.exercises for check in exercise.checks if check.repro}
    assert again == {"course selfcheck --mistake score_mask/causal_forgotten --show --device cpu"}


def test_mutants_change_one_thing_each() -> None:
    source = "def f(a, n):\n    x = tl.load(a, mask=n < 3, other=0.0)\n    return tl.where(x > 0.0, x, float('-inf'))\n"
    changes = {mutant.change for mutant in mutants(source, "f")}
    assert "f: x = tl.load(a, mask=n < 3, other=0.0) => x = tl.load(a, mask=n <= 3, other=0.0)" in changes
    assert "f: x = tl.load(a, mask=n < 3, other=0.0) => x = tl.load(a, mask=n < 3)" in changes
    assert "f: return tl.where(x > 0.0, x, float('-inf')) => return x" in changes
    assert len(changes) >= 8
