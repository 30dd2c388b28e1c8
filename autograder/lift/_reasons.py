"""The sentences a student reads when something is refused: what it is, and what to write instead."""

from __future__ import annotations

import ast
import builtins
import difflib
from collections.abc import Iterable, Set

from autograder.lift import _allow, _triton


def shown(name: str) -> str:
    """A name as a message quotes it; a hostile one may be a megabyte long."""
    return f"`{brief(name)}`"


def brief(text: str) -> str:
    """``text``, cut where it gets too long to read."""
    return text if len(text) <= 60 else f"{text[:57]}..."


def quoted(texts: Iterable[str]) -> str:
    """Texts in quotes, as a choice: ``"ieee", "tf32" or "tf32x3"``."""
    *others, last = (f'"{text}"' for text in sorted(texts) if text)
    return f"{', '.join(others)} or {last}" if others else last


_NO_EXCEPTIONS = "`{}` is not allowed in a kernel: a GPU has no exceptions."
_NO_COMPREHENSION = "A comprehension is not allowed in a kernel; write a loop or work on whole tiles."
_NO_IMPORT = "An import inside a kernel is not allowed; a kernel has `tl` and `triton` already."

STAR = "A star before an argument or name is not allowed in a kernel; write each one out."

_CONSTRUCTS = {
    "AsyncFunctionDef": "`async def` cannot run on a GPU; write a plain `def`.",
    "FunctionDef": "A function inside a kernel is not allowed; move it to the left margin with `@triton.jit` above it.",
    "Lambda": "`lambda` is not allowed in a kernel; write a function with `@triton.jit` above it.",
    "ClassDef": "A class inside a kernel is not allowed; use plain variables.",
    "Import": _NO_IMPORT,
    "ImportFrom": _NO_IMPORT,
    "Global": "`global` is not allowed in a kernel; pass values as parameters and return them.",
    "Nonlocal": "`nonlocal` is not allowed in a kernel; pass values as parameters and return them.",
    "Try": _NO_EXCEPTIONS.format("try"),
    "TryStar": _NO_EXCEPTIONS.format("try"),
    "Raise": _NO_EXCEPTIONS.format("raise"),
    "With": "`with` is not allowed in a kernel.",
    "AsyncWith": "`async with` is not allowed in a kernel.",
    "AsyncFor": "`async for` is not allowed in a kernel; write a plain `for`.",
    "Yield": "`yield` is not allowed in a kernel; use `return`.",
    "YieldFrom": "`yield` is not allowed in a kernel; use `return`.",
    "Await": "`await` is not allowed in a kernel.",
    "Delete": "`del` is not allowed in a kernel; variables need no deleting.",
    "Match": "`match` is not allowed in a kernel; use `if` and `elif`.",
    "TypeAlias": "A type alias is not allowed in a kernel.",
    "ListComp": _NO_COMPREHENSION,
    "SetComp": _NO_COMPREHENSION,
    "DictComp": _NO_COMPREHENSION,
    "GeneratorExp": _NO_COMPREHENSION,
    "NamedExpr": "`:=` is not allowed in a kernel; assign on a line of its own.",
    "JoinedStr": "An f-string is not allowed in a kernel.",
    "TemplateStr": "A t-string is not allowed in a kernel.",
    "Starred": STAR,
    "Dict": "A dictionary is not allowed in a kernel; use plain variables.",
    "Set": "A set is not allowed in a kernel; use plain variables.",
    "Break": "No GPU accepts `break`; put the condition into a `while`, or into a mask.",
    "Continue": "No GPU accepts `continue`; put the rest of the loop under an `if`, or use a mask.",
    "MatMult": "`@` is not known in a kernel; use `tl.dot(a, b)`.",
    "In": "`in` is not known in a kernel; compare with `==`.",
    "NotIn": "`not in` is not known in a kernel; compare with `!=`.",
    "Slice": "A slice can only stand inside square brackets.",
}


def construct(node: ast.AST) -> str:
    """Why a piece of Python's syntax is refused."""
    kind = type(node).__name__
    return _CONSTRUCTS.get(kind, f"This piece of Python (`{kind}`) is not allowed in a kernel.")


_BLOCK_POINTERS = (
    "Block pointers (`tl.{}`) are not used in this exercise; compute offsets with `tl.arange` "
    "and use `tl.load` and `tl.store` with a mask."
)
_DESCRIPTORS = (
    "Tensor descriptors (`tl.{}`) are not used in this exercise; compute offsets with `tl.arange` "
    "and use `tl.load` and `tl.store` with a mask."
)
ATOMICS = "Atomic operations (`{}`) are not used in this exercise; read with `tl.load` and write with `tl.store`."
_MEMORY = {
    "atomic_": ATOMICS.replace("{}", "tl.{}"),
    "inline_asm": "Inline assembly (`tl.{}`) is not allowed here; write the step with functions of `tl`.",
    "make_block_ptr": _BLOCK_POINTERS,
    "advance": _BLOCK_POINTERS,
    "make_tensor_descriptor": _DESCRIPTORS,
    "load_tensor_descriptor": _DESCRIPTORS,
    "store_tensor_descriptor": _DESCRIPTORS,
    "tensor_descriptor": _DESCRIPTORS,
    "extra": "`tl.{}` depends on the make of the GPU and is not allowed; use the functions of `tl` itself.",
}
"""By the beginning of the name in ``tl``: what reaches memory, or the machine, past load and store."""


