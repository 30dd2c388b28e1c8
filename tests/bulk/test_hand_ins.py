"""A class's folder: who is in it, and the hash by which a changed hand-in is noticed."""

from __future__ import annotations

import json
import os
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from autograder import __version__
from autograder.bulk.hand_ins import fingerprint, list_hand_ins
from autograder.bulk.skew import version_note
from autograder.errors import UsageError


def test_looking_at_a_hand_in_does_not_change_it(tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text("a = 1")
    before = fingerprint(tmp_path)
    for name in (".DS_Store", "__pycache__/x.cpython-311.pyc", ".ipynb_checkpoints/x.ipynb", "lesson7/._x.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("litter")
    assert fingerprint(tmp_path) == before
    (tmp_path / "lesson7" / "y.py").write_text("b = 1")
    assert fingerprint(tmp_path) != before


def test_folders_and_files_are_hand_ins_by_their_names(tmp_path: Path) -> None:
    for name in ("zoë", "Ann, B.", "=cmd", ".hidden"):
        (tmp_path / name).mkdir()
    for name in ("carl.py", "dora.ZIP", "emil.ipynb", "list.csv"):
        (tmp_path / name).write_text("")
    found, notes = list_hand_ins(tmp_path)
    assert [one.student for one in found] == ["=cmd", "Ann, B.", "carl", "dora", "emil", "zoë"]
    assert notes[0].startswith(".hidden was left out")
    assert notes[1:] == ("list.csv is no hand-in: neither a folder nor a .py, .ipynb or .zip.",)


def test_names_that_would_confuse_a_terminal_or_a_file_system_are_made_harmless(tmp_path: Path) -> None:
    for name in (b"esc\x1b[31m", b"bad\xff", b"line\nend", "rtl\u202egnp".encode()):
        os.mkdir(os.fsencode(tmp_path) + b"/" + name)
    found, _ = list_hand_ins(tmp_path)
    assert len(found) == 4
    for one in found:
        assert one.student.isprintable()
        one.student.encode("utf-8")
        assert one.path.is_dir()


CHANGES: dict[str, Callable[[Path], object]] = {
    "content": lambda path: (path / "a.py").write_text("x = 2\n"),
    "name": lambda path: (path / "a.py").rename(path / "b.py"),
    "one more": lambda path: (path / "c.py").write_text(""),
    "one less": lambda path: (path / "sub" / "b.py").unlink(),
    "moved": lambda path: (path / "sub" / "b.py").rename(path / "b.py"),
    "a link in its place": lambda path: ((path / "a.py").unlink(), (path / "a.py").symlink_to("sub/b.py")),
    "end of one, beginning of the next": lambda path: (
        (path / "a.py").write_text("x = 1\ny"),
        (path / "sub" / "b.py").write_text(" = 1\n"),
    ),
}


@pytest.mark.parametrize("name", list(CHANGES))
def test_every_change_is_noticed(tmp_path: Path, name: str) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.py").write_text("x = 1\n")
    (tmp_path / "sub" / "b.py").write_text("y = 1\n")
    before = fingerprint(tmp_path)
    assert fingerprint(tmp_path) == before
    os.utime(tmp_path / "a.py", (0, 0))
    assert fingerprint(tmp_path) == before  # a copy is the same hand-in
    CHANGES[name](tmp_path)
    assert fingerprint(tmp_path) != before


def test_pipes_links_and_huge_files_are_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "out").symlink_to("/etc")
    (tmp_path / "loop").symlink_to(".")
    with (tmp_path / "huge.zip").open("wb") as stream:
        stream.truncate(1 << 33)
    assert len(fingerprint(tmp_path)) == 64


def test_a_zip_of_another_version_is_said_so(tmp_path: Path) -> None:
    def pack(folder: Path, manifest: bytes) -> None:
        folder.mkdir()
        with zipfile.ZipFile(folder / "hand-in.zip", "w") as archive:
            archive.writestr("manifest.json", manifest)

    for number, (text, words) in enumerate(
        [
            (json.dumps({"kit_version": "0.0.1"}), "Packed with version 0.0.1 of the kit, graded with"),
            (json.dumps({"kit_version": __version__}), None),
            (json.dumps({"kit_version": "\x1b[31m"}), None),
            (json.dumps({"kit_version": 7}), None),
            (json.dumps([]), None),
            ("{", None),
            ("[" * 100_000, None),
        ]
    ):
        pack(tmp_path / str(number), text.encode())
        note = version_note(tmp_path / str(number))
        assert (note is None) == (words is None), text[:50]
        assert words is None or (note is not None and words in note)
    (tmp_path / "empty").mkdir()
    assert version_note(tmp_path / "empty") is None
    (tmp_path / "broken.zip").write_bytes(b"PK\x03\x04")
    assert version_note(tmp_path / "broken.zip") is None


@pytest.mark.parametrize("method", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2, zipfile.ZIP_DEFLATED])
def test_a_manifest_that_would_unpack_without_end_or_not_at_all_is_left_alone(tmp_path: Path, method: int) -> None:
    huge = json.dumps({"kit_version": "0.0.1", "more": " " * 40_000_000})
    with zipfile.ZipFile(tmp_path / "huge.zip", "w", method) as archive:
        archive.writestr("manifest.json", huge)
    tracemalloc.start()
    assert version_note(tmp_path) is None
    assert tracemalloc.get_traced_memory()[1] < 8_000_000
    tracemalloc.stop()
    data = bytearray((tmp_path / "huge.zip").read_bytes())
    data[60:80] = b"\xff" * 20
    (tmp_path / "huge.zip").write_bytes(data)
    assert version_note(tmp_path) is None


