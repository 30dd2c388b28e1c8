"""What is kept is found again, by key, in memory and in a folder; a bad folder costs nothing but time."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from autograder import kept
from autograder.kept import Kept, key_of


def test_a_document_comes_back_also_in_another_process(tmp_path: Path) -> None:
    first = Kept(tmp_path / "kept")
    assert first.get("a") is None
    first.put("a", {"x": [1.5, float("inf"), None]})
    assert first.get("a") == Kept(tmp_path / "kept").get("a") == {"x": [1.5, float("inf"), None]}


@pytest.mark.parametrize("text", ["", "{", "[1]", "null", "\x00"])
def test_a_damaged_document_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.json").write_text(text)
    store = Kept(tmp_path)
    assert store.get("a") is None
    store.put("a", {"x": 1})
    assert Kept(tmp_path).get("a") == {"x": 1}


def test_a_folder_that_is_none_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    store = Kept(tmp_path / "file" / "kept")
    store.put("a", {"x": 1})
    assert store.get("a") == {"x": 1}
    assert Kept(tmp_path / "file" / "kept").get("a") is None


def test_memory_is_bounded_and_the_folder_has_them_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "_IN_MEMORY", 3)
    store = Kept(tmp_path)
    for number in range(10):
        store.put(str(number), {"n": number})
        assert len(store._newest) <= 3
    assert [store.get(str(number)) for number in range(10)] == [{"n": number} for number in range(10)]
    assert len(list(tmp_path.iterdir())) == 10


def test_what_several_want_at_once_is_found_out_once() -> None:
    store = Kept(None)
    made: list[int] = []

    def want() -> None:
        with store.alone("a"):
            if store.get("a") is None:
                time.sleep(0.05)
                made.append(1)
                store.put("a", {})

    threads = [threading.Thread(target=want) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [1]
    assert not store._busy


def test_different_parts_make_different_keys() -> None:
    parts: list[tuple[object, ...]] = [("a",), ("a", ""), (["a"],), (b"a",), (1,), ("1",), (None,), ({"a": 1},), ()]
    assert len({key_of(*part) for part in parts}) == len(parts)
    assert key_of({"a": 1, "b": 2}) == key_of({"b": 2, "a": 1})
