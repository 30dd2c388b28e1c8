"""Why a launch did not come to its end, in a sentence and with the student's own line."""

from __future__ import annotations

import ast
import re
import traceback
from collections.abc import Set
from dataclasses import dataclass
from pathlib import Path

from autograder.worker.faults import NotOneTruth, Violation
from autograder.worker.plain_words import in_plain_words


@dataclass(frozen=True, slots=True)
class Failure:
    """``outcome`` is one of the protocol's; ``fatal`` says that this process can run nothing more.

    ``original`` is what Python or Triton said, where ``message`` puts it into other words.
    """

    outcome: str
    message: str
    line: int | None
    fatal: bool = False
    original: str = ""


_UNBOUND = re.compile(r"local variable '(\w+)'")
_UNDEFINED = re.compile(r"name '(\w+)' is not defined|(\w+) is not defined")


_FIXED_CONDITION = (
    "The condition of this `while` is known while compiling, so that its loop ends at once or never. "
    "Let it depend on a value that changes in the loop."
)


def explain(
    error: BaseException, student_file: Path, module: str, *, compiling: bool = False, dtypes: Set[str] = frozenset()
) -> Failure:
    """The failure behind ``error``, which a launch raised; ``compiling`` if nothing was to run.

    ``dtypes`` are those of the inputs, such as ``float32``.
    """
    chain = _chain(error)
    line = _line(chain, student_file, module)
    root = chain[-1]
    for item in chain:
        if isinstance(item, Violation):
            return Failure("violation", str(item), line)
        if type(item).__name__ == "OutOfMemoryError":
            return Failure("out-of-memory", "The launch ran out of GPU memory.", line)
        if isinstance(item, MemoryError):
            return Failure("out-of-memory", "The kernel asked for more memory than a check may use.", line)
        if "CUDA error" in str(item) or type(item).__name__ == "AcceleratorError":
            text = str(item).splitlines()[0]
            return Failure("crashed", f"The GPU stopped the kernel: {text}. Check masks and offsets.", line, fatal=True)
    if line is None and _is_an_assertion(root):
        # Of a launch file's own, and in its words: kernels of students have none.
        return Failure("compile-error", _said(root), None)
    message = _describe(root, compiling, dtypes)
    if line is None and not _names_no_line(root):
        found = "No line of yours shows it: it came out when what your function returns was used."
        message = f"{message.rstrip('.?')}{'?' if message.endswith('?') else '.'} {found}"
    return Failure("compile-error", message, line, original=_said(root))


def _is_an_assertion(error: BaseException) -> bool:
    return isinstance(error, AssertionError) or type(error).__name__ == "CompileTimeAssertionFailure"


def _said(error: BaseException) -> str:
    return str(getattr(error, "error_message", None) or error).strip()


def _names_no_line(error: BaseException) -> bool:
    """Whether the compiler's passes failed, which know the whole kernel and no line of it."""
    return str(error).startswith(("PassManager::run", "error encountered during parsing"))


def _describe(error: BaseException, compiling: bool, dtypes: Set[str]) -> str:
    text = _said(error)
    if match := _UNBOUND.search(text):
        return f"{match.group(1)} is used before it has a value."
    if isinstance(getattr(error, "node", None), ast.While) and "'constexpr' object has no attribute" in text:
        return _FIXED_CONDITION
    if (plain := in_plain_words(text, dtypes)) is not None:
        return plain
    if isinstance(error, NotOneTruth):
        return text
    if isinstance(error, RecursionError):
        return "The kernel's functions call each other without end."
    if match := _UNDEFINED.fullmatch(text):
        return f"{match.group(1) or match.group(2)} is not defined."
    first = next((row for row in text.splitlines() if row.strip()), "")
    name = type(error).__name__
    if name in ("CompilationError", "UnsupportedLanguageConstruct", "CompileTimeAssertionFailure"):
        return _last_line(text) if compiling else f"Triton cannot compile this: {_last_line(text)}"
    if compiling:
        return f"{name}: {first}" if first else f"Triton stopped with {name}."
    return f"The kernel stopped with {name}: {first}" if first else f"The kernel stopped with {name}."


def _last_line(text: str) -> str:
    rows = [row.strip() for row in text.splitlines() if row.strip()]
    return rows[-1] if rows else "no reason was given."


def _chain(error: BaseException) -> list[BaseException]:
    """The error and what caused it, outermost first."""
    chain: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and current not in chain and len(chain) < 50:
        chain.append(current)
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)
    return chain


def _line(chain: list[BaseException], student_file: Path, module: str) -> int | None:
    """The innermost line of the student's file: from the traceback, or from the compiler's own note of the place."""
    for error in reversed(chain):
        node, source = getattr(error, "node", None), getattr(error, "src", None)
        line = getattr(node, "lineno", None)
        if isinstance(source, str) and line is not None and (start := module.find(source.strip())) >= 0:
            return module.count("\n", 0, start) + int(line)
        frames = traceback.extract_tb(error.__traceback__)
        for frame in reversed(frames):
            if frame.filename == str(student_file):
                return frame.lineno
    return None