def test_links_and_names_that_no_result_could_have_are_named_and_left_out(tmp_path: Path) -> None:
    (tmp_path / "hand-ins" / "ann").mkdir(parents=True)
    (tmp_path / "hand-ins" / ("b" * 230)).mkdir()
    (tmp_path / "hand-ins" / "carl").symlink_to(tmp_path)
    (tmp_path / "hand-ins" / "dora.py").symlink_to(__file__)
    found, notes = list_hand_ins(tmp_path / "hand-ins")
    assert [one.student for one in found] == ["ann"]
    assert [note.split()[0] for note in notes] == ["b" * 230, "carl", "dora.py"]
    assert "too long" in notes[0]
    assert "is a link" in notes[1]


@pytest.mark.parametrize("name", [b"n" + b"\n" * 150, b"\xff" * 90], ids=["line ends", "no text"])
def test_a_name_that_is_longer_as_it_is_written_is_left_out_too(tmp_path: Path, name: bytes) -> None:
    """It would end the run for the whole class: no result of it can be written."""
    (tmp_path / "ann").mkdir()
    (tmp_path / os.fsdecode(name)).mkdir()
    found, notes = list_hand_ins(tmp_path)
    assert [one.student for one in found] == ["ann"]
    assert "too long" in notes[0]


def test_a_hand_in_whose_name_begins_with_a_dot_is_named_and_what_tools_leave_is_not(tmp_path: Path) -> None:
    for folder in ("ann", ".carl", ".git", ".ipynb_checkpoints", ".Trash-0", ".attempts"):
        (tmp_path / folder).mkdir()
    for file in (".dora.py", ".emil.ZIP", ".DS_Store", "._ann", "._ann.py", ".collected.json"):
        (tmp_path / file).write_text("")
    found, notes = list_hand_ins(tmp_path)
    assert [one.student for one in found] == ["ann"]
    assert [note.split()[0] for note in notes] == [".carl", ".dora.py", ".emil.ZIP"]
    assert notes[0].endswith("its name begins with a dot. If it is a hand-in, rename it.")
    (tmp_path / "ann").rmdir()
    with pytest.raises(UsageError, match=r"There are no hand-ins in .*\.carl was left out"):
        list_hand_ins(tmp_path)


def test_a_folder_that_may_be_listed_and_not_entered_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ann").mkdir()
    (tmp_path / "bob").mkdir()
    plain = Path.is_symlink

    def locked(path: Path) -> bool:
        if path.name == "bob":
            raise PermissionError(13, "Permission denied")
        return plain(path)

    monkeypatch.setattr(Path, "is_symlink", locked)
    found, notes = list_hand_ins(tmp_path)
    assert [one.student for one in found] == ["ann"]
    assert notes == ("bob cannot be looked at (permission denied).",)
    (tmp_path / "ann").rmdir()
    with pytest.raises(UsageError, match=r"There are no hand-ins in .*bob cannot be looked at"):
        list_hand_ins(tmp_path)


def test_what_was_left_out_is_named_where_nothing_else_is_there(tmp_path: Path) -> None:
    (tmp_path / ("b" * 230)).mkdir()
    with pytest.raises(UsageError, match=r"There are no hand-ins in .*b{230} was left out: its name is too long"):
        list_hand_ins(tmp_path)
    for number in range(4):
        (tmp_path / f"a{number}.txt").write_text("")
    with pytest.raises(UsageError, match=r"a2\.txt is no hand-in: .* 2 more entries are none either"):
        list_hand_ins(tmp_path)


def test_paths_are_the_same_wherever_a_worker_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "hand-ins" / "ann").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    ((found,), _) = list_hand_ins(Path("hand-ins"))
    assert found.path == tmp_path / "hand-ins" / "ann"
