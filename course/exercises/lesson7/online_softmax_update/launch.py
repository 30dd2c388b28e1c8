"""Harness for online_softmax_update: feed a row block's scores chunk by chunk, store the final state."""

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
    v_ptr,
    m_ptr,
    l_ptr,
    acc_ptr,
    num_keys,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr,
    online_softmax_update: tl.constexpr,
):
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_d = tl.arange(0, BLOCK_D)
    m_i = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    l_i = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, BLOCK_D), tl.float32)
    for start_n in range(0, num_keys, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        s = tl.load(s_ptr + offs_m[:, None] * num_keys + offs_n[None, :])
        v = tl.load(v_ptr + offs_n[:, None] * BLOCK_D + offs_d[None, :])
        m_i, l_i, acc = online_softmax_update(m_i, l_i, acc, s, v)
        tl.static_assert(m_i.shape == (BLOCK_M,), misshapen("online_softmax_update returns m_i", m_i.shape, (BLOCK_M,)))
        tl.static_assert(l_i.shape == (BLOCK_M,), misshapen("online_softmax_update returns l_i", l_i.shape, (BLOCK_M,)))
        tl.static_assert(
            acc.shape == (BLOCK_M, BLOCK_D),
            misshapen("online_softmax_update returns acc", acc.shape, (BLOCK_M, BLOCK_D)),
        )
    tl.store(m_ptr + offs_m, m_i)
    tl.store(l_ptr + offs_m, l_i)
    tl.store(acc_ptr + offs_m[:, None] * BLOCK_D + offs_d[None, :], acc)


def outputs(case):
    rows = case["rows"]
    return {
        "m": ((rows,), "float32"),
        "l": ((rows,), "float32"),
        "acc": ((rows, case["head"]), "float32"),
    }


def launch(run, student, case, inputs, outputs):
    run(
        harness,
        (case["rows"] // case["block_m"],),
        inputs["s"],
        inputs["v"],
        outputs["m"],
        outputs["l"],
        outputs["acc"],
        inputs["s"].shape[1],
        BLOCK_M=case["block_m"],
        BLOCK_N=case["block_n"],
        BLOCK_D=case["head"],
        online_softmax_update=student.online_softmax_update,
        num_warps=16,  # fewer instructions a thread than with 4, and compilers are done sooner
    )
