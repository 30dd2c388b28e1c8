"""Find files that share long passages, by winnowing's fingerprints (copydetect): names, layout and order play no part.

What everybody has is left out before anything is compared: the stub, the reference solution, and what is in many
hand-ins.  What is left of a file has to be long enough: a right answer of one line is the same for everyone.  With a
window of one every fingerprint is kept, so that the outcome does not hang on Python's random hashes.

S. Schleimer, D. Wilkerson, A. Aiken, "Winnowing: Local Algorithms for Document Fingerprinting", SIGMOD 2003.
"""

from __future__ import annotations

import io
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from autograder.bulk.hand_ins import HandInPath
from autograder.catalogue import Course
from autograder.errors import UsageError
from autograder.handin import split_lines
from autograder.release.stubs import pristine_stubs
from autograder.similarity._files import File, files_of
from autograder.similarity._model import Pair, Side, Similar

_HOW = "pip install 'mini-flash-attention-kit[instructor]'"

# All in characters of the text without layout and comments, where a name is one character.
_LENGTH = 25  # of a fingerprint's passage
_OWN = 200  # fingerprints that a file needs of its own
_SHARE = 0.5  # of the smaller one's, for a pair to be listed
_EVERYBODYS = (6, 8)  # what is in more than 6 files, and more than an eighth of them, is nobody's own
_LONGEST = 100_000  # characters of a file; more are in no honest one
_SHOWN = 60  # lines of each side


@dataclass(slots=True)
class _Print:
    """A file and its fingerprints."""

    file: File
    code: Any


def similar_hand_ins(course: Course, hand_ins: Sequence[HandInPath]) -> Similar:
    """All pairs of files with much in common, of different students and for the same stub.

    Raises:
        UsageError: copydetect is not installed.
        CourseError: a stub or a solution of the course is broken.
    """
    fingerprint = _library()
    unread: list[str] = []
    by_stub: dict[str, list[File]] = defaultdict(list)
    for file in files_of(course, hand_ins, unread):
        if len(file.text) > _LONGEST:
            unread.append(f"{file.student}: {file.source.path}")
        else:
            by_stub[file.stub].append(file)
    given = {stub: {mark for text in texts for mark in fingerprint(text).hashes} for stub, texts in _given(course)}
    pairs: list[Pair] = []
    compared = small = bare = 0
    for files in by_stub.values():
        prints = [_Print(file, fingerprint(file.text)) for file in files]
        _leave_only_own(prints, given)
        own = [item for item in prints if len(item.code.hashes) >= _OWN]
        compared += len(own)
        none = sum(not item.code.hashes for item in prints)
        small += len(prints) - len(own) - none
        bare += none
        pairs += _pairs(own)
    ordered = sorted(pairs, key=lambda pair: (-pair.share, pair.stub, pair.one.student, pair.other.student))
    return Similar(tuple(ordered), compared, small, bare, tuple(unread))


def _given(course: Course) -> Iterator[tuple[str, list[str]]]:
    """The text of each stub, and of its solution if that is here."""
    for stub, text in pristine_stubs(course).items():
        solution = course.root / "solutions" / stub
        yield stub, [text, *([solution.read_text(encoding="utf-8")] if solution.is_file() else [])]


def _library() -> Any:
    """What makes the fingerprints of a text.

    Raises:
        UsageError: copydetect is not installed.
    """
    try:
        from copydetect import CodeFingerprint
    except ImportError:
        raise UsageError(f"To compare hand-ins, copydetect has to be installed: {_HOW}.") from None
    return lambda text: CodeFingerprint("answer.py", _LENGTH, 1, fp=io.StringIO(text))


def _leave_only_own(prints: Sequence[_Print], given: Mapping[str, set[int]]) -> None:
    """Take out of all what was given, and what many have."""
    most = max(_EVERYBODYS[0], len(prints) // _EVERYBODYS[1])
    count = Counter(mark for item in prints for mark in item.code.hashes)
    everybodys = {mark for mark, files in count.items() if files > most}
    for item in prints:
        # A file or a cell may answer several stubs.
        item.code.hashes -= everybodys.union(*(given[stub] for stub in {item.file.stub, *item.file.answers}))
        item.code.hash_idx = {mark: item.code.hash_idx[mark] for mark in item.code.hashes}


def _pairs(prints: Sequence[_Print]) -> list[Pair]:
    """Those pairs that share enough; only pairs that share anything are looked at."""
    holders: dict[int, list[int]] = defaultdict(list)
    for number, item in enumerate(prints):
        for mark in item.code.hashes:
            holders[mark].append(number)
    shared = Counter(pair for numbers in holders.values() for pair in combinations(numbers, 2))
    found = []
    for (first, second), count in shared.items():
        one, other = prints[first], prints[second]
        share = count / min(len(one.code.hashes), len(other.code.hashes))
        if share >= _SHARE and one.file.student != other.file.student:
            found.append(_pair(one, other, share))
    return found


def _pair(one: _Print, other: _Print, share: float) -> Pair:
    from copydetect.detector import compare_files

    for item in (one, other):
        item.code.token_coverage = max(1, len(item.code.hashes))  # only for the library's own shares, not ours
    slices = compare_files(one.code, other.code)[2]
    return Pair(one.file.stub, share, _side(one.file, slices[0]), _side(other.file, slices[1]))


def _side(file: File, slices: Any) -> Side:
    """The lines of a file that lie in ``slices``, two rows: where each begins and ends, in characters."""
    lines: set[int] = set()
    for begin, end in zip(*slices.tolist(), strict=True):
        first = file.text.count("\n", 0, int(begin)) + 1
        lines.update(range(first, first + file.text.count("\n", int(begin), int(end)) + 1))
    texts = split_lines(file.text)
    passages: list[tuple[str, str]] = []
    before = 0
    for number in sorted(lines):
        if number > len(texts) or not texts[number - 1].strip():
            continue
        if len(passages) == _SHOWN:
            passages.append(("", "..."))
            break
        if before and any(texts[line - 1].strip() for line in range(before + 1, number)):
            passages.append(("", "..."))
        passages.append((file.source.locate(number), texts[number - 1]))
        before = number
    return Side(file.student, file.source.path, tuple(passages))
