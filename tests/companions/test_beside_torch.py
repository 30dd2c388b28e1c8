"""What the companions share: fences that notice stray stores, the bar of a comparison, shares of the roofline."""

from __future__ import annotations

import importlib
from types import SimpleNamespace

import pytest
import torch

from tests.companions.running import ROOT


@pytest.fixture
def beside(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The shared modules, as a companion finds them."""
    monkeypatch.syspath_prepend(str(ROOT / "course" / "companions"))
    names = ("buffers", "speed", "student")
    return SimpleNamespace(**{name: importlib.import_module(f"beside_torch.{name}") for name in names})


@pytest.fixture
def part(beside: SimpleNamespace) -> object:
    return beside.student.Part("Some part", 1, "file.py", "kernel", {"kernel": "exercise"})


def exact(values: torch.Tensor) -> dict[str, tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]]:
    return {"y": (values, torch.zeros(values.shape, dtype=torch.float64), None)}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int32, torch.int64])
def test_an_output_that_is_never_written_is_told_from_a_wrong_one(beside, part, dtype):
    buffers = beside.buffers.Buffers("cpu")
    buffers.input(torch.ones(3, dtype=dtype))
    y = buffers.output((4, 2), dtype)
    y[:2] = 0
    (y,) = buffers.collect(part)
    assert beside.buffers.measure(exact(y))[2] == "y was never written in 2 of 4 rows"


def test_a_store_in_a_gap_and_one_behind_the_end_are_noticed(beside, part):
    for place in (2, -1):
        buffers = beside.buffers.Buffers("cpu")
        y = buffers.output((3, 2), strides=(3, 1))
        y.fill_(0.0)
        memory = y.as_strided((9,), (1,))
        memory[place] = 1.0  # -1 is the ninth element, and y ends with its eighth
        with pytest.raises(beside.student.Missing, match="wrote outside its tensors"):
            buffers.collect(part)


def test_a_changed_input_is_noticed_and_keeps_its_strides(beside, part):
    buffers = beside.buffers.Buffers("cpu")
    x = buffers.input(torch.arange(12.0).reshape(4, 3)[::2].T)
    assert x.stride() == (1, 6)
    assert buffers.collect(part) == []
    x[0, 0] = 5.0
    with pytest.raises(beside.student.Missing, match="changed one of its inputs"):
        buffers.collect(part)


def test_the_bar_is_four_times_torchs_error_or_equality(beside):
    truth = torch.tensor([1.0, 2.0], dtype=torch.float64)
    plain = torch.tensor([1.0, 2.001])
    got = torch.tensor([1.0, 2.0035])
    assert beside.buffers.measure({"y": (got, truth, plain)})[2] == ""
    assert (
        "y is off by 4.5e-03, where 4.0e-03 would be rounding"
        in beside.buffers.measure({"y": (got + 0.001, truth, plain)})[2]
    )
    assert "where it should be equal" in beside.buffers.measure({"y": (got, truth, None)})[2]


@pytest.mark.parametrize(
    ("flops", "unit", "share"),
    [
        (0, "GB/s", "50%"),  # 1 GB at 1000 GB/s takes 1 ms at least
        (10**12, "TFLOP/s", "5%"),  # and 1 TFLOP at 10 TFLOP/s takes 100 ms
    ],
)
def test_speed_is_a_share_of_whatever_takes_longest_at_best(beside, monkeypatch, capsys, flops, unit, share):
    monkeypatch.setattr(beside.speed, "copy_bandwidth", lambda: 1000.0)
    monkeypatch.setattr(beside.speed, "matmul_rate", lambda dtype: 10.0)
    monkeypatch.setattr(beside.speed, "milliseconds", lambda run: run())
    taken = 2.0 if not flops else 2000.0
    assert beside.speed.show_speed({"yours": lambda: taken}, moved=10**9, flops=flops) == {"yours": taken}
    head, row, *_ = capsys.readouterr().out.splitlines()
    assert unit in head
    assert row.split() == ["yours", f"{taken:.3f}", "500.0" if not flops else "0.5", share]


@pytest.mark.parametrize(
    ("body", "is_open"),
    [
        ("    x = tl.arange(0, 16)\n", True),
        ("    x = tl.load(p)\n    helper(p, x)\n", False),
        ("    tl.store(p, 1.0)\n", False),
        ("    for i in range(3):\n        x = tl.load(p + i)\n", True),
    ],
)
def test_a_kernel_that_stores_nothing_is_still_to_do(beside, part, tmp_path, body, is_open):
    path = tmp_path / "file.py"
    path.write_text(
        f"import triton.language as tl\n\n\ndef helper(p, x):\n    tl.store(p, x)\n\n\ndef kernel(p):\n{body}"
    )
    assert beside.student._unfilled(path, part) == (["exercise"] if is_open else [])


def test_both_kernels_of_an_exercise_have_to_be_there(beside, tmp_path):
    part = beside.student.Part("Two", 1, "file.py", "first", {"second": "exercise", "first": "exercise"})
    path = tmp_path / "file.py"
    path.write_text("def first(p):\n    tl.store(p, 1.0)\n\n\ndef second(p):\n    x = 1\n")
    assert beside.student._unfilled(path, part) == ["exercise"]
