"""What is measured is also right, before and after; a kernel that cheats while it is timed is found out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from autograder.measured import measured
from autograder.pool import Pool
from autograder.protocol import CheckJob, CheckReply, Job
from autograder.worker.faults import Violation
from autograder.worker.measuring import STUDENT, Contest

from .test_timing import FakeClock

CASE = {"n": 32}

BENCH = """
import torch

def make_inputs(case, generator):
    return {"x": torch.randn(case["n"], generator=generator)}

def flops(case):
    return case["n"]

def moved(case):
    return 8 * case["n"]

def truth(case, inputs):
    return {"y": inputs["x"].double() * 2}

def plain(case, inputs):
    return {"y": inputs["x"] * 2}

def missing(case, inputs):
    raise RuntimeError("No available kernel")
"""


def outputs(case: Mapping[str, Any]) -> dict[str, tuple[tuple[int, ...], str]]:
    return {"y": ((case["n"],), "float32")}


class Doubler:
    """Stands for a kernel: writes 2 x, or from launch ``until`` on what ``then`` makes of it."""

    def __init__(self, clock: FakeClock, until: float = float("inf"), then: float = 0.0, stains: bool = False) -> None:
        self.clock, self.until, self.then, self.stains = clock, until, then, stains
        self.launches = 0

    def launch(self, run: Any, student: Any, case: Any, inputs: Any, outputs: Any) -> None:
        self.launches += 1
        self.clock.now += 0.01
        outputs["y"].copy_(inputs["x"] * (2.0 if self.launches < self.until else self.then))
        if self.stains:
            inputs["x"][0] = 7.0


def contest(kernel: Doubler, clock: FakeClock) -> dict[str, float]:
    bench: dict[str, Any] = {}
    exec(BENCH, bench)
    launch = SimpleNamespace(outputs=outputs, launch=kernel.launch)
    names = ["plain", "missing"]
    return Contest(CASE, SimpleNamespace(**bench), launch, SimpleNamespace(), names, clock, "cpu").measurements()


def test_times_errors_and_who_is_absent() -> None:
    clock = FakeClock()
    found = measured(CheckReply("m0", "ran", measurements=contest(Doubler(clock), clock)))
    assert found is not None
    assert found.right
    assert found.absent == ("missing",)
    assert found.times[STUDENT].median == pytest.approx(0.01)
    assert found.ratio("missing") is None


@pytest.mark.parametrize("until", [0, 10])
def test_wrong_results_are_seen_also_where_they_begin_with_the_timing(until: int) -> None:
    clock = FakeClock()
    found = measured(CheckReply("m0", "ran", measurements=contest(Doubler(clock, until, 1.9), clock)))
    assert found is not None
    assert not found.right
    assert found.error > 100 * found.bar


def test_nothing_finite_is_no_right_result() -> None:
    clock = FakeClock()
    found = measured(CheckReply("m0", "ran", measurements=contest(Doubler(clock, 0, float("nan")), clock)))
    assert found is not None
    assert not found.right


def test_a_changed_input_is_a_violation() -> None:
    clock = FakeClock()
    with pytest.raises(Violation, match="changed its input x"):
        contest(Doubler(clock, stains=True), clock)


def test_baselines_never_work_on_the_inputs_of_the_student() -> None:
    clock = FakeClock()
    bench: dict[str, Any] = {}
    exec(BENCH, bench)
    mine: list[torch.Tensor] = []
    theirs: list[torch.Tensor] = []
    kernel = Doubler(clock)

    def launch(run: Any, student: Any, case: Any, inputs: Any, outputs: Any) -> None:
        mine.append(inputs["x"].clone())
        kernel.launch(run, student, case, inputs, outputs)

    def plain(case: Any, inputs: Any) -> Any:
        theirs.append(inputs["x"].clone())
        return {"y": inputs["x"] * 2}

    bench["plain"] = plain
    names = SimpleNamespace(outputs=outputs, launch=launch)
    Contest(CASE, SimpleNamespace(**bench), names, SimpleNamespace(), ["plain"], clock, "cpu").measurements()
    *timed, _, _ = theirs  # the last two are worked out when the student's last launch is over
    assert timed
    assert not any(torch.equal(x, y) for x in mine for y in timed)


LAUNCH = """
def outputs(case):
    return {"y": ((case["n"],), "float32")}

def launch(run, student, case, inputs, outputs):
    run(student.kernel, (1,), inputs["x"], outputs["y"], N=case["n"])
"""

KERNEL = """
@triton.jit
def kernel(x_ptr, y_ptr, N: tl.constexpr):
    offs = tl.arange(0, N)
    tl.store(y_ptr + offs, tl.load(x_ptr + offs) * FACTOR)
"""


@pytest.fixture(scope="module")
def pool() -> Any:
    with Pool("cpu") as pool:
        yield pool


@pytest.mark.parametrize(("factor", "right"), [("2", True), ("3", False)])
def test_from_job_to_reply(pool: Pool, tmp_path: Path, factor: str, right: bool) -> None:
    (tmp_path / "launch.py").write_text(LAUNCH)
    (tmp_path / "bench.py").write_text(BENCH)
    job = Job(
        launch=str(tmp_path / "launch.py"),
        file_name="k.py",
        module=KERNEL.replace("FACTOR", factor),
        functions=("kernel",),
        checks=(CheckJob("m0", CASE, {}),),
        bench=str(tmp_path / "bench.py"),
        baselines=("plain", "missing"),
    )
    replies: list[CheckReply] = []
    with pool.crew() as crew:
        crew.run_alone(job, lambda reply, following: replies.append(reply) or True)
    assert [reply.outcome for reply in replies] == ["ran"]
    assert not replies[0].outputs
    found = measured(replies[0])
    assert found is not None
    assert found.right is right
    assert set(found.times) == {"student", "plain"}


def test_a_broken_bench_file_is_the_courses_fault(pool: Pool, tmp_path: Path) -> None:
    (tmp_path / "launch.py").write_text(LAUNCH)
    (tmp_path / "bench.py").write_text("import nothing_of_this_name\n")
    checks = (CheckJob("m0", CASE, {}),)
    job = Job(str(tmp_path / "launch.py"), "k.py", KERNEL, ("kernel",), checks, bench=str(tmp_path / "bench.py"))
    replies: list[CheckReply] = []
    with pool.crew() as crew:
        crew.run_alone(job, lambda reply, following: replies.append(reply) or True)
    assert [reply.outcome for reply in replies] == ["grader-error"]
