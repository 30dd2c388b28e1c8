"""Harness for load_row_tile: every program asks for a tile and stores it whole, in one case the last tile first."""

import triton
import triton.language as tl


@triton.jit
def harness(
    x_ptr,
    out_ptr,
    M,
    N,
    stride_m,
    stride_n,
    first,
    step,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    load_row_tile: tl.constexpr,
):
    pid = first + step * tl.program_id(0)
    tile = load_row_tile(x_ptr, pid, M, N, stride_m, stride_n, BLOCK_M, BLOCK_N)
    row = pid * BLOCK_M + tl.arange(0, BLOCK_M)
    tl.store(out_ptr + row[:, None] * BLOCK_N + tl.arange(0, BLOCK_N)[None, :], tile)


def outputs(case):
    tiles = triton.cdiv(case["m"], case["block_m"])
    return {"tile": ((tiles, case["block_m"], case["block_n"]), "float32")}


def launch(run, student, case, inputs, outputs):
    step = 1 + case["gap_n"]
    if case["columns_first"]:
        strides = step, step * case["m"] + case["gap_m"]
    else:
        strides = step * case["n"] + case["gap_m"], step
    tiles = triton.cdiv(case["m"], case["block_m"])
    run(
        harness,
        (tiles,),
        inputs["x"],
        outputs["tile"],
        case["m"],
        case["n"],
        *strides,
        *((tiles - 1, -1) if case.get("backwards") else (0, 1)),
        BLOCK_M=case["block_m"],
        BLOCK_N=case["block_n"],
        load_row_tile=student.load_row_tile,
    )
