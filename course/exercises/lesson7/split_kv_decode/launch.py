"""Launch of the student's two kernels: the partial results, then their combination; in one case with other splits too.

Between them the harness copies the partial results. What was never written is a NaN like any other in the copy, so that
what is made of it is not taken for something that was never written as well.
"""

import triton
import triton.language as tl

_BLOCK = 128


@triton.jit
def copy(from_ptr, to_ptr, SIZE, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    part = tl.load(from_ptr + offsets, mask=offsets < SIZE, other=0.0)
    tl.store(to_ptr + offsets, tl.where(part == part, part, float("nan")), mask=offsets < SIZE)


def outputs(case):
    found = {}
    batch, head = case["batch"], case["head"]
    for suffix, chunk in _chunks(case).items():
        splits = triton.cdiv(case["capacity"], chunk)
        for name in ("part", "copied"):
            found[f"{name}_o{suffix}"] = ((batch, splits, head), "float32")
            found[f"{name}_lse{suffix}"] = ((batch, splits), "float32")
        found[f"o{suffix}"] = ((batch, head), "float32")
        found[f"lse{suffix}"] = ((batch,), "float32")
    return found


def launch(run, student, case, inputs, outputs):
    batch, head = case["batch"], case["head"]
    for suffix, chunk in _chunks(case).items():
        splits = triton.cdiv(case["capacity"], chunk)
        part_o, part_lse = outputs[f"part_o{suffix}"], outputs[f"part_lse{suffix}"]
        run(
            student.split_kv_kernel,
            (batch, splits),
            inputs["q"],
            inputs["k"],
            inputs["v"],
            inputs["seqlens"],
            part_o,
            part_lse,
            case["capacity"],
            chunk,
            splits,
            case["scale"],
            HEAD=head,
            BLOCK_N=case["block_n"],
        )
        copied_o, copied_lse = outputs[f"copied_o{suffix}"], outputs[f"copied_lse{suffix}"]
        for part, copied, size in ((part_o, copied_o, batch * splits * head), (part_lse, copied_lse, batch * splits)):
            run(copy, (triton.cdiv(size, _BLOCK),), part, copied, size, BLOCK=_BLOCK)
        run(
            student.combine_splits_kernel,
            (batch,),
            copied_o,
            copied_lse,
            outputs[f"o{suffix}"],
            outputs[f"lse{suffix}"],
            splits,
            HEAD=head,
            BLOCK_S=max(16, triton.next_power_of_2(splits)),
        )


def _chunks(case):
    return {"": case["chunk"], "_other": case["other_chunk"]} if case["other_chunk"] else {"": case["chunk"]}
