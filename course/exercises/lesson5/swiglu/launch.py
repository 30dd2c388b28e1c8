"""Launch of the student's SwiGLU kernel: one program a block of a row."""

import triton


def outputs(case):
    return {"y": ((case["rows"], case["width"]), "float32")}


def launch(run, student, case, inputs, outputs):
    run(
        student.swiglu_kernel,
        (case["rows"], triton.cdiv(case["width"], case["block"])),
        inputs["gate_up"],
        outputs["y"],
        case["width"],
        BLOCK=case["block"],
    )
