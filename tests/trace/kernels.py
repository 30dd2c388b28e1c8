"""One flash attention in many shapes, each right in itself; a fault is put into one place of it afterwards."""

from __future__ import annotations

import re
import textwrap

HEAD = """
@triton.jit
def flash_attention_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, seqlen_q, seqlen_k, HEAD: tl.constexpr, scale,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr, CAUSAL: tl.constexpr,
):
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_d = tl.arange(0, BLOCK_D)
    q = tl.load(q_ptr + offs_m[:, None] * HEAD + offs_d[None, :], mask=offs_m[:, None] < seqlen_q, other=0.0)
"""
START = """
m_i = tl.full((BLOCK_M,), float("-inf"), tl.float32)
l_i = tl.zeros((BLOCK_M,), tl.float32)
acc = tl.zeros((BLOCK_M, BLOCK_D), tl.float32)
"""
KEYS = """
offs_n = start_n + tl.arange(0, BLOCK_N)
places = offs_n[:, None] * HEAD + offs_d[None, :]
k = tl.load(k_ptr + places, mask=offs_n[:, None] < seqlen_k, other=0.0)
"""
VALUES = """
v = tl.load(v_ptr + places, mask=offs_n[:, None] < seqlen_k, other=0.0)
"""
SCORES = """
s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
keep = offs_n[None, :] < seqlen_k
if CAUSAL:
    keep = keep & (offs_n[None, :] <= offs_m[:, None] + seqlen_k - seqlen_q)
s = tl.where(keep, s, float("-inf"))
"""
UPDATE = """
m_new = tl.maximum(m_i, tl.max(s, 1))
m_safe = tl.where(m_new == float("-inf"), 0.0, m_new)
alpha = tl.exp(m_i - m_safe)
p = tl.exp(s - m_safe[:, None])
l_i = l_i * alpha + tl.sum(p, 1)
acc = acc * alpha[:, None] + tl.dot(p, v, input_precision="ieee")
m_i = m_new
"""
LAST = """
l_safe = tl.where(l_i == 0.0, 1.0, l_i)
o = acc / l_safe[:, None]
lse = tl.where(l_i == 0.0, float("-inf"), m_i + tl.log(l_safe))
tl.store(o_ptr + offs_m[:, None] * HEAD + offs_d[None, :], o, mask=offs_m[:, None] < seqlen_q)
tl.store(lse_ptr + offs_m, lse, mask=offs_m < seqlen_q)
"""
CHUNK = KEYS + VALUES + SCORES + UPDATE


def loop(body: str, over: str = "range(0, seqlen_k, BLOCK_N)") -> str:
    return f"for start_n in {over}:\n" + textwrap.indent(body, "    ")


def kernel(*parts: str) -> str:
    return HEAD + textwrap.indent("".join(parts), "    ")


def put(text: str, *changes: tuple[str, str]) -> str:
    """``text`` with each of the changes made, in the last place where it fits."""
    for old, new in changes:
        before, found, after = text.rpartition(old)
        assert found, old
        text = before + new + after
    return text


def everywhere(text: str, **names: str) -> str:
    """``text`` with names changed, all at once."""
    return re.sub(rf"\b({'|'.join(names)})\b", lambda found: names[found[0]], text)


