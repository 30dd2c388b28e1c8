"""Whole hand-ins on CPU: independent scores, follow-through marks, partial credit, not-started, broken files."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from autograder import session
from autograder.catalogue import Course
from autograder.plan import Reference
from autograder.pool import CarryOn, Crew
from autograder.protocol import CheckJob, CheckReply, Job
from autograder.release.stubs import generate_stubs
from autograder.result import ExerciseResult, RunResult
from autograder.session import Grader, Request
from tests.lessons import of_lesson

ROOT = Path(__file__).parents[2]
ONE_SHOT, FLASH = "lesson7/one_shot_attention.py", "lesson7/flash_attention.py"

Grade = Callable[..., dict[str, ExerciseResult]]


def solution(stub: str) -> str:
    return (ROOT / "solutions" / stub).read_text(encoding="utf-8")


@pytest.fixture
def run(course: Course, cpu_grader: Grader, tmp_path: Path) -> Callable[..., RunResult]:
    def run(files: dict[str, str], official: bool = False, seed: int = 7) -> RunResult:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        reference = Reference.load(course, None) if official else None
        return cpu_grader.grade(Request(tmp_path, of_lesson(course, 7), seed, reference))

    return run


def outcomes(result: RunResult) -> dict[str, str]:
    return {exercise.id: exercise.outcome for exercise in result.exercises}


def test_solutions_have_full_score_for_several_seeds(run: Callable[..., RunResult]) -> None:
    for seed in (7, 1, 2):
        result = run({ONE_SHOT: solution(ONE_SHOT), FLASH: solution(FLASH)}, seed=seed)
        assert set(outcomes(result).values()) == {"pass"}
        assert result.score == result.points == 10.0
        assert result.all_passed


def test_stubs_are_not_started(course: Course, run: Callable[..., RunResult]) -> None:
    result = run(dict(generate_stubs(course)))
    assert set(outcomes(result).values()) == {"not-started"}
    assert result.score == 0
    assert not result.all_passed


def test_a_comment_or_a_docstring_does_not_start_an_exercise(course: Course, run: Callable[..., RunResult]) -> None:
    stubs = {name: text.replace("# TODO", "# I will do this tomorrow") for name, text in generate_stubs(course).items()}
    assert set(outcomes(run(stubs)).values()) == {"not-started"}


def test_a_half_filled_stub_is_no_crash(course: Course, run: Callable[..., RunResult]) -> None:
    stub = generate_stubs(course)[ONE_SHOT].replace(
        "    # TODO: load q, k and v.", "    q = tl.load(q_ptr + offs_m[:, None] * HEAD + offs_d[None, :])\n    #"
    )
    result = run({ONE_SHOT: stub})
    kernel_loads = result.exercises[0]
    assert kernel_loads.outcome in ("refused", "compile-error")
    assert "`k`" in kernel_loads.message


BROKEN_LOADS = """

@triton.jit
def load_tiles(q_ptr, k_ptr, v_ptr, offs_m, offs_n, offs_d, NSEQ, HEAD: tl.constexpr):
    q = tl.load(q_ptr + offs_m[:, None] * HEAD + offs_d[None, :])
    return q, q, q
