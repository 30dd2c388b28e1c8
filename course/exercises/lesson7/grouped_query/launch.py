"""Launch of the student's grouped_attention_kernel: one program a tile of packed rows of one group of query heads.

With ``twin`` a second launch has a key head for each query head: the same keys and values, copied.
"""

import triton


def outputs(case):
    shape = ((case["batch"], case["heads_q"], case["seqlen_q"], case["head"]), "float32")
    return {"o": shape, "o_twin": shape} if case["twin"] else {"o": shape}


def launch(run, student, case, inputs, outputs):
    for twin in ("", "_twin") if case["twin"] else ("",):
        heads_kv = case["heads_q"] if twin else case["heads_kv"]
        rows = case["seqlen_q"] * (case["heads_q"] // heads_kv)
        run(
            student.grouped_attention_kernel,
            (triton.cdiv(rows, case["block_m"]), case["batch"] * heads_kv),
            inputs["q"],
            inputs[f"k{twin}"],
            inputs[f"v{twin}"],
            outputs[f"o{twin}"],
            case["heads_q"],
            heads_kv,
            case["seqlen_q"],
            case["seqlen_k"],
            HEAD=case["head"],
            scale=case["scale"],
            BLOCK_M=case["block_m"],
            BLOCK_N=case["block_n"],
            BLOCK_D=case["head"],
            CAUSAL=case["causal"],
        )