def library_name(path: tuple[str, ...], *, called: bool) -> str:
    """Why a dotted name of ``tl`` or ``triton`` is refused."""
    name = ".".join(path[1:])
    if (infinite := infinity(path[-1], ".".join(path))) is not None:
        return infinite
    if path[0] == "tl":
        for beginning, sentence in _MEMORY.items():
            if name.startswith(beginning):
                return sentence.format(brief(name))
        if name in _allow.LOOPS:
            return f"`tl.{name}` belongs behind `for ... in`."
        if name in _allow.DROPPED:
            return f"`tl.{name}` must stand on a line of its own, where it is left out."
        if not called and name in _allow.TL_CALLS:
            return f"`tl.{name}` must be called, as in `tl.{name}(...)`."
    known = {"tl": _allow.TL_CALLS, "triton": _allow.TRITON_CALLS}[path[0]] if len(path) == 2 else frozenset()
    near = difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.75) if len(name) < 60 else []
    guess = f" Did you mean `{path[0]}.{near[0]}`?" if near else ""
    if path[0] == "tl" and len(path) == 2 and _triton.has(name) is False:
        return f"Triton has no {shown('.'.join(path))}.{guess or f' What it has is listed at {_triton.PAGE}'}"
    return f"{shown('.'.join(path))} is not among the functions that may be used in this exercise.{guess}"


def whole_work(name: str) -> str:
    """Why a function is refused that would do what the exercise asks for."""
    return f"{shown(name)} does the work of this exercise by itself, and may not be used in it. Write out its steps."


def infinity(name: str, spelt: str) -> str | None:
    """How infinity is written, if ``name``, which stands in the kernel as ``spelt``, means it; else None."""
    if name.lower() not in {"inf", "infinity"}:
        return None
    return f'{shown(spelt)} is not known in a kernel; write `float("inf")`, or `float("-inf")` for minus infinity.'


def attribute(name: str) -> str:
    """Why ``.name`` is refused."""
    if name.startswith("atomic_"):
        return ATOMICS.format("." + brief(name))
    if name in {"load", "store"}:
        return f"`.{name}` is not used in this exercise; write `tl.{name}(pointer, ...)`."
    if name in _allow.METHODS:
        return f"`.{name}` must be called, as in `x.{name}(...)`."
    return f"`.{brief(name)}` is not allowed in a kernel; use the functions of `tl`."


_INSTEAD = {
    "abs": "use `tl.abs`",
    "sum": "use `tl.sum`",
    "pow": "multiply, or use `tl.exp2` and `tl.log2`",
    "round": "use `tl.floor(x + 0.5)`",
    "bool": "compare with `!= 0`",
    "isinstance": "a kernel knows its types beforehand",
    "getattr": "write the name after a dot",
    "print": "put it on a line of its own, where it is left out",
    "range": "use it only in `for ... in range(...)`",
    "float": 'give it one number, or a text such as "-inf"',
}


def python_name(name: str) -> str | None:
    """Why a name of Python's own is refused; None if Python has no such name."""
    if name not in _INSTEAD and not hasattr(builtins, name):
        return None
    instead = _INSTEAD.get(name, "use the functions of `tl`")
    return f"Python's `{name}` cannot be used like this in a kernel; {instead}."


def keyword(name: str, known: Set[str]) -> str:
    """Why a keyword argument is refused; ``known`` are those that are not."""
    if name in _allow.BLOCK_POINTER_KEYWORDS:
        return f"`{name}` belongs to block pointers, which are not used in this exercise; use `mask` and `other`."
    near = difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.75) if len(name) < 60 else []
    guess = f" Did you mean `{near[0]}`?" if near else ""
    return f"{shown(name)} is not an argument that can be given by name here.{guess}"


def option(name: str, *, own: bool) -> str:
    """Why an argument is refused a text that it does not take; ``own`` if the function is one of the file."""
    if own:
        texts = quoted(_allow.STRINGS["input_precision"])
        return f"A function of this file can be given no other text than one that `tl.dot` takes: {texts}."
    if name not in _allow.STRINGS:
        return f"{shown(name)} cannot be given a text in quotes here."
    return f"{shown(name + '=')} takes {quoted(_allow.STRINGS[name])} in this exercise."


def in_tl(name: str) -> str:
    """What to write for a function of another library: a sentence with a space before it, or nothing."""
    name = _allow.CALLED_ELSEWHERE.get(name, name)
    if name == "sqrt":  # the one that is tried on plain numbers, such as a head size, which `tl` does not take
        return " Of a number write `x ** 0.5`, of a tile `tl.sqrt(x)`."
    return f" Write `tl.{name}`." if name in _allow.TL_CALLS else ""


def compares_joined(joined: str) -> str:
    """That `&` and `|` bind before a comparison; ``joined`` is what they join there."""
    return (
        f"`&` and `|` come before `<` and its like in Python, so that this line compares with {shown(joined)}. "
        "Put parentheses around each comparison."
    )


def odd_name(name: str) -> str | None:
    """Why a name is refused for its spelling; None if it is a plain one."""
    if not name.isascii():
        return not_ascii(name)
    if name.startswith("__"):
        return f"The name {shown(name)} begins with two underscores, which is not allowed."
    return None


def not_ascii(name: str | None = None) -> str:
    """Look-alike letters are refused wherever code is kept."""
    what = "This line of code" if name is None else f"The name {shown(name)}"
    return f"{what} holds a character that is not plain ASCII; retype it on an English keyboard."
