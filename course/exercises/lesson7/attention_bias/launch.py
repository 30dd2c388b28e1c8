"""Launch of the student's attention_bias_kernel: one program for each query tile of each head.

Unless ``again`` is ``none``, a second launch, with another bias and other slopes, stores to outputs of its own.
"""

import triton


def outputs(case):
    rows = (case["heads"], case["seqlen_q"])
    shapes = {"o": ((*rows, case["head"]), "float32"), "lse": (rows, "float32")}
    again = {"o_again": shapes["o"], "lse_again": shapes["lse"]} if case["again"] != "none" else {}
    return shapes | again


def launch(run, student, case, inputs, outputs):
    for name in ("", "_again") if case["again"] != "none" else ("",):
        bias = inputs[f"bias{name}"]
        run(
            student.attention_bias_kernel,
            (triton.cdiv(case["seqlen_q"], case["block_m"]), case["heads"]),
            inputs["q"],
            inputs["k"],
            inputs["v"],
            bias,
            inputs[f"slopes{name}"],
            outputs[f"o{name}"],
            outputs[f"lse{name}"],
            case["seqlen_q"],
            case["seqlen_k"],
            bias.stride(0) if bias.shape[0] > 1 else 0,
            bias.stride(1) if bias.shape[1] > 1 else 0,
            HEAD=case["head"],
            scale=case["scale"],
            BLOCK_M=case["block_m"],
            BLOCK_N=case["block_n"],
            BLOCK_D=case["head"],
            CAUSAL=case["causal"],
            num_warps=16,  # fewer instructions a thread than with 4, and compilers are done in half the time
        )
