"""The lesson 5 companion: both kernels beside torch, what fusing saves, and what is still to do by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.companions.running import SOLUTIONS, exercises_of, fits_80_columns, hand_in, run, write_stubs

SCRIPT = "lesson5_fusion.py"
FILES = ("rms_norm.py", "swiglu.py")


def test_solutions_match_and_the_sums_are_those_of_the_handouts() -> None:
    code, output = run(SCRIPT, SOLUTIONS)
    assert code == 0
    assert output.count("Matches.") == 2
    assert "Both kernels ran and match." in output
    assert "2.5 times less" in output  # ten rows that travel against four
    assert "4.0 times less" in output  # twelve against three
    assert fits_80_columns(output)


@pytest.mark.exhaustive
def test_stubs_are_named_with_their_commands(tmp_path: Path) -> None:
    code, output = run(SCRIPT, write_stubs(tmp_path))
    assert code == 1
    assert all(f"grade check {exercise}" in output for exercise in exercises_of(5))


@pytest.mark.exhaustive
def test_a_wrong_kernel_differs_and_the_other_goes_on(tmp_path: Path) -> None:
    code, output = run(SCRIPT, hand_in(tmp_path, 5, FILES, replaced=[("tl.sum(h * h, 0) / WIDTH", "tl.sum(h * h, 0)")]))
    assert code == 1
    assert "y is off by" in output
    assert "grade check rms_norm" in output
    assert output.count("Matches.") == 1
