"""A mistake is named only if one model is clearly the nearest, on every probe; otherwise there is silence."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from autograder.catalogue import Check
from autograder.errors import CourseError
from autograder.judge.diagnosis import UNWRITTEN, Mistakes, Probe, by_sign, distance, load_mistakes, nearest
from autograder.judge.oracles import Tensors
from autograder.result import CheckResult

MODELS = '''
"""Wrong ways to double."""
import torch

def tripled(case, inputs):
    """The values come back three times as large.

    Look at the factor.
    """
    return {"y": 3 * inputs["x"]}

def first_only(case, inputs):
    """Only the first value is doubled."""
    return {"y": torch.cat([2 * inputs["x"][:1], inputs["x"][1:]])}

def squared_if_large(case, inputs):
    """Large values are squared."""
    return {"y": torch.where(inputs["x"] > 10, inputs["x"] ** 2, 2 * inputs["x"])}

def nan_at_the_end(case, inputs):
    """The last value is NaN."""
    y = 2 * inputs["x"]
    y[-1] = float("nan")
    return {"y": y}

def does_not_fit(case, inputs):
    """Never fits."""
    return {"y": inputs["x"].reshape(7, 7)}

def silent_if_large(case, inputs):
    """Knows nothing of large values, and has small ones right."""
    return {} if inputs["x"].max() > 10 else {"y": 2 * inputs["x"]}

MISTAKES = (tripled, first_only, squared_if_large, nan_at_the_end, does_not_fit, silent_if_large)
SIGNS = (
    ("outside", "fail", r"stores outside y", "Something is stored outside.\\n\\nLook at the mask."),
    ("two", "crashed", "SIGSEGV", "One."),
    ("three", "crashed", "SIG", "Another."),
)
ALIASES = {"thrice": "tripled"}
'''


@pytest.fixture
def mistakes(tmp_path: Path) -> Mistakes:
    (tmp_path / "mistakes.py").write_text(MODELS)
    load_mistakes.cache_clear()
    return load_mistakes(tmp_path / "mistakes.py")


def probe(observed: torch.Tensor, x: torch.Tensor) -> Probe:
    check = Check("c", "tiny", 1.0, "It doubles.", {})
    return Probe(check, {"x": x}, {"y": observed}, {"y": 2 * x.double()})


SMALL, LARGE = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([1.0, 20.0, 30.0])


@pytest.mark.parametrize(
    ("name", "outputs"),
    [
        ("tripled", [3 * SMALL, 3 * LARGE]),
        ("first_only", [torch.tensor([2.0, 2.0, 3.0]), torch.tensor([2.0, 20.0, 30.0])]),
        ("squared_if_large", [2 * SMALL, torch.tensor([2.0, 400.0, 900.0])]),
        ("nan_at_the_end", [torch.tensor([2.0, 4.0, torch.nan]), torch.tensor([2.0, 40.0, torch.nan])]),
    ],
)
def test_a_mistake_is_named_up_to_rounding(mistakes: Mistakes, name: str, outputs: list[torch.Tensor]) -> None:
    probes = [probe(y * (1 + 1e-6), x) for y, x in zip(outputs, (SMALL, LARGE), strict=True)]
    found = nearest(mistakes, probes)
    assert found is not None
    assert found.mistake == name
    assert found.distance < 1e-4
    assert found.runner_up is not None
    assert found.runner_up > 0.01
    again = nearest(mistakes, probes[::-1])
    assert again is not None
    assert (again.mistake, again.distance) == (name, found.distance)


@pytest.mark.parametrize(
    "outputs",
    [
        [2 * SMALL, 2 * LARGE],  # right
        [2 * SMALL * 1.001, 2 * LARGE],  # right, and a little rough
        [3 * SMALL, 2 * LARGE],  # one thing here, another there
        [3 * SMALL + torch.tensor([0.0, 0.0, torch.inf]), 3 * LARGE],  # two mistakes at once
        [2.9 * SMALL, 2.9 * LARGE],  # like none of them
        [torch.zeros(2), torch.zeros(2)],  # of another shape
    ],
)
def test_otherwise_there_is_silence(mistakes: Mistakes, outputs: list[torch.Tensor]) -> None:
    assert nearest(mistakes, [probe(y, x) for y, x in zip(outputs, (SMALL, LARGE), strict=True)]) is None


def test_where_two_models_agree_there_is_silence(mistakes: Mistakes) -> None:
    one = torch.tensor([4.0])
    assert nearest(mistakes, [probe(2 * one, one)]) is None  # first_only is right on a single value
    assert nearest(mistakes, []) is None
    assert nearest(Mistakes({}, {}, (), {}), [probe(3 * SMALL, SMALL)]) is None


def result(outcome: str, message: str) -> CheckResult:
    return CheckResult("c", "tiny", 1.0, False, outcome, "It doubles.", message)


def test_the_first_failed_check_may_be_a_sign_and_the_first_sign_counts(mistakes: Mistakes) -> None:
    passed = result("pass", "")
    stores = result("fail", "The kernel stores outside y, at 3.")
    found = by_sign(mistakes, [passed, stores, result("crashed", "SIGSEGV")])
    assert found is not None
    assert (found.mistake, found.message) == ("outside", "Something is stored outside. Look at the mask.")
    assert by_sign(mistakes, [result("fail", "Off by 3."), stores]) is None
    assert by_sign(mistakes, [passed, result("crashed", "stores outside y")]) is None
    both = by_sign(mistakes, [result("crashed", "SIGSEGV")])
    assert both is not None
    assert both.mistake == "two"
    assert by_sign(mistakes, [passed]) is None


def test_a_model_that_says_nothing_explains_nothing(tmp_path: Path) -> None:
    (tmp_path / "mistakes.py").write_text(
        'def silent(case, inputs):\n    """Says nothing."""\n    return {}\nMISTAKES = (silent,)\n'
    )
    load_mistakes.cache_clear()
    assert nearest(load_mistakes(tmp_path / "mistakes.py"), [probe(5 * SMALL, SMALL)]) is None


def test_a_model_may_know_some_elements_alone(tmp_path: Path) -> None:
    (tmp_path / "mistakes.py").write_text(
        "import torch\n"
        "def raced(case, inputs):\n"
        '    """The first value is three times as large, and programs race for the last one."""\n'
        "    y = 3 * inputs['x']\n"
        "    y[1], y[2] = 2 * inputs['x'][1], torch.finfo(torch.float64).max\n"
        "    return {'y': y}\n"
        "MISTAKES = (raced,)\n"
    )
    load_mistakes.cache_clear()
    raced = load_mistakes(tmp_path / "mistakes.py")
    for last in (6.0, 17.0, UNWRITTEN, float("nan")):
        found = nearest(raced, [probe(torch.tensor([3.0, 4.0, last], dtype=torch.float64), SMALL)])
        assert found is not None
        assert found.mistake == "raced"
        # Wrong where the model knows nothing alone, or where it knows better.
        assert nearest(raced, [probe(torch.tensor([2.0, 4.0, last], dtype=torch.float64), SMALL)]) is None
        assert nearest(raced, [probe(torch.tensor([3.0, 5.0, last], dtype=torch.float64), SMALL)]) is None


def test_a_kernel_that_never_ran_is_like_no_model(mistakes: Mistakes) -> None:
    stopped = probe(torch.full((3,), torch.inf), SMALL)
    assert nearest(mistakes, [replace(stopped, ran=False)]) is None


def test_all_that_can_be_named_and_what_cannot_be_told_apart(mistakes: Mistakes) -> None:
    assert mistakes.names >= {"tripled", "outside", "two", "three"}
    assert mistakes.aliases == {"thrice": "tripled"}
    assert mistakes.texts["tripled"] == "The values come back three times as large. Look at the factor."


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = (", "cannot be loaded"),
        ("MISTAKES = (1,)", "cannot be loaded"),
        ("def f(case, inputs):\n    return {}\nMISTAKES = (f,)", "f has no words"),
        ('SIGNS = (("m", "fail", "(", "Words."),)', "cannot be loaded"),
    ],
)
def test_a_broken_file_is_named(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "mistakes.py").write_text(text)
    load_mistakes.cache_clear()
    with pytest.raises(CourseError, match=words):
        load_mistakes(tmp_path / "mistakes.py")


def test_distance_counts_kinds_and_sizes() -> None:
    def of(values: list[float]) -> Tensors:
        return {"y": torch.tensor(values)}

    inf, nan = float("inf"), float("nan")
    assert distance(of([1.0, inf, nan]), of([1.0, inf, nan])) == 0.0
    assert distance(of([1.0, inf]), of([1.0, -inf])) == 0.5
    assert distance(of([1.0, nan]), of([1.0, 0.0])) == 0.5
    assert distance(of([2.0, 2.0]), of([1.0, 1.0])) == 1.0
    assert distance(of([nan]), of([nan])) == 0.0
    assert distance({}, of([1.0])) == inf
    assert distance({"y": torch.empty(0)}, {"y": torch.empty(0)}) == 0.0


ON_A_GPU = '''
def underflows(case, inputs):
    """It divides by something too small."""
    return {"y": (inputs["x"].float() * 1e-30).double() * 1e30}

def reads_behind(case, inputs):
    """It reads what lies behind the end."""
    return {"y": inputs["x"].clone().fill_(float("nan") if case["device"] == "cuda" else float("inf"))}

def reads_before(case, inputs):
    """It reads what lies before the beginning."""
    return {"y": inputs["x"].clone().fill_(float("nan") if case["device"] == "cuda" else float("-inf"))}

MISTAKES = (underflows, reads_before, reads_behind)
GPU_ALIASES = {"reads_before": "reads_behind"}
'''


def test_a_gpu_may_round_tiny_numbers_to_zero_and_a_model_knows_the_device(tmp_path: Path) -> None:
    (tmp_path / "mistakes.py").write_text(ON_A_GPU)
    load_mistakes.cache_clear()
    mistakes = load_mistakes(tmp_path / "mistakes.py")
    x = torch.tensor([4e-9, 3e-9, 2e-9])  # subnormal in float32 when multiplied by 1e-30
    for tiny, device, found in (
        (torch.zeros(3), "cuda", "underflows"),
        (torch.zeros(3), "cpu", None),
        (x.clone(), "cuda", "underflows"),
        (torch.full((3,), torch.nan), "cuda", "reads_behind"),
        (torch.full((3,), torch.nan), "cpu", None),
        (torch.full((3,), torch.inf), "cpu", "reads_behind"),
        (torch.full((3,), -torch.inf), "cpu", "reads_before"),
    ):
        named = nearest(mistakes, [probe(tiny, x)], device)
        assert (named and named.mistake) == found
        if named and (device, found) == ("cuda", "reads_behind"):
            assert named.message == "It reads what lies behind the end."
    assert (torch.tensor(3e-9) * 1e-30).item() != 0.0  # the thread is as it was
    assert mistakes.gpu_aliases == {"reads_before": "reads_behind"}


STOPPED = '''
import torch
UNWRITTEN = torch.finfo(torch.float64).min

def stops_if_large(case, inputs):
    """It stores behind the end."""
    return r"stores outside y\\b" if inputs["x"].max() > 10 else {"y": 2 * inputs["x"]}

def always_stops(case, inputs):
    """It loads behind the end."""
    return r"loads outside x\\b"

def tripled(case, inputs):
    """The values come back three times as large."""
    return {"y": 3 * inputs["x"]}

def last_left_out(case, inputs):
    """The last value is never written."""
    y = 2 * inputs["x"]
    y[-1] = UNWRITTEN
    return {"y": y}

def tripled_at_the_end(case, inputs):
    """Only the last value is three times as large."""
    return {"y": torch.cat([2 * inputs["x"][:-1], 3 * inputs["x"][-1:]])}

MISTAKES = (stops_if_large, always_stops, tripled, last_left_out, tripled_at_the_end)
ALIASES = {"tripled_at_the_end": "tripled"}
'''


@pytest.fixture
def stopping(tmp_path: Path) -> Mistakes:
    (tmp_path / "mistakes.py").write_text(STOPPED)
    load_mistakes.cache_clear()
    return load_mistakes(tmp_path / "mistakes.py")


def stopped(x: torch.Tensor, message: str) -> Probe:
    return replace(probe(torch.full(x.shape, torch.inf), x), ran=False, message=message)


def name_of(mistakes: Mistakes, *probes: Probe) -> str | None:
    found = nearest(mistakes, probes)
    return found and found.mistake


def test_a_model_may_say_with_which_message_its_kernel_is_stopped_and_in_which_cases(stopping: Mistakes) -> None:
    behind = "The kernel stores outside y, which has shape (3,): element 3."
    assert name_of(stopping, probe(2 * SMALL, SMALL), stopped(LARGE, behind)) == "stops_if_large"
    assert name_of(stopping, probe(2 * SMALL, SMALL), stopped(LARGE, "The kernel loads outside x.")) is None
    assert name_of(stopping, stopped(SMALL, behind), stopped(LARGE, behind)) is None  # it should have run
    assert name_of(stopping, probe(2 * SMALL, SMALL), probe(2 * LARGE, LARGE)) is None
    outside = "The kernel loads outside x."
    assert name_of(stopping, stopped(SMALL, outside), stopped(LARGE, outside)) == "always_stops"


def test_what_was_never_written_is_not_taken_for_nan(stopping: Mistakes) -> None:
    y = 2 * SMALL.double()
    assert name_of(stopping, probe(torch.cat([y[:2], torch.tensor([torch.nan])]), SMALL)) is None
    assert (
        name_of(stopping, probe(torch.cat([y[:2], torch.tensor([UNWRITTEN], dtype=torch.float64)]), SMALL))
        == "last_left_out"
    )


def test_a_model_that_stands_for_another_has_words_of_its_own(stopping: Mistakes) -> None:
    found = nearest(stopping, [probe(torch.tensor([2.0, 4.0, 9.0]), SMALL)])
    assert found is not None
    assert (found.mistake, found.message) == ("tripled", "Only the last value is three times as large.")
