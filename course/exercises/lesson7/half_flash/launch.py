"""Launch of the student's half_attention_kernel: one program a query tile; with ``twin`` a second time, on v_twin."""

import triton


def outputs(case):
    seqlen_q = case["seqlen_q"]
    found = {"o": ((seqlen_q, case["head"]), case["dtype"]), "lse": ((seqlen_q,), "float32")}
    return {**found, **{f"{name}_twin": like for name, like in found.items()}} if case["twin"] else found


def launch(run, student, case, inputs, outputs):
    for twin in ("", "_twin") if case["twin"] else ("",):
        run(
            student.half_attention_kernel,
            (triton.cdiv(case["seqlen_q"], case["block_m"]),),
            inputs["q"],
            inputs["k"],
            inputs[f"v{twin}"],
            outputs[f"o{twin}"],
            outputs[f"lse{twin}"],
            case["seqlen_q"],
            case["seqlen_k"],
            HEAD=case["head"],
            scale=case["scale"],
            BLOCK_M=case["block_m"],
            BLOCK_N=case["block_n"],
            BLOCK_D=case["head"],
            CAUSAL=case["causal"],
        )
