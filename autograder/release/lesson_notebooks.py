"""A notebook for each lesson, made from the course: its page, handouts, and an `%%exercise` cell for each exercise."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from autograder import __version__, trees
from autograder.catalogue import Course, Exercise, Lesson
from autograder.errors import CourseError
from autograder.handin import split_lines
from autograder.release._ipynb import Cell, ipynb
from autograder.release.files import write_whole
from autograder.release.lesson_text import lesson_text
from autograder.release.markers import find_regions
from autograder.release.spans import function_spans

FOLDER = Path("course") / "notebooks"

_HEAD = """\
# Lesson {number}: {title}

You write each answer in a cell that begins with `%%exercise`. Running the cell saves your function to its file under
`assignments/`, grades it, and shows the report below. The cell is not run as Python: the kernel that you write is
checked, lifted out of its text and run in a process of its own, on the GPU if there is one and in Triton's interpreter
if there is none.

| type | to |
|---|---|
| `%hint ID` | read a hint; `%hint ID 2` and `%hint ID 3` say more |
| `%grade` | grade all that is saved, `%grade ID` one exercise |
| `%course` | see what there is |
| `%course undo ID` | go back to the exercise as it was before its last change; `%course redo ID` takes that back |
| `%course show ID` | see the answer that is saved |

Work in a copy of this notebook (*File, Save a copy*): a newer course would overwrite this one."""

_SETUP_TEXT = """\
## Set up

On Colab, first upload `{slug}-{version}.zip`, or lay it into your Google Drive. A Colab machine does not
last: mount your Drive, and each answer is copied there as you save it. After a new start run this cell again, and then
`%course restore`.

```python
from google.colab import drive
drive.mount("/content/drive")
```"""

_SETUP = """\
import glob
import importlib.util
import os
import subprocess
import sys
import zipfile
from pathlib import Path

from IPython.core.error import UsageError

COURSE, BUNDLE = "{slug}", "{slug}-{version}.zip"
places = [Path.cwd(), *Path.cwd().parents, Path(COURSE).resolve()]
root = next((place for place in places if (place / "course" / "course.toml").is_file()), None)
if root is None:{download}
    found = sorted(glob.glob(f"{{COURSE}}-*.zip") + glob.glob(f"/content/drive/MyDrive/{{COURSE}}-*.zip"))
    if not found:
        raise UsageError(f"Upload {{BUNDLE}} to {{Path.cwd()}}, then run this cell again.")
    root = Path(COURSE).resolve()
    zipfile.ZipFile(found[-1]).extractall(root)
os.chdir(root)
if importlib.util.find_spec("autograder") is None:
    # --no-deps: what is installed here already is enough, and stays as it is.
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
    subprocess.run([*command, *glob.glob("wheels/*.whl")], check=True)
%load_ext autograder"""

_DOWNLOAD = """
    import urllib.request

    urllib.request.urlretrieve("{url}", BUNDLE)"""

_DEVICE_TEXT = """\
What can this machine do? On Colab, *Runtime, Change runtime type* gives you a GPU; everything works without one as
well, in Triton's interpreter, more slowly."""

_DEVICE = "!{sys.executable} -m autograder.cli.grade doctor --plain"

_COMPANION = """\
## Your kernels at work

Beside torch, with their errors; on a GPU with their speed, too."""

_TAIL = """\
## Hand in

When you are done, `!grade submit` packs the files under `assignments/`, and says where the zip is. You may hand in this
notebook in its place: its `%%exercise` cells are read as your answers."""


def lesson_notebooks(course: Course, stubs: Mapping[str, str], slug: str) -> Mapping[str, str]:
    """Each lesson's notebook, by its path in the course, such as ``course/notebooks/lesson7.ipynb``.

    ``stubs`` are the texts of the stub files by their path, ``slug`` begins the name of the course's zip.

    Raises:
        CourseError: a handout cannot be read, or a stub lacks a function of its exercise.
    """
    return {
        (FOLDER / f"lesson{lesson.number}.ipynb").as_posix(): ipynb(_cells(course, lesson, stubs, slug))
        for lesson in course.lessons
    }


