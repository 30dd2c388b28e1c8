"""What go_fast is measured against: torch's attention, unfused and by each of its backends."""

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel


def make_inputs(case, generator):
    """q, k and v (heads * nseq, head) on the generator's device."""
    shape = case["heads"] * case["nseq"], case["head"]
    dtype, device = getattr(torch, case["dtype"]), generator.device
    return {name: torch.randn(shape, generator=generator, device=device).to(dtype) for name in "qkv"}


def flops(case):
    """Floating-point operations of the two products; with a causal mask half of them are needed."""
    whole = 4 * case["heads"] * case["nseq"] ** 2 * case["head"]
    return whole // 2 if case["causal"] else whole


def moved(case):
    """Bytes that have to be read and written at least: q, k, v and o in half precision, and lse."""
    rows = case["heads"] * case["nseq"]
    return 4 * rows * case["head"] * 2 + rows * 4


def truth(case, inputs):
    """o and lse from the same inputs in float32, or in float64 where they are float32; a head at a time."""
    wider = torch.float64 if case["dtype"] == "float32" else torch.float32
    found = [_attention(case, *(x.to(wider) for x in qkv)) for qkv in zip(*_by_head(case, inputs))]
    o, lse = (torch.cat(parts) for parts in zip(*found))
    return {"o": o, "lse": lse}


def unfused(case, inputs):
    """Three kernels and the scores in memory between them."""
    q, k, v = _by_head(case, inputs)
    s = q @ k.transpose(1, 2) * case["scale"]
    if case["causal"]:
        s = s.masked_fill(torch.ones(s.shape[1:], dtype=torch.bool, device=s.device).triu(1), float("-inf"))
    return {"o": (torch.softmax(s, -1) @ v).flatten(0, 1)}


def flash(case, inputs):
    """FlashAttention-2, as torch has it."""
    return _sdpa(case, inputs, SDPBackend.FLASH_ATTENTION)


def cudnn(case, inputs):
    """cuDNN's attention."""
    return _sdpa(case, inputs, SDPBackend.CUDNN_ATTENTION)


def efficient(case, inputs):
    """The memory-efficient attention of xFormers, as torch has it."""
    return _sdpa(case, inputs, SDPBackend.EFFICIENT_ATTENTION)


def _by_head(case, inputs):
    return [inputs[name].view(case["heads"], case["nseq"], case["head"]) for name in "qkv"]


def _attention(case, q, k, v):
    s = q @ k.T * case["scale"]
    if case["causal"]:
        s = s.masked_fill(torch.ones(s.shape, dtype=torch.bool, device=s.device).triu(1), float("-inf"))
    return torch.softmax(s, -1) @ v, torch.logsumexp(s, -1)


def _sdpa(case, inputs, backend):
    q, k, v = (x[None] for x in _by_head(case, inputs))
    with sdpa_kernel(backend):
        o = F.scaled_dot_product_attention(q, k, v, is_causal=case["causal"], scale=case["scale"])
    return {"o": o.reshape(case["heads"] * case["nseq"], case["head"])}
