"""One notebook cell -> Python with the same number of lines: magics, shell and help lines are blanked."""

from __future__ import annotations

import re
from dataclasses import dataclass

from autograder.handin._model import defined_names, split_lines

_PYTHON_MAGICS = frozenset(["exercise", "grade", "time", "timeit", "capture", "prun", "python", "python3", "debug"])
_FILE_MAGICS = frozenset({"writefile", "file"})
_FOREIGN_MAGICS = frozenset(
    [
        "!",
        "sx",
        "system",
        "bash",
        "sh",
        "zsh",
        "script",
        "cmd",
        "powershell",
        "html",
        "javascript",
        "js",
        "latex",
        "markdown",
        "svg",
        "perl",
        "ruby",
        "r",
        "sql",
        "bigquery",
        "cython",
        "cpp",
        "c",
        "cuda",
        "cu",
        "pypy",
        "julia",
    ]
)
_HELP = re.compile(r"[A-Za-z_][\w.*%]*(?:\[[^\]]*\])?\?{1,2}")
_ASSIGNED_MAGIC = re.compile(r"[A-Za-z_][\w.,\[\]'\" \t]*=[ \t]*[%!].*")
_TOP_LEVEL = re.compile(r"(?:async\s+def|def|class)\s|@\w")
# A string that does not end takes the rest of its line: every match moves on, so that a line is scanned once.
_TOKEN = re.compile(r"#.*|\"{3}|'{3}|\"(?:\\.|[^\"\\])*(?:\"|\\?$)|'(?:\\.|[^'\\])*(?:'|\\?$)|[\[\](){}]")


def python_of_cell(source: str) -> str:
    """The cell's Python: as many lines as ``source`` (at least one), each ended by a newline."""
    lines = split_lines(source) or [""]
    lines = _without_cell_magics(lines)
    return "\n".join(_without_line_magics(lines)) + "\n"


def is_answer(source: str) -> bool:
    """Whether a cell is the answer to an exercise: its first line with anything on it is `%%exercise ...`."""
    return source.lstrip().split(None, 1)[:1] == ["%%exercise"]


def _without_cell_magics(lines: list[str]) -> list[str]:
    """Blank ``%%`` lines at the head of a cell, or the whole cell if its language is not Python."""
    lines = list(lines)
    for index, line in enumerate(lines):
        if not line.strip():
            continue
        if not line.startswith("%%"):
            break
        if not _keeps_python(line, lines[index + 1 :]):
            return [""] * len(lines)
        lines[index] = ""
    return lines


def _keeps_python(magic_line: str, body: list[str]) -> bool:
    name, *arguments = magic_line[2:].split() or [""]
    if name in _FILE_MAGICS:
        return any(argument.strip("'\"").lower().endswith(".py") for argument in arguments)
    if name in _PYTHON_MAGICS:
        return True
    if name.lower() in _FOREIGN_MAGICS or name.startswith("!"):
        return False
    # An extension nobody here knows: most of them measure Python, and dropping a student's answer costs more.
    return bool(defined_names("\n".join(body)))


def _without_line_magics(lines: list[str]) -> list[str]:
    out: list[str] = []
    state = _Statement()
    in_magic = False  # a magic or shell line that ended with a backslash goes on
    for line in lines:
        if in_magic or (state.at_start(line) and _is_magic(line.strip())):
            out.append(_blank(line) if not in_magic else "")
            in_magic = line.rstrip().endswith("\\")
        else:
            out.append(line)
            state.feed(line)
    return out


def _is_magic(line: str) -> bool:
    if line.startswith(("%", "!", "?")):
        return True
    return bool(_HELP.fullmatch(line) or _ASSIGNED_MAGIC.fullmatch(line))


def _blank(line: str) -> str:
    """An indented magic may be all that an ``if`` or ``for`` has, so that something must stay."""
    indent = line[: len(line) - len(line.lstrip())]
    return indent + "pass" if indent else ""


@dataclass(slots=True)
class _Statement:
    """Whether a new statement may begin at the next line: ``%`` inside brackets or a string is no magic."""

    depth: int = 0
    quote: str = ""
    continued: bool = False

    def at_start(self, line: str) -> bool:
        if self.depth and not self.quote and _TOP_LEVEL.match(line):
            self.depth = 0  # the bracket before was never closed; that is no reason to misread what follows
        return not (self.depth or self.quote or self.continued)

    def feed(self, line: str) -> None:
        position = 0
        token = ""
        while position < len(line):
            if self.quote:
                position = self._skip_string(line, position)
                continue
            match = _TOKEN.search(line, position)
            if match is None:
                break
            token, position = match[0], match.end()
            self._take(token)
        self.continued = line.endswith("\\") and not self.quote and not token.startswith("#")

    def _take(self, token: str) -> None:
        if token in {'"""', "'''"}:
            self.quote = token
        elif token in {"(", "[", "{"}:
            self.depth += 1
        elif token in {")", "]", "}"}:
            self.depth = max(0, self.depth - 1)

    def _skip_string(self, line: str, position: int) -> int:
        for match in re.compile(r"\\.|" + self.quote).finditer(line, position):
            if match[0] == self.quote:
                self.quote = ""
                return match.end()
        return len(line)
