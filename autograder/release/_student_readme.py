"""The page at the top of a student bundle."""

from __future__ import annotations

import re

from autograder.catalogue import Course, load_hidden

_TEXT = """# {title}

Your copy of the course. It holds the exercises, the grader, and nothing that runs anywhere but on your machine.

## Set up

Linux, WSL2 on Windows, or Colab; Python 3.11, 3.12 or 3.13. No GPU is needed: without one, kernels run in Triton's
interpreter. In this folder:

    python3 -m venv .venv
    source .venv/bin/activate
    pip install wheels/{wheel}
    grade doctor

`pip` fetches PyTorch and, with it, the libraries for NVIDIA GPUs: several gigabytes. On a machine without such a GPU
you save most of them by installing PyTorch's CPU build first, before the wheel:

    pip install torch --index-url https://download.pytorch.org/whl/cpu
{tried}
`grade doctor` looks at your machine and says what to do about anything that is missing. On Colab, unpack the bundle and
run `!pip install wheels/{wheel}`, then put `!` before each command.

## Work

    grade list                  the map of the course; the first time, it also puts the stubs into assignments/
    grade watch                 grade on every save, and go on when an exercise passes
    grade                       grade everything, with the story of the first open exercise
    grade {first}{pad}grade one exercise
    grade hint {first}{hint_pad}a nudge; --level 2 and --level 3 say more
    grade check {first} --smallest
                                the smallest case that fails, and the command that repeats it
{trace}    grade reset {first}{reset_pad}back to the stub; your file is copied first

What an exercise asks is in `course/exercises/lesson<N>/<exercise>/handout.md`. You write in these files:

{stubs}

Prints in a kernel are left out when it is graded.{companions}
{hidden}
## In a notebook, in an editor

`course/notebooks/` has a notebook for each lesson, which is the place to read it; `course/lessons/` are the sources of
its text. In a notebook an answer is a cell that begins with `%%exercise`, and running it saves and grades it. Work in a
copy, since a newer bundle overwrites what is there. On Colab all is there; on your own machine notebooks need `pip
install jupyter`.

`pytest` shows each exercise and its checks, and so does the test explorer of an editor: `pip install pytest`.

## Hand in

    grade submit

makes a zip of your files in this folder and says what is in it. Hand that zip in.

## A newer bundle

Unpack it over this one. It holds no file in `assignments/`, so it cannot overwrite your work; stubs that you have not
touched are brought up to date by the next `grade`. Then install its wheel, even if its number is the same:

    pip install --force-reinstall --no-deps wheels/{wheel}
{url}"""


def student_readme(course: Course, wheel: str) -> str:
    """The README of a bundle whose wheel has that file name."""
    first = course.exercises[0].id
    stubs = dict.fromkeys(f"    assignments/{exercise.stub}" for exercise in course.exercises)

    def pad(length: int) -> str:
        return " " * max(2, 28 - length - len(first))

    return _TEXT.format(
        title=course.title,
        wheel=wheel,
        first=first,
        pad=pad(6),
        hint_pad=pad(11),
        reset_pad=pad(12),
        trace=_trace(course),
        stubs="\n".join(stubs),
        companions=_companions(course),
        hidden=_hidden(course),
        tried=_tried(course),
        url=f"\nThe newest bundle: {course.release_url}\n" if course.release_url else "",
    )


def _trace(course: Course) -> str:
    """The line for the last exercise that keeps a running state."""
    traced = [exercise.id for exercise in course.exercises if exercise.traces]
    return f"    {f'grade trace {traced[-1]}':<26}  its running state, chunk by chunk\n" if traced else ""


def _companions(course: Course) -> str:
    scripts = sorted((course.root / "course" / "companions").glob("*.py"))
    if not scripts:
        return ""
    rows = "\n".join(f"    python course/companions/{script.name}" for script in scripts)
    return f" To see your kernels at work on a whole example:\n\n{rows}"


_HIDDEN = """
`grade` runs the public checks. When the course grades, hidden checks run as well: they ask for what the handouts ask
for, at other shapes and with other values. A kernel that keeps to its handout passes both; one that is made for the
public cases alone does not.
"""


def _hidden(course: Course) -> str:
    """What hidden checks are, where the course has any."""
    return _HIDDEN if any(load_hidden(course.root / "solutions" / "hidden.toml", course).values()) else ""


def _tried(course: Course) -> str:
    """The versions that the course is tested with, from its ``constraints.txt``; nothing where there is none."""
    path = course.root / "constraints.txt"
    pins = dict(re.findall(r"^(torch|triton)==(\S+)$", path.read_text("utf-8"), re.M)) if path.is_file() else {}
    if pins.keys() != {"torch", "triton"}:
        return ""
    torch, triton = pins["torch"], pins["triton"]
    return (
        f"\nThe kit is tested with torch {torch} and triton {triton}. If others make trouble, ask for these:\n\n"
        f"    pip install torch=={torch} triton=={triton}\n"
    )
