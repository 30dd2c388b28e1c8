"""Who is to blame when a process dies: a hand-in only if the process that is its own dies, and the worker lives."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from autograder import __version__
from autograder.bulk.engines import remote, suspect
from autograder.bulk.engines.remote import Order
from autograder.bulk.engines.suspect import Apart
from autograder.bulk.hand_ins import HandInPath
from autograder.errors import CourseError, EnvironmentProblem, WorkerError

ORDER = Order(__version__, "run", Path("root"), Path("out"), (), 7, False, False, False, 1, {}, {})
ADA = HandInPath("ada", Path("ada"))

_ANSWERS = """
from autograder.bulk.desk import Graded
from autograder.bulk.engines.suspect import main
from autograder.errors import CourseError
"""


def program(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(suspect, "_PROGRAM", ("-c", text))


def test_a_process_that_dies_each_time_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tries = tmp_path / "tries"
    dies = f"import os, signal; open({str(tries)!r}, 'a').write('x'); os.kill(os.getpid(), signal.SIGKILL)"
    program(monkeypatch, dies)
    assert Apart().grade(ORDER, ADA) is None
    assert tries.read_text() == "x" * suspect.TRIES


def test_one_that_died_once_is_held_against_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mark = str(tmp_path / "once")
    once = f"import os\nif not os.path.exists({mark!r}):\n    os.mkdir({mark!r})\n    os._exit(9)\n"
    program(monkeypatch, f"{once}{_ANSWERS}main(lambda order, one: Graded(one.student, True, None, ('a', 'b')))")
    graded = Apart().grade(ORDER, ADA)
    assert graded is not None
    assert (graded.student, graded.fresh, graded.fault, graded.missing) == ("ada", True, None, ("a", "b"))


def test_errors_come_back_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    raises = "def grade(order, one):\n    print('noise')\n    raise CourseError('The oracle is broken.')\nmain(grade)"
    program(monkeypatch, f"{_ANSWERS}{raises}")
    with pytest.raises(CourseError, match=r"The oracle is broken\."):
        Apart().grade(ORDER, ADA)


def test_the_end_of_a_run_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    program(monkeypatch, "import time; time.sleep(600)")
    apart = Apart()
    ended: list[BaseException] = []

    def grade() -> None:
        try:
            apart.grade(ORDER, ADA)
        except WorkerError as error:
            ended.append(error)

    thread = threading.Thread(target=grade)
    thread.start()
    while not apart._running:
        pass
    apart.close()
    thread.join(30)
    assert [str(error) for error in ended] == ["The run was stopped."]
    with pytest.raises(WorkerError):
        apart.grade(ORDER, ADA)


def test_a_worker_of_another_version_that_comes_late_grades_nothing() -> None:
    with pytest.raises(EnvironmentProblem, match=r"of the kit, and the run is of 0\.0\.9\."):
        remote.grade(replace(ORDER, version="0.0.9"), ADA)
