"""The student bundle holds what students need and nothing else, works where it is unpacked, and spares their work."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from autograder import __version__
from autograder.catalogue import Course, load_course
from autograder.errors import CourseError, EnvironmentProblem, LeakError, UsageError
from autograder.judge.diagnosis import load_mistakes
from autograder.packed import pack
from autograder.release import bundle
from autograder.release._wheel import build_wheel
from autograder.release.leaks import refuse_leaks
from autograder.release.reset import reset_exercise
from autograder.release.stubs import create_missing_stubs, generate_stubs

from .making import ROOT, WHEEL, make_course, make_notebook, make_wheel, regions

pytestmark = pytest.mark.exhaustive


@pytest.fixture
def instructor(tmp_path: Path) -> Course:
    return make_course(tmp_path / "instructor")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel with next to nothing in it, so that looking through it takes no time."""
    path = tmp_path_factory.mktemp("wheel") / WHEEL
    path.write_bytes(make_wheel(sources="autograder/__init__.py"))
    return path


def unpack(data: bytes, folder: Path) -> Course:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        archive.extractall(folder)
    return load_course(folder)


def test_the_real_course_is_released_with_exactly_what_students_need(wheel: Path) -> None:
    """In the checkout itself, so that nothing that lies about in it slips in."""
    course = load_course(ROOT)
    made = bundle.make_bundle(course, wheel)
    names = ("exercise.toml", "launch.py", "oracle.py", "handout.md", "hints.md")
    expected = {
        "README.md",
        "MANIFEST.json",
        "pytest.ini",
        "course/course.toml",
        f"wheels/{WHEEL}",
        *(f"course/pristine/{stub}" for stub in generate_stubs(course)),
        *(f"course/exercises/lesson{e.lesson}/{e.id}/{name}" for e in course.exercises for name in names),
        *(
            e.mistakes.with_suffix(".packed").relative_to(ROOT).as_posix()
            for e in course.exercises
            if e.mistakes.is_file()
        ),
        *(e.bench_file.relative_to(ROOT).as_posix() for e in course.exercises if e.bench is not None),
    }
    others = {name for name in made.files if name not in expected}
    assert expected <= set(made.files)
    assert all(name.startswith(tuple(f"course/{part}/" for part in bundle.SHARED_FOLDERS)) for name in others)
    assert not any("instructor" in name for name in others)
    assert made.name == f"mini-flash-attention-{__version__}.zip"


def test_a_wheel_built_from_the_checkout_gives_nothing_away(tmp_path: Path) -> None:
    try:
        built = build_wheel(ROOT)
    except EnvironmentProblem as problem:
        pytest.skip(f"no wheel can be built here: {problem}")
    refuse_leaks(load_course(ROOT), {built.name: built.data})
    with zipfile.ZipFile(io.BytesIO(built.data)) as archive:
        names = archive.namelist()
    assert "autograder/session.py" in names
    assert all(name.startswith(("autograder/", "mini_flash_attention_kit-")) for name in names)


def test_the_same_sources_give_the_same_bytes(instructor: Course, wheel: Path) -> None:
    first, second = bundle.make_bundle(instructor, wheel), bundle.make_bundle(instructor, wheel)
    assert first.data == second.data
    with zipfile.ZipFile(io.BytesIO(first.data)) as archive:
        infos = archive.infolist()
    assert [info.filename for info in infos] == sorted(info.filename for info in infos)
    assert {info.date_time for info in infos} == {(1980, 1, 1, 0, 0, 0)}


def test_the_manifest_names_kit_version_and_every_file(instructor: Course, wheel: Path) -> None:
    made = bundle.make_bundle(instructor, wheel)
    manifest = json.loads(made.files["MANIFEST.json"])
    assert manifest["kit_version"] == __version__
    others = {name: data for name, data in made.files.items() if name != "MANIFEST.json"}
    assert manifest["files"] == {name: hashlib.sha256(data).hexdigest() for name, data in others.items()}


def test_the_readme_names_what_is_in_the_bundle(instructor: Course, wheel: Path) -> None:
    readme = bundle.make_bundle(instructor, wheel).files["README.md"].decode()
    for text in (f"pip install wheels/{WHEEL}", "grade submit", "assignments/lesson7/flash_attention.py"):
        assert text in readme


