"""How much of a hand-in is read, and the sentences about what was not."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import BinaryIO

MB = 1_000_000
MAX_FILE_BYTES = 1 * MB
MAX_HANDIN_BYTES = 20 * MB
MAX_FILES = 500
MAX_ZIP_DEPTH = 3
MAX_ENTRIES = 20_000  # looked at, not read; a whole home folder given by mistake ends here
MAX_ZIP_LIST_BYTES = 1 * MB  # the list of entries at the end of a zip; about 10 000 entries
MAX_NOTES = 40
_CHUNK = 1 << 16


class Refused(Exception):
    """A file that is not read; ``reason`` completes a sentence that begins with its name.

    ``line`` is where the trouble is, if anywhere. ``text`` is what could be made out all the same: never
    graded, it only tells whose functions the file was meant to define.
    """

    def __init__(self, reason: str, line: int | None = None, text: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line
        self.text = text


@dataclass(slots=True)
class Budget:
    """Files and bytes that may still be read; bytes are counted as they come, decompressed."""

    files: int = MAX_FILES
    size: int = MAX_HANDIN_BYTES
    entries: int = MAX_ENTRIES

    def count_file(self) -> None:
        """Raise Refused once 500 files were opened."""
        if self.files <= 0:
            raise Refused(f"was not read: the hand-in has more than {MAX_FILES} files")
        self.files -= 1

    def count_entries(self, number: int) -> None:
        """Raise Refused once a hand-in, all its folders and zips together, lists too much."""
        if number > self.entries:
            self.entries = 0
            raise Refused(f"was not read: the hand-in has more than {MAX_ENTRIES} entries")
        self.entries -= number

    def read(self, stream: BinaryIO, claimed: int, limit: int | None) -> bytes:
        """All of ``stream``, or Refused if that is over ``limit`` or over what is left of the hand-in.

        ``claimed`` is the size that somebody else states. It may lie, so it can only refuse, never admit.
        """
        self._check(claimed, limit)
        chunks: list[bytes] = []
        size = 0
        while chunk := stream.read(_CHUNK):
            size += len(chunk)
            if size > self.size:  # the work was done; who sends a bomb pays for it
                self.size = 0
            self._check(size, limit)
            chunks.append(chunk)
        self.size -= size
        return b"".join(chunks)

    def _check(self, size: int, limit: int | None) -> None:
        if limit is not None and size > limit:
            raise Refused(f"was not read: it is over {limit // MB} MB")
        if size > self.size:
            raise Refused(f"was not read: the hand-in is over {MAX_HANDIN_BYTES // MB} MB with it")


@dataclass(slots=True)
class Notes:
    """Sentences about entries that were skipped; said once each, and not without end."""

    sentences: dict[str, None] = field(default_factory=dict)
    left_out: int = 0

    def add(self, sentence: str) -> None:
        """Keep a sentence, or count it once there are many."""
        if sentence in self.sentences:
            return
        if len(self.sentences) < MAX_NOTES:
            self.sentences[sentence] = None
        else:
            self.left_out += 1

    def all(self) -> tuple[str, ...]:
        """The sentences in the order in which they came."""
        more = (f"{self.left_out} more entries were skipped.",) if self.left_out else ()
        return (*self.sentences, *more)
