"""Harness for mask_scores: every tile of a padded score matrix is masked and stored whole."""

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
    out_ptr,
    NSEQ,
    stride,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    CAUSAL: tl.constexpr,
    mask_scores: tl.constexpr,
):
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    tile = offs_m[:, None] * stride + offs_n[None, :]
    s = tl.load(s_ptr + tile)
    s = mask_scores(s, offs_m, offs_n, NSEQ, CAUSAL)
    tl.static_assert(s.shape == (BLOCK_M, BLOCK_N), misshapen("mask_scores returns s", s.shape, (BLOCK_M, BLOCK_N)))
    tl.store(out_ptr + tile, s)


def outputs(case):
    tiles_m, tiles_n = _tiles(case)
    return {"s": ((tiles_m * case["block_m"], tiles_n * case["block_n"]), "float32")}


def launch(run, student, case, inputs, outputs):
    run(
        harness,
        _tiles(case),
        inputs["s"],
        outputs["s"],
        case["nseq"],
        inputs["s"].shape[1],
        BLOCK_M=case["block_m"],
        BLOCK_N=case["block_n"],
        CAUSAL=case["causal"],
        mask_scores=student.mask_scores,
    )


def _tiles(case):
    return triton.cdiv(case["nseq"], case["block_m"]), triton.cdiv(case["nseq"], case["block_n"])