def test_drafts_junk_and_instructors_notebooks_stay_behind(instructor: Course, wheel: Path) -> None:
    root = instructor.root / "course"
    for name in (
        "exercises/lesson7/draft/handout.md",
        "exercises/lesson7/score_mask/handout.md.bak",
        "exercises/lesson7/score_mask/notes.txt",
        "companions/__pycache__/x.pyc",
        "companions/.hidden.py",
        "notebooks/instructor/lesson7.ipynb",
        "notebooks/lesson7_instructor.ipynb",
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("text")
    (root / "companions" / "link.py").symlink_to(instructor.root / "solutions" / "lesson7" / "flash_attention.py")
    (root / "notebooks" / "student").mkdir()
    (root / "notebooks" / "student" / "lesson7.ipynb").write_bytes(make_notebook())
    (root / "exercises" / "lesson7" / "score_mask" / "picture.png").write_bytes(b"\x89PNG")
    before = set(bundle.make_bundle(make_course(root.parent.parent / "plain"), wheel).files)
    assert set(bundle.make_bundle(instructor, wheel).files) - before == {
        "course/notebooks/student/lesson7.ipynb",
        "course/exercises/lesson7/score_mask/picture.png",
    }


def test_a_leak_stops_everything(instructor: Course, wheel: Path, tmp_path: Path) -> None:
    handout = instructor.exercise("kernel_loads").handout
    handout.write_text(handout.read_text() + "\n" + regions("lesson7/one_shot_attention.py")[0])
    with pytest.raises(LeakError, match=r"kernel_loads/handout\.md, line \d+"):
        bundle.release(instructor, tmp_path / "out", wheel)
    assert not (instructor.root / "assignments").exists()
    assert not (tmp_path / "out").exists() or not list((tmp_path / "out").iterdir())


def test_a_solution_left_outside_its_markers_is_a_leak(instructor: Course, wheel: Path) -> None:
    path = instructor.root / "solutions" / "lesson7" / "flash_attention.py"
    code = regions("lesson7/flash_attention.py")[0].replace("\n", "\n    ")
    path.write_text(f"{path.read_text()}\n\ndef old(m_i, l_i, acc, s, v):\n    {code}\n")
    with pytest.raises(LeakError, match=r"hidden statements of solutions/lesson7/flash_attention\.py"):
        bundle.make_bundle(instructor, wheel)


def test_a_wheel_of_another_version_or_kind_is_not_taken(instructor: Course, tmp_path: Path) -> None:
    for name, data in (("a.whl", make_wheel(version="0.0.9")), ("b.whl", b"no zip"), ("c.zip", make_wheel())):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(UsageError, match=r"Leave --wheel out"):
            bundle.make_bundle(instructor, tmp_path / name)
    with pytest.raises(UsageError, match="cannot be read"):
        bundle.make_bundle(instructor, tmp_path / "missing.whl")


def test_a_wheel_with_a_solution_in_it_is_a_leak(instructor: Course, tmp_path: Path) -> None:
    path = tmp_path / WHEEL
    answers = regions("lesson7/flash_attention.py")[0]
    path.write_bytes(make_wheel({"autograder/answers.py": answers}, sources="autograder/__init__.py"))
    with pytest.raises(LeakError, match=r"autograder/answers\.py"):
        bundle.make_bundle(instructor, path)


def test_a_missing_handout_is_a_plain_sentence(instructor: Course, wheel: Path) -> None:
    instructor.exercises[0].handout.unlink()
    with pytest.raises(CourseError, match=r"handout\.md cannot be read"):
        bundle.make_bundle(instructor, wheel)


def test_the_unpacked_bundle_is_a_course_with_its_stubs(instructor: Course, wheel: Path, tmp_path: Path) -> None:
    student = unpack(bundle.make_bundle(instructor, wheel).data, tmp_path / "student")
    assert (student.root / "assignments" / "lesson7").is_dir()
    assert create_missing_stubs(student) == tuple(generate_stubs(instructor))
    for stub, text in generate_stubs(instructor).items():
        assert (student.root / "assignments" / stub).read_text(encoding="utf-8") == text
    assert create_missing_stubs(student) == ()


def test_reset_takes_the_pristine_copies(instructor: Course, wheel: Path, tmp_path: Path) -> None:
    student = unpack(bundle.make_bundle(instructor, wheel).data, tmp_path / "student")
    create_missing_stubs(student)
    exercise = student.exercise("score_mask")
    path = student.root / "assignments" / exercise.stub
    stub = path.read_text(encoding="utf-8")
    path.write_text(stub.replace("    return s\n", "    s = s + 1\n    return s\n"), encoding="utf-8")
    assert reset_exercise(student, exercise, path) is not None
    assert path.read_text(encoding="utf-8") == stub


def test_a_newer_bundle_never_touches_started_work_and_renews_untouched_stubs(
    instructor: Course, wheel: Path, tmp_path: Path
) -> None:
    student = unpack(bundle.make_bundle(instructor, wheel).data, tmp_path / "student")
    create_missing_stubs(student)
    started = student.root / "assignments" / "lesson7" / "flash_attention.py"
    untouched = student.root / "assignments" / "lesson7" / "one_shot_attention.py"
    started.write_text(started.read_text() + "\n# mine\n")
    work = started.read_bytes()
    for stub in generate_stubs(instructor):
        path = instructor.root / "solutions" / stub
        path.write_text(path.read_text() + "\n# newer\n")
    student = unpack(bundle.make_bundle(instructor, wheel).data, student.root)
    renewed = create_missing_stubs(student)
    assert set(renewed) == set(generate_stubs(instructor)) - {"lesson7/flash_attention.py"}
    assert started.read_bytes() == work
    assert untouched.read_text().endswith("# newer\n")


def test_a_file_that_the_student_put_there_is_never_replaced(instructor: Course, wheel: Path, tmp_path: Path) -> None:
    student = unpack(bundle.make_bundle(instructor, wheel).data, tmp_path / "student")
    own = student.root / "assignments" / "lesson7" / "flash_attention.py"
    own.write_text("# my own\n")
    (student.root / "assignments" / ".handed-out.json").write_text("no json")
    assert set(create_missing_stubs(student)) == set(generate_stubs(instructor)) - {"lesson7/flash_attention.py"}
    assert own.read_text() == "# my own\n"


def test_an_instructors_course_gets_no_stubs_by_itself(instructor: Course) -> None:
    assert create_missing_stubs(instructor) == ()
    assert not (instructor.root / "assignments").exists()


def test_models_of_mistakes_are_packed_and_name_the_same(wheel: Path, tmp_path: Path) -> None:
    instructor = load_course(ROOT)
    made = bundle.make_bundle(instructor, wheel)
    assert not [name for name in made.files if name.endswith("mistakes.py")]
    student = unpack(made.data, tmp_path / "student")
    for ours, theirs in zip(instructor.exercises, student.exercises, strict=True):
        assert (theirs.mistakes.suffix == ".packed") == ours.mistakes.is_file()
        if not ours.mistakes.is_file():
            continue
        words = theirs.mistakes.read_text()
        assert not [name for name in load_mistakes(ours.mistakes).names if name in words]
        assert load_mistakes(theirs.mistakes).names == load_mistakes(ours.mistakes).names
        assert load_mistakes(theirs.mistakes).texts == load_mistakes(ours.mistakes).texts


@pytest.mark.parametrize(
    "change", [lambda text: text[:60], lambda text: text.replace("A", "B"), lambda text: "x = 1\n"]
)
def test_damaged_models_are_a_sentence(tmp_path: Path, change: Callable[[str], str]) -> None:
    path = tmp_path / "mistakes.packed"
    path.write_text(change(pack("MISTAKES = ()\n" * 200)))
    with pytest.raises(CourseError, match="cannot be loaded"):
        load_mistakes(path)


def test_what_the_models_say_is_looked_at_before_it_is_packed(instructor: Course, wheel: Path) -> None:
    solution = (instructor.root / "solutions" / instructor.exercises[0].stub).read_text()
    instructor.exercises[0].mistakes.write_text("MISTAKES = ()\n" + solution)
    with pytest.raises(LeakError, match=r"mistakes\.py"):
        bundle.make_bundle(instructor, wheel)
