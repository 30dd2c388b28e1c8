"""Write the transcript in docs/notebook.md anew: `python docs/capture_notebook.py`.

A kernel is started in a student's folder, and an hour of work on one exercise is played in it: the stub, five
attempts that go wrong, and one that passes.  What the cells hold is told in words: the solution is not shown.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "notebook.md"
EXERCISE, FUNCTION, FILE = "online_softmax_update", "online_softmax_update", "lesson7/flash_attention.py"
_BLOCK = re.compile(r"(<!-- transcript -->\n```text\n)(.*?)(\n```\n<!-- end -->)", re.DOTALL)
_VERSIONS = re.compile(r"^(CPU .*|.*, triton .*, torch .*)\n", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Step:
    """One cell: what it is in words, in place of its code where ``told`` is set, and its source."""

    source: str
    told: str = ""


@dataclass(frozen=True, slots=True)
class Shown:
    """What a cell showed: its text, its HTML if there is any, and whether it ended with an error."""

    text: str
    html: str
    failed: bool


class Kernel:
    """A running kernel, to be given one cell after the other."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._number = 0

    def run(self, source: str) -> Shown:
        """Execute a cell and wait for its end."""
        from nbformat.v4 import new_code_cell

        cell = new_code_cell(source)
        self._client.nb.cells.append(cell)
        self._client.execute_cell(cell, self._number)
        self._number += 1
        text, html, failed = [], [], False
        for output in cell.outputs:
            if output.output_type == "stream":
                text.append(output.text.rstrip("\n"))
            elif output.output_type == "error":
                failed = True
                text.append("\n".join(output.traceback))
            else:
                text.append(output.data.get("text/plain", ""))
                html.append(output.data.get("text/html", ""))
            failed = failed or (output.output_type == "stream" and output.name == "stderr")
        return Shown("\n".join(text), "".join(html), failed)

    @property
    def pid(self) -> int:
        """The kernel's process."""
        return int(self._client.km.provisioner.process.pid)

    def kill(self) -> None:
        """As when a runtime vanishes."""
        self._client.km.provisioner.process.kill()
        self._client.km.provisioner.process.wait()


@contextmanager
def kernel_in(folder: Path) -> Iterator[Kernel]:
    """A kernel of this Python whose current folder is ``folder``."""
    import os

    from nbclient import NotebookClient
    from nbformat.v4 import new_notebook

    client = NotebookClient(
        new_notebook(), timeout=300, kernel_name="python3", allow_errors=True, resources={"metadata": {"path": folder}}
    )
    client.create_kernel_manager()
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    environment = {**os.environ, "PYTHONPATH": path, "IPYTHONDIR": str(folder / ".ipython")}
    client.start_new_kernel(env=environment, cwd=str(folder))
    client.start_new_kernel_client()
    try:
        yield Kernel(client)
    finally:
        client._cleanup_kernel()


def student_folder(folder: Path) -> Path:
    """The course as a student has it: no solutions, the stubs in place, and nothing begun."""
    junk = shutil.ignore_patterns("__pycache__", "notebooks")
    shutil.copytree(ROOT / "course", folder / "course", ignore=junk)
    for place in (folder / "course" / "pristine", folder / "assignments"):
        shutil.copytree(ROOT / "assignments", place)
    return folder


def function(path: Path) -> str:
    """The exercise's function as it stands in a file, without the markers of a solution."""
    sys.path.insert(0, str(ROOT))
    from autograder.release.spans import function_spans

    lines = path.read_text(encoding="utf-8").split("\n")
    first, last = function_spans(lines)[FUNCTION][-1]
    return "\n".join(line for line in lines[first - 1 : last] if not line.strip().startswith(("###", "#:")))


def attempt(code: str, told: str) -> Step:
    """A cell with an answer to the exercise, on CPU wherever this is played."""
    return Step(f"%%exercise {EXERCISE} --device cpu\n{code}\n", told)


def mistake(name: str) -> str:
    """The function as one of the known mistakes has it."""
    return function(ROOT / "tests" / "mistakes" / EXERCISE / f"{name}.py")


def hour() -> Sequence[Step]:
    """What the student types."""
    solution = function(ROOT / "solutions" / FILE)
    return (
        Step("%load_ext autograder"),
        attempt(function(ROOT / "assignments" / FILE), "the stub, as it was handed out"),
        attempt(solution.replace("tl.max(s, 1))", "tl.max(s, 1)"), "a bracket is missing"),
        attempt(solution.replace("tl.exp(", "math.exp("), "exp is taken from Python's math"),
        attempt(mistake("no_guard"), "no thought of rows that have seen nothing yet"),
        attempt(mistake("acc_not_rescaled"), "l is brought over to the new maximum, acc is not"),
        Step(f"%hint {EXERCISE}"),
        attempt(mistake("l_not_rescaled"), "and the other way round"),
        attempt(solution, "both are"),
        Step(f"%course undo {EXERCISE}"),
    )


def play(kernel: Kernel, steps: Sequence[Step]) -> list[tuple[Step, Shown]]:
    """Run the cells, one after the other."""
    return [(step, kernel.run(step.source)) for step in steps]


def transcript(played: Sequence[tuple[Step, Shown]]) -> str:
    """What was typed and shown, as text that is the same on every machine."""
    parts = []
    for step, shown in played:
        first = step.source.split("\n")[0].replace(" --device cpu", "")
        cell = f"In:  {first}" + (f"\n     ... {step.told}" if step.told else "")
        parts.append(f"{cell}\n{_normal(shown.text)}".strip())
    return "\n\n".join(parts)


def _normal(text: str) -> str:
    lines = [line.rstrip() for line in _VERSIONS.sub("", text).replace("\r\n", "\n").split("\n")]
    return "\n".join(lines).strip("\n")


def shown_now() -> str | None:
    """The transcript that the page has."""
    match = _BLOCK.search(PAGE.read_text(encoding="utf-8"))
    return match[2] if match else None


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, kernel_in(student_folder(Path(folder) / "course")) as kernel:
        text = transcript(play(kernel, hour()))
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(_BLOCK.sub(lambda match: match[1] + text + match[3], page), encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
