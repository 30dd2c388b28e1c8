"""The file of attempts is small, stays where it is, and never stands in anybody's way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from autograder.attempts import FOLDER, Memory
from autograder.attempts._model import RECENT
from autograder.catalogue import Course
from autograder.release.submit import gather
from tests.attempts.making import result, run

ROOT = Path(__file__).parents[2]


@pytest.fixture
def own(course: Course, tmp_path: Path) -> Course:
    """The course with another root."""
    (tmp_path / "assignments").mkdir()
    return replace(course, root=tmp_path)


@pytest.fixture
def memory(own: Course) -> Memory:
    return Memory(own, own.root / "assignments")


def attempts(memory: Memory) -> int:
    return sum(history.count for devices in memory.histories().values() for history in devices.values())


def take(memory: Memory, course: Course, source: str = "a", outcome: str = "fail") -> dict[str, str]:
    return dict(memory.take(run(result(outcome, source), course=course)))


def test_it_is_kept_from_one_command_to_the_next(own: Course, memory: Memory) -> None:
    take(memory, own)
    again = Memory(own, own.root / "assignments")
    assert take(again, own, "b") == {"kernel_loads": "same failure as last time"}
    history = again.histories()["kernel_loads"]["cpu"]
    assert (history.count, history.first_pass, len(history.recent)) == (2, 0, 2)


def test_it_is_bounded(own: Course, memory: Memory) -> None:
    for number in range(3 * RECENT):
        take(memory, own, f"source {number}")
    history = memory.histories()["kernel_loads"]["cpu"]
    assert (history.count, len(history.recent)) == (3 * RECENT, RECENT)
    for number in range(20):
        take(Memory(own, own.root / f"work{number}.py"), own)
    document = json.loads((own.root / FOLDER / "attempts.json").read_text())
    assert list(document["places"]) == [f"work{number}.py" for number in range(14, 20)]


def test_work_elsewhere_solutions_and_official_runs_are_not_remembered(own: Course, tmp_path: Path) -> None:
    for place in (tmp_path.parent / "elsewhere", tmp_path / "solutions", tmp_path / "solutions" / "lesson7"):
        memory = Memory(own, place)
        take(memory, own)
        assert memory.histories() == {}
    memory = Memory(own, tmp_path / "assignments")
    memory.take(run(result(), course=own, hidden=True))
    assert not (tmp_path / FOLDER).exists()


BROKEN = {
    "empty": "",
    "cut off": '{"schema": 1, "pla',
    "a list": "[]",
    "another schema": '{"schema": 2, "places": {}}',
    "no places": '{"schema": 1}',
    "a list of places": '{"schema": 1, "places": []}',
    "a number for a place": '{"schema": 1, "places": {"assignments": 3}}',
    "no attempt counted": '{"schema": 1, "places": {"assignments": {"kernel_loads/cpu": {"count": 1, "recent": []}}}}',
    "an attempt of nothing": '{"schema": 1, "places": {"assignments": {"kernel_loads/cpu": '
    '{"count": 1, "first_pass": 0, "recent": [{}]}}}}',
    "deep": "[" * 100_000,
    "half a character": '"\\ud800"',
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
def test_a_broken_file_is_forgotten(own: Course, memory: Memory, text: str) -> None:
    (own.root / FOLDER).mkdir()
    (own.root / FOLDER / "attempts.json").write_text(text)
    assert memory.histories() == {}
    assert take(memory, own, "a", "pass") == {"kernel_loads": "passed at the first attempt"}
    assert attempts(memory) == 1


def test_a_broken_entry_costs_only_itself(own: Course, memory: Memory) -> None:
    take(memory, own)
    path = own.root / FOLDER / "attempts.json"
    document = json.loads(path.read_text())
    document["places"]["assignments"]["score_mask/cpu"] = {"count": -1}
    path.write_text(json.dumps(document))
    assert set(memory.histories()) == {"kernel_loads"}


def test_a_folder_that_cannot_be_written_is_no_error(own: Course, memory: Memory) -> None:
    (own.root / FOLDER).write_text("a file is in the way")
    assert take(memory, own) == {}
    assert memory.histories() == {}
    (own.root / FOLDER).unlink()
    (own.root / FOLDER).mkdir()
    (own.root / FOLDER / "attempts.json").mkdir()
    assert take(memory, own) == {}
    assert {path.name for path in (own.root / FOLDER).iterdir()} == {
        ".gitignore",
        "attempts.json",
        "lock",
    }  # no half-written file


def test_a_link_or_a_pipe_in_its_place_is_not_followed(own: Course, memory: Memory, tmp_path: Path) -> None:
    (own.root / FOLDER).mkdir()
    precious = tmp_path / "precious"
    precious.write_text("mine")
    (own.root / FOLDER / "lock").symlink_to(precious)
    (own.root / FOLDER / "attempts.json").symlink_to(precious)
    assert take(memory, own) == {}
    assert precious.read_text() == "mine"
    (own.root / FOLDER / "lock").unlink()
    (own.root / FOLDER / "attempts.json").unlink()
    os.mkfifo(own.root / FOLDER / "attempts.json")  # reading it would wait for somebody to write
    assert memory.histories() == {}


def test_somebody_who_holds_the_lock_for_long_costs_the_remark_and_no_more(own: Course, memory: Memory) -> None:
    take(memory, own)
    with memory._alone():
        assert take(Memory(own, own.root / "assignments"), own, "b") == {}
    assert take(memory, own, "c") == {"kernel_loads": "same failure as last time"}


def test_two_processes_at_once_lose_nothing(own: Course, memory: Memory) -> None:
    each = 15
    program = (
        "import sys\nfrom dataclasses import replace\nfrom pathlib import Path\n"
        "from autograder.attempts import Memory\nfrom autograder.catalogue import load_course\n"
        "from tests.attempts.making import result, run\n"
        "root, name = Path(sys.argv[1]), sys.argv[2]\n"
        f"course = replace(load_course(Path({str(ROOT)!r})), root=root)\n"
        "memory = Memory(course, root / 'assignments')\n"
        f"for number in range({each}):\n"
        "    memory.take(run(result(source=f'{name} {number}'), course=course))\n"
    )
    processes = [
        subprocess.Popen([sys.executable, "-c", program, str(own.root), name], cwd=ROOT) for name in ("one", "two")
    ]
    assert [process.wait(timeout=120) for process in processes] == [0, 0]
    assert attempts(memory) == 2 * each


def test_it_is_in_no_hand_in(own: Course, memory: Memory) -> None:
    take(memory, own)
    (own.root / "assignments" / "x.py").write_text("pass\n")
    for folder in (own.root / "assignments", own.root):
        files, notes = gather(folder)
        assert not any(FOLDER in name for name in files)
        assert not any(FOLDER in note for note in notes)
    assert f"/{FOLDER}/" in (ROOT / ".gitignore").read_text().split("\n")
