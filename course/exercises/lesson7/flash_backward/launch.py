"""Launch of the student's three kernels: delta, then dq, then dk and dv; in one case for twice the incoming gradient too.

After the first the harness copies delta. What was never written is a NaN like any other in the copy, so that what is
made of it is not taken for something that was never written as well.
"""

import triton
import triton.language as tl

_BLOCK = 32


@triton.jit
def copy(from_ptr, to_ptr, SIZE, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(from_ptr + offsets, mask=offsets < SIZE, other=0.0)
    tl.store(to_ptr + offsets, tl.where(x == x, x, float("nan")), mask=offsets < SIZE)


def outputs(case):
    queries, keys = ((case[name], case["head"]) for name in ("seqlen_q", "seqlen_k"))
    found = {}
    for suffix in _gradients(case):
        found[f"delta{suffix}"] = found[f"copied_delta{suffix}"] = (queries[:1], "float32")
        found[f"dq{suffix}"] = (queries, "float32")
        found[f"dk{suffix}"] = found[f"dv{suffix}"] = (keys, "float32")
    return found


def launch(run, student, case, inputs, outputs):
    seqlen_q, seqlen_k = case["seqlen_q"], case["seqlen_k"]
    query_tiles, key_tiles = triton.cdiv(seqlen_q, case["block_m"]), triton.cdiv(seqlen_k, case["block_n"])
    sizes = {"HEAD": case["head"], "scale": case["scale"], "BLOCK_M": case["block_m"], "BLOCK_N": case["block_n"]}
    for suffix in _gradients(case):
        do, delta, copied = inputs[f"do{suffix}"], outputs[f"delta{suffix}"], outputs[f"copied_delta{suffix}"]
        run(
            student.backward_delta_kernel,
            (query_tiles,),
            inputs["o"],
            do,
            delta,
            seqlen_q,
            HEAD=case["head"],
            BLOCK_M=case["block_m"],
        )
        run(copy, (triton.cdiv(seqlen_q, _BLOCK),), delta, copied, seqlen_q, BLOCK=_BLOCK)
        given = (inputs["q"], inputs["k"], inputs["v"], do, inputs["lse"], copied)
        run(
            student.backward_dq_kernel,
            (query_tiles,),
            *given,
            outputs[f"dq{suffix}"],
            seqlen_q,
            seqlen_k,
            **sizes,
            CAUSAL=case["causal"],
        )
        run(
            student.backward_dkdv_kernel,
            (key_tiles,),
            *given,
            outputs[f"dk{suffix}"],
            outputs[f"dv{suffix}"],
            seqlen_q,
            seqlen_k,
            **sizes,
            CAUSAL=case["causal"],
        )


def _gradients(case):
    return ("", "_doubled") if case["doubled"] else ("",)
