"""Without a GPU: what a GPU would refuse, round or not fit loses the target check, in plain words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from autograder.catalogue import Course
from autograder.plan import Reference
from autograder.pool import Pool
from autograder.result import CheckResult, ExerciseResult
from autograder.session import Grader, Request
from tests.targets.refused import GOOD, REFUSED, UPDATE

ROOT = Path(__file__).parents[2]
ONE_SHOT, FLASH = "lesson7/one_shot_attention.py", "lesson7/flash_attention.py"


def solution(stub: str) -> str:
    return (ROOT / "solutions" / stub).read_text(encoding="utf-8")


Run = Callable[[str, str], ExerciseResult]


@pytest.fixture
def run(course: Course, cpu_grader: Grader, tmp_path: Path) -> Run:
    """Grade one exercise of the solutions with some text added to their file."""

    def run(exercise_id: str, text: str) -> ExerciseResult:
        exercise = course.exercise(exercise_id)
        for stub in (ONE_SHOT, FLASH):
            (tmp_path / stub).parent.mkdir(exist_ok=True)
            (tmp_path / stub).write_text(solution(stub) + (f"\n\n{text}\n" if stub == exercise.stub else ""))
        reference = Reference.load(course, None)
        return cpu_grader.grade(Request(tmp_path, (exercise,), reference=reference)).exercises[0]

    return run


def target_check(exercise: ExerciseResult) -> CheckResult:
    return next(check for check in exercise.checks if check.tier == "target")


def test_solutions_compile_for_every_target(run: Run) -> None:
    for exercise_id in ("kernel_loads", "one_shot_attention", "flash_attention"):
        result = run(exercise_id, "")
        assert result.outcome == "pass"
        assert [target.target for target in result.gpu_targets] == ["sm_75", "sm_80", "sm_90", "sm_100"]
        assert {target.outcome for target in result.gpu_targets} == {"pass"}
        assert result.gpu_targets[0].shared is not None


def test_three_products_of_parts_are_as_good_as_float32(run: Run) -> None:
    text = UPDATE.format(body=GOOD.replace('"ieee"', '"tf32x3"'))
    assert "tf32x3" in text
    assert run("online_softmax_update", text).outcome == "pass"


def test_tf32_is_seen_in_the_compiled_code_and_costs_only_the_target_weight(run: Run) -> None:
    text = UPDATE.format(body=GOOD.replace(', input_precision="ieee"', ""))
    result = run("online_softmax_update", text)
    assert result.outcome == "partial"
    assert [check.id for check in result.checks if check.outcome == "fail"] == ["gpu_targets"]
    check = target_check(result)
    line = (solution(FLASH) + "\n\n" + text).split("\n").index("    acc = acc * alpha[:, None] + tl.dot(p, v)") + 1
    assert check.message.startswith(f"Line {line}: tl.dot rounds its float32 tiles to TF32 on sm_80 (A100)")
    assert {target.target: target.outcome for target in result.gpu_targets} == {
        "sm_75": "pass",  # a T4 has no TF32
        "sm_80": "fail",
        "sm_90": "fail",
        "sm_100": "fail",
    }


SPELLINGS = {
    "tl.dot(p, v, None, 'tf32')": "",
    "tl.dot(p, v, input_precision=ROUNDED)": "ROUNDED: tl.constexpr = 'tf32'\n",
    "tl.dot(p, v, None, ROUNDED)": "TF32 = 'tf32'\nROUNDED = tl.constexpr(TF32)\n",
    "tl.dot(p, v, input_precision='tf32' if True else 'ieee')": "",
    "product(p, v, 'tf32')": "",
    "product(p, v, precision='tf32')": "",
    "rounded(p, v)": "",
}
HELPERS = """@triton.jit
def product(a, b, precision: tl.constexpr = "ieee"):
    return tl.dot(a, b, input_precision=precision)

@triton.jit
def rounded(a, b, precision: tl.constexpr = "tf32"):
    return tl.dot(a, b, None, precision)

