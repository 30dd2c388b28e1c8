"""The lesson 7 companion: it runs on a student's own kernels, names what is missing, and never shows a traceback."""

import pytest

from tests.companions import running
from tests.companions.running import SOLUTIONS, exercises_of, fits_80_columns, write_stubs

FILES = ("one_shot_attention.py", "flash_attention.py")


def run(folder, *options):
    return running.run("lesson7_flash_attention.py", folder, *options)


def hand_in(folder, stubbed=(), replaced=()):
    return running.hand_in(folder, 7, FILES, stubbed, replaced)


@pytest.fixture(scope="module")
def solved():
    """What the solutions' run gives."""
    return run(SOLUTIONS)


def test_solutions_match_and_exit_0(solved):
    code, output = solved
    assert code == 0
    assert output.count("Matches.") == 2
    assert "differs" not in output
    assert "Both parts ran and match." in output


def test_page_is_80_columns_wide(solved):
    _, output = solved
    assert fits_80_columns(output)


def test_memory_of_the_scores_is_computed(solved):
    _, output = solved
    row = next(line.split() for line in output.splitlines() if line.split()[:1] == ["4096"])
    assert row[1] == f"{4096 * 4096 * 4 / 2**20:.0f}"


def test_picture_is_empty_right_of_the_diagonal(solved):
    _, output = solved
    rows = [line.split("|")[1] for line in output.splitlines() if line.count("|") == 2]
    assert len(rows) == 16
    assert all(not row[2 * (number + 1) :].strip() and row[2 * number].strip() for number, row in enumerate(rows))


def test_stubs_name_their_exercises_and_exit_1(tmp_path):
    code, output = run(write_stubs(tmp_path))
    assert code == 1
    for exercise in exercises_of(7):
        assert f"grade check {exercise}" in output


@pytest.mark.exhaustive
def test_one_empty_piece_stops_its_own_part_only(tmp_path):
    code, output = run(hand_in(tmp_path, stubbed=["mask_scores"]))
    assert code == 1
    assert "grade check score_mask" in output
    assert "grade check kernel_loads" not in output
    assert output.count("Matches.") == 1


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("function", "exercise"),
    [("attention_kernel", "one_shot_attention"), ("flash_attention_kernel", "flash_attention")],
)
def test_open_todo_in_a_kernel_is_named(tmp_path, function, exercise):
    code, output = run(hand_in(tmp_path, stubbed=[function]))
    assert code == 1
    assert "Still to do in" in output
    assert f"grade check {exercise}" in output
    assert output.count("Matches.") == 1


@pytest.mark.exhaustive
def test_output_that_is_never_written_is_said(tmp_path):
    replaced = [("tl.store(o_ptr", "tl.load(o_ptr"), ("[None, :], o, mask", "[None, :], mask")]
    code, output = run(hand_in(tmp_path, replaced=replaced))
    assert code == 1
    assert "o was never written in 20 of 20 rows" in output


@pytest.mark.exhaustive
def test_unmasked_ghost_columns_differ_where_causal_does_not_hide_them(tmp_path):
    replaced = [("(offs_n[None, :] < NSEQ)", "(offs_n[None, :] >= 0)")]
    code, output = run(hand_in(tmp_path, replaced=replaced))
    assert code == 1
    rows = [line for line in output.splitlines() if line.startswith("ragged") and " 20 " in line]
    assert rows[0].endswith("differs")
    assert "one_shot_attention\n" in output


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("replaced", "command"),
    [
        (("acc * alpha[:, None]", "acc"), "grade check online_softmax_update flash_attention"),
        (
            ("(offs_n[None, :] < NSEQ)", "(offs_n[None, :] >= 0)"),
            "grade check kernel_loads score_mask ghost_row_pin one_shot_attention",
        ),
    ],
)
def test_a_wrong_piece_is_graded_before_its_kernel(tmp_path, replaced, command):
    folder = hand_in(tmp_path, replaced=[replaced])
    code, output = run(folder)
    assert code == 1
    assert f"\n  {command}\n" in output


@pytest.mark.exhaustive
def test_store_without_a_mask_is_caught(tmp_path):
    replaced = [(" o, mask=offs_m[:, None] < seqlen_q", " o")]
    code, output = run(hand_in(tmp_path, replaced=replaced))
    assert code == 1
    assert "wrote outside its tensors" in output


def test_syntax_error_is_one_sentence(tmp_path):
    replaced = [("m = tl.max(s, 1)", "m = tl.max((s, 1)")]
    code, output = run(hand_in(tmp_path, replaced=replaced))
    assert code == 1
    assert "is not valid Python yet" in output
    assert output.count("Matches.") == 1


@pytest.mark.exhaustive
def test_file_that_exits_when_imported_costs_its_own_part(tmp_path):
    hand_in(tmp_path)
    path = tmp_path / FILES[0]
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("import triton\n", "raise SystemExit(3)\n", 1), encoding="utf-8")
    code, output = run(tmp_path)
    assert code == 1
    assert output.count("Matches.") == 1


def test_missing_folder_is_said(tmp_path):
    code, output = run(tmp_path)
    assert code == 1
    assert f"There is no {FILES[0]}" in output
    assert f"There is no {FILES[1]}" in output
