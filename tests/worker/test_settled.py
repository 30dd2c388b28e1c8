"""CPU: what the settled interpreter remembers is what Triton would have made anew."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

_SCRIPT = """
import triton.language as tl
from triton.runtime import interpreter

from autograder.worker.settled import settle

pointers = [tl.pointer_type(tl.float32), tl.pointer_type(tl.float32, const=True)]
scalars = [tl.float32, tl.float16, tl.int32, tl.int1, *pointers]
shapes = [[16], [1], [16, 32], [tl.constexpr(16)], tl.tuple([4, 8])]


def look():
    types = [tl.block_type(scalar, shape) for scalar in scalars for shape in shapes]
    tiles = [tl.tensor(None, type) for type in (*types, *scalars)]
    of_types = [[repr(type.element_ty), repr(type.shape), repr(type.numel), type.name] for type in types]
    of_tiles = [[repr(tile.type), repr(tile.shape), repr(tile.numel), repr(tile.dtype)] for tile in tiles]
    consts = [getattr(type.scalar, "const", None) for type in types]
    return of_types, of_tiles, consts, [str(interpreter._get_np_dtype(scalar)) for scalar in scalars]


before = look()
settle()
assert look() == before, (look(), before)  # made
assert look() == before  # remembered
assert before[2].count(True) == len(shapes)
for wrong in ([16.0], [3], [], [tl.constexpr(16.0)], (16, 32)):
    try:
        tl.block_type(tl.float32, wrong)
    except (TypeError, ValueError, AssertionError):
        continue
    raise SystemExit(f"{wrong} is taken for a shape")
"""


def test_types_and_tiles_are_as_triton_makes_them(tmp_path: Path) -> None:
    script = tmp_path / "look.py"
    script.write_text(_SCRIPT)
    environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run([sys.executable, str(script)], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
