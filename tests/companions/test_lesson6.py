"""The lesson 6 companion: three kernels beside torch, a decoder made of them, and what is still to do by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.companions.running import SOLUTIONS, exercises_of, fits_80_columns, hand_in, run, write_stubs

SCRIPT = "lesson6_decode.py"
FILES = ("rope.py", "kv_cache_append.py", "decode_gemv.py")


def test_solutions_match_alone_and_as_a_decoder() -> None:
    code, output = run(SCRIPT, SOLUTIONS)
    assert code == 0
    assert output.count("Matches.") == 3
    assert "All three kernels ran and match, alone and together." in output
    assert fits_80_columns(output)


@pytest.mark.exhaustive
def test_stubs_are_named_with_their_commands(tmp_path: Path) -> None:
    code, output = run(SCRIPT, write_stubs(tmp_path))
    assert code == 1
    assert all(f"grade check {exercise}" in output for exercise in exercises_of(6))
    assert "Ten tokens" not in output


@pytest.mark.exhaustive
def test_an_element_beside_its_slot_and_a_wrong_reduction_are_seen(tmp_path: Path) -> None:
    replaced = [("(columns[None, :] < WIDTH)", "(columns[None, :] < BLOCK_W)"), ("range(SPLITS)", "range(1)")]
    code, output = run(SCRIPT, hand_in(tmp_path, 6, FILES, replaced=replaced))
    assert code == 1
    assert "grade check kv_cache_append" in output
    assert "y is off by" in output
    assert "grade check decode_gemv" in output
    assert output.count("Matches.") == 1
