"""``grade`` keeps its contract: the short form, exit codes, JSON, places, plain text, and the commands around it."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import click
import pytest

from autograder import __version__, devices
from autograder.catalogue import Course
from autograder.cli import common
from autograder.cli.grade import cli
from autograder.errors import LeakError
from autograder.reports.terminal import first_story, make_console, print_run
from autograder.result import Environment, ExerciseResult, RunResult, Sandbox

ROOT = Path(__file__).parents[2]
ONE_SHOT, FLASH = "lesson7/one_shot_attention.py", "lesson7/flash_attention.py"
COMMANDS = sorted(cli.commands)

Grade = Callable[..., "subprocess.CompletedProcess[str]"]


def stub_files(course: Course) -> str:
    """All stub files in teaching order, as a sentence names them."""
    return ", ".join(dict.fromkeys(exercise.stub for exercise in course.exercises))


@pytest.fixture
def student(tmp_path: Path) -> Path:
    """A student's folder: the course without solutions, pristine copies, nothing begun."""
    root = tmp_path / "student"
    shutil.copytree(ROOT / "course", root / "course", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "assignments", root / "course" / "pristine")
    return root


def solve(folder: Path, stub: str) -> Path:
    path = folder / stub
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text((ROOT / "solutions" / stub).read_text(encoding="utf-8"), encoding="utf-8")
    return path


def is_sentence(text: str) -> bool:
    """One or two plain sentences, without a traceback."""
    return text.startswith("Error: ") and text.count("\n") == 1 and "Traceback" not in text


# Grading --------------------------------------------------------------------------------------------------------------


def test_the_short_form_grades_assignments_and_creates_them_first(grade: Grade, student: Path, course: Course) -> None:
    """`grade` in a folder below the root, `--root` found by looking up; nothing started: exit 1."""
    printed = grade("--device", "cpu", "--plain", "--no-targets", cwd=student / "course")
    assert printed.returncode == 1, printed.stderr
    assert printed.stderr == f"Put into assignments/: {stub_files(course)}\n"
    assert printed.stdout.isascii()
    assert "\x1b" not in printed.stdout
    assert printed.stdout.count("not-started ") == len(course.exercises)
    assert (
        f"total 0 / {sum(exercise.points for exercise in course.exercises if not exercise.optional):g}"
        in printed.stdout
    )
    assert f"grade hint {course.exercises[0].id}" in printed.stdout


def test_named_exercises_of_any_folder_with_the_root_after_the_command(grade: Grade, tmp_path: Path) -> None:
    """--dir is relative to the current folder; passed exercises give exit 0; stdout holds the JSON alone."""
    solve(tmp_path / "my work é", ONE_SHOT)
    options = ("--dir", "my work é", "--device", "cpu", "--no-targets", "--seed", "3")
    printed = grade("check", "score_mask", "kernel_loads", *options, "--json", "-", "--root", ROOT)
    assert printed.returncode == 0, printed.stderr
    document = json.loads(printed.stdout)
    assert [exercise["id"] for exercise in document["exercises"]] == ["kernel_loads", "score_mask"]
    assert document["seed"] == 3
    assert document["hidden"] is False
    assert document["error"] is None
    assert document["total"] == {"score": 2.0, "points": 2.0, "bonus": 0.0}
    repro = document["exercises"][0]["checks"][0]["repro"]
    assert repro.startswith("grade check kernel_loads --seed 3 --device cpu")
    assert "--dir 'my work é'" in repro


def test_a_wrong_exercise_ends_with_1_and_its_document_is_a_whole_file(grade: Grade, tmp_path: Path) -> None:
    """The root before the command, --lesson, one file as the hand-in, --json PATH."""
    path = solve(tmp_path, ONE_SHOT)
    path.write_text(path.read_text().replace("offs_n[None, :] < NSEQ", "offs_n[None, :] <= NSEQ"))
    out = tmp_path / "result.json"
    out.write_text("an older and much longer document" * 10_000)
    options = ("--lesson", "7", "--dir", path, "--device", "cpu", "--no-targets", "--plain", "--json", out)
    printed = grade("--root", ROOT, "score_mask", *options)
    assert printed.returncode == 1, printed.stderr
    assert printed.stdout.isascii()
    assert re.search(r"^(partial|fail) +score_mask", printed.stdout, re.MULTILINE)
    assert "again: grade check score_mask --seed 7 --device cpu" in printed.stdout
    assert json.loads(out.read_text())["exercises"][0]["outcome"] in ("partial", "fail")
    assert {item.name for item in tmp_path.iterdir()} == {"lesson7", "result.json"}  # no half-written file is left


