"""The smallest failing case fails, the command that repeats it repeats it, and nothing smaller is wrong by itself."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from types import MappingProxyType

import pytest

from autograder.catalogue import Course, Exercise
from autograder.cli._cases import print_smallest
from autograder.errors import UsageError
from autograder.one_case import Tried, least, named_case, run_cases
from autograder.plan import plan_exercises
from autograder.session import Grader, Request
from autograder.smaller import MOST_RUNS, failing_check, smallest_failing
from tests.conftest import ROOT, Run

EXERCISES = (
    "kernel_loads",
    "score_mask",
    "ghost_row_pin",
    "one_shot_attention",
    "online_softmax_update",
    "flash_attention",
)

# A mistake of each exercise, and what has to be left of the case on which it shows.
LEFT = {
    "kernel_loads": ("row_stride_is_length", {}),
    "score_mask": ("causal_strict", {"nseq": 1, "causal": True}),
    "ghost_row_pin": ("no_pin", {"nseq": 1}),
    "one_shot_attention": ("scale_forgotten", {"nseq": 2, "causal": False}),
    "online_softmax_update": ("acc_not_rescaled", {"chunks": 2}),
    "flash_attention": ("acc_not_rescaled", {"seqlen_q": 1, "seqlen_k": 33, "causal": False}),
}


@pytest.fixture(scope="module")
def grader(course: Course) -> Iterator[Grader]:
    with Grader(course, "cpu", targets="off") as grader:
        yield grader


def wrong(folder: Path, exercise: Exercise, mistake: str) -> Path:
    text = (ROOT / "solutions" / exercise.stub).read_text(encoding="utf-8")
    path = folder / exercise.stub
    path.parent.mkdir(parents=True, exist_ok=True)
    more = (ROOT / "tests" / "mistakes" / exercise.id / f"{mistake}.py").read_text(encoding="utf-8")
    path.write_text(f"{text}\n{more}", encoding="utf-8")
    return folder


@pytest.mark.parametrize("name", EXERCISES)
def test_a_case_that_is_made_smaller_is_no_trap(course: Course, grader: Grader, name: str) -> None:
    """The solution passes every check with each setting at its least, and with all of them."""
    exercise = course.exercise(name)
    assert exercise.shrink
    checks = []
    for check in exercise.checks:
        if "cpu" not in check.devices:
            continue
        smallest = {key: least(exercise, check, key) for key in exercise.shrink if key in check.case}
        for settings in (*({key: value} for key, value in smallest.items()), smallest):
            case = MappingProxyType({**check.case, **settings})
            if dict(case) not in [dict(other.case) for other in checks] and case != check.case:
                checks.append(type(check)(check.id, check.tier, check.weight, check.proves, case))
    plan = plan_exercises(course, ROOT / "solutions", (exercise,), None)[0][-1]
    failed: list[Tried] = []

    def take(tried: Tried) -> bool:
        failed.extend([tried] if tried.outcome != "pass" else [])
        return True

    run_cases(grader.pool, plan, checks, 7, "cpu", take)
    assert not failed, [(dict(tried.check.case), tried.message) for tried in failed]


@pytest.mark.parametrize("name", EXERCISES)
def test_what_is_left_of_a_case_is_what_a_mistake_needs(
    course: Course, grader: Grader, tmp_path: Path, name: str
) -> None:
    exercise = course.exercise(name)
    mistake, left = LEFT[name]
    request = Request(wrong(tmp_path, exercise, mistake), (exercise,))
    result = grader.grade(request)
    failed = failing_check(result.exercises)
    assert failed is not None
    assert failed[0] == name
    found = [smallest_failing(course, grader, request, *failed) for _ in range(2)]
    first = found[0]
    assert first is not None
    assert found[1] == first  # the same each time
    assert first.complete
    assert first.runs <= MOST_RUNS
    assert {key: first.tried.check.case[key] for key in left} == left
    assert first.tried.outcome == "fail"
    assert first.tried.message


def changed(folder: Path, exercise: Exercise, old: str, new: str) -> Path:
    text = (ROOT / "solutions" / exercise.stub).read_text(encoding="utf-8")
    assert old in text
    path = folder / exercise.stub
    path.parent.mkdir(parents=True)
    path.write_text(text.replace(old, new), encoding="utf-8")
    return folder


STREAMED = "for start_n in range(0, seqlen_k, BLOCK_N):"


def test_a_ragged_end_is_kept_while_the_rest_is_made_smaller(course: Course, grader: Grader, tmp_path: Path) -> None:
    """A last chunk of one key alone is dropped: halves of 97 keys show nothing, 33 keys do."""
    exercise = course.exercise("flash_attention")
    folder = changed(tmp_path, exercise, STREAMED, STREAMED.replace("seqlen_k", "seqlen_k - 1"))
    found = smallest_failing(course, grader, Request(folder, (exercise,)), "flash_attention", "one_key_over")
    assert found is not None
    assert found.tried.check.case["seqlen_k"] in (1, 33)


@pytest.mark.exhaustive
def test_the_search_ends_where_a_smaller_case_runs_out_of_time(
    course: Course, grader: Grader, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    exercise = course.exercise("flash_attention")
    endless = f"scale = scale * 2\n    while seqlen_k < 32:\n        scale = scale + 1\n    {STREAMED}"
    folder = changed(tmp_path, exercise, STREAMED, endless)
    request = Request(folder, (exercise,))
    found = smallest_failing(course, grader, request, "flash_attention", "ragged")
    assert found is not None
    assert found.endless
    assert found.runs < 5


def test_the_command_that_is_printed_repeats_the_case(
    course: Course, grader: Grader, grade: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    exercise = course.exercise("flash_attention")
    folder = wrong(tmp_path / "my work", exercise, "acc_not_rescaled")
    request = Request(folder, (exercise,), seed=3, repro_options=f" --dir {shlex.quote(str(folder))}")
    print_smallest(course, grader, request, grader.grade(request))
    printed = capsys.readouterr().out
    command = re.search(r"again: grade (check .*)", printed)
    assert command is not None
    again = grade(*shlex.split(command[1]), "--root", ROOT)
    assert again.returncode == 1, again.stderr
    message = printed.partition("  fail: ")[2].partition("  again:")[0]
    assert message
    assert " ".join(message.split()) in " ".join(again.stdout.split())
    assert "counts for nothing" in again.stdout


@pytest.mark.exhaustive
def test_a_right_hand_in_has_no_smallest_failing_case(grade: Run) -> None:
    options = ("--dir", ROOT / "solutions", "--device", "cpu", "--no-targets", "--root", ROOT)
    printed = grade("check", "score_mask", "--smallest", *options)
    assert printed.returncode == 0, printed.stderr
    assert "Every check passed." in printed.stdout
    printed = grade("check", "score_mask", "--case", "ghosts", "--set", "nseq=3", *options)
    assert printed.returncode == 0, printed.stderr
    assert "score_mask, a case of ghosts: nseq 3, block_m 32" in printed.stdout
    assert "  pass\n" in printed.stdout


@pytest.mark.parametrize(
    ("exercise", "case", "settings", "words"),
    [
        ("score_mask", "nope", (), "score_mask has no case 'nope'. It has: nothing_to_mask"),
        ("flash_attention", "long_sequence_gpu", (), "long_sequence_gpu does not run on cpu."),
        ("score_mask", "ghosts", ("nseq",), "as in --set nseq=1, and not 'nseq'."),
        ("score_mask", "ghosts", ("nseq=0",), "nseq may be set to 1 to 20 in ghosts."),
        ("score_mask", "ghosts", ("nseq=21",), "nseq may be set to 1 to 20 in ghosts."),
        ("score_mask", "ghosts", ("nseq=2.5",), "nseq may be set to 1 to 20 in ghosts."),
        ("score_mask", "ghosts", ("block_m=8",), "'block_m' cannot be set in a case of score_mask. What can: nseq"),
        ("score_mask", "ghosts", ("causal=maybe",), "causal is off in ghosts and may be set to off."),
        ("score_mask", "large_scores", ("spread=nan",), "spread may be set to 1.0 to 1e+30 in large_scores."),
        ("online_softmax_update", "falling_maximum", ("rows=40",), "32 to 64, a multiple of 32 in falling_maximum."),
    ],
)
def test_a_bad_setting_is_one_plain_sentence(
    course: Course, exercise: str, case: str, settings: tuple[str, ...], words: str
) -> None:
    with pytest.raises(UsageError) as raised:
        named_case(course.exercise(exercise), case, settings, "cpu")
    assert words in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--set", "nseq=2"), "--set changes a case: name its check with --case."),
        (("--case", "ghosts", "--json", "-"), "they write no JSON."),
        (("--smallest", "--case", "ghosts"), "give one of them."),
        (("kernel_loads", "--case", "ghosts"), "--case takes one exercise"),
        (("--case", "ghosts", "--set", "nseq=0"), "nseq may be set to 1 to 20"),
    ],
)
def test_options_that_do_not_fit_end_with_2(grade: Run, options: tuple[str, ...], words: str) -> None:
    printed = grade("check", "score_mask", *options, "--dir", ROOT / "solutions", "--root", ROOT, "--device", "cpu")
    assert printed.returncode == 2
    assert printed.stderr.startswith("Error: ")
    assert printed.stderr.count("\n") == 1
    assert words in printed.stderr
