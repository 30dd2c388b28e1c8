"""What TF32 costs: attention with the operands of both products rounded as tensor cores round float32.

    python course/lessons/experiments/tf32.py

TF32 keeps float32's range and 10 of its 23 bits of mantissa.  Rounding is done here bit by bit, so that any machine
shows what `tl.dot` does by default on sm_80 and later.  With a CUDA GPU the real thing is run as well.
"""

import math

import torch

TOKENS, HEAD = 128, 64


def tf32(x):
    """float32 ``x``, rounded to the nearest number with 10 bits of mantissa."""
    bits = x.contiguous().view(torch.int32)
    return ((bits + 0x1000) & ~0x1FFF).view(torch.float32)


def attention(q, k, v, operand=lambda x: x):
    scores = operand(q) @ operand(k).T / math.sqrt(HEAD)
    return operand(torch.softmax(scores, 1)) @ operand(v)


def main():
    generator = torch.Generator().manual_seed(7)
    q, k, v = (torch.randn(TOKENS, HEAD, generator=generator) for _ in range(3))
    exact = attention(q.double(), k.double(), v.double())
    print(f"{TOKENS} tokens, head size {HEAD}; largest error against float64\n")
    true = float((attention(q, k, v) - exact).abs().max())
    rounded = float((attention(q, k, v, tf32) - exact).abs().max())
    print(f"float32 products        {true:.0e}")
    print(f"TF32 products           {rounded:.0e}")
    if torch.cuda.is_available():
        for name, precision in (("highest", "float32"), ("high", "TF32")):
            torch.set_float32_matmul_precision(name)
            error = float((attention(q.cuda(), k.cuda(), v.cuda()).cpu() - exact).abs().max())
            print(f"{precision} on this GPU".ljust(23), f"{error:.0e}")


if __name__ == "__main__":
    main()
