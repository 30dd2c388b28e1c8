"""A slip in course.toml or exercise.toml is one sentence with the file and the key, before anything is graded."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
import torch

from autograder.catalogue import GPU_TARGETS, Course, load_course
from autograder.errors import CourseError
from autograder.judge.oracles import check_seed, load_oracle
from autograder.judge.verdict import Case
from autograder.probes import MassView, SeriesView
from autograder.protocol import RAN, CheckReply, RawTensor

ROOT = Path(__file__).parents[2]
FOLDER = Path("course/exercises/lesson7/score_mask")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "course", tmp_path / "course", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


@pytest.mark.parametrize("wrong", ["sm_9999", "sm_7", "75", "sm_75 ", "SM_75", "sm_90a", "sm_-75", "gfx942"])
def test_a_gpu_target_that_triton_does_not_lower_for_is_refused(root: Path, wrong: str) -> None:
    change(root / "course" / "course.toml", '"sm_75"', f'"{wrong}"')
    with pytest.raises(CourseError, match="gpu_targets") as refused:
        load_course(root)
    assert str(refused.value) == (
        f"{root / 'course' / 'course.toml'}: 'gpu_targets' names {wrong!r}, and these are allowed: "
        f"{', '.join(GPU_TARGETS)}."
    )


@pytest.mark.parametrize("right", GPU_TARGETS)
def test_every_capability_that_triton_lowers_for_is_taken(root: Path, right: str) -> None:
    change(root / "course" / "course.toml", '"sm_75"', f'"{right}"')
    assert load_course(root).gpu_targets[0] == right


@pytest.mark.parametrize("wrong", ["../score_mask", "/etc", "a/b", "", "a\\\\b"])
def test_an_exercise_is_a_folder_of_its_lesson(root: Path, wrong: str) -> None:
    change(root / "course" / "course.toml", '"score_mask"', f'"{wrong}"')
    with pytest.raises(CourseError, match=r"course\.toml: the exercise .* is not the name of a folder"):
        load_course(root)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('name = "mask_scores"', 'name = "os.system"', "[[functions]] 1: 'name' says 'os.system'"),
        ('name = "mask_scores"', 'name = "lambda"', "[[functions]] 1: 'name' says 'lambda'"),
        ('name = "mask_scores"', 'name = ""', "[[functions]] 1: 'name' says ''"),
        ('"offs_m"', '"offs m"', "[[functions]] 1: 'parameters' says 'offs m'"),
        ('constexpr = ["CAUSAL"]', 'constexpr = ["CASUAL"]', "'constexpr' names 'CASUAL'"),
        ("file = ", 'file = "../x.py" #', "exercise.toml: 'file' is '../x.py'"),
        ("file = ", 'file = "/tmp/x.py" #', "exercise.toml: 'file' is '/tmp/x.py'"),
        ("file = ", 'file = "a/../../x.py" #', "exercise.toml: 'file' is 'a/../../x.py'"),
        ("file = ", r'file = "..\\x.py" #', r"exercise.toml: 'file' is '..\\x.py'"),
        ("file = ", 'file = "x.txt" #', "exercise.toml: 'file' is 'x.txt'"),
        ("\ns = [", "\nt = [", "[axes]: 't' is none of the outputs in [compare]."),
        ("\ns = [", "\ns = [] #", "[axes]: 's' has no axes. Leave it out, or describe each of them."),
        ('of = "row"', 'of = "r0w!"', "[axes]: [[s]] 1: 'of' is 'r0w!', and must be a short noun"),
        ('of = "row", ', "", "[axes]: [[s]] 1: the key 'of' is missing."),
        ('by = "block_m"', 'size = "block_m"', "[axes]: [[s]] 1: unknown key 'size'."),
        (', by = "block_m"', "", "[axes]: [[s]] 1: 'tile' and 'by' go together"),
        (
            'by = "block_m"',
            'by = "block_q"',
            "[axes] has s tiled by 'block_q', and the case of nothing_to_mask says no",
        ),
        ("case = {", "slack = 0.5\ncase = {", "[[checks]] 1: 'slack' widens the bar"),
        ("case = {", "case = { a = nan,", "[[checks]] 1: 'case' says a = nan"),
        ("case = {", "case = { a = -inf,", "[[checks]] 1: 'case' says a = -inf"),
        ("case = {", "case = { a = [1, { b = inf }],", "[[checks]] 1: 'case' says a = [1, {'b': inf}]"),
    ],
)
def test_a_slip_in_an_exercise_is_refused_with_file_and_key(root: Path, old: str, new: str, words: str) -> None:
    change(root / FOLDER / "exercise.toml", old, new)
    with pytest.raises(CourseError) as refused:
        load_course(root)
    assert words in str(refused.value)
    assert str(refused.value).startswith(str(root / FOLDER / "exercise.toml"))
    assert "\n" not in str(refused.value)


SHRINK = "[shrink]\nnseq = 1\n"


@pytest.mark.parametrize(
    ("new", "words"),
    [
        ("[shrink]\nseqlen = 1\n", "[shrink] seqlen is a setting of no check."),
        ("[shrink]\nnseq = 17\n", "[shrink] nseq is at the least 17, and a check has 16."),
        ("[shrink]\nnseq = -1\n", "[shrink] nseq is at the least -1, and a check has "),
        ("[shrink]\nnseq = false\n", "[shrink] nseq must be of the kind that the checks have there."),
        ("[shrink]\nnseq = 1.5\n", "[shrink] nseq must be of the kind"),
        ('[shrink]\nnseq = "causal"\n', "[shrink] nseq names 'causal', which is no length in every check."),
        ("[[traces]]\ncase = {}\n\n[shrink]\nnseq = 1\n", "[[traces]] 1: the key 'id' is missing."),
        ('[[traces]]\nid = "ghosts"\ncase = {}\n\n[shrink]\nnseq = 1\n', "the check id 'ghosts' is used twice."),
    ],
)
def test_a_slip_in_what_is_traced_or_made_smaller_is_refused(root: Path, new: str, words: str) -> None:
    change(root / FOLDER / "exercise.toml", SHRINK, new)
    with pytest.raises(CourseError) as refused:
        load_course(root)
    assert words in str(refused.value)
    assert str(refused.value).startswith(str(root / FOLDER / "exercise.toml"))


def test_an_output_to_compare_that_the_oracle_knows_nothing_of_is_the_courses_fault(course: Course) -> None:
    exercise = course.exercise("score_mask")
    wrong = replace(exercise, compare={**exercise.compare, "sums": "close"})
    case = Case(wrong, wrong.checks[0], load_oracle(wrong.oracle), 7)
    with pytest.raises(CourseError, match=r"exercise\.toml: \[compare\] names 'sums', and oracle\.py has values for s"):
        case.judge(CheckReply(wrong.checks[0].id, RAN, "", None, 0.0, {}, {}))


FLASH = Path("course/exercises/lesson7/flash_attention/exercise.toml")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('view = "mass"', 'view = "weight"', "'view' must be one of mass, series."),
        ('view = "mass"', "", "unknown key"),
        ('output = "o"', 'output = "p"', "'output' is 'p', which is none of those in [compare]."),
        ('keys = "block_n"', 'keys = "chunk"', "'keys' names 'chunk', for which the case has no whole"),
        ('key = "seqlen_k"', 'key = "keys"', "'key' is 'keys', and the case has no such key."),
        (
            "values = [32, 64, 96, 128]",
            "values = [32, 64, 128]",
            "'values' must grow by one step at a time",
        ),
        ("values = [32, 64, 96, 128]", "values = [32, 70]", "'values' must be 2 to 8 multiples"),
        ("values = [32, 64, 96, 128]", "values = [32]", "'values' must be 2 to 8 multiples"),
        ("values = [32, 64, 96, 128]", "values = [0, 0]", "'values' must be 2 to 8 multiples"),
        ("values = [32, 64, 96, 128]", 'values = ["a"]', "'values' must be a list of whole numbers."),
        ("only = { o =", "only = { p =", "'only' takes a text for an output of [compare], and 'p'"),
        ('id = "mass_causal"', 'id = "mass"', "the probe id 'mass' is used twice."),
    ],
)
def test_a_slip_in_a_probe_is_refused_with_its_number(root: Path, old: str, new: str, words: str) -> None:
    change(root / FLASH, old, new)
    with pytest.raises(CourseError) as refused:
        load_course(root)
    assert words in str(refused.value)
    assert re.search(r"exercise\.toml: (?:\[\[probes\]\] \d+: |the probe id )", str(refused.value))


@pytest.mark.parametrize("exercise_id", ["flash_attention", "online_softmax_update"])
def test_each_step_of_a_series_sees_what_the_step_before_saw_and_more(course: Course, exercise_id: str) -> None:
    exercise = course.exercise(exercise_id)
    series = [view for view in exercise.views if isinstance(view, SeriesView)]
    assert series
    probes = {probe.id: probe for probe in exercise.probes}
    oracle = load_oracle(exercise.oracle)
    for view in series:
        made = [oracle.inputs(probes[id], check_seed(exercise, probes[id], 7, None)) for id in view.probes]
        for less, more in pairwise(made):
            for name, x in less.items():
                longer = more[name][tuple(slice(0, length) for length in x.shape)]
                assert torch.equal(x, longer)
            assert sum(x.numel() for x in more.values()) > sum(x.numel() for x in less.values())


@pytest.mark.parametrize("exercise_id", ["flash_attention", "one_shot_attention"])
def test_a_map_of_attention_adds_up_to_one_in_its_first_columns(course: Course, exercise_id: str) -> None:
    exercise = course.exercise(exercise_id)
    oracle = load_oracle(exercise.oracle)
    for view in exercise.views:
        if isinstance(view, MassView):
            probe = next(probe for probe in exercise.probes if probe.id == view.probe)
            weights = oracle.exact(probe, oracle.inputs(probe, 7))[view.output]
            chunks = -(-probe.case[view.length] // probe.case[view.keys])
            assert torch.allclose(weights[:, :chunks].sum(1), torch.ones(len(weights), dtype=torch.float64))
            assert chunks >= 4


def test_axes_that_an_output_does_not_have_are_the_courses_fault(course: Course) -> None:
    exercise = course.exercise("score_mask")
    wrong = replace(exercise, axes={"s": exercise.axes["s"][:1]})
    case = Case(wrong, wrong.checks[0], load_oracle(wrong.oracle), 7)
    output = RawTensor("float32", (16, 16), bytes(16 * 16 * 4))
    with pytest.raises(CourseError, match=r"\[axes\] describes 1 axes of 's', and on nothing_to_mask it has 2"):
        case.judge(CheckReply(wrong.checks[0].id, RAN, "", None, 0.0, {"s": output}, {}))