def write_lesson_notebooks(course: Course, stubs: Mapping[str, str], slug: str) -> list[Path]:
    """Write the lessons' notebooks into the course; their paths.

    Raises:
        CourseError: as `lesson_notebooks`.
        UsageError: one cannot be written.
    """
    written = []
    for name, text in lesson_notebooks(course, stubs, slug).items():
        write_whole(course.root / name, text.encode())
        written.append(course.root / name)
    return written


def _cells(course: Course, lesson: Lesson, stubs: Mapping[str, str], slug: str) -> Iterator[Cell]:
    words = {"number": lesson.number, "title": lesson.title, "slug": slug, "version": __version__}
    url = course.release_url
    page = lesson_text(course, lesson)
    yield Cell(True, _HEAD.format(**words))
    yield Cell(True, _SETUP_TEXT.format(**words))
    yield Cell(False, _SETUP.format(**words, download=_DOWNLOAD.format(**words, url=url) if url else ""))
    yield Cell(True, _DEVICE_TEXT)
    yield Cell(False, _DEVICE)
    yield from page.before
    seen: set[str] = set()
    for exercise in lesson.exercises:
        text = stubs[exercise.stub]
        if exercise.stub not in seen and (told := ast.get_docstring(trees.parse(text), clean=False)):
            yield Cell(True, f"## {exercise.stub}\n\n```text\n{textwrap.dedent(told).strip()}\n```")
        yield Cell(True, _handout(exercise))
        owned = [item for item in lesson.exercises if item.stub == exercise.stub]
        code = functions_of(exercise, owned, text, exercise.stub not in seen)
        yield Cell(False, f"%%exercise {exercise.id}\n{code}")
        seen.add(exercise.stub)
    yield Cell(True, "## All of it")
    yield Cell(False, "%grade")
    if companion := _companion(course, lesson):
        yield Cell(True, _COMPANION)
        yield Cell(False, f"!{{sys.executable}} {companion}")
    yield from page.after
    yield Cell(True, _TAIL)


def _companion(course: Course, lesson: Lesson) -> str:
    """The script that shows a lesson's kernels at work, by its path in the course; empty if there is none."""
    found = sorted((course.root / "course" / "companions").glob(f"lesson{lesson.number}_*.py"))
    return found[0].relative_to(course.root).as_posix() if found else ""


def _handout(exercise: Exercise) -> str:
    try:
        return exercise.handout.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise CourseError(f"{exercise.handout} cannot be read, and the lesson's notebook needs it.") from error


def functions_of(exercise: Exercise, owned: Sequence[Exercise], text: str, first: bool) -> str:
    """The exercise's functions out of ``text``, its stub or solution; with the first of a file what no exercise owns.

    What stands in a solution region brings the whole region along, with its markers.

    Raises:
        CourseError: one of them is not there.
        MarkerError: markers do not pair up.
    """
    lines = split_lines(text)
    spans = function_spans(lines)
    names = [function.name for function in exercise.functions]
    if missing := [name for name in names if name not in spans]:
        raise CourseError(f"The stub {exercise.stub} has no function {missing[0]}.")
    everyones = {function.name for item in owned for function in item.functions}
    given = [name for name in spans if name not in everyones] if first else []
    regions = [(region.first, region.last) for region in find_regions(text, exercise.stub)]

    def whole(part: tuple[int, int]) -> tuple[int, int]:
        return next((region for region in regions if region[0] < part[0] and part[1] < region[1]), part)

    constants = dict.fromkeys(map(whole, _constants(lines, text) if first else ()))
    parts = dict.fromkeys(sorted(whole(spans[name][-1]) for name in (*given, *names)))
    code = ["\n".join(lines[begin - 1 : end]) for begin, end in parts if (begin, end) not in constants]
    told = "\n".join(line for begin, end in constants for line in lines[begin - 1 : end])
    return "\n\n\n".join([told, *code] if told else code)


def _constants(lines: Sequence[str], text: str) -> list[tuple[int, int]]:
    """The lines of what a text assigns at its top level, such as a tile's size, with the comments right above."""
    found = []
    for node in trees.parse(text).body:
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            begin = node.lineno
            while begin > 1 and lines[begin - 2].startswith("# "):
                begin -= 1
            found.append((begin, node.end_lineno or node.lineno))
    return found