"""


def test_one_slip_costs_once(run: Callable[..., RunResult]) -> None:
    """A perfect update beside a broken load_tiles keeps its score; in official grading the kernel keeps its own too."""
    files = {ONE_SHOT: solution(ONE_SHOT) + BROKEN_LOADS, FLASH: solution(FLASH)}
    student = run(files)
    assert outcomes(student) == {
        "kernel_loads": "fail",
        "score_mask": "pass",
        "ghost_row_pin": "pass",
        "one_shot_attention": "skipped",
        "online_softmax_update": "pass",
        "flash_attention": "pass",
    }
    skipped = student.exercises[3]
    assert skipped.message == "Calls kernel_loads, which has to pass first."
    official = run(files, official=True)
    assert outcomes(official)["one_shot_attention"] == "pass"
    assert "Graded with the reference in place of kernel_loads" in official.exercises[3].message
    assert official.score > student.score


def test_a_kernel_written_out_whole_depends_on_nothing(run: Callable[..., RunResult]) -> None:
    whole = solution(FLASH).replace(
        "        m_i, l_i, acc = online_softmax_update(m_i, l_i, acc, s, v)\n",
        "        m_new = tl.maximum(m_i, tl.max(s, 1))\n"
        "        m_safe = tl.where(m_new == float('-inf'), 0.0, m_new)\n"
        "        alpha = tl.exp(m_i - m_safe)\n"
        "        p = tl.exp(s - m_safe[:, None])\n"
        "        l_i = l_i * alpha + tl.sum(p, 1)\n"
        "        acc = acc * alpha[:, None] + tl.dot(p, v, input_precision='ieee')\n"
        "        m_i = m_new\n",
    )
    whole += "\n\n@triton.jit\ndef online_softmax_update(m_i, l_i, acc, s, v):\n    return m_i, l_i + 1.0, acc\n"
    result = run({FLASH: whole})
    assert outcomes(result)["online_softmax_update"] == "fail"
    assert outcomes(result)["flash_attention"] == "pass"


def test_partial_credit_is_the_weight_of_the_passed_checks(run: Callable[..., RunResult], course: Course) -> None:
    no_guard = solution(FLASH).replace('tl.where(m_new == float("-inf"), 0.0, m_new)', "m_new")
    result = run({FLASH: no_guard})
    update = result.exercises[4]
    weights = {
        check.id: check.weight for check in course.exercise("online_softmax_update").checks if "cpu" in check.devices
    }
    weights["gpu_targets"] = course.exercise("online_softmax_update").target_weight
    passed = sum(weights[check.id] for check in update.checks if check.outcome == "pass")
    assert update.outcome == "partial"
    assert update.score == pytest.approx(update.points * passed / sum(weights.values()))
    assert {check.outcome for check in update.checks} == {"pass", "fail"}


def test_later_tiers_are_left_out_after_a_failure(run: Callable[..., RunResult]) -> None:
    result = run({FLASH: solution(FLASH).replace("acc * alpha[:, None] +", "acc +")})
    checks = {check.id: check for check in result.exercises[4].checks}
    assert checks["rising_maximum"].outcome == "fail"
    assert checks["scores_move_far"].outcome == "skipped"
    assert "since an earlier check failed" in checks["scores_move_far"].message


def test_a_hidden_failure_costs_its_own_weight_and_no_public_check(run: Callable[..., RunResult]) -> None:
    text = solution(ONE_SHOT).replace("offs_n[None, :] < NSEQ", "(offs_n[None, :] < NSEQ) & (NSEQ != 53)")
    mask = run({ONE_SHOT: text}, official=True).exercises[1]
    assert {check.id: check.outcome for check in mask.checks if check.outcome != "pass"} == {"hidden_ghosts": "fail"}
    weights = {check.id: check.weight for check in mask.checks}
    assert mask.score == pytest.approx(mask.points * (1 - weights["hidden_ghosts"] / sum(weights.values())))


def test_what_is_right_by_the_order_of_programs_alone_is_wrong(run: Callable[..., RunResult]) -> None:
    """Each program stores its tile over all later ones as well: on a GPU, whoever comes last has the say."""
    text = solution(ONE_SHOT)
    store = "    tl.store(o_ptr + offs_m[:, None] * HEAD + offs_d[None, :], o, mask=offs_m[:, None] < NSEQ)"
    loop = (
        "    for t in range(tl.program_id(0), tl.num_programs(0)):\n"
        "        rows = t * BLOCK_M + tl.arange(0, BLOCK_M)\n"
        "    " + store.replace("offs_m", "rows")
    )
    one_shot = run({ONE_SHOT: text.replace(store, loop)}).exercises[3]
    checks = {check.id: check for check in one_shot.checks}
    assert checks["full_tile"].outcome == "pass"
    assert checks["many_query_tiles"].outcome == "fail"
    assert checks["many_query_tiles"].message == (
        "The result is right here, but different programs store different values to row 32, column 0 of o. "
        "On a GPU programs run at once and in any order: each element of an output is for one program alone."
    )


def test_what_a_failure_is_explained_by_is_the_same_job_and_no_verdict(
    course: Course, cpu_grader: Grader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exercise = course.exercise("flash_attention")
    path = tmp_path / FLASH
    path.parent.mkdir()
    path.write_text(solution(FLASH).replace("acc / l_safe[:, None]", "acc"))
    jobs, replies = [], []
    plain = Crew.run
    monkeypatch.setitem(session._PATIENCE, "cpu", None)

    def run(self: Crew, job: Job, carry_on: CarryOn) -> None:
        if job.device == "targets" or "flash_attention_kernel" not in job.functions:  # the piece that it calls
            return plain(self, job, carry_on)
        jobs.append([check.id for check in job.checks])

        def listen(reply: CheckReply, following: CheckJob | None) -> bool:
            replies.append(reply.id)
            return carry_on(reply, following)

        return plain(self, job, listen)

    monkeypatch.setattr(Crew, "run", run)
    asked = cpu_grader.grade(Request(tmp_path, (exercise,), 23)).exercises[-1]
    able = [check.id for check in exercise.checks if "cpu" in check.devices]
    assert jobs == [[*able, *(probe.id for probe in exercise.probes)]]
    assert replies == jobs[0]
    assert [item.mistake for item in asked.diagnosis] == ["division_forgotten"]
    replies.clear()
    plainly = cpu_grader.grade(Request(tmp_path, (exercise,), 24, diagnose=False)).exercises[-1]
    assert jobs[1:] == [able]
    assert replies == ["one_chunk", "two_chunks"]
    assert [check.outcome for check in asked.checks] == [check.outcome for check in plainly.checks]


def test_a_crash_costs_only_its_own_exercise(run: Callable[..., RunResult], monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel kills its process outright; the lift is told to let it through."""
    from autograder import plan

    plain = plan.LiftedFile.module

    def with_a_crash(self: plan.LiftedFile, names: object, without: object = ()) -> str:
        module = plain(self, names, without)  # type: ignore[arg-type]
        return module.replace("fuse = (offs_m", "__import__('ctypes').string_at(0); fuse = (offs_m")

    monkeypatch.setattr(plan.LiftedFile, "module", with_a_crash)
    crashing = solution(ONE_SHOT).replace("keep", "fuse")  # the reference, which stands in for it, is left alone
    result = run({ONE_SHOT: crashing, FLASH: solution(FLASH)}, official=True)
    assert outcomes(result) == {
        "kernel_loads": "pass",
        "score_mask": "crashed",
        "ghost_row_pin": "pass",
        "one_shot_attention": "pass",
        "online_softmax_update": "pass",
        "flash_attention": "pass",
    }


