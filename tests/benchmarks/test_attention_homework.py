"""The benchmark of lesson 7's homework: its tables, what it takes for a fault, and its cases in the interpreter."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

from gpu_measure import Times, growth  # noqa: E402
from homework_tables import Row, Summary, cells, faults, markdown, size, summary_cells, tables  # noqa: E402

MIB = 2**20


def measured(n: int, extra: int, torch_extra: int) -> Row:
    times = Times.of([9.0, 10.0, 12.0])
    return Row(n, 0.12, 1e-6, "", extra, torch_extra, times, Times.of([5.0]), tflops=3.21)


def summary(*extra: int) -> Summary:
    rows = tuple(measured(1024 * 2**place, count, count**2) for place, count in enumerate(extra))
    return Summary("attention_bias", "SDPA, bias and ALiBi as a mask", rows)


@pytest.mark.parametrize(
    ("first", "last", "exponent"),
    [(100, 400, 1.0), (100, 1600, 2.0), (100, 100, 0.0), (0, 0, 0.0), (100, 0, 0.0), (0, 100, math.inf)],
)
def test_growth_is_the_exponent_between_n_and_4_n(first: int, last: int, exponent: float) -> None:
    assert growth(first, last, 4) == pytest.approx(exponent)


def test_memory_that_grows_as_n_is_no_fault_and_as_n_log_n_it_is() -> None:
    assert faults([summary(0, 0, 0), summary(MIB, 2 * MIB, 4 * MIB)]) == []
    (said,) = faults([summary(10 * MIB, 22 * MIB, 48 * MIB)])
    assert said == (
        "attention_bias needs 10 MiB beyond inputs and outputs at N = 1,024 and 48 MiB at N = 4,096: "
        "that grows faster than N."
    )


def test_memory_that_torch_needs_is_no_fault_of_the_solution() -> None:
    square = summary(MIB, 2 * MIB, 4 * MIB)
    assert square.torch_growth == pytest.approx(2.0)
    assert faults([square]) == []


def test_a_wrong_output_and_a_torch_form_that_does_something_else_are_faults() -> None:
    good = summary(1, 1, 1)
    wrong = replace(good, rows=(replace(good.rows[0], wrong="o is off by up to 3.1."), *good.rows[1:]))
    assert faults([wrong]) == ["attention_bias, N = 1,024: o is off by up to 3.1."]
    for error in (0.5, math.nan):
        other = replace(good, rows=(*good.rows[:2], replace(good.rows[2], torch_error=error)))
        (said,) = faults([other])
        assert said.startswith("attention_bias, N = 4,096: SDPA, bias and ALiBi as a mask is off by")


def test_a_row_has_the_median_the_spread_and_the_ratio() -> None:
    first, second, _ = cells(summary(0, 300 * MIB, 2000 * MIB))
    assert first == ["attention_bias", "1,024", "10", "15%", "5", "2.00", "3.2", "", "0", "0"]
    assert (second[0], second[8]) == ("", "300 MiB")
    assert summary_cells(summary(1, 2, 4)) == [
        *("attention_bias", "SDPA, bias and ALiBi as a mask", "N^1.00", "N^2.00", "12%")
    ]


def test_where_torch_has_no_room_the_solution_is_still_shown() -> None:
    row = replace(measured(8192, 0, 0), torch=None, torch_extra=None)
    (shown,) = cells(replace(summary(0), rows=(row,)))
    assert shown[4:6] == ["no room", ""]
    assert faults([replace(summary(0), rows=(row,))]) == []


@pytest.mark.parametrize(
    ("count", "text"),
    [(None, ""), (0, "0"), (512, "512 B"), (1500, "1.5 KiB"), (64 * MIB, "64 MiB"), (3 * 2**40, "3072 GiB")],
)
def test_bytes_have_a_unit(count: int | None, text: str) -> None:
    assert size(count) == text


@pytest.mark.parametrize("plain", [True, False])
def test_tables_fit_80_columns_without_colour(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, plain: bool
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    wide = Row(65536, 0.12, 1e-6, "", 300 * MIB, 900 * MIB, Times.of([0.112, 0.123]), Times.of([0.456]), gbytes=4123.0)
    tables("GPU", [summary(0, 300 * MIB, 600 * MIB), replace(summary(0), rows=(wide,))], plain=plain)
    printed = capsys.readouterr().out
    assert max(map(len, printed.splitlines())) <= 80
    assert "…" not in printed
    assert "900 MiB" in printed
    assert "4,123" in printed
    assert "\x1b" not in printed


def test_the_markdown_has_a_row_for_each_length() -> None:
    page = markdown("GPU", [summary(1, 2, 4)], interpreter=False)
    assert page.count("\n| attention_bias |") == 2  # one in each table; further lengths do not repeat the name
    assert len([line for line in page.splitlines() if line.startswith("|")]) == 2 + 3 + 2 + 1


def test_all_ten_launch_and_match_in_the_interpreter_and_torch_does_the_same() -> None:
    done = _run("--interpreter", "--plain")
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [line.split() for line in done.stdout.splitlines() if line.endswith("%")]
    assert len(rows) == 10
    assert all(0 < int(row[-1].removesuffix("%")) <= 50 for row in rows)


def test_without_a_gpu_it_says_so() -> None:
    done = _run()
    assert (done.returncode, done.stdout.count("\n")) == (2, 1)
    assert done.stdout.startswith("No CUDA GPU was found")


def test_an_exercise_that_is_not_there_is_named() -> None:
    done = _run("--interpreter", "paged_vk")
    assert done.returncode == 2
    assert "no homework called paged_vk" in done.stdout


def _run(*options: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    script = ROOT / "benchmarks" / "attention_homework.py"
    return subprocess.run(
        [sys.executable, str(script), *options], capture_output=True, text=True, env=environment, timeout=300
    )
