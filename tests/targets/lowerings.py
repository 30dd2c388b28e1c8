"""Run as a program: lowers small kernels for every target from their source, and again from another target's text.

Prints JSON: by kernel and target, the family, and the shared memory found either way.
"""

import json

import triton
import triton.language as tl

from autograder.worker.lowering import Lowering, Variant

TARGETS = ("sm_75", "sm_80", "sm_90", "sm_100")


@triton.jit
def dots(x_ptr, y_ptr, size, BLOCK: tl.constexpr, PRECISION: tl.constexpr, HALF: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK, BLOCK), tl.float32)
    for start in range(0, size, BLOCK):
        x = tl.load(x_ptr + (start + offs)[:, None] * BLOCK + offs[None, :])
        y = tl.load(y_ptr + (start + offs)[:, None] * BLOCK + offs[None, :])
        if HALF:
            acc += tl.dot(x.to(tl.float16), y.to(tl.float16))
        else:
            acc += tl.dot(x, y, input_precision=PRECISION)
    tl.store(x_ptr + offs[:, None] * BLOCK + offs[None, :], acc)


@triton.jit
def sums(x_ptr, y_ptr, size, BLOCK: tl.constexpr, PRECISION: tl.constexpr, HALF: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs[:, None] * BLOCK + offs[None, :], mask=offs[:, None] < size, other=0.0)
    tl.store(y_ptr + offs, tl.sum(x, 0) + tl.max(x, 1))


def main() -> None:
    types = {"x_ptr": "*fp32", "y_ptr": "*fp32", "size": "i32"}
    types |= dict.fromkeys(("BLOCK", "PRECISION", "HALF"), "constexpr")
    found = {}
    for name, kernel, precision, half in (
        ("ieee", dots, "ieee", False),
        ("tf32", dots, "tf32", False),
        ("half", dots, "ieee", True),
        ("sums", sums, "ieee", False),
    ):
        variant = Variant(kernel, types, {"BLOCK": 32, "PRECISION": precision, "HALF": half}, {})
        first = Lowering(variant, TARGETS[0], "lowerings.py")
        found[name] = {
            target: [
                first.family(target),
                Lowering(variant, target, "lowerings.py").to("shared").shared,
                first.again(target).to("shared").shared,
            ]
            for target in TARGETS
        }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
