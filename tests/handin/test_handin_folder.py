"""Folders and single files on disk: where sources are found, and what is not opened."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from autograder.errors import HandInError
from autograder.handin._folder import open_regular
from autograder.handin._limits import Refused

from .making import FLASH, ONE_SHOT, SOFTMAX, noted, read, stub, texts, work, write


@pytest.mark.parametrize(
    "name",
    [
        "lesson7/flash_attention.py",
        "flash_attention.py",
        "a/b/c/lesson7/flash_attention.py",
        "a/b/c/flash_attention.py",
        "lesson7/a/b/c/flash_attention.py",
        "Lesson 07/flash_attention.py",
        "lesson7/Flash_Attention.PY",
    ],
)
def test_a_file_is_found_in_its_lesson_folder_or_flat_or_wrapped(tmp_path: Path, name: str) -> None:
    handin = read(write(tmp_path / "hw", {name: work(FLASH)}))
    assert texts(handin) == {FLASH: work(FLASH)}
    assert handin.sources[FLASH].path == name
    assert handin.origin == str(tmp_path / "hw")


def test_more_than_three_wrapper_folders_are_named_and_not_entered(tmp_path: Path) -> None:
    root = write(tmp_path / "hw", {"a/b/c/d/flash_attention.py": work(FLASH), "softmax.py": work(SOFTMAX)})
    handin = read(root)
    assert set(handin.sources) == {SOFTMAX}
    assert noted(handin, "a/b/c/d", "three folders deep")


def test_an_exact_name_needs_no_words_and_another_case_gets_some(tmp_path: Path) -> None:
    root = write(tmp_path / "hw", {"lesson7/flash_attention.py": work(FLASH), "Softmax.py": work(SOFTMAX)})
    assert read(root).notes == ("For lesson3/softmax.py, Softmax.py is read (by its name).",)


@pytest.mark.parametrize(
    "folder",
    ["__pycache__", ".git", ".venv", "node_modules", "__MACOSX", ".ipynb_checkpoints", ".hidden", "venv"],
)
def test_folders_that_hold_no_work_are_passed_over(tmp_path: Path, folder: str) -> None:
    root = write(tmp_path / "hw", {f"{folder}/flash_attention.py": work(FLASH), "softmax.py": work(SOFTMAX)})
    handin = read(root)
    assert set(handin.sources) == {SOFTMAX}
    assert handin.notes == ()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("flash_attention.py~", True),
        ("flash_attention.py.bak", True),
        ("flash_attention.py.bak2", True),
        ("flash_attention.py.orig", True),
        ("#flash_attention.py#", True),
        (".#flash_attention.py", False),
        ("._flash_attention.py", False),
    ],
)
def test_backups_are_ignored(tmp_path: Path, name: str, said: bool) -> None:
    handin = read(write(tmp_path / "hw", {name: work(FLASH), "softmax.py": work(SOFTMAX)}))
    assert set(handin.sources) == {SOFTMAX}
    assert noted(handin, "backups", name) is said


@pytest.mark.parametrize("name", ["hw.tar.gz", "hw.tgz", "hw.7z", "hw.rar"])
def test_other_archives_are_named_with_what_to_do(tmp_path: Path, name: str) -> None:
    root = write(tmp_path / "hw", {name: b"...", "softmax.py": work(SOFTMAX)})
    assert noted(read(root), name, ".zip")
    with pytest.raises(HandInError, match="archive but not a zip"):
        read(root / name)


def test_a_link_to_a_file_is_refused_and_not_read(tmp_path: Path) -> None:
    root = write(tmp_path / "hw", {"lesson7/one_shot_attention.py": work(ONE_SHOT)})
    (root / "lesson7/flash_attention.py").symlink_to("/etc/passwd")
    (root / "notes.txt").symlink_to("/etc/passwd")
    handin = read(root)
    source = handin.sources[FLASH]
    assert source.text is None
    assert source.problem is not None
    assert source.problem.startswith("lesson7/flash_attention.py is a link")
    assert handin.sources[ONE_SHOT].text == work(ONE_SHOT)
    assert noted(handin, "notes.txt is a link")


def test_a_link_to_a_folder_is_named_and_not_followed(tmp_path: Path) -> None:
    write(tmp_path / "elsewhere", {"flash_attention.py": work(FLASH)})
    root = write(tmp_path / "hw", {"softmax.py": work(SOFTMAX)})
    (root / "lesson7").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    (root / "loop").symlink_to(root, target_is_directory=True)
    handin = read(root)
    assert set(handin.sources) == {SOFTMAX}
    assert noted(handin, "lesson7 is a link")
    assert noted(handin, "loop is a link")


def test_a_file_that_becomes_a_link_after_the_listing_is_not_followed(tmp_path: Path) -> None:
    link = tmp_path / "x.py"
    link.symlink_to("/etc/passwd")
    with pytest.raises(Refused, match="is a link"):
        open_regular(str(link))


@pytest.mark.parametrize("kind", ["fifo", "socket", "device"])
def test_pipes_sockets_and_devices_are_refused_and_never_waited_for(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = write(tmp_path / "hw", {"softmax.py": work(SOFTMAX)})
    monkeypatch.chdir(root)
    if kind == "fifo":
        os.mkfifo("flash_attention.py")
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind("flash_attention.py")
    else:
        try:
            os.mknod("flash_attention.py", 0o600 | 0o020000, os.makedev(1, 5))
        except PermissionError:
            pytest.skip("making a device node needs more rights than this user has")
    problem = read(root).sources[FLASH].problem
    assert problem is not None
    assert "not a regular file" in problem
    with pytest.raises(Refused):
        open_regular("flash_attention.py")


@pytest.mark.parametrize("path", ["/dev/null", "/dev/zero"])
def test_a_device_is_no_hand_in(path: str) -> None:
    with pytest.raises(HandInError, match="neither a file nor a folder"):
        read(Path(path))


def test_a_file_without_permission_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = write(tmp_path / "hw", {"flash_attention.py": work(FLASH), "softmax.py": work(SOFTMAX)})
    real_open = os.open

    def closed(path: str, flags: int) -> int:
        if path.endswith("flash_attention.py"):
            raise PermissionError(13, "Permission denied")
        return real_open(path, flags)

    monkeypatch.setattr(os, "open", closed)  # modes do not stop root, who may run the tests
    handin = read(root)
    assert handin.sources[FLASH].problem == "flash_attention.py could not be read (permission denied)."
    assert handin.sources[SOFTMAX].text == work(SOFTMAX)


def test_a_folder_without_permission_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = write(tmp_path / "hw", {"lesson7/flash_attention.py": work(FLASH), "softmax.py": work(SOFTMAX)})
    real_scandir = os.scandir

    def closed(path: str) -> object:
        if path.endswith("lesson7"):
            raise PermissionError(13, "Permission denied")
        return real_scandir(path)

    monkeypatch.setattr(os, "scandir", closed)
    handin = read(root)
    assert set(handin.sources) == {SOFTMAX}
    assert noted(handin, "lesson7", "permission denied")


def test_the_path_itself_may_be_a_link(tmp_path: Path) -> None:
    root = write(tmp_path / "real", {"lesson7/flash_attention.py": work(FLASH), "final.py": work(SOFTMAX)})
    (tmp_path / "hw").symlink_to(root, target_is_directory=True)
    (tmp_path / "x.py").symlink_to(root / "final.py")
    assert set(read(tmp_path / "hw").sources) == {FLASH, SOFTMAX}
    assert read(tmp_path / "x.py").sources[SOFTMAX].path == "x.py"


@pytest.mark.parametrize("make", ["missing", "null byte", "loop", "empty", "no source", "text", "link"])
def test_no_readable_file_at_all_is_an_error_of_one_or_two_sentences(tmp_path: Path, make: str) -> None:
    path = tmp_path / "hw"
    if make == "null byte":
        path = tmp_path / "a\0b"
    elif make == "loop":
        path.symlink_to(path)
    elif make == "empty":
        path.mkdir()
    elif make == "no source":
        write(path, {"README.md": "hello", "data.csv": "1,2"})
    elif make == "text":
        path = write(path, {"essay.txt": "hello"}) / "essay.txt"
    elif make == "link":
        path.mkdir()
        (path / "mine.py").symlink_to("/etc/passwd")
    with pytest.raises(HandInError) as raised:
        read(path)
    message = str(raised.value)
    assert raised.value.exit_code == 2
    assert message.endswith(".")
    assert "\n" not in message
    assert message.count(". ") <= 2


def test_a_hand_in_without_a_wanted_file_is_read_and_says_so(tmp_path: Path) -> None:
    handin = read(write(tmp_path / "hw", {"hello.py": "print('hello')\n"}))
    assert handin.sources == {}
    assert noted(handin, "hello.py", "Nothing to grade")


def test_control_characters_in_names_are_escaped(tmp_path: Path) -> None:
    evil = "\x1b[31mfinal\u202e\n\udcff.py"
    root = tmp_path / "hw"
    root.mkdir()
    (root / evil).write_text(work(FLASH))
    handin = read(root)
    assert handin.sources[FLASH].path == r"\x1b[31mfinal\u202e\n\udcff.py"
    assert all(text.isprintable() for text in handin.notes)


def test_nothing_is_run_or_imported(tmp_path: Path) -> None:
    trap = f"open({str(tmp_path / 'ran')!r}, 'w')\n"
    root = write(tmp_path / "hw", {"flash_attention.py": trap + work(FLASH), "setup.py": trap, "conftest.py": trap})
    assert read(root).sources[FLASH].text == trap + work(FLASH)
    assert not (tmp_path / "ran").exists()


def test_stubs_alone_are_found_and_need_no_words(tmp_path: Path) -> None:
    files = {f"lesson{place.lesson}/{place.file}": stub(place) for place in (FLASH, ONE_SHOT, SOFTMAX)}
    handin = read(write(tmp_path / "hw", files))
    assert len(handin.sources) == 3
    assert handin.notes == ()