"""


@pytest.mark.parametrize("call", SPELLINGS)
def test_tf32_is_seen_however_it_is_asked_for(run: Run, call: str) -> None:
    body = GOOD.replace('tl.dot(p, v, input_precision="ieee")', call)
    text = SPELLINGS[call] + HELPERS + UPDATE.format(body=body)
    name = call.partition("(")[0]
    dot = {"product": "input_precision=precision", "rounded": "None, precision"}.get(name, call)
    rows = (solution(FLASH) + "\n\n" + text).split("\n")
    line = next(number for number, row in enumerate(rows, start=1) if dot in row)
    assert target_check(run("online_softmax_update", text)).message.startswith(
        f"Line {line}: tl.dot rounds its float32 tiles to TF32 on sm_80 (A100)"
    )


@pytest.mark.parametrize("name", list(REFUSED))
def test_what_only_the_interpreter_takes_loses_the_target_weight(run: Run, name: str) -> None:
    exercise_id, text, words = REFUSED[name]
    result = run(exercise_id, text)
    check = target_check(result)
    assert result.outcome == "partial", result.checks
    assert check.outcome == "compile-error"
    assert [item.id for item in result.checks if item.outcome not in ("pass", "skipped")] == ["gpu_targets"]
    assert "Does not compile for sm_75 (T4)" in check.message
    assert words in check.message
    assert result.gpu_targets[0].original


def test_where_sizes_matter_those_that_were_compiled_are_told(run: Run) -> None:
    body = GOOD.replace("tl.dot(p, v,", "tl.dot(p, tl.trans(v),")
    message = target_check(run("online_softmax_update", UPDATE.format(body=body))).message
    assert "Is one of them to be transposed? Compiled with BLOCK_M = 32, BLOCK_N = 16, BLOCK_D = 32." in message
    nothing = UPDATE.format(body=GOOD).replace("    return m_i, l_i, acc\n", "")
    assert "Compiled with" not in target_check(run("online_softmax_update", nothing)).message


def test_tiles_joined_by_and_are_refused_on_every_device(run: Run) -> None:
    text = (ROOT / "tests" / "mistakes" / "score_mask" / "python_and.py").read_text(encoding="utf-8")
    result = run("score_mask", text)
    assert result.outcome == "compile-error"
    assert target_check(result).outcome == "compile-error"
    messages = [check.message for check in result.checks if check.outcome == "compile-error"]
    assert len(messages) > 1
    assert all("`and` and `or` join single truth values" in message for message in messages)


SENTENCES = {
    "if m == 0.0:\n        m = 0.0": ("`if` takes a single truth value", "`if` takes a single truth value"),
    "m = 0.0 if m == 0.0 else m": ("`a if condition else b` takes a single", "both sides need one type"),
    "m = tl.where(not m, 0.0, m)": ("Numbers of 32 bits stand", "Numbers of 32 bits stand"),
    "while False:\n        m = m + 0.0": (None, "The condition of this `while` is known while compiling"),
    "m = tl.where(m == 0.0, m)": ("It takes y as well.", "It takes y as well."),
}


@pytest.mark.parametrize("line", SENTENCES)
def test_what_is_refused_for_its_kind_of_value_is_told_by_what_stands_there(run: Run, line: str) -> None:
    text = f"@triton.jit\ndef pin_ghost_rows(s, offs_m, NSEQ):\n    m = tl.max(s, 1)\n    {line}\n    return m\n"
    result = run("ghost_row_pin", text)
    rows = (solution(ONE_SHOT) + "\n\n" + text).split("\n")
    place = f"Line {rows.index('    ' + line.split(chr(10))[0]) + 1}: "
    on_cpu, compiled = SENTENCES[line]
    if on_cpu is not None:
        message = next(check.message for check in result.checks if check.outcome == "compile-error")
        assert message.startswith(place)
        assert on_cpu in message
    message = target_check(result).message
    assert message.startswith(f"{place}Does not compile for sm_75 (T4): ")
    assert compiled in message
    assert "The kernel stopped" not in message


def test_too_much_shared_memory_is_named_with_the_number(run: Run) -> None:
    text = UPDATE.format(
        body=GOOD
        + "    x = tl.arange(0, 16)[:, None] * tl.sum(l_i, 0) + tl.arange(0, 2048)[None, :]\n"
        + '    big = tl.dot(tl.exp(-x), tl.trans(tl.exp(-x)), input_precision="ieee")\n'
        + "    l_i = l_i + tl.sum(tl.sum(big, 1), 0) * 0.0\n"
    )
    result = run("online_softmax_update", text)
    check = target_check(result)
    assert check.outcome == "fail", check
    shared = result.gpu_targets[0].shared
    assert shared is not None
    assert shared > 65536
    assert f"Needs {shared} bytes of shared memory a block, and sm_75 (T4) has 65536." in check.message


def test_a_kernel_that_keeps_the_compiler_busy_is_a_timeout(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from autograder import gpu_targets
    from autograder.protocol import Limits

    monkeypatch.setattr(gpu_targets, "_LIMITS", Limits(cpu_seconds=1, wall_seconds=20))
    unrolled = (
        "    if tl.max(l_i, 0) < -1.0:\n        for i in tl.static_range(100_000):\n            l_i = l_i + 1.0\n"
    )
    result = run("online_softmax_update", UPDATE.format(body=GOOD + unrolled))
    assert target_check(result).outcome == "timeout", target_check(result).message


def test_a_second_run_lowers_nothing(course: Course, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[str] = []
    start = Pool.__init__

    def counting(self: Pool, device: str, *gpu: str | None) -> None:
        started.append(device)
        start(self, device, *gpu)

    monkeypatch.setattr(Pool, "__init__", counting)
    request = Request(ROOT / "solutions", (course.exercise("score_mask"),))
    for expected in (["cpu", "targets"], ["cpu"]):
        started.clear()
        with Grader(course, "cpu", target_cache=tmp_path / "cache") as grader:
            assert grader.grade(request).exercises[0].outcome == "pass"
        assert started == expected
    (kept,) = (tmp_path / "cache").iterdir()
    kept.write_text("{ not json")
    with Grader(course, "cpu", target_cache=tmp_path / "cache") as grader:
        assert grader.grade(request).exercises[0].outcome == "pass"


def test_targets_that_were_not_tried_count_in_neither_points_nor_outcome(course: Course) -> None:
    with Grader(course, "cpu", targets="off") as grader:
        result = grader.grade(Request(ROOT / "solutions", (course.exercise("score_mask"),))).exercises[0]
    assert result.outcome == "pass"
    assert target_check(result).outcome == "skipped"
    assert result.score == result.points
