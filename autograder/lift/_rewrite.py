"""Edits of source text that keep every line where it is, and the clean lines that come of them."""

from __future__ import annotations

from dataclasses import dataclass

from autograder.lift._reasons import not_ascii
from autograder.lift._types import Refusal

Place = tuple[int, int]
"""A line, counted from 1, and a column in UTF-8 bytes, as the syntax tree gives them."""


@dataclass(frozen=True, slots=True, order=True)
class Edit:
    """Put ``text`` in place of what stands from ``start`` to ``end``; it holds as many newlines."""

    start: Place
    end: Place
    text: str


class Unsafe(Exception):
    """The text could not be rewritten with certainty; never expected, always refused."""


class Source:
    """The lines of a file as bytes, which is what the columns of the syntax tree count."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = [line.encode("utf-8") for line in lines]

    def between(self, start: Place, end: Place) -> bytes:
        """The text from ``start`` up to ``end``."""
        (first, left), (last, right) = start, end
        if first == last:
            return self.lines[first - 1][left:right]
        return b"\n".join([self.lines[first - 1][left:], *self.lines[first : last - 1], self.lines[last - 1][:right]])

    def replace(self, start: Place, end: Place, text: str) -> Edit:
        """An edit that writes ``text`` and then uses up the lines of what it replaces.

        The newlines are escaped if code follows on the last line, since the statement then goes on there.
        """
        if start[0] == end[0]:
            return Edit(start, end, text)
        rest = self.lines[end[0] - 1][end[1] :].split(b"#")[0].strip()
        return Edit(start, end, text + (" \\\n" if rest else "\n") * (end[0] - start[0]))

    def after_equals(self, start: Place, end: Place) -> Place:
        """The place after the first ``=`` between two expressions, where only brackets and comments stand."""
        line, column = start
        for text in self.between(start, end).split(b"\n"):
            code = text.split(b"#")[0]
            if b"=" in code:
                return line, column + code.index(b"=") + 1
            line, column = line + 1, 0
        raise Unsafe

    def line_that_is_not_ascii(self, start: Place, end: Place) -> int | None:
        """The first line between two places whose code (comments aside) holds a character beyond ASCII."""
        for index, text in enumerate(self.between(start, end).split(b"\n")):
            if not text.split(b"#")[0].isascii():
                return start[0] + index
        return None

    def rewritten(self, first: int, last: int, edits: list[Edit]) -> list[str]:
        """Lines ``first`` to ``last`` with ``edits`` applied, without comments, in printable ASCII.

        No string of the student's own writing may be left in these lines when this is called: then a ``#``
        can only begin a comment. Comments go because they may hold anything: a coding line, or a character
        that some reader takes for the end of a line.
        """
        parts: list[bytes] = []
        place: Place = (first, 0)
        for edit in sorted(edits):
            if edit.start < place or edit.text.count("\n") != edit.end[0] - edit.start[0]:
                raise Unsafe
            parts += [self.between(place, edit.start), edit.text.encode("ascii")]
            place = edit.end
        parts.append(self.between(place, (last, len(self.lines[last - 1]))))
        lines = b"".join(parts).split(b"\n")
        if len(lines) != last - first + 1:
            raise Unsafe
        return [_clean(line, first + index) for index, line in enumerate(lines)]


def _clean(line: bytes, number: int) -> str:
    """A line without its comment; form feeds become what Python's tokenizer takes them for."""
    code = line.split(b"#")[0].rstrip(b" \t\f")
    blank = len(code) - len(code.lstrip(b" \t\f"))
    indent = code[:blank].rpartition(b"\f")[2]
    text = indent + code[blank:].replace(b"\f", b" ")
    if any(byte != 9 and not 32 <= byte < 127 for byte in text):
        raise Refusal(number, not_ascii())
    return text.decode("ascii")
