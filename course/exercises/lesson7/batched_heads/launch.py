"""Launch of the student's batched_attention_kernel: one program a query tile of one head of one batch.

With ``twin`` the same values in a second layout go through a second launch.
"""

import triton


def strides(case):
    """The four strides of each tensor, from a text such as "bnhd *2 +5" for it in the case.

    It names the axes (b batch, h head, n row, d column) from the slowest in memory to the fastest. Neighbours along the
    fastest are 2 elements apart, and 5 elements of others lie behind each run of them. "far n" has rows so far apart
    that they reach 2^31 elements, in steps of fewer.
    """
    found = {name: _strides(case, name, case[name]) for name in "qkvo"}
    if case["twin"]:
        found |= {f"{name}_twin": _strides(case, name, case["twin"]) for name in "qkvo"}
    return found


def _strides(case, name, layout):
    axes, *more = layout.split()
    step = next((int(word[1:]) for word in more if word[0] == "*"), 1)
    gap = next((int(word[1:]) for word in more if word[0] == "+"), 0)
    sizes = {"b": case["batch"], "h": case["heads"], "n": case["seqlen_q" if name in "qo" else "seqlen_k"]}
    sizes["d"], strides = case["head"], {}
    for axis in reversed(axes):
        strides[axis] = step
        if "far" in more and more[-1] == axis:
            strides[axis] = 2**31 // (sizes[axis] - 1) // 16 * 16 + 16
        step, gap = strides[axis] * sizes[axis] + gap, 0
    return tuple(strides[axis] for axis in "bhnd")


def outputs(case):
    shape = ((case["batch"], case["heads"], case["seqlen_q"], case["head"]), "float32")
    return {"o": shape, "o_twin": shape} if case["twin"] else {"o": shape}


def launch(run, student, case, inputs, outputs):
    for twin in ("", "_twin") if case["twin"] else ("",):
        tensors = [inputs[f"{name}{twin}"] for name in "qkv"] + [outputs[f"o{twin}"]]
        run(
            student.batched_attention_kernel,
            (triton.cdiv(case["seqlen_q"], case["block_m"]), case["batch"] * case["heads"]),
            *tensors,
            *(x.stride(axis) for x in tensors for axis in range(4)),
            case["heads"],
            case["seqlen_q"],
            case["seqlen_k"],
            HEAD=case["head"],
            scale=case["scale"],
            BLOCK_M=case["block_m"],
            BLOCK_N=case["block_n"],
            BLOCK_D=case["block_d"],
            CAUSAL=case["causal"],
        )
