"""Kernels that the interpreter runs and no GPU takes: (exercise, text to add to its solution, words of the message)."""

from __future__ import annotations

UPDATE = """@triton.jit
def online_softmax_update(m_i, l_i, acc, s, v):
{body}
    return m_i, l_i, acc
"""
GOOD = """    m_new = tl.maximum(m_i, tl.max(s, 1))
    m_safe = tl.where(m_new == float("-inf"), 0.0, m_new)
    alpha = tl.exp(m_i - m_safe)
    p = tl.exp(s - m_safe[:, None])
    l_i = l_i * alpha + tl.sum(p, 1)
    acc = acc * alpha[:, None] + tl.dot(p, v, input_precision="ieee")
    m_i = m_new
"""
_COUNT = "tl.sum(tl.where(m_i == 0.0, 1, 1), 0)"

REFUSED: dict[str, tuple[str, str, str]] = {
    "a loop-carried variable changes its dtype": (
        "online_softmax_update",
        UPDATE.format(body=f"{GOOD}    n = 0\n    for i in range(0, {_COUNT}):\n        n = n + 0.5\n"),
        "n changes its type within the loop",
    ),
    "a loop-carried variable changes its shape": (
        "online_softmax_update",
        UPDATE.format(body=f"{GOOD}    n = 0.0\n    for i in range(0, {_COUNT}):\n        n = n + l_i\n"),
        "n changes its type within the loop",
    ),
    "a variable is defined only within a run-time if": (
        "online_softmax_update",
        UPDATE.format(body=f"{GOOD}    if tl.sum(l_i, 0) >= 0.0:\n        extra = l_i * 0.0\n    l_i = l_i + extra\n"),
        "extra may have no value here",
    ),
    "a static range over run-time values": (
        "online_softmax_update",
        UPDATE.format(body=f"{GOOD}    for i in tl.static_range({_COUNT} * 0 + 2):\n        l_i = l_i + 0.0\n"),
        "tl.static_range is unrolled while compiling",
    ),
    "a dot over too few elements": (
        "online_softmax_update",
        UPDATE.format(
            body=f"{GOOD}    x = (tl.arange(0, 4)[:, None] + tl.arange(0, 4)[None, :]).to(tl.float16)\n"
            "    l_i = l_i + tl.sum(tl.sum(tl.dot(x, x), 1), 0) * 0.0\n"
        ),
        "tl.dot needs tiles of at least",
    ),
    "a kernel returns a value": (
        "one_shot_attention",
        "@triton.jit\n"
        "def attention_kernel(q_ptr, k_ptr, v_ptr, o_ptr, NSEQ, HEAD: tl.constexpr, scale, BLOCK_M: tl.constexpr,\n"
        "                     BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr, CAUSAL: tl.constexpr):\n"
        "    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)\n"
        "    offs_n = tl.arange(0, BLOCK_N)\n"
        "    offs_d = tl.arange(0, BLOCK_D)\n"
        "    q, k, v = load_tiles(q_ptr, k_ptr, v_ptr, offs_m, offs_n, offs_d, NSEQ, HEAD)\n"
        '    s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale\n'
        "    s = mask_scores(s, offs_m, offs_n, NSEQ, CAUSAL)\n"
        "    m = pin_ghost_rows(s, offs_m, NSEQ)\n"
        "    p = tl.exp(s - m[:, None])\n"
        "    l = tl.sum(p, 1)\n"
        "    l = tl.where(l == 0.0, 1.0, l)\n"
        '    o = tl.dot(p, v, input_precision="ieee") / l[:, None]\n'
        "    tl.store(o_ptr + offs_m[:, None] * HEAD + offs_d[None, :], o, mask=offs_m[:, None] < NSEQ)\n"
        "    return o\n",
        "",
    ),
}