PLAIN = kernel(START, loop(CHUNK), LAST)
TWO_LOOPS = kernel(
    START,
    "whole = seqlen_k // BLOCK_N * BLOCK_N\n",
    loop(CHUNK, "range(0, whole, BLOCK_N)"),
    loop(CHUNK, "range(whole, seqlen_k, BLOCK_N)"),
    LAST,
)
FIRST_PEELED = kernel(START, "start_n = 0\n", CHUNK, loop(CHUNK, "range(BLOCK_N, seqlen_k, BLOCK_N)"), LAST)
HALF_CHUNKS = PLAIN.replace("seqlen_k, BLOCK_N)", "seqlen_k, BLOCK_N // 2)").replace(
    "tl.arange(0, BLOCK_N)", "tl.arange(0, BLOCK_N // 2)"
)
TWO_A_PASS = kernel(
    START, loop(CHUNK + put(CHUNK, ("start_n +", "start_n + BLOCK_N +")), "range(0, seqlen_k, 2 * BLOCK_N)"), LAST
)
KEY_BY_KEY = kernel(
    START,
    loop(
        """
kv = start_n * HEAD + offs_d
k = tl.load(k_ptr + kv)
v = tl.load(v_ptr + kv)
s = tl.sum(q * k[None, :], 1) * scale
if CAUSAL:
    s = tl.where(start_n <= offs_m + seqlen_k - seqlen_q, s, float("-inf"))
"""
        + put(UPDATE, ("tl.max(s, 1)", "s"), ("s - m_safe[:, None]", "s - m_safe"), ("tl.sum(p, 1)", "p")).replace(
            'tl.dot(p, v, input_precision="ieee")', "p[:, None] * v[None, :]"
        ),
        "range(0, seqlen_k, 1)",
    ),
    LAST,
)
BACKWARDS_AHEAD = kernel(
    START,
    "count = tl.cdiv(seqlen_k, BLOCK_N)\nstart_n = (count - 1) * BLOCK_N\n",
    KEYS.replace("k = ", "ahead = "),
    "for turn in range(0, count):\n",
    textwrap.indent(
        "start_n = (count - 1 - turn) * BLOCK_N\n"
        + KEYS.partition("k = ")[0]
        + "k = ahead\n"
        + VALUES
        + SCORES
        + UPDATE
        + "below = start_n - BLOCK_N + tl.arange(0, BLOCK_N)\n"
        + "ahead = tl.load(k_ptr + below[:, None] * HEAD + offs_d[None, :], mask=below[:, None] >= 0, other=0.0)\n",
        "    ",
    ),
    LAST,
)
MAXIMUM_FIRST = kernel(
    START,
    loop(KEYS + SCORES + "m_i = tl.maximum(m_i, tl.max(s, 1))\n"),
    'm_safe = tl.where(m_i == float("-inf"), 0.0, m_i)\n',
    loop(
        KEYS
        + VALUES
        + SCORES
        + "p = tl.exp(s - m_safe[:, None])\nl_i = l_i + tl.sum(p, 1)\n"
        + 'acc = acc + tl.dot(p, v, input_precision="ieee")\n'
    ),
    LAST,
)
FIXED = put(
    PLAIN,
    ('float("-inf"), tl.float32', "20.0, tl.float32"),
    ("        m_new = tl.maximum(m_i, tl.max(s, 1))\n", "        m_new = m_i\n"),
    ("        m_i = m_new\n", ""),
)
BASE_TWO = put(PLAIN, ("* scale\n", "* (scale * 1.4426950408889634)\n"), ("m_i + tl", "m_i * 0.6931471805599453 + tl"))
BASE_TWO = BASE_TWO.replace("tl.exp(", "tl.exp2(")
LSE_FIRST = kernel(
    START,
    loop(KEYS + SCORES + put(UPDATE, ('acc = acc * alpha[:, None] + tl.dot(p, v, input_precision="ieee")\n', ""))),
    LAST.partition("o = ")[0],
    'lse = tl.where(l_i == 0.0, float("-inf"), m_i + tl.log(l_safe))\nunit = tl.where(l_i == 0.0, 0.0, lse)\n',
    loop(KEYS + VALUES + SCORES + 'p = tl.exp(s - unit[:, None])\nacc = acc + tl.dot(p, v, input_precision="ieee")\n'),
    "o = acc\n" + LAST[LAST.index("tl.store") :],
)
RUNNING_LSE = kernel(
    START,
    loop(
        KEYS
        + VALUES
        + SCORES
        + """
top = tl.max(s, 1)
anchor = tl.where(top == float("-inf"), 0.0, top)
own = top + tl.log(tl.sum(tl.exp(s - anchor[:, None]), 1))
high = tl.maximum(m_i, own)
high = tl.where(high == float("-inf"), 0.0, high)
both = high + tl.log(tl.exp(m_i - high) + tl.exp(own - high))
unit = tl.where(both == float("-inf"), 0.0, both)
acc = acc * tl.exp(m_i - unit)[:, None] + tl.dot(tl.exp(s - unit[:, None]), v, input_precision="ieee")
m_i = both
"""
    ),
    "o = acc\nlse = m_i\n" + LAST[LAST.index("tl.store") :],
)
MINUS_M = put(
    PLAIN,
    ('float("-inf"), tl.float32', 'float("inf"), tl.float32'),
    ("m_new = tl.maximum(m_i, tl.max(s, 1))", "m_new = tl.minimum(m_i, -tl.max(s, 1))"),
    ('m_new == float("-inf")', 'm_new == float("inf")'),
    ("tl.exp(m_i - m_safe)", "tl.exp(m_safe - m_i)"),
    ("tl.exp(s - m_safe", "tl.exp(s + m_safe"),
    ("m_i + tl.log", "tl.log(l_safe) - m_i + 0.0 * tl.log"),
)
UNSCALED = put(
    PLAIN,
    ('"ieee") * scale\n', '"ieee")\n'),
    ("tl.exp(m_i - m_safe)", "tl.exp((m_i - m_safe) * scale)"),
    ("tl.exp(s - m_safe[:, None])", "tl.exp((s - m_safe[:, None]) * scale)"),
    ("m_i + tl.log", "m_i * scale + tl.log"),
)
LATE = kernel(
    START,
    "old_p = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)\nold_v = tl.zeros((BLOCK_N, BLOCK_D), tl.float32)\n",
    loop(
        put(
            CHUNK,
            (
                'acc = acc * alpha[:, None] + tl.dot(p, v, input_precision="ieee")',
                'acc = (acc + tl.dot(old_p, old_v, input_precision="ieee")) * alpha[:, None]',
            ),
        )
        + "old_p = p\nold_v = v\n"
    ),
    'acc = acc + tl.dot(old_p, old_v, input_precision="ieee")\n',
    LAST,
)
SWAPPED = everywhere(PLAIN, m_i="l_i", l_i="m_i")
CHUNK_LOCAL = everywhere(
    put(
        PLAIN,
        ("m_new = tl.maximum(m_i, tl.max(s, 1))", "mine = tl.max(s, 1)\n        m_new = tl.maximum(m_i, mine)"),
        ("l_i = l_i * alpha + tl.sum(p, 1)", "own = tl.sum(p, 1)\n        l_i = l_i * alpha + own"),
        (
            'acc = acc * alpha[:, None] + tl.dot(p, v, input_precision="ieee")',
            'part = tl.dot(p, v, input_precision="ieee")\n        acc = acc * alpha[:, None] + part',
        ),
        ("    for start_n", "    mine = m_i\n    own = l_i\n    part = acc\n    for start_n"),
    ),
    m_i="big_m",
    l_i="big_l",
    acc="big_acc",
    mine="m_i",
    own="l_i",
    part="acc",
)
HALVES = kernel(
    START.partition("acc = ")[0],
    "half = tl.arange(0, BLOCK_D // 2)\n",
    "left = tl.zeros((BLOCK_M, BLOCK_D // 2), tl.float32)\nright = tl.zeros((BLOCK_M, BLOCK_D // 2), tl.float32)\n",
    loop(
        KEYS
        + "at = offs_n[:, None] * HEAD + half[None, :]\n"
        + "v_left = tl.load(v_ptr + at, mask=offs_n[:, None] < seqlen_k, other=0.0)\n"
        + "v_right = tl.load(v_ptr + at + BLOCK_D // 2, mask=offs_n[:, None] < seqlen_k, other=0.0)\n"
        + SCORES
        + UPDATE.partition("acc = ")[0]
        + 'left = left * alpha[:, None] + tl.dot(p, v_left, input_precision="ieee")\n'
        + 'right = right * alpha[:, None] + tl.dot(p, v_right, input_precision="ieee")\n'
        + "m_i = m_new\n"
    ),
    LAST.partition("o = ")[0],
    'lse = tl.where(l_i == 0.0, float("-inf"), m_i + tl.log(l_safe))\n',
    "to = o_ptr + offs_m[:, None] * HEAD + half[None, :]\n",
    "tl.store(to, left / l_safe[:, None], mask=offs_m[:, None] < seqlen_q)\n",
    "tl.store(to + BLOCK_D // 2, right / l_safe[:, None], mask=offs_m[:, None] < seqlen_q)\n",
    "tl.store(lse_ptr + offs_m, lse, mask=offs_m < seqlen_q)\n",
)
DIVIDED_LAST = put(
    PLAIN,
    (
        "        m_i = m_new\n",
        "        m_i = m_new\n        done = tl.where(l_i == 0.0, 1.0, l_i)\n"
        "        acc = tl.where(start_n + BLOCK_N >= seqlen_k, acc / done[:, None], acc)\n",
    ),
    ("o = acc / l_safe[:, None]", "o = acc"),
)
LONG_NAME = everywhere(PLAIN, acc="a" * 70)
RAW_HELPER = """
@triton.jit
def online_step(m_i, l_i, acc, s, v, keep, scale):
    s = tl.where(keep, s * scale, float("-inf"))
""" + textwrap.indent(f"{UPDATE}return m_i, l_i, acc\n", "    ")
HELPED = RAW_HELPER + kernel(
    START,
    loop(
        KEYS
        + VALUES
        + put(SCORES, (" * scale\n", "\n"), ('s = tl.where(keep, s, float("-inf"))\n', ""))
        + "m_i, l_i, acc = online_step(m_i, l_i, acc, s, v, keep, scale)\n"
    ),
    LAST,
)
