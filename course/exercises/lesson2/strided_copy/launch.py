"""Launch of the student's strided_copy_kernel: one program a tile of x; twice over, if the case says so."""

import triton


def outputs(case):
    dtype = case["dtype"]
    if case.get("twice"):
        return {"turned": ((case["n"], case["m"]), dtype), "y": ((case["m"], case["n"]), dtype)}
    return {"y": ((case["n"] + case.get("spare", 0), case["m"] * case.get("step_y", 1) + case["gap"]), dtype)}


def launch(run, student, case, inputs, outputs):
    m, n, step_m, step_n = case["m"], case["n"], case["step_m"], case["step_n"]
    x_strides = (step_m, step_n * step_m * m) if case["columns_first"] else (step_m * step_n * n, step_n)

    def copy(x, y, m, n, stride_xm, stride_xn):
        run(
            student.strided_copy_kernel,
            (triton.cdiv(m, case["block_m"]), triton.cdiv(n, case["block_n"])),
            x,
            y,
            m,
            n,
            stride_xm,
            stride_xn,
            y.stride(0),
            y.stride(1) * case.get("step_y", 1),
            BLOCK_M=case["block_m"],
            BLOCK_N=case["block_n"],
        )

    if case.get("twice"):
        copy(inputs["x"], outputs["turned"], m, n, *x_strides)
        copy(outputs["turned"], outputs["y"], n, m, m, 1)
    else:
        copy(inputs["x"], outputs["y"], m, n, *x_strides)
