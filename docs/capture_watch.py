"""Write the transcript in docs/watch.md anew: `python docs/capture_watch.py`.

A student's folder is made, and somebody who types at a pseudo-terminal plays an hour in `grade watch`: five wrong
kernels, a hint, a look at the map, and a pass.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pexpect
from capture_readme import functions, replaced

ROOT = Path(__file__).resolve().parents[1]
STUB = "lesson7/one_shot_attention.py"
EXERCISE = "kernel_loads"
PAGE = ROOT / "docs" / "watch.md"
_BLOCK = re.compile(r"(<!-- capture: grade watch kernel_loads --plain -->\n)(.*?)(<!-- end of capture -->)", re.DOTALL)

VERDICT = rf"{EXERCISE}: [a-z-]+"
COMPILED = rf"GPU targets of {EXERCISE}: [a-z-]+"


@dataclass(frozen=True, slots=True)
class Step:
    """What the student does: saves a known wrong kernel or a solved one, or presses a key; and what ends the answer."""

    words: str
    mistake: str = ""
    edit: tuple[str, str] = ("", "")
    solved: bool = False
    key: str = ""
    answer: Sequence[str] = field(default=(COMPILED,))


HOUR = (
    Step(f"`grade watch {EXERCISE}` begins with its stub.", answer=(VERDICT, "keys:")),
    Step("The student presses `h`.", key="h", answer=("which of its rows exist",)),
    Step(
        "A first try is saved, with a bracket left open.",
        solved=True,
        edit=("offs_d[None, :]", "offs_d[None, :"),
        answer=(VERDICT, "keys:"),
    ),
    Step("The bracket is closed, and the loads have no mask.", mistake="no_mask", answer=(VERDICT, "keys:", COMPILED)),
    Step("There is a mask now, along the wrong axis.", mistake="mask_along_columns"),
    Step(
        "Keys and values go by the rows of the queries.",
        mistake="keys_by_query_rows",
        answer=(COMPILED, "rounded to TF32"),
    ),
    Step("The stride from row to row is forgotten.", mistake="row_stride_forgotten"),
    Step("Back to an earlier version, to compare.", mistake="mask_along_columns"),
    Step("Everything is in its place.", solved=True, answer=(VERDICT, COMPILED, "passes: ", "keys:")),
    Step("The student presses `l`.", key="l", answer=("You are at",)),
    Step("And `n`.", key="n", answer=("At score_mask", "not-started", "keys:")),
)


class Sitting:
    """`grade watch EXERCISE` at a pseudo-terminal of 80 columns, in a student's folder; a context manager."""

    def __init__(self, folder: Path, *options: str, timeout: float = 120) -> None:
        self.root = student_folder(folder)
        self.file = self.root / "assignments" / STUB
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(folder / "cache"), "TERM": "dumb"}
        command = ["-P", "-m", "autograder.cli.grade", "watch", EXERCISE, "--plain", "--device", "cpu", *options]
        self.child: Any = pexpect.spawn(
            sys.executable,
            command,
            cwd=str(self.root),
            env=environment,
            dimensions=(50, 80),
            encoding="utf-8",
            timeout=timeout,
        )

    def __enter__(self) -> Sitting:
        return self

    def __exit__(self, *_: object) -> None:
        if self.child.isalive():
            self.child.sendintr()
            self.child.expect(pexpect.EOF)
        self.child.close(force=True)

    def wait_for(self, *patterns: str) -> str:
        """All that is printed up to the end of the line with the last of the patterns, which are met in order."""
        text = ""
        for pattern in (*patterns, r"\r\n"):
            self.child.expect(pattern)
            text += self.child.before + self.child.after
        return text.replace("\r\n", "\n")

    def press(self, key: str) -> None:
        self.child.send(key)

    def save(self, text: str) -> None:
        self.file.write_text(text, encoding="utf-8")


def student_folder(folder: Path) -> Path:
    """A course as students have it: no solutions, pristine copies, nothing begun."""
    root = folder / "student"
    shutil.copytree(ROOT / "course", root / "course", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(
        ROOT / "assignments", root / "course" / "pristine", ignore=shutil.ignore_patterns("*.bak-*", "__pycache__")
    )
    return root


def solved_file(stub: str, names: Sequence[str]) -> str:
    """A stub with the solutions of some functions in it."""
    solution = (ROOT / "solutions" / STUB).read_text(encoding="utf-8")
    rows = solution.split("\n")
    spans = functions(solution)
    return replaced(stub, "\n\n\n".join("\n".join(rows[spans[name][0] - 1 : spans[name][1]]) for name in names))


def text_of(step: Step, stub: str) -> str | None:
    """What the student saves in a step; None where it is a key that is pressed, or nothing."""
    if step.mistake:
        wrong = (ROOT / "tests" / "mistakes" / EXERCISE / f"{step.mistake}.py").read_text(encoding="utf-8")
        return replaced(stub, wrong)
    if step.solved:
        solved = solved_file(stub, ["load_tiles"])
        return solved.replace(*step.edit, 1) if step.edit[0] else solved
    return None


def play(sitting: Sitting, steps: Sequence[Step]) -> Iterator[tuple[str, str]]:
    """Each step's words, and what was printed in answer, with times as if each took as long."""
    stub = (ROOT / "assignments" / STUB).read_text(encoding="utf-8")
    for step in steps:
        if (text := text_of(step, stub)) is not None:
            sitting.save(text)
        if step.key:
            sitting.press(step.key)
        yield step.words, normalised(sitting.wait_for(*step.answer))


def normalised(text: str) -> str:
    """A transcript without what differs from run to run and from machine to machine: times and versions."""
    text = re.sub(r"^\d\d:\d\d:\d\d ", "12:00:00 ", text, flags=re.MULTILINE)
    text = re.sub(r" \(\d+\.\d s\)$", " (0.3 s)", text, flags=re.MULTILINE)
    text = re.sub(r"^CPU \(.*\n", "", text, flags=re.MULTILINE)
    # On a slow machine it is said what still runs.
    text = re.sub(
        r"^(?:Still |The worker is still )[^.]*\.(?:.*\n)*?.*(?:quits|ends all)\.\n", "", text, flags=re.MULTILINE
    )
    return "\n".join(line.rstrip() for line in text.split("\n")).strip("\n")


def capture(folder: Path) -> str:
    """The hour as Markdown."""
    parts = []
    with Sitting(folder) as sitting:
        for words, answer in play(sitting, HOUR):
            parts.append(f"{words}\n\n```\n{answer}\n```\n")
        sitting.press("q")
        sitting.child.expect(pexpect.EOF)
    return "\n".join(parts)


def shown() -> Mapping[str, str]:
    """What the page shows now: the answer to each step, by its words."""
    match = _BLOCK.search(PAGE.read_text(encoding="utf-8"))
    found = re.findall(r"^(\S[^\n]*)\n\n```\n(.*?)\n```$", match[2] if match else "", re.DOTALL | re.MULTILINE)
    return dict(found)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        text = capture(Path(folder))
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(_BLOCK.sub(lambda match: f"{match[1]}\n{text}\n{match[3]}", page), encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
