"""The lesson 2 companion: every layout beside torch, the fetches of a tile, and what is still to do."""

import pytest

from tests.companions.running import SOLUTIONS, exercises_of, fits_80_columns, hand_in, run, write_stubs

SCRIPT = "lesson2_layouts.py"
FILES = ("row_tile_load.py", "strided_copy.py")


def test_solutions_match_within_80_columns():
    code, output = run(SCRIPT, SOLUTIONS)
    assert code == 0
    assert output.count("Matches. Value for value.") == 2
    assert "Both kernels ran and match." in output
    assert fits_80_columns(output)
    # Rows of 8: a tile's row is half a fetch. Rows of 24, every third column: columns 0 and 3 lie 9 apart.
    assert "a matrix of its own   4 fetches,  50% of them used" in output
    assert "every third column    8 fetches,  25% of them used" in output


@pytest.mark.exhaustive
def test_stubs_name_every_exercise(tmp_path):
    code, output = run(SCRIPT, write_stubs(tmp_path))
    assert code == 1
    for exercise in exercises_of(2):
        assert f"grade check {exercise}" in output


@pytest.mark.exhaustive
def test_a_stride_left_out_differs_in_the_layouts_that_need_it(tmp_path):
    replaced = [("offs_n[None, :] * stride_n", "offs_n[None, :]"), (" tile, mask=exists", " tile")]
    code, output = run(SCRIPT, hand_in(tmp_path, 2, FILES, replaced=replaced))
    assert code == 1
    ends = [line.split()[-1] for line in output.splitlines() if "40 x 20" in line]
    assert ends == ["ok", "ok", "differs", "differs", "differs"]
    assert "The kernel wrote outside its tensors" in output
    assert "\n  grade check row_tile_load\n" in output
