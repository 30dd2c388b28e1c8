"""What must never leave the instructor's machine, and what of it the course shows anyway.

Hidden are the solution regions, the hidden cases and the secret.  **Public** is what the course hands out on purpose:
the given lines of the stubs and the harnesses (``launch.py``), which necessarily share a statement with a kernel here
and there, and ``solutions/public.py``, a list of statements that texts may show.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from autograder.catalogue import Course, load_hidden
from autograder.errors import CourseError
from autograder.release._syntax import head, is_trivial, key, parse, statement_lists, weight
from autograder.release.markers import BEGIN, END, find_regions, make_stub
from autograder.release.stubs import stub_files

# Measured on lesson 7.  A row maximum or a row sum weighs 7, a masked load 18, the smallest region 14.
MIN_EXPRESSION = 10
MIN_REGION = 12
MIN_WINDOW = 20
MIN_COVERED, MIN_COVERED_STATEMENTS = 30, 3
COVERED_SHARE = 0.75
MIN_TEXT = 24  # characters without blanks: a mask of one comparison counts, a row maximum does not

PUBLIC = "public.py"


@dataclass(frozen=True, slots=True)
class Region:
    """One solution region: where it is, its statements, and each statement's key and weight."""

    where: str
    keys: tuple[str, ...]
    weights: tuple[int, ...]

    @property
    def weight(self) -> int:
        return sum(self.weights)


@dataclass(frozen=True, slots=True)
class HiddenCase:
    where: str
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Known:
    """Keys of single statements, their heads, and the weight above which no statement can be among them."""

    keys: frozenset[str]
    heads: frozenset[tuple[str, ...]]
    limit: int

    @classmethod
    def of(cls, nodes: Sequence[ast.stmt]) -> Known:
        # ``x = x + y`` weighs two more than ``x += y``, and has the same key.
        limit = max(weight(node) for node in nodes) + 2
        return cls(frozenset(key([node]) for node in nodes), frozenset(map(head, nodes)), limit)

    def __or__(self, other: Known) -> Known:
        return Known(self.keys | other.keys, self.heads | other.heads, max(self.limit, other.limit))

    def key_of(self, node: ast.stmt) -> str | None:
        """The key of a statement that is among these, else None."""
        if head(node) not in self.heads or weight(node) > self.limit:
            return None
        found = key([node])
        return found if found in self.keys else None


@dataclass(slots=True)
class Hidden:
    """All that is looked for, ready to be compared; each key or text maps to the words that name it."""

    regions: list[Region] = field(default_factory=list)
    expressions: dict[str, str] = field(default_factory=dict)
    windows: dict[str, str] = field(default_factory=dict)
    statements: Known = field(
        default_factory=lambda: Known(frozenset(), frozenset(), 0)
    )  # single ones, whatever they weigh
    expression_heads: set[tuple[str, ...]] = field(default_factory=set)
    expression_weights: set[int] = field(default_factory=set)
    texts: dict[str, str] = field(default_factory=dict)
    words: dict[str, str] = field(default_factory=dict)
    quoted_words: dict[str, str] = field(default_factory=dict)
    sentences: dict[str, str] = field(default_factory=dict)
    cases: list[HiddenCase] = field(default_factory=list)
    files: dict[bytes, str] = field(default_factory=dict)
    secrets: tuple[bytes, ...] = ()


def load(course: Course) -> Hidden:
    """Everything hidden in a course, from its ``solutions/`` folder.

    Raises:
        CourseError: a solution or hidden.toml is malformed.
    """
    hidden = Hidden()
    folder = course.root / "solutions"
    stubs = set(stub_files(course))
    sources: list[tuple[str, str]] = []
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if not path.is_file() or name in (PUBLIC, ".secret") or "__pycache__" in path.parts:
            continue
        data = path.read_bytes()
        if data.strip():
            hidden.files[data] = f"the file solutions/{name}"
        if path.suffix == ".py":
            sources.append((name, _text(path, data)))
    public = _Public(course, [make_stub(text, name) for name, text in sources if name in stubs])
    for name, text in sources:
        for first, last, code in _regions(name, text, name in stubs):
            _add_region(hidden, f"solutions/{name}, lines {first} to {last}", code, public)
    _add_cases(hidden, course, folder / "hidden.toml")
    hidden.secrets = _secret_spellings(folder / ".secret")
    return hidden


def squash(text: str) -> str:
    """A text without blanks and with one kind of quotes."""
    return re.sub(r"\s+", "", text).replace("'", '"')


def statement_keys(nodes: Sequence[ast.stmt], known: Known) -> list[str | None]:
    """The key of each statement if it is among the ``known`` ones, else None."""
    return [known.key_of(node) for node in nodes]


def windows_of(nodes: Sequence[ast.stmt], keys: Sequence[str | None]) -> Iterator[tuple[int, int, str]]:
    """(start, length, key) of every run of consecutive statements each of which has a key in ``keys``."""
    for start in range(len(nodes)):
        for end in range(start + 1, len(nodes) + 1):
            if keys[end - 1] is None:
                break
            yield start, end - start, key(nodes[start:end])


def expressions_of(node: ast.AST) -> Iterator[ast.expr]:
    """What a statement computes: its value, test or iterable, and those of the statements in it."""
    for part in ast.walk(node):
        if isinstance(part, ast.stmt):
            for name in ("value", "test", "iter"):
                value = getattr(part, name, None)
                if isinstance(value, ast.expr):
                    yield value