def test_an_endless_kernel_is_a_timeout_and_costs_only_itself(
    run: Callable[..., RunResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    from autograder.protocol import Limits

    monkeypatch.setitem(session.LIMITS, "cpu", Limits(cpu_seconds=2, wall_seconds=10))
    endless = (
        "\n\n@triton.jit\ndef pin_ghost_rows(s, offs_m, NSEQ):\n"
        "    i = 1\n    while i > 0:\n        i = i + 1\n    return tl.max(s, 1)\n"
    )
    result = run({ONE_SHOT: solution(ONE_SHOT) + endless, FLASH: solution(FLASH)}, official=True)
    assert outcomes(result)["ghost_row_pin"] == "timeout"
    assert {key: value for key, value in outcomes(result).items() if key != "ghost_row_pin"} == {
        "kernel_loads": "pass",
        "score_mask": "pass",
        "one_shot_attention": "pass",
        "online_softmax_update": "pass",
        "flash_attention": "pass",
    }


def test_a_file_that_does_not_parse_costs_only_the_broken_function(run: Callable[..., RunResult]) -> None:
    broken = solution(ONE_SHOT).replace("m = tl.max(s, 1)  # (BLOCK_M,)", "m = tl.max(s, 1")
    result = run({ONE_SHOT: broken, FLASH: solution(FLASH)}, official=True)
    by_id = outcomes(result)
    assert by_id.pop("ghost_row_pin") == "compile-error"
    assert set(by_id.values()) == {"pass"}


def test_lines_in_messages_are_the_students(run: Callable[..., RunResult]) -> None:
    text = "# one\n# two\n" + solution(ONE_SHOT).replace(
        "columns = offs_d[None, :]", "columns = offs_d[None, :] + offs_m"
    )
    line = next(n for n, row in enumerate(text.split("\n"), 1) if "offs_d[None, :] + offs_m" in row)
    result = run({ONE_SHOT: text})
    failed = next(
        check for check in result.exercises[0].checks if check.outcome == "compile-error" or check.outcome == "fail"
    )
    assert failed.message.startswith(f"Line {line}") or failed.message.startswith(f"Line {line + 1}")


def test_an_empty_folder_is_an_error_and_a_missing_file_is_not_started(run: Callable[..., RunResult]) -> None:
    result = run({FLASH: solution(FLASH)})
    assert outcomes(result)["kernel_loads"] == "not-started"
    assert "There is no one_shot_attention.py" in result.exercises[0].message
    assert outcomes(result)["flash_attention"] == "pass"


def test_the_same_kernel_is_run_once_wherever_it_stands(
    run: Callable[..., RunResult], cpu_grader: Grader, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = run({FLASH: solution(FLASH)}, seed=5)
    ran: list[object] = []
    monkeypatch.setattr(Crew, "run", lambda self, job, carry_on: ran.append(job))
    again = run({FLASH: "# mine\n\n\n" + solution(FLASH)}, seed=5)
    assert not ran
    assert outcomes(again)["flash_attention"] == "pass"
    assert [item.score for item in again.exercises] == [item.score for item in first.exercises]


def test_a_kernel_that_was_run_for_another_has_its_own_line(run: Callable[..., RunResult]) -> None:
    wrong = solution(ONE_SHOT).replace("columns = offs_d[None, :]", "columns = offs_d[None, :] + offs_m")
    lines = []
    for above in ("", "# mine\n\n\n"):
        result = run({ONE_SHOT: above + wrong})
        failed = next(check for check in result.exercises[0].checks if check.outcome not in ("pass", "skipped"))
        lines.append(int(re.match(r"Line (\d+)", failed.message)[1]))  # type: ignore[index]
    assert lines[1] == lines[0] + 3
