"""Lesson 7's last exercises: their oracles are right by other means, and their properties and hidden cases can fail."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from autograder.catalogue import Course
from autograder.judge.oracles import Oracle, Tensors, load_oracle
from autograder.plan import Reference
from autograder.result import ExerciseResult
from autograder.session import Grader, Request

ROOT = Path(__file__).parents[2]
MISTAKES = ROOT / "tests" / "mistakes"
EXERCISES = ("split_kv_decode", "paged_kv", "flash_backward")
LOOK_ALIKES = [path for id in EXERCISES for path in sorted((MISTAKES / id / "look_alikes").glob("*.py"))]

Grade = Callable[[str, Path], ExerciseResult]


@pytest.fixture
def official(course: Course, cpu_grader: Grader, tmp_path: Path) -> Grade:
    """Grades an exercise as the course does, with a kernel behind its solution."""

    def grade(exercise_id: str, path: Path) -> ExerciseResult:
        exercise = course.exercise(exercise_id)
        solution = (ROOT / "solutions" / exercise.stub).read_text(encoding="utf-8")
        stub = tmp_path / exercise.stub
        stub.parent.mkdir(exist_ok=True)
        stub.write_text(f"{solution}\n\n{path.read_text(encoding='utf-8')}", encoding="utf-8")
        request = Request(tmp_path, (exercise,), reference=Reference.load(course, None))
        return cpu_grader.grade(request).exercises[0]

    return grade


def oracle_of(course: Course, exercise_id: str, check_id: str) -> tuple[Oracle, dict[str, object], Tensors]:
    """An exercise's oracle, the case of one of its checks, and the inputs in float64."""
    exercise = course.exercise(exercise_id)
    oracle = load_oracle(exercise.oracle)
    check = next(check for check in exercise.checks if check.id == check_id)
    inputs = oracle.inputs(check, 3)
    return oracle, dict(check.case), {name: x.double() if x.is_floating_point() else x for name, x in inputs.items()}


# The oracle of flash_backward, which is torch's autograd, beside finite differences of attention written out here.


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, scale: float, causal: bool) -> torch.Tensor:
    """o (seqlen_q, head), row by row, 0 where a query sees no key."""
    rows = []
    for i, query in enumerate(q):
        seen = min(len(k), i + 1 + len(k) - len(q)) if causal else len(k)
        weights = [torch.exp(scale * (query @ key)) for key in k[: max(seen, 0)]]
        parts = [weight * value for weight, value in zip(weights, v, strict=False)]
        rows.append(torch.stack(parts).sum(0) / torch.stack(weights).sum() if parts else torch.zeros_like(query))
    return torch.stack(rows)


def agrees_with_finite_differences(gradients: Callable[..., Tensors], case: dict[str, object]) -> bool:
    """Whether the gradients are those of `attention`, by torch's own comparison with central differences."""

    class Attention(torch.autograd.Function):
        @staticmethod
        def forward(ctx, q, k, v):  # type: ignore[no-untyped-def]
            ctx.save_for_backward(q, k, v)
            return attention(q, k, v, case["scale"], case["causal"])  # type: ignore[arg-type]

        @staticmethod
        def backward(ctx, do):  # type: ignore[no-untyped-def]
            q, k, v = (x.detach() for x in ctx.saved_tensors)
            found = gradients(case, {"q": q, "k": k, "v": v, "o": torch.zeros_like(q), "do": do})
            return found["dq"], found["dk"], found["dv"]

    generator = torch.Generator().manual_seed(0)
    shapes = [(case["seqlen_q"], case["head"])] + 2 * [(case["seqlen_k"], case["head"])]
    q, k, v = (
        torch.randn(*shape, generator=generator, dtype=torch.float64).requires_grad_()  # type: ignore[arg-type]
        for shape in shapes
    )
    return torch.autograd.gradcheck(Attention.apply, (q, k, v), raise_exception=False)


@pytest.mark.parametrize(
    ("seqlen_q", "seqlen_k", "causal"),
    [(4, 5, False), (4, 4, True), (3, 6, True), (6, 3, True)],
    ids=["plain", "causal", "more_keys", "dead_rows"],
)
def test_the_oracle_of_the_backward_pass_agrees_with_finite_differences(
    course: Course, seqlen_q: int, seqlen_k: int, causal: bool
) -> None:
    gradients = load_oracle(course.exercise("flash_backward").oracle).name("oracle")
    case = {"seqlen_q": seqlen_q, "seqlen_k": seqlen_k, "head": 3, "causal": causal, "scale": 0.7, "doubled": False}
    assert agrees_with_finite_differences(gradients, case)


@pytest.mark.parametrize("name", ["dq", "dk", "dv"])
def test_finite_differences_tell_a_gradient_that_is_a_little_off(course: Course, name: str) -> None:
    right = load_oracle(course.exercise("flash_backward").oracle).name("oracle")

    def wrong(case: dict[str, object], inputs: Tensors) -> Tensors:
        found = right(case, inputs)
        return {**found, name: found[name] * 1.01}

    case = {"seqlen_q": 4, "seqlen_k": 5, "head": 3, "causal": True, "scale": 0.7, "doubled": False}
    assert not agrees_with_finite_differences(wrong, case)