def test_a_hand_in_without_a_readable_file_is_a_sentence_and_a_document(grade: Grade, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    printed = grade("--root", ROOT, "--dir", "empty", "--device", "cpu", "--json", "-")
    assert printed.returncode == 2
    assert is_sentence(printed.stderr)
    document = json.loads(printed.stdout)
    assert document["exercises"] == []
    assert "no readable .py or notebook in empty" in document["error"]


# Errors ---------------------------------------------------------------------------------------------------------------

WRONG = {
    "unknown exercise": (("nope", "--root", ROOT), "no exercise called 'nope'"),
    "unknown lesson": (("--lesson", "99", "--root", ROOT), "no lesson 99"),
    "no course": ((), "No course found"),
    "root without a course": (("--root", "/"), "course.toml cannot be read"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_input_ends_with_2_and_one_sentence(grade: Grade, case: str) -> None:
    arguments, words = WRONG[case]
    printed = grade(*arguments, "--json", "-")
    assert printed.returncode == 2
    assert is_sentence(printed.stderr)
    assert words in printed.stderr
    document = json.loads(printed.stdout)
    assert document["exercises"] == []
    assert words in document["error"]
    assert document["schema"] == 1


@pytest.mark.skipif(devices.find_gpu() is not None, reason="this machine has a GPU")
def test_asking_for_a_gpu_where_there_is_none_ends_with_2(grade: Grade, tmp_path: Path) -> None:
    printed = grade("--root", ROOT, "--device", "cuda", "--json", tmp_path / "r.json")
    assert printed.returncode == 2
    assert printed.stdout == ""
    assert "--device cpu" in printed.stderr
    assert "--device cpu" in json.loads((tmp_path / "r.json").read_text())["error"]


def test_a_wrong_command_line_ends_with_2(grade: Grade) -> None:
    for arguments in (("--seed", "x"), ("--device", "tpu"), ("--seed", "-1"), ("--unknown",)):
        printed = grade("check", *arguments, "--root", ROOT)
        assert printed.returncode == 2
        assert "Error: " in printed.stderr
        assert "Traceback" not in printed.stderr


def test_a_number_that_is_none_is_said_in_plain_words(grade: Grade) -> None:
    for option, words in (
        (("--seed", "abc"), "'abc' is no whole number from 0 to 2147483647."),
        (("--seed", "-1"), "'-1' is no whole number from 0 to 2147483647."),
        (("--lesson", "seven"), "'seven' is no whole number."),
    ):
        printed = grade(*option, "--root", ROOT)
        assert printed.returncode == 2
        assert words in printed.stderr


def test_a_result_goes_where_a_link_points_and_into_pipes(grade: Grade, student: Path) -> None:
    (student / "link.json").symlink_to("real.json")
    assert grade("doctor", "--json", "link.json", cwd=student).returncode in (0, 1)
    assert (student / "link.json").is_symlink()
    assert json.loads((student / "real.json").read_text())["schema"] == 1
    printed = grade("doctor", "--json", "/dev/stdout", cwd=student)
    assert '"schema": 1' in printed.stdout


def test_a_result_that_cannot_be_written_is_a_sentence(grade: Grade) -> None:
    printed = grade("nope", "--root", ROOT, "--json", "missing/folder/r.json")
    assert printed.returncode == 2
    assert is_sentence(printed.stderr)


def test_debug_shows_where_an_error_came_from(grade: Grade) -> None:
    for arguments in (("--debug", "check", "nope"), ("check", "nope", "--debug")):
        printed = grade(*arguments, "--root", ROOT)
        assert printed.returncode == 2
        assert "Traceback" in printed.stderr
        assert printed.stderr.rstrip().split("\n")[-1].startswith("Error: There is no exercise")


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (ValueError("odd"), 3, "the grader itself failed (ValueError: odd). This costs no points"),
        (LeakError("It would leak."), 3, "Error: It would leak."),
        (KeyboardInterrupt(), 130, "Stopped."),
    ],
)
def test_faults_of_the_grader_end_with_3_and_blame_nobody(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: BaseException, code: int, words: str
) -> None:
    @click.command()
    def command() -> None:
        raise error

    for debug in ([], ["--debug"]):
        monkeypatch.setattr(sys, "argv", ["grade"])
        monkeypatch.setattr(
            command, "main", lambda prog_name, standalone_mode: click.Command.main(command, [], prog_name, None, False)
        )
        monkeypatch.setattr(sys, "argv", ["grade", *debug])
        with pytest.raises(SystemExit) as ended:
            common.run(command, "grade")
        printed = capsys.readouterr()
        assert ended.value.code == code
        assert words in printed.err
        assert ("Traceback" in printed.err) == (bool(debug) and code == 3)


def test_a_machine_on_which_grading_would_go_wrong_stops_before_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from click.testing import CliRunner

    monkeypatch.setattr("autograder.doctor.blocking", lambda device: f"Something about {device}. Do this.")
    monkeypatch.setattr("autograder.cli.grade.Grader", lambda *_, **__: pytest.fail("a worker was started"))
    arguments = ["check", "--root", str(ROOT), "--device", "cpu", "--json", str(tmp_path / "r.json")]
    result = CliRunner().invoke(cli, arguments)
    assert str(result.exception) == "Something about cpu. Do this. `grade doctor` says more."
    assert json.loads((tmp_path / "r.json").read_text())["error"] == str(result.exception)


# What is shown --------------------------------------------------------------------------------------------------------


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def report(plain: bool = False) -> str:
    exercise = ExerciseResult("a", 7, "A é", 1.0, 0.0, False, "fail", 0.1, "x.py", 1)
    environment = Environment("cpu", None, "3.9", "2.13", "2.4", "3.11")
    stream = Terminal()
    print_run(make_console(stream, plain), RunResult("0", "C", 7, False, environment, Sandbox(), (exercise,)), plain)
    return stream.getvalue()


def test_colour_is_for_terminals_that_want_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[31m" in report()
    assert "\x1b" not in report(plain=True)
    monkeypatch.setenv("NO_COLOR", "1")
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]", report())


def test_doctor_wants_no_colour_either() -> None:
    def on_a_terminal(**extra: str) -> bytes:
        master, slave = pty.openpty()
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm-256color", **extra}
        command = [sys.executable, "-m", "autograder.cli.grade", "doctor"]
        subprocess.run(command, stdout=slave, stderr=slave, env=environment, check=False)
        os.close(slave)
        read = os.read(master, 100_000)
        os.close(master)
        return read

    assert b"\x1b[" in on_a_terminal()
    assert b"\x1b[" not in on_a_terminal(NO_COLOR="1")


def test_plain_output_is_ascii_whatever_names_are_in_it(grade: Grade, tmp_path: Path) -> None:
    solve(tmp_path / "Übung", FLASH)
    printed = grade("submit", "--root", ROOT, "--dir", "Übung", "--no-grade", "--plain", "--out", "é.zip")
    assert printed.returncode == 0, printed.stderr
    assert printed.stdout.isascii()
    assert (tmp_path / "é.zip").is_file()


def test_help_shows_an_example_of_every_command(grade: Grade) -> None:
    assert COMMANDS == ["bench", "check", "completion", "doctor", "hint", "list", "reset", "submit", "trace", "watch"]
    top = grade("--help")
    assert top.returncode == 0
    assert "Examples:\n" in top.stdout
    for command in COMMANDS:
        assert re.search(rf"^  {command} ", top.stdout, re.MULTILINE)
        assert re.search(rf"Examples?:\n +grade {command}", grade(command, "-h").stdout)


def test_the_version_is_that_of_the_kit(grade: Grade) -> None:
    assert grade("--version").stdout == f"grade, version {__version__}\n"


# The commands around it -----------------------------------------------------------------------------------------------


def test_list_shows_every_exercise_and_puts_missing_stubs_there(grade: Grade, student: Path, course: Course) -> None:
    printed = grade("list", "--titles", cwd=student)
    assert printed.returncode == 0
    for exercise in course.exercises:
        assert f"  {exercise.id}: {exercise.title}, {exercise.points:g} point" in printed.stdout
    assert "builds on online_softmax_update" in printed.stdout
    assert f"Put into assignments/: {stub_files(course)}" in printed.stderr
    assert (student / "assignments" / ONE_SHOT).is_file()
    (student / "assignments" / FLASH).unlink()
    assert grade("list", cwd=student).stderr == f"Put into assignments/: {FLASH}\n"
    assert grade("list", cwd=student).stderr == ""


def test_hints_come_one_by_one(grade: Grade) -> None:
    texts = [grade("hint", "score_mask", "--level", str(level), "--root", ROOT).stdout for level in (1, 2, 3)]
    assert len(set(texts)) == 3
    assert "grade hint score_mask --level 2" in texts[0]
    assert "The next hint" not in texts[2]
    assert grade("hint", "score_mask", "--root", ROOT).stdout == texts[0]
    assert grade("hint", "score_mask", "--level", "4", "--root", ROOT).returncode == 2
    assert grade("hint", "nope", "--root", ROOT).returncode == 2


def test_reset_asks_first_and_keeps_a_copy(grade: Grade, student: Path) -> None:
    path = solve(student / "assignments", ONE_SHOT)
    work = path.read_text()
    refused = grade("reset", "score_mask", cwd=student, text="n\n")
    assert refused.returncode == 1
    assert "mask_scores" in refused.stdout
    assert "Nothing changed." in refused.stdout
    assert path.read_text() == work
    accepted = grade("reset", "score_mask", cwd=student, text="y\n")
    assert accepted.returncode == 0, accepted.stderr
    copy = re.search(r"Your work is kept in (\S+)\.$", accepted.stdout, re.MULTILINE)
    assert copy is not None
    assert Path(copy[1]).read_text() == work
    assert path.read_text() != work
    again = grade("reset", "kernel_loads", "--yes", "--dir", "assignments", cwd=student)
    assert again.returncode == 0
    assert "?" not in again.stdout


def test_reset_has_a_way_out_of_broken_and_missing_files(grade: Grade, student: Path) -> None:
    path = solve(student / "assignments", ONE_SHOT)
    stub = (student / "course" / "pristine" / ONE_SHOT).read_text()
    path.write_text("def f(:\n")
    broken = grade("reset", "score_mask", "--yes", cwd=student)
    assert broken.returncode == 0
    assert "score_mask is as it was handed out.\nYour work is kept in " in broken.stdout
    path.write_bytes(b"\0\1\2")
    asked = grade("reset", "score_mask", cwd=student, text="y\n")
    assert "is no text: the whole stub will take its place; your file is copied first." in asked.stdout
    assert "All of " in asked.stdout
    assert path.read_text() == stub
    assert "as it was handed out already." in grade("reset", "score_mask", "--yes", cwd=student).stdout
    path.unlink()
    missing = grade("reset", "score_mask", cwd=student, text="y\n")
    assert missing.returncode == 0
    assert "the whole stub will be put there" in missing.stdout
    assert missing.stdout.endswith(f"All of {path} is as it was handed out.\n")
    assert path.read_text() == stub


def test_reset_names_what_it_needs(grade: Grade, student: Path, tmp_path: Path) -> None:
    path = solve(student / "assignments", ONE_SHOT)
    silent = grade("reset", "score_mask", cwd=student, text="")
    assert silent.returncode == 2
    assert silent.stderr == "Error: Nobody answered, so nothing changed. Without a terminal, add --yes.\n"
    assert path.read_text() == (ROOT / "solutions" / ONE_SHOT).read_text()
    (tmp_path / "mine.ipynb").write_text("{}")
    notebook = grade("reset", "score_mask", "--yes", "--dir", tmp_path / "mine.ipynb", cwd=student)
    assert notebook.returncode == 2
    assert "is no .py" in notebook.stderr


def test_submit_says_what_it_packed_and_where(grade: Grade, student: Path, course: Course) -> None:
    """Without grading, from within assignments/: the zip still lands outside."""
    printed = grade("list", cwd=student)
    printed = grade("submit", "--no-grade", cwd=student / "assignments")
    assert printed.returncode == 0, printed.stderr
    target = student / "mini-flash-attention-hand-in.zip"
    assert f"Packed {len(stub_files(course).split())} files into {target}:" in printed.stdout
    assert ONE_SHOT in printed.stdout
    assert target.is_file()
    assert grade("submit", "--no-grade", "--dir", "missing", cwd=student).returncode == 2
    named = grade("submit", "--no-grade", "--out", "assignments/hw", cwd=student)
    assert (student / "assignments" / "hw.zip").is_file()
    assert "lies among your files" in named.stdout
    assert "nothing in it is started" in named.stdout
    nowhere = grade("submit", "--out", "no/such/x.zip", cwd=student)
    assert nowhere.returncode == 2
    assert nowhere.stderr == "Error: There is no folder no/such. Make it, or name another file with --out.\n"
    assert not (student / "no").exists()
    os.mkfifo(student / "pipe.zip")
    assert "is there already and is no zip" in grade("submit", "--out", "pipe.zip", cwd=student).stderr


def test_submit_names_what_cannot_be_graded_as_it_is(grade: Grade, student: Path) -> None:
    path = solve(student / "assignments", ONE_SHOT)
    solve(student / "assignments", FLASH)
    rows = path.read_text().split("\n")
    line = next(number for number, row in enumerate(rows) if "def pin_ghost_rows" in row) + 1
    rows[line - 1] = rows[line - 1].replace("(s,", "(s,,")
    path.write_text("\n".join(rows))
    printed = grade("submit", "--no-grade", cwd=student)
    assert printed.returncode == 0
    notes = [row for row in printed.stdout.split("\n") if "cannot be graded as it is" in row]
    assert [note.split()[1] for note in notes] == ["ghost_row_pin"]
    assert "is started" not in printed.stdout
    assert f"Line {line}: Python cannot read this line" in notes[0]


def test_a_name_that_is_nearly_right_is_guessed(grade: Grade, student: Path) -> None:
    printed = grade("check", "scoremask", cwd=student)
    assert printed.returncode == 2
    assert "There is no exercise called 'scoremask'. Did you mean score_mask? The exercises are:" in printed.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_stops_it_and_leaves_nothing_behind(tmp_path: Path, number: signal.Signals) -> None:
    command = [sys.executable, "-m", "autograder.cli.grade", "--root", ROOT, "check", "--dir", ROOT / "solutions"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        [*map(str, command), "--device", "cpu", "--no-targets"],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # the tests may run under nohup
    ) as process:
        while not list(tmp_path.glob("autograder-*/.lock")) and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert said.strip().endswith("Stopped.")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("checks_", "score_mask"), "There is no exercise called 'checks_'. Did you mean `grade check`?"),
        (("help",), "There is no exercise called 'help'. Did you mean `grade --help`?"),
        (("check", "docter"), "Did you mean `grade doctor`?"),
        (("7",), "A lesson is graded with `grade --lesson 7`."),
        (("my work/x.py",), "A file or folder is graded with `grade --dir 'my work/x.py'`."),
        (("flash_attention.py",), "A file or folder is graded with `grade --dir flash_attention.py`."),
        (("hw.zip",), "A file or folder is graded with `grade --dir hw.zip`."),
        (("here",), "A file or folder is graded with `grade --dir here`."),
        (("score_musk",), "Did you mean score_mask? The exercises are:"),
        (("8",), "There is no exercise called '8'. The exercises are:"),
    ],
)
def test_a_word_that_is_no_exercise_is_guessed(
    grade: Grade, tmp_path: Path, words: tuple[str, ...], meant: str
) -> None:
    (tmp_path / "here").mkdir()
    printed = grade("--root", ROOT, *words)
    assert printed.returncode == 2
    assert is_sentence(printed.stderr)
    assert meant in printed.stderr


