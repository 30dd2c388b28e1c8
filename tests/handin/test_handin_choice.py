"""Which of several files counts, and that the choice is said in one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograder.handin import Place, read_handin

from .making import (
    FLASH,
    NAMES,
    ONE_SHOT,
    SOFTMAX,
    notebook,
    noted,
    read,
    stub,
    texts,
    work,
    write,
    zip_bytes,
)

LESSON, FLAT, NOTEBOOK = "lesson7/flash_attention.py", "flash_attention.py", "hw.ipynb"
OLD = work(FLASH, "old")
CELLS = notebook(work(FLASH, "cells"))


@pytest.mark.parametrize(
    ("files", "chosen", "words"),
    [
        ({LESSON: work(FLASH), FLAT: OLD}, LESSON, "lesson folder"),
        ({LESSON: stub(FLASH), FLAT: OLD}, FLAT, "unchanged"),
        ({LESSON: work(FLASH), NOTEBOOK: CELLS}, LESSON, "a started .py beats a notebook"),
        ({FLAT: work(FLASH), NOTEBOOK: CELLS}, FLAT, "a started .py beats a notebook"),
        ({LESSON: stub(FLASH), NOTEBOOK: CELLS}, NOTEBOOK, "unchanged"),
        ({LESSON: stub(FLASH), FLAT: stub(FLASH)}, LESSON, "lesson folder"),
        ({LESSON: stub(FLASH), "final.py": OLD}, "final.py", "unchanged"),
        ({LESSON: b"\xff", FLAT: OLD}, FLAT, "refused"),
        ({LESSON: b"\xff", NOTEBOOK: CELLS}, NOTEBOOK, "refused"),
        ({LESSON: b"\xff", FLAT: stub(FLASH)}, LESSON, "unchanged"),
        ({"a/lesson7/flash_attention.py": OLD, LESSON: work(FLASH)}, LESSON, "only one"),
        ({"Flash_Attention.py": OLD, FLAT: work(FLASH)}, FLAT, "spelled differently"),
        ({"flash_attention (1).py": OLD, FLAT: work(FLASH)}, FLAT, "a copy"),
        ({"flash_attention (1).py": stub(FLASH), FLAT: stub(FLASH)}, FLAT, "a copy"),
        ({"lesson7/flash_attention (1).py": OLD, FLAT: work(FLASH)}, FLAT, "a copy"),
        ({"flash_attention (1).py": OLD, FLAT: stub(FLASH)}, "flash_attention (1).py", "unchanged"),
        ({"flash_attention (1).py": OLD, "flash_attention (2).py": OLD}, "flash_attention (2).py", "(1).py"),
        ({"flash_attention (1).py": OLD, NOTEBOOK: CELLS}, "flash_attention (1).py", "beats a notebook"),
        ({"final.py": OLD, NOTEBOOK: CELLS}, "final.py", "beats a notebook"),
        ({"a.ipynb": CELLS, "b.ipynb": CELLS}, "a.ipynb", "only one"),
        ({"a.ipynb": notebook("def online_softmax_update(): 1"), "b.ipynb": CELLS}, "b.ipynb", "fewer"),
        ({"hw.zip": zip_bytes({LESSON: OLD}), LESSON: work(FLASH)}, LESSON, "hw.zip!"),
    ],
)
def test_of_two_files_the_better_counts_and_one_sentence_says_so(
    tmp_path: Path, files: dict[str, str | bytes], chosen: str, words: str
) -> None:
    handin = read(write(tmp_path / "hw", files))
    (loser,) = set(files) - {chosen}
    assert handin.sources[FLASH].path == chosen
    said = [note for note in handin.notes if note.startswith("For lesson7/flash_attention.py")]
    assert len(said) == 1
    assert chosen in said[0]
    assert loser in said[0]
    assert words in said[0]


@pytest.mark.parametrize(
    "name",
    [
        "flash_attention (1).py",
        "flash_attention(3).py",
        "Copy of flash_attention.py",
        "flash_attention - Copy.py",
        "flash_attention copy.py",
        "flash_attention-1.py",
        "Flash_Attention (1).py",
    ],
)
def test_a_copy_is_the_hand_in_when_the_plain_file_is_missing(tmp_path: Path, name: str) -> None:
    handin = read(write(tmp_path / "hw", {name: work(FLASH)}))
    assert texts(handin) == {FLASH: work(FLASH)}
    assert noted(handin, name, "by its name")


def test_a_single_py_of_any_name_serves_the_place_whose_functions_it_defines(tmp_path: Path) -> None:
    path = tmp_path / "jane_4711_homework.py"
    path.write_text(work(FLASH))
    handin = read(path)
    assert texts(handin) == {FLASH: work(FLASH)}
    assert noted(handin, path.name, "functions it defines")


def test_a_single_py_serves_several_places_if_it_defines_functions_of_each(tmp_path: Path) -> None:
    path = tmp_path / "all.py"
    path.write_text(work(FLASH) + work(ONE_SHOT))
    assert set(read(path).sources) == {FLASH, ONE_SHOT}


def test_a_file_with_a_wanted_name_also_serves_a_place_that_has_nothing(tmp_path: Path) -> None:
    both = work(FLASH) + work(ONE_SHOT)
    assert set(read(write(tmp_path / "a", {LESSON: both})).sources) == {FLASH, ONE_SHOT}
    handin = read(write(tmp_path / "b", {LESSON: both, "one_shot_attention.py": stub(ONE_SHOT)}))
    assert handin.sources[ONE_SHOT].text == stub(ONE_SHOT)


def test_a_shared_function_goes_to_the_place_of_which_more_is_defined(tmp_path: Path) -> None:
    one, two = Place(1, "one.py"), Place(2, "two.py")
    names = {one: frozenset({"helper", "a"}), two: frozenset({"helper", "b"})}
    path = tmp_path / "x.py"
    path.write_text("def helper(): 1\ndef a(): 1\n")
    assert set(read_handin(path, (one, two), names, lambda *_: True).sources) == {one}
    path.write_text("def helper(): 1\ndef a(): 1\ndef b(): 1\n")
    assert set(read_handin(path, (one, two), names, lambda *_: True).sources) == {one, two}


def test_equal_names_in_two_lessons_are_told_apart_by_folder_or_functions(tmp_path: Path) -> None:
    third, seventh = Place(3, "attention.py"), Place(7, "attention.py")
    names = {third: frozenset({"a", "shared"}), seventh: frozenset({"b", "shared"})}

    def paths(root: Path) -> dict[int, str]:
        sources = read_handin(root, (third, seventh), names, lambda *_: True).sources
        return {place.lesson: source.path for place, source in sources.items()}

    lessons = {"lesson3/attention.py": "def a(): 1\n", "lesson7/attention.py": "def b(): 1\n"}
    assert paths(write(tmp_path / "x", lessons)) == {3: "lesson3/attention.py", 7: "lesson7/attention.py"}
    assert paths(write(tmp_path / "y", {"attention.py": "def b(): 1\n"})) == {7: "attention.py"}
    only = write(tmp_path / "z", {"lesson3/attention.py": "def a(): 1\ndef shared(): 1\n"})
    assert paths(only) == {3: "lesson3/attention.py"}
    assert paths(write(tmp_path / "lesson7", {"attention.py": "x = 1\n"})) == {7: "attention.py"}
    inside = zip_bytes({"attention.py": "x = 1\n"})
    zips = write(tmp_path / "w", {"lesson3.zip": inside, "lesson7.zip": inside})
    assert paths(zips) == {3: "lesson3.zip!attention.py", 7: "lesson7.zip!attention.py"}


def test_a_name_that_looks_like_a_copy_may_be_a_wanted_one(tmp_path: Path) -> None:
    one, two = Place(1, "part.py"), Place(1, "part-1.py")
    names = {one: frozenset({"a"}), two: frozenset({"b"})}
    root = write(tmp_path / "hw", {"part-1.py": "def b(): 1\n"})
    assert set(read_handin(root, (one, two), names, lambda *_: True).sources) == {two}


def test_a_file_in_another_lesson_folder_counts_only_where_nothing_else_is(tmp_path: Path) -> None:
    wrong = {"lesson3/flash_attention.py": OLD}
    assert texts(read(write(tmp_path / "a", wrong))) == {FLASH: OLD}
    handin = read(write(tmp_path / "b", {**wrong, FLAT: stub(FLASH)}))
    assert handin.sources[FLASH].path == FLAT


def test_only_places_that_are_asked_for_are_served(tmp_path: Path) -> None:
    root = write(tmp_path / "hw", {LESSON: work(FLASH), "softmax.py": work(SOFTMAX)})
    handin = read_handin(root, (SOFTMAX,), NAMES, lambda *_: True)
    assert set(handin.sources) == {SOFTMAX}


def test_of_two_notebooks_the_started_one_counts(tmp_path: Path) -> None:
    """As when the course's notebook is handed in with the copy that was worked in."""
    untouched = CELLS.replace("return", "pass; return")
    assert untouched != CELLS
    for worked_in in ("a.ipynb", "z.ipynb"):
        other = "z.ipynb" if worked_in == "a.ipynb" else "a.ipynb"
        root = write(tmp_path / worked_in, {worked_in: CELLS, other: untouched})
        handin = read_handin(root, (FLASH,), NAMES, lambda _, text: "pass; return" not in text)
        assert handin.sources[FLASH].path == worked_in


def test_a_started_file_is_told_by_the_caller(tmp_path: Path) -> None:
    asked: list[tuple[Place, str]] = []

    def started(place: Place, text: str) -> bool:
        asked.append((place, text))
        return False

    root = write(tmp_path / "hw", {LESSON: work(FLASH), NOTEBOOK: CELLS})
    assert read_handin(root, (FLASH,), NAMES, started).sources[FLASH].path == NOTEBOOK
    assert asked == [(FLASH, work(FLASH))]
