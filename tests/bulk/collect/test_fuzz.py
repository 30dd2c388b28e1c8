"""Whatever names and bytes a download holds, collecting it ends well or in a sentence, within the folder."""

from __future__ import annotations

import io
import tempfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autograder.bulk.collect import collect
from autograder.bulk.collect._ids import Ids
from autograder.errors import UsageError

from .making import students, submissions

PIECES = st.sampled_from(
    [
        *("/", "..", ".", "\\", "C:", "_", "-1", ".py", ".zip", " ", "12", "\0", "\x1b[31m", "\n", "a" * 300),
        *("LATE", "anon", "assignsubmission", "file", "submission", "jane", "JANE", "con"),
        *("é", "e\u0301", "İ", "ß", "\u202e", "\ud800"),
    ]
)
NAMES = st.lists(PIECES, min_size=1, max_size=9).map("".join)
SLOW = settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))


@SLOW
@given(
    st.lists(NAMES, min_size=1, max_size=8, unique=True),
    st.sampled_from(["", "roe_1_2_", "Roe_1_assignsubmission_file_/"]),
)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_names_of_all_kinds_stay_within_the_folder(names: list[str], start: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        source, out = Path(folder, "a.zip"), Path(folder, "deep", "out")
        with zipfile.ZipFile(source, "w") as archive:
            for name in names:
                info = zipfile.ZipInfo("x")
                info.filename = (start + name).encode("utf-8", "replace").decode()
                archive.writestr(info, "text")
        for _ in range(2):
            try:
                collected = collect(source, out)
            except UsageError:
                assert not out.exists()
                break
            assert set(students(out)) == set(submissions(out)) == {one.submission.student for one in collected.students}
            assert all(one.shown.isprintable() for one in collected.refused)
        assert {path.name for path in Path(folder).iterdir()} <= {"a.zip", "deep"}
        assert list(Path(folder, "deep").glob("*")) in ([], [out])


@SLOW
@given(st.data())
def test_a_zip_with_wrong_bytes_is_collected_or_refused(data: st.DataObject) -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(3):
            archive.writestr(f"roe_{number}_1_x.py", "text" * 50)
    content = bytearray(stream.getvalue())
    for _ in range(data.draw(st.integers(1, 6))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    with tempfile.TemporaryDirectory() as folder:
        source, out = Path(folder, "a.zip"), Path(folder, "out")
        source.write_bytes(content)
        try:
            collect(source, out)
        except UsageError:
            return
        assert set(students(out)) == set(submissions(out))
        assert {path.name for path in Path(folder).iterdir()} == {"a.zip", "out"}


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.text(max_size=150), st.text(max_size=60)), max_size=8, unique=True))
def test_ids_are_safe_apart_and_the_same_in_the_next_run(people: list[tuple[str, str]]) -> None:
    ids = Ids({})
    given_ids = {(name, tail): ids.give(f"{name}|{tail}", name, tail) for name, tail in people}
    assert len({student.casefold() for student in given_ids.values()}) == len(people)
    for student in given_ids.values():
        assert len(student.encode()) <= 150
        assert student[0] not in ".-"
        assert not set(student) & set("/\\:\0\n")
        assert student.isprintable()
    later = Ids({f"{name}|{tail}": student for (name, tail), student in given_ids.items()})
    assert all(later.give(f"{name}|{tail}", name, tail) == given_ids[name, tail] for name, tail in reversed(people))
