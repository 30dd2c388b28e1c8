"""Harness for pin_ghost_rows: pin each tile's rows, then add up the probabilities down every column.

The sum down a column, the attention mass per key, is where rows meet: a single NaN row spoils all of it.
"""

import triton
import triton.language as tl


@triton.constexpr_function
def misshapen(what, shape, wanted):
    """The words for a tile that comes back with another shape than it should; both known while compiling."""
    got, right = (str(tuple(int(getattr(n, "value", n)) for n in sizes)) for sizes in (shape, wanted))
    return f"{what} with shape {got}, where {right} is expected. Is a `[:, None]` missing, or one too many?"


@triton.jit
def harness(
    s_ptr,
    m_ptr,
    mass_ptr,
    NSEQ,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    pin_ghost_rows: tl.constexpr,
):
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    s = tl.load(s_ptr + offs_m[:, None] * BLOCK_N + offs_n[None, :])
    m = pin_ghost_rows(s, offs_m, NSEQ)
    tl.static_assert(m.shape == (BLOCK_M,), misshapen("pin_ghost_rows returns m", m.shape, (BLOCK_M,)))
    p = tl.exp(s - m[:, None])
    l = tl.sum(p, 1)
    l = tl.where(l == 0.0, 1.0, l)
    tl.store(m_ptr + offs_m, m)
    tl.store(mass_ptr + tl.program_id(0) * BLOCK_N + offs_n, tl.sum(p / l[:, None], 0))


def outputs(case):
    tiles = triton.cdiv(case["nseq"], case["block_m"])
    return {"m": ((tiles * case["block_m"],), "float32"), "mass": ((tiles, case["block_n"]), "float32")}


def launch(run, student, case, inputs, outputs):
    run(
        harness,
        (triton.cdiv(case["nseq"], case["block_m"]),),
        inputs["s"],
        outputs["m"],
        outputs["mass"],
        case["nseq"],
        BLOCK_M=case["block_m"],
        BLOCK_N=case["block_n"],
        pin_ghost_rows=student.pin_ghost_rows,
    )
