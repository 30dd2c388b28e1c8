"""Launch of the student's two kernels: the partial sums, then their sum; in one case with another chunk as well.

Between them the harness copies the partial sums. What was never written is a NaN like any other in the copy, so that
the sums made of it are not taken for something that was never written as well.
"""

import triton
import triton.language as tl

_BLOCK = 1024


@triton.jit
def copy(partial_ptr, sums_ptr, SIZE, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    partial = tl.load(partial_ptr + offsets, mask=offsets < SIZE, other=0.0)
    tl.store(sums_ptr + offsets, tl.where(partial == partial, partial, float("nan")), mask=offsets < SIZE)


def outputs(case):
    found = {}
    for suffix, chunk in _chunks(case).items():
        for name in ("partial", "partial_sums"):
            found[f"{name}{suffix}"] = ((triton.cdiv(case["columns"], chunk), case["rows"]), "float32")
        found[f"y{suffix}"] = ((case["rows"],), "float32")
    return found


def launch(run, student, case, inputs, outputs):
    tiles = triton.cdiv(case["rows"], case["block_n"])
    for suffix, chunk in _chunks(case).items():
        splits = triton.cdiv(case["columns"], chunk)
        partial, sums = outputs[f"partial{suffix}"], outputs[f"partial_sums{suffix}"]
        run(
            student.gemv_split_kernel,
            (tiles, splits),
            inputs["x"],
            inputs["w"],
            partial,
            case["rows"],
            case["columns"],
            chunk,
            BLOCK_N=case["block_n"],
            BLOCK_K=case["block_k"],
        )
        size = splits * case["rows"]
        run(copy, (triton.cdiv(size, _BLOCK),), partial, sums, size, BLOCK=_BLOCK)
        y = outputs[f"y{suffix}"]
        run(student.gemv_reduce_kernel, (tiles,), sums, y, case["rows"], splits, BLOCK_N=case["block_n"])


def _chunks(case):
    return {"": case["chunk"], "_other": case["other_chunk"]} if "other_chunk" in case else {"": case["chunk"]}
