"""Files are written whole; links are followed, and what is no file is written to and never replaced."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from autograder.errors import UsageError
from autograder.release.files import write_whole

from .making import ROOT

PROGRAM = """
import sys
from pathlib import Path
from autograder.release.files import write_whole
print("before")
write_whole(Path(sys.argv[1]), b"document\\n")
print("after")
"""


def test_a_file_is_replaced_in_one_step_and_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "grades.csv"
    path.write_bytes(b"old")
    path.chmod(0o640)
    before = path.stat().st_ino
    write_whole(path, b"new")
    assert path.read_bytes() == b"new"
    assert path.stat().st_ino != before
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_stays_and_its_target_is_written(tmp_path: Path) -> None:
    target = tmp_path / "elsewhere" / "real.json"
    target.parent.mkdir()
    target.write_bytes(b"old")
    (tmp_path / "near.json").symlink_to("elsewhere/real.json")
    (tmp_path / "far.json").symlink_to(tmp_path / "near.json")
    write_whole(tmp_path / "far.json", b"new")
    assert (tmp_path / "far.json").is_symlink()
    assert (tmp_path / "near.json").is_symlink()
    assert target.read_bytes() == b"new"


def test_what_a_dangling_link_points_at_is_made(tmp_path: Path) -> None:
    (tmp_path / "link.json").symlink_to("real.json")
    write_whole(tmp_path / "link.json", b"new")
    assert (tmp_path / "link.json").is_symlink()
    assert (tmp_path / "real.json").read_bytes() == b"new"


def test_a_circle_of_links_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(UsageError, match="cannot be written"):
        write_whole(tmp_path / "a", b"new")
    assert (tmp_path / "a").is_symlink()


@pytest.mark.parametrize("linked", [False, True])
def test_a_pipe_is_written_to(tmp_path: Path, linked: bool) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    (tmp_path / "link").symlink_to("pipe")
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()), daemon=True)
    reader.start()
    write_whole(tmp_path / "link" if linked else pipe, b"x" * 200_000)
    reader.join(30)
    assert read == [b"x" * 200_000]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def make_device(path: Path, minor: int) -> Path:
    """A device of the memory driver under another name: 3 takes everything, 7 is always full."""
    try:
        os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, minor))
        path.open("wb").close()
    except OSError as error:
        pytest.skip(f"no device can be made here ({error.strerror})")
    return path


def test_a_device_stays_a_device(tmp_path: Path) -> None:
    device = make_device(tmp_path / "nothing", 3)
    write_whole(device, b"new")
    assert stat.S_ISCHR(device.stat().st_mode)
    assert list(tmp_path.iterdir()) == [device]


def test_a_device_that_is_full_is_a_sentence(tmp_path: Path) -> None:
    device = make_device(tmp_path / "full", 7)
    with pytest.raises(UsageError, match=r"full cannot be written \(no space left"):
        write_whole(device, b"new")
    assert stat.S_ISCHR(device.stat().st_mode)


def test_a_descriptor_is_written_to(tmp_path: Path) -> None:
    for link in ("direct", "linked"):
        reading, writing = os.pipe()
        path = Path(f"/dev/fd/{writing}")
        if link == "linked":
            (tmp_path / link).symlink_to(path)
            path = tmp_path / link
        write_whole(path, b"new")
        os.close(writing)
        assert os.read(reading, 10) == b"new"
        os.close(reading)


def test_a_closed_descriptor_is_a_sentence() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    os.close(writing)
    with pytest.raises(UsageError, match="cannot be written"):
        write_whole(Path(f"/dev/fd/{writing}"), b"new")


@pytest.mark.parametrize("place", ["/dev/stdout", "/dev/fd/1"])
def test_standard_output_in_a_file_keeps_its_order(tmp_path: Path, place: str) -> None:
    with (tmp_path / "printed").open("wb") as printed:
        command = [sys.executable, "-c", PROGRAM, place]
        subprocess.run(command, stdout=printed, check=True, cwd=ROOT, timeout=60)
    assert (tmp_path / "printed").read_text() == "before\ndocument\nafter\n"


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f"there is no folder {tmp_path}/gone"):
        write_whole(tmp_path / "gone" / "x.json", b"new")
    assert not (tmp_path / "gone").exists()
    with pytest.raises(UsageError, match="cannot be written"):
        write_whole(tmp_path, b"new")
    assert list(tmp_path.iterdir()) == []
