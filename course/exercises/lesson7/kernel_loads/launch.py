"""Harness for load_tiles: every (query tile, key tile) pair loads its three tiles and stores them whole."""

import triton
import triton.language as tl


@triton.constexpr_function
def misshapen(what, shape, wanted):
    """The words for a tile that comes back with another shape than it should; both known while compiling."""
    got, right = (str(tuple(int(getattr(n, "value", n)) for n in sizes)) for sizes in (shape, wanted))
    return f"{what} with shape {got}, where {right} is expected. Is a `[:, None]` missing, or one too many?"


@triton.jit
def harness(
    q_ptr,
    k_ptr,
    v_ptr,
    q_out,
    k_out,
    v_out,
    NSEQ,
    HEAD: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr,
    load_tiles: tl.constexpr,
):
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, BLOCK_D)
    q, k, v = load_tiles(q_ptr, k_ptr, v_ptr, offs_m, offs_n, offs_d, NSEQ, HEAD)
    tl.static_assert(q.shape == (BLOCK_M, BLOCK_D), misshapen("load_tiles returns q", q.shape, (BLOCK_M, BLOCK_D)))
    tl.static_assert(k.shape == (BLOCK_N, BLOCK_D), misshapen("load_tiles returns k", k.shape, (BLOCK_N, BLOCK_D)))
    tl.static_assert(v.shape == (BLOCK_N, BLOCK_D), misshapen("load_tiles returns v", v.shape, (BLOCK_N, BLOCK_D)))
    tile = tl.program_id(0) * tl.num_programs(1) + tl.program_id(1)
    q_tile = (tile * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]) * BLOCK_D + offs_d[None, :]
    kv_tile = (tile * BLOCK_N + tl.arange(0, BLOCK_N)[:, None]) * BLOCK_D + offs_d[None, :]
    tl.store(q_out + q_tile, q)
    tl.store(k_out + kv_tile, k)
    tl.store(v_out + kv_tile, v)


def outputs(case):
    tiles_m, tiles_n = _tiles(case)
    q = (tiles_m, tiles_n, case["block_m"], case["head"])
    kv = (tiles_m, tiles_n, case["block_n"], case["head"])
    return {"q": (q, "float32"), "k": (kv, "float32"), "v": (kv, "float32")}


def launch(run, student, case, inputs, outputs):
    run(
        harness,
        _tiles(case),
        inputs["q"],
        inputs["k"],
        inputs["v"],
        outputs["q"],
        outputs["k"],
        outputs["v"],
        case["nseq"],
        HEAD=case["head"],
        BLOCK_M=case["block_m"],
        BLOCK_N=case["block_n"],
        BLOCK_D=case["head"],
        load_tiles=student.load_tiles,
    )


def _tiles(case):
    return triton.cdiv(case["nseq"], case["block_m"]), triton.cdiv(case["nseq"], case["block_n"])