def test_what_the_forward_pass_saves_is_attention_and_its_log_sum_exp(course: Course) -> None:
    _, case, inputs = oracle_of(course, "flash_backward", "dead_rows")
    o = attention(inputs["q"], inputs["k"], inputs["v"], case["scale"], True)  # type: ignore[arg-type]
    assert torch.allclose(inputs["o"], o, atol=1e-6)
    dead = case["seqlen_q"] - case["seqlen_k"]  # type: ignore[operator]
    assert inputs["lse"].isneginf().tolist() == [row < dead for row in range(len(o))]


# The oracles of the two that decode, beside plain attention over the keys of each sequence.


def plain(case: dict[str, object], q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return torch.softmax(case["scale"] * (q @ k.T), -1) @ v


@pytest.mark.parametrize("chunk", [1, 16, 37, 200])
def test_the_oracle_of_split_keys_is_plain_attention_for_every_number_of_splits(course: Course, chunk: int) -> None:
    oracle, case, inputs = oracle_of(course, "split_kv_decode", "property_split_counts_agree")
    found = oracle.name("oracle")({**case, "chunk": chunk}, inputs)
    for b, length in enumerate(inputs["seqlens"].tolist()):
        expected = plain(case, inputs["q"][b], inputs["k"][b, :length], inputs["v"][b, :length])
        assert torch.allclose(found["o"][b], expected, rtol=1e-12)


def test_the_oracle_of_pages_is_plain_attention_over_the_keys_in_order(course: Course) -> None:
    oracle, case, inputs = oracle_of(course, "paged_kv", "poisoned_slots")
    found, page = oracle.name("oracle")(case, inputs), case["page"]
    for b, length in enumerate(inputs["seqlens"].tolist()):
        pages = [number for number in inputs["table"][b].tolist() if number >= 0]
        k, v = (inputs[name][pages].flatten(0, 1)[:length] for name in ("k_pages", "v_pages"))
        assert len(pages) == -(-length // page)  # type: ignore[operator]
        assert torch.allclose(found["o"][b], plain(case, inputs["q"][b], k, v), rtol=1e-12)


# What the checks can see.


PROPERTIES = [
    ("split_kv_decode", "property_split_counts_agree", "agree", {"o_other": ("o", 1.0), "lse_other": ("lse", 1.0)}),
    ("paged_kv", "property_page_order", "moved", {"o_moved": ("o", 1.0), "lse_moved": ("lse", 1.0)}),
    ("flash_backward", "property_linearity", "linear", {f"{x}_doubled": (x, 2.0) for x in ("dq", "dk", "dv")}),
]


@pytest.mark.parametrize(
    ("exercise_id", "check_id", "property", "others"), PROPERTIES, ids=lambda value: str(value)[:20]
)
def test_a_property_holds_for_right_values_and_can_fail(
    course: Course, exercise_id: str, check_id: str, property: str, others: dict[str, tuple[str, float]]
) -> None:
    oracle, case, inputs = oracle_of(course, exercise_id, check_id)
    right = oracle.name("oracle")(case, inputs)
    outputs = {**right, **{name: factor * right[source] for name, (source, factor) in others.items()}}
    observe = oracle.name("observe")
    assert observe(case, inputs, outputs)[property].all()
    for name in others:
        changed = outputs[name].clone()
        changed[-1] += 0.01
        assert not observe(case, inputs, {**outputs, name: changed})[property].all()


@pytest.mark.parametrize(
    "mistake",
    [
        "split_kv_decode/shares_measured_from_zero",
        "paged_kv/page_0_taken_for_none",
        "flash_backward/p_as_quotient",
        "flash_backward/ghost_keys_take_part",
    ],
)
def test_a_mistake_that_public_checks_let_through_is_caught_and_named(official: Grade, mistake: str) -> None:
    exercise_id, name = mistake.split("/")
    result = official(exercise_id, MISTAKES / exercise_id / f"{name}.py")
    assert {check.outcome for check in result.checks if not check.hidden} == {"pass"}
    assert "fail" in {check.outcome for check in result.checks if check.hidden}
    assert [found.mistake for found in result.diagnosis] == [name]


@pytest.mark.parametrize("path", LOOK_ALIKES, ids=lambda path: f"{path.parts[-3]}/{path.stem}")
def test_a_look_alike_is_graded_and_gets_no_name_that_is_untrue(official: Grade, path: Path) -> None:
    result = official(path.parts[-3], path)
    assert "fail" in {check.outcome for check in result.checks}
    listed = re.search(r"^# may be called: (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    assert {item.mistake for item in result.diagnosis} <= set(listed[1].split(", ") if listed else ())