class _Public:
    """What may be shown: keys of expressions and of windows, and text."""

    def __init__(self, course: Course, stubs: Sequence[str]) -> None:
        harnesses = [
            exercise.launch.read_text(encoding="utf-8") for exercise in course.exercises if exercise.launch.is_file()
        ]
        allowed = course.root / "solutions" / PUBLIC
        self._granted = [allowed.read_text(encoding="utf-8")] if allowed.is_file() else []
        self._shown = [*harnesses, *stubs, *self._granted]
        self._lists = [[line.node for line in lines] for text in self._shown for lines in statement_lists(text)]
        self._granted_lists = [
            [line.node for line in lines] for text in self._granted for lines in statement_lists(text)
        ]
        self.text = squash("\n".join(self._shown))
        self.expressions = {
            key([node])
            for text in self._shown
            for statement in parse(text) or []
            for node in ast.walk(statement)
            if isinstance(node, ast.expr)
        }

    def windows(self, known: Known) -> set[str]:
        """The windows of all that is shown, as far as they consist of ``known`` statements."""
        return {item for nodes in self._lists for _, _, item in windows_of(nodes, statement_keys(nodes, known))}

    def granted(self, known: Known) -> set[str]:
        """The windows that the instructor allows by name, however much of a region they are."""
        return {item for nodes in self._granted_lists for _, _, item in windows_of(nodes, statement_keys(nodes, known))}


def _regions(name: str, text: str, has_stub: bool) -> Iterator[tuple[int, int, str]]:
    """(first line, last line, code) of all that is hidden in a file; a file without a stub is hidden whole."""
    if has_stub:
        for region in find_regions(text, name):
            yield region.first, region.last, "\n".join(region.hidden)
    else:
        yield 1, text.count("\n") + 1, text


def _add_region(hidden: Hidden, where: str, code: str, public: _Public) -> None:
    body = [node for node in parse(code) or [] if not is_trivial(node)]
    if not body and any(line.strip() and not line.strip().startswith("#") for line in code.split("\n")):
        raise CourseError(
            f"{where}: this region is no run of whole statements, so it cannot be looked for in a release."
        )
    if body:
        keys = tuple(key([node]) for node in body)
        hidden.regions.append(Region(where, keys, tuple(weight(node) for node in body)))
        known = Known.of(body)
        hidden.statements |= known
        shown, granted = public.windows(known), public.granted(known)
        total = sum(weight(node) for node in body)
        for start, length, item in windows_of(body, keys):
            size = sum(weight(node) for node in body[start : start + length])
            # Half a region or more is never public, wherever it stands: a harness may quote a line, not a solution.
            large = 2 * size >= total
            whole = length == len(body)
            if item in granted or (item in shown and not large):
                continue
            if (whole and size >= MIN_REGION) or (length > 1 and size >= MIN_WINDOW):
                hidden.windows[item] = where
        for node in body:
            for expression in expressions_of(node):
                item = key([expression])
                if weight(expression) >= MIN_EXPRESSION and item not in public.expressions:
                    hidden.expressions[item] = where
                    hidden.expression_heads.add(head(expression))
                    hidden.expression_weights.add(weight(expression))
    for text in _texts(code):
        if len(text) >= MIN_TEXT and text not in public.text:
            hidden.texts[text] = where


def _texts(code: str) -> Iterator[str]:
    """Hidden lines and statements without their layout: code and comments each by themselves."""
    for node in parse(code) or []:
        for part in ast.walk(node):
            if isinstance(part, ast.stmt) and not hasattr(part, "body"):
                yield squash(ast.unparse(part))
    for line in code.split("\n"):
        before, _, comment = line.partition("#")
        yield squash(before)
        yield squash(comment.lstrip("# "))


def _add_cases(hidden: Hidden, course: Course, path: Path) -> None:
    """The ids, sentences and values of hidden cases, but for what public checks have as well."""
    checks = [check for exercise in course.exercises for check in exercise.checks]
    known = {check.id for check in checks} | {exercise.id for exercise in course.exercises}
    known |= {name for check in checks for name in check.case}
    sentences = {squash(check.proves) for check in checks}
    public = [dict(check.case) for check in checks]
    for cases in load_hidden(path, course).values():
        for check in cases:
            where = f"the hidden case {check.id}"
            # A word that public checks use too says nothing by itself; as an id in quotes it does.
            (hidden.quoted_words if check.id in known else hidden.words)[check.id] = where
            if (sentence := squash(check.proves)) not in sentences and len(sentence) >= MIN_TEXT:
                hidden.sentences[sentence] = where
            if len(check.case) > 1 and dict(check.case) not in public:
                hidden.cases.append(HiddenCase(where, check.case))


def _secret_spellings(path: Path) -> tuple[bytes, ...]:
    """The secret as it is in its file, and the same bits in the other usual spellings."""
    if not path.is_file():
        return ()
    data = path.read_bytes()
    forms = {data, data.strip()}
    with contextlib.suppress(ValueError, UnicodeDecodeError):
        forms.add(bytes.fromhex(data.strip().decode("ascii")))
    spelled: set[bytes] = set()
    for form in forms:
        spelled |= {form, form.hex().encode(), form.hex().upper().encode(), str(int.from_bytes(form, "big")).encode()}
        spelled |= {base64.b64encode(form).rstrip(b"="), base64.urlsafe_b64encode(form).rstrip(b"=")}
        spelled.add(repr(form)[2:-1].encode())
    return tuple(sorted(form for form in spelled if len(form) >= 8))


def _text(path: Path, data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise CourseError(f"{path} is not UTF-8 text. Save it as UTF-8.") from error


MARKERS = (BEGIN, END)
