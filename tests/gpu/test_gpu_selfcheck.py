"""On a CUDA GPU: solutions pass, mistakes lose points, a kernel that breaks the device costs only its own checks."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest

from autograder.catalogue import Course, load_course
from autograder.devices import find_gpu
from autograder.plan import Reference
from autograder.pool import Child, Pool
from autograder.result import RunResult
from autograder.selfcheck import SelfCheck
from autograder.session import Grader, Request

pytestmark = pytest.mark.gpu

ROOT = Path(__file__).parents[2]
JOBS = max(2, os.cpu_count() or 1)


@pytest.fixture(scope="module")
def course() -> Course:
    return load_course(ROOT)


@pytest.fixture(scope="module")
def grader(course: Course) -> Iterator[Grader]:
    gpu = find_gpu()
    if gpu is None:
        pytest.skip("no CUDA GPU on this machine")
    with Grader(course, "cuda", gpu.name, jobs=JOBS, targets="off") as grader:
        yield grader


@pytest.mark.parametrize("name", ["solutions", "streaming", "mistakes", "unusual"])
def test_proof_holds_on_the_gpu(course: Course, grader: Grader, name: str) -> None:
    proof = SelfCheck(course, grader, jobs=JOBS).run(name, lambda done, total: None)
    assert [f"{item.subject}: {item.message}" for item in proof.findings] == []
    assert proof.checked > 0


def grade_with(course: Course, grader: Grader, folder: Path, stub: str, text: str) -> RunResult:
    for path in {exercise.stub for exercise in course.exercises}:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        solution = (ROOT / "solutions" / path).read_text(encoding="utf-8")
        (folder / path).write_text(solution + (f"\n\n{text}\n" if path == stub else ""), encoding="utf-8")
    reference = Reference.load(course, None)
    return grader.grade(Request(folder, course.exercises, reference=reference))


def test_a_hand_in_that_goes_well_opens_the_gpu_once(
    course: Course, grader: Grader, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = []
    plain = Pool.start_child

    def start_child(self: Pool, launches: Collection[str]) -> Child:
        started.append(self.device)
        return plain(self, launches)

    monkeypatch.setattr(Pool, "start_child", start_child)
    monkeypatch.setattr(grader, "_jobs", 1)
    chosen = tuple(exercise for exercise in course.exercises if not exercise.races)  # a race has a child of its own
    request = Request(ROOT / "solutions", chosen, seed=11, reference=Reference.load(course, None))
    assert {exercise.outcome for exercise in grader.grade(request).exercises} == {"pass"}
    assert started == ["cuda"]


LOAD_K = "tl.load(k_ptr + offs_n[:, None] * HEAD + offs_d[None, :], mask=offs_n[:, None] < NSEQ, other=0.0)"
BREAKS = {
    "reads_far_outside": "k = tl.load(k_ptr + offs_n[:, None] * 100000000 + offs_d[None, :])",
    "writes_to_its_input": f"tl.store(q_ptr + offs_d, offs_d * 0.0); k = {LOAD_K}",
}


@pytest.mark.parametrize("name", list(BREAKS))
def test_a_kernel_that_breaks_the_device_costs_only_its_own_points(
    course: Course, grader: Grader, tmp_path: Path, name: str
) -> None:
    text = f"""
@triton.jit
def load_tiles(q_ptr, k_ptr, v_ptr, offs_m, offs_n, offs_d, NSEQ, HEAD: tl.constexpr):
    {BREAKS[name]}
    q = tl.load(q_ptr + offs_m[:, None] * HEAD + offs_d[None, :], mask=offs_m[:, None] < NSEQ, other=0.0)
    return q, k, k
"""
    result = grade_with(course, grader, tmp_path, "lesson7/one_shot_attention.py", text)
    by_id = {exercise.id: exercise for exercise in result.exercises}
    assert not by_id["kernel_loads"].passed
    assert all(exercise.passed for exercise in result.exercises if exercise.id != "kernel_loads")


def test_an_endless_kernel_times_out_and_the_rest_is_graded(course: Course, grader: Grader, tmp_path: Path) -> None:
    text = """
@triton.jit
def pin_ghost_rows(s, offs_m, NSEQ):
    m = tl.max(s, 1)
    i = NSEQ
    while i > 0:
        i = i + 1 - (i % 2) * 0
        i = tl.where(i > 1000000, NSEQ, i).to(tl.int32)
        m = m + 1.0
    return m
"""
    result = grade_with(course, grader, tmp_path, "lesson7/one_shot_attention.py", text)
    by_id = {exercise.id: exercise for exercise in result.exercises}
    assert by_id["ghost_row_pin"].outcome == "timeout"
    assert all(exercise.passed for exercise in result.exercises if exercise.id != "ghost_row_pin")
