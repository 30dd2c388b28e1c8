"""CPU: make this process one that interprets, and does nothing else; less than half as slow as Triton leaves it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Any

import triton.language as tl
from triton.runtime import interpreter as triton_interpreter

from autograder.worker.faults import SINGLE_TRUTHS, NotOneTruth
from autograder.worker.hints import hold_to_hints

_TRITON = str(Path(triton_interpreter.__file__).parents[1])
_OF_TILES = "_attributes_of_tiles"


class _Kept:
    """In place of Triton's list of what to undo after a launch: nothing is."""

    def restore(self) -> None:
        pass


def settle() -> None:
    """Set up the interpreter once, for every launch of this process.

    Triton puts the interpreter's functions in the place of the language's before each launch and at each call of one
    jit function by another, and takes them away after each launch.  Here they are put there once.  Tiles are strict
    about their truth, see `_single_truth`.  Integers wrap around as they do on a GPU, where Triton looks for overflow
    in debug mode only; a wrong address is noticed all the same, by `MemoryGuard`.  Hints are held to, see `hints`.
    """
    builder = triton_interpreter.interpreter_builder
    builder.options = replace(builder.options, sanitize_overflow=False)
    _patch_once()
    triton_interpreter._get_np_dtype = _remembering_dtypes(triton_interpreter._get_np_dtype)
    tl.block_type.__init__ = _remembering_block_types(tl.block_type.__init__)
    tl.tensor.__init__ = _remembering_shapes(tl.tensor.__init__)
    hold_to_hints()


def _patch_once() -> None:
    patch, patch_tensor = triton_interpreter._patch_lang, triton_interpreter._patch_lang_tensor
    patched: set[frozenset[int]] = set()

    def patch_once(function: Any) -> _Kept:
        modules = frozenset(id(value) for value in function.__globals__.values() if value is tl or value is tl.core)
        if modules not in patched:
            patch(function)
            patched.add(modules)
        return _Kept()

    def strict_patch_tensor(tensor: Any, scope: Any) -> None:
        patch_tensor(tensor, scope)
        scope.set_attr(tensor, "__bool__", _single_truth)

    triton_interpreter._patch_lang = patch_once
    triton_interpreter._patch_lang_tensor = strict_patch_tensor


def _remembering_dtypes(look_up: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Triton makes its table of dtypes anew for each look into it."""
    known: dict[str, Any] = {}

    @wraps(look_up)
    def look_up_once(dtype: Any) -> Any:
        if dtype.name not in known:
            known[dtype.name] = look_up(dtype)
        return known[dtype.name]

    return look_up_once


def _remembering_block_types(initialise: Callable[..., None]) -> Callable[..., None]:
    """Triton makes the type of a tile anew, with its checks and its name, at each operation: there are but few."""
    known: dict[tuple[Any, ...], dict[str, Any]] = {}

    @wraps(initialise)
    def initialise_block_type(self: Any, element_ty: Any, shape: Any) -> None:
        sizes = (*shape,)
        # What Triton takes for no shape may equal one: 16.0 does equal 16.
        if not isinstance(shape, (list, tl.tuple)) or not set(map(type, sizes)) <= {int}:
            initialise(self, element_ty, shape)
            return
        # A pointer type's name does not tell all of it.
        pointer = getattr(element_ty, "address_space", None), getattr(element_ty, "const", None)
        key = (element_ty.name, pointer, sizes)
        if key not in known:
            initialise(self, element_ty, shape)
            known[key] = {**vars(self), _OF_TILES: {}}
        vars(self).update(known[key])

    return initialise_block_type


def _remembering_shapes(initialise: Callable[..., None]) -> Callable[..., None]:
    """What a tile has besides its data follows from its type, and is worked out once for each."""

    @wraps(initialise)
    def initialise_tensor(self: Any, handle: Any, type: Any) -> None:
        known = vars(type).get(_OF_TILES)
        if not known:
            initialise(self, handle, type)
            if known is not None:
                known.update((name, value) for name, value in vars(self).items() if name not in ("handle", "type"))
            return
        vars(self).update(known, handle=handle, type=type)

    return initialise_tensor


def _single_truth(tensor: Any) -> bool:
    """The interpreter takes any tile for true where Python wants one truth value, which is wrong without a word.

    What stands in a kernel's line says so itself, see `autograder.worker.truths`; this is for all else.
    Triton's own code asks tiles for their truth too, to see whether they are there: it gets its answer.
    """
    data = tensor.handle.data
    if data.size != 1:
        if sys._getframe(1).f_code.co_filename.startswith(_TRITON):
            return True
        raise NotOneTruth(SINGLE_TRUTHS[""])
    return bool(data)
