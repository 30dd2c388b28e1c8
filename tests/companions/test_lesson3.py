"""The lesson 3 companion: it runs a student's three softmax kernels, and names what is missing or differs."""

import pytest

from tests.companions.running import SOLUTIONS, exercises_of, fits_80_columns, hand_in, run, write_stubs

SCRIPT = "lesson3_softmax.py"


def test_solutions_match_and_a_shift_changes_nothing():
    code, output = run(SCRIPT, SOLUTIONS)
    assert code == 0
    assert output.count("Matches.") == 3
    assert "differs" not in output
    assert fits_80_columns(output)
    shifts = output[output.index("as it stands  ") :].splitlines()[1:6]
    assert all(line.endswith("0.665  0.245  0.090") for line in shifts)
    assert sum("nan" in line for line in shifts) == 2


@pytest.mark.exhaustive
def test_stubs_name_their_exercises_and_exit_1(tmp_path):
    code, output = run(SCRIPT, write_stubs(tmp_path))
    assert code == 1
    for exercise in exercises_of(3):
        assert f"grade check {exercise}" in output


def test_a_kernel_that_differs_does_not_stop_the_others(tmp_path):
    folder = hand_in(tmp_path, 3, ["softmax.py"], replaced=[("m + tl.log(l)", "m + l")])
    code, output = run(SCRIPT, folder)
    assert code == 1
    assert output.count("Matches.") == 2
    assert "lse is off by" in output
    assert "grade check log_sum_exp" in output
