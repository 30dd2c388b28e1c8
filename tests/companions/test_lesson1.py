"""The lesson 1 companion: both kernels beside torch, the bytes of one pass and of two, and what is still to do."""

import pytest

from tests.companions.running import SOLUTIONS, exercises_of, fits_80_columns, hand_in, run, write_stubs

SCRIPT = "lesson1_bandwidth.py"
FILES = ("vector_add.py", "fused_scale_shift.py")


def test_solutions_match_within_80_columns_and_two_passes_move_twice_the_bytes():
    code, output = run(SCRIPT, SOLUTIONS)
    assert code == 0
    assert output.count("Matches.") == 2
    assert "differs" not in output
    assert "Both kernels ran and match." in output
    assert fits_80_columns(output)
    megabytes = [line.split()[-2] for line in output.splitlines() if line.endswith(" MB")]
    assert megabytes == [f"{2 * 4 * 2**26 / 1e6:,.0f}", f"{4 * 4 * 2**26 / 1e6:,.0f}"]


@pytest.mark.exhaustive
def test_stubs_name_every_exercise(tmp_path):
    code, output = run(SCRIPT, write_stubs(tmp_path))
    assert code == 1
    for exercise in exercises_of(1):
        assert f"grade check {exercise}" in output


@pytest.mark.exhaustive
def test_a_wrong_kernel_differs_and_the_other_goes_on(tmp_path):
    code, output = run(SCRIPT, hand_in(tmp_path, 1, FILES, replaced=[("offs % n_columns", "offs * 0")]))
    assert code == 1
    assert output.count("Matches.") == 1
    assert "\n  grade check fused_scale_shift\n" in output
