"""Launch of the student's RoPE kernel: one program a token, all of its heads in one tile."""


def outputs(case):
    return {"y": ((case["tokens"], case["heads"], case["head"]), "float32")}


def launch(run, student, case, inputs, outputs):
    run(
        student.rope_kernel,
        (case["tokens"],),
        inputs["x"],
        inputs["positions"],
        inputs["cos"],
        inputs["sin"],
        outputs["y"],
        case["heads"],
        HEAD=case["head"],
        BLOCK_H=case["block_h"],
        INTERLEAVED=case["interleaved"],
    )
