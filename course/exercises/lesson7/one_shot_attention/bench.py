"""What one_shot_attention is measured against: torch's attention, unfused and by each of its backends."""

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel


def make_inputs(case, generator):
    """q (nseq, head), k and v (nseq, head), float32, on the generator's device."""
    device = generator.device
    lengths = {"q": case["nseq"], "k": case["nseq"], "v": case["nseq"]}
    return {name: torch.randn(rows, case["head"], generator=generator, device=device) for name, rows in lengths.items()}


def flops(case):
    """Floating-point operations of the two products; with a causal mask half of them are needed."""
    whole = 4 * case["nseq"] * case["nseq"] * case["head"]
    return whole // 2 if case["causal"] else whole


def moved(case):
    """Bytes that have to be read and written at least."""
    return 4 * case["head"] * 2 * (case["nseq"] + case["nseq"])


def truth(case, inputs):
    """The outputs in float64."""
    return _attention(case, {name: x.double() for name, x in inputs.items()})


def unfused(case, inputs):
    """Several kernels, and the scores in memory between them."""
    return _attention(case, inputs)


def flash(case, inputs):
    """FlashAttention-2, as torch has it; it does not take float32."""
    return _sdpa(case, inputs, SDPBackend.FLASH_ATTENTION)


def cudnn(case, inputs):
    """cuDNN's attention; it does not take float32."""
    return _sdpa(case, inputs, SDPBackend.CUDNN_ATTENTION)


def efficient(case, inputs):
    """The memory-efficient attention of xFormers, as torch has it."""
    return _sdpa(case, inputs, SDPBackend.EFFICIENT_ATTENTION)


def _attention(case, inputs):
    s = case["scale"] * (inputs["q"] @ inputs["k"].T)
    if case["causal"]:
        s = s.masked_fill(torch.ones_like(s, dtype=torch.bool).triu(1), float("-inf"))
    return {"o": torch.softmax(s, 1) @ inputs["v"]}


def _sdpa(case, inputs, backend):
    q, k, v = (inputs[name][None, None] for name in "qkv")
    with sdpa_kernel(backend):
        o = F.scaled_dot_product_attention(q, k, v, is_causal=case["causal"], scale=case["scale"])
    return {"o": o[0, 0]}
