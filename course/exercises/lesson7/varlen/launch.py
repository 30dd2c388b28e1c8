"""Launch of the student's varlen_attention_kernel: one program for each query tile of each sequence and head.

With ``turned`` a second launch, over the same sequences packed in the opposite order, stores to outputs of its own.
"""

import triton


def lengths(text):
    return [int(length) for length in text.split()]


def outputs(case):
    total = sum(lengths(case["seqlens_q"]))
    shapes = {"o": ((total, case["heads"], case["head"]), "float32"), "lse": ((case["heads"], total), "float32")}
    turned = {f"{name}_turned": shape for name, shape in shapes.items()} if case["turned"] else {}
    return shapes | turned


def launch(run, student, case, inputs, outputs):
    seqlens_q = lengths(case["seqlens_q"])
    for name in ("", "_turned") if case["turned"] else ("",):
        run(
            student.varlen_attention_kernel,
            (triton.cdiv(max(seqlens_q), case["block_m"]), len(seqlens_q), case["heads"]),
            inputs[f"q{name}"],
            inputs[f"k{name}"],
            inputs[f"v{name}"],
            outputs[f"o{name}"],
            outputs[f"lse{name}"],
            inputs[f"cu_seqlens_q{name}"],
            inputs[f"cu_seqlens_k{name}"],
            sum(seqlens_q),
            case["heads"],
            HEAD=case["head"],
            scale=case["scale"],
            BLOCK_M=case["block_m"],
            BLOCK_N=case["block_n"],
            BLOCK_D=case["head"],
            CAUSAL=case["causal"],
            num_warps=16,  # fewer instructions a thread than with 4, and compilers are done in half the time
        )
