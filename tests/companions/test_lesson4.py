"""The lesson 4 companion: it runs a student's two matrix products, and names what is missing or differs."""

import pytest

from tests.companions.running import SOLUTIONS, exercises_of, fits_80_columns, hand_in, run, write_stubs

SCRIPT = "lesson4_matmul.py"


def test_solutions_match_and_sums_are_beyond_float16():
    code, output = run(SCRIPT, SOLUTIONS)
    assert code == 0
    assert output.count("Matches.") == 2
    assert "differs" not in output
    assert fits_80_columns(output)
    rows = [line.split() for line in output.splitlines()]
    assert ["1", "3072", "3072", "2048", "3072"] in rows
    assert ["300", "64", "5.76e+06", "inf", "5.76e+06"] in rows


@pytest.mark.exhaustive
def test_stubs_name_their_exercises_and_exit_1(tmp_path):
    code, output = run(SCRIPT, write_stubs(tmp_path))
    assert code == 1
    for exercise in exercises_of(4):
        assert f"grade check {exercise}" in output


@pytest.mark.exhaustive
def test_a_float16_accumulator_differs(tmp_path):
    wrong = ("acc = tl.dot(a, b, acc)", "acc = (acc + tl.dot(a, b)).to(tl.float16)")
    code, output = run(SCRIPT, hand_in(tmp_path, 4, ["matmul.py"], replaced=[wrong]))
    assert code == 1
    assert output.count("Matches.") == 1
    assert "grade check half_matmul" in output