def test_help_names_the_options_that_are_asked_for_most(grade: Grade) -> None:
    printed = grade("--help")
    for option in ("--dir", "--lesson", "--device", "--seed", "--json"):
        assert option in printed.stdout


@pytest.mark.parametrize(("outcome", "all_passed"), [("pass", True), ("fail", False), ("skipped", False)])
def test_of_bonuses_alone_all_have_to_pass(outcome: str, all_passed: bool) -> None:
    bonus = ExerciseResult("a", 7, "A", 1.0, 0.0, True, outcome, 0.1, "x.py", 1, counts=False)
    environment = Environment("cpu", None, "3.9", "2.13", "2.4", "3.11")
    result = RunResult("0", "C", 7, False, environment, Sandbox(), (bonus,))
    assert result.all_passed is all_passed
    counted = replace(bonus, optional=False, outcome="pass", counts=True)
    assert replace(result, exercises=(counted, bonus)).all_passed


def test_of_a_bonus_the_story_is_told_after_those_of_what_counts() -> None:
    bonus = ExerciseResult("a", 7, "A", 1.0, 0.0, True, "fail", 0.1, "x.py", 1, counts=False)
    counted = replace(bonus, id="b", optional=False, counts=True)
    started = replace(counted, id="c", outcome="not-started")
    assert first_story([bonus, started, counted]) is counted
    assert first_story([started, bonus]) is bonus
    assert first_story([started, replace(bonus, outcome="skipped")]) is started
    assert first_story([replace(bonus, outcome="skipped")]) is not None
