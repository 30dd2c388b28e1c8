"""Launch of the student's causal_attention_kernel: one program a query tile."""

import triton


def outputs(case):
    seqlen_q = case["seqlen_q"]
    return {"o": ((seqlen_q, case["head"]), "float32"), "lse": ((seqlen_q,), "float32")}


def launch(run, student, case, inputs, outputs):
    run(
        student.causal_attention_kernel,
        (triton.cdiv(case["seqlen_q"], case["block_m"]),),
        inputs["q"],
        inputs["k"],
        inputs["v"],
        outputs["o"],
        outputs["lse"],
        case["seqlen_q"],
        case["seqlen_k"],
        HEAD=case["head"],
        scale=case["scale"],
        BLOCK_M=case["block_m"],
        BLOCK_N=case["block_n"],
        BLOCK_D=case["head"],
    )
