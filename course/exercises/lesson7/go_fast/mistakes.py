"""What wrong kernels of go_fast store: a torch model of each known mistake, with words for it.

Models know nothing of LAUNCH, so that what depends on the tiles, as an accumulator that is not rescaled, has none.  They
speak of float16 alone: weights rounded to bfloat16 move the output by as much as a diagnosis allows, and how they are
rounded depends on the tiles as well.
"""

import math

import torch

_TO_BASE_2 = math.log2(math.e)


def _attention(case, inputs, scale=None, first_head=False, sees=None, divided=True, lse=lambda x: x):
    """o and lse by head; ``sees`` says which (query, key) the causal mask leaves, ``lse`` what becomes of lse."""
    if case["dtype"] != "float16":
        return {}
    q, k, v = (inputs[name].view(case["heads"], case["nseq"], case["head"]) for name in "qkv")
    if first_head:
        k, v = k[:1].expand_as(k), v[:1].expand_as(v)
    s = (q @ k.transpose(1, 2)) * (case["scale"] if scale is None else scale)
    if case["causal"]:
        i = torch.arange(case["nseq"])
        keep = i[:, None] >= i[None, :] if sees is None else sees(i[:, None], i[None, :])
        s = s.masked_fill(~keep, -math.inf)
    p = torch.exp(s - s.amax(-1, keepdim=True))
    o = p @ v
    if divided:
        o = o / p.sum(-1, keepdim=True)
    sums = s.amax(-1) + p.sum(-1).log()
    return {"o": o.flatten(0, 1), "lse": lse(sums.flatten())}


def log2e_forgotten(case, inputs):
    """exp2 is taken of scores that are meant for exp: every weight is a power of 2 where it should be one of e.

    exp(x) is 2 to the power of x * log2(e). Where does log2(e) come in, and is it there for alpha as well as for p?
    """
    return _attention(case, inputs, scale=case["scale"] / _TO_BASE_2)


def lse_in_base_2(case, inputs):
    """lse is in base 2: every value is 1.4427 times what it should be, and o is right.

    m_i may be kept in powers of two; lse is the natural logarithm. What takes one to the other?
    """
    return _attention(case, inputs, lse=lambda x: x * _TO_BASE_2)


def causal_strict(case, inputs):
    """With the causal mask a query does not see its own key, and the first query of each head sees none.

    Query i sees the keys up to i, and i is one of them. Look at the comparison.
    """
    return _attention(case, inputs, sees=lambda i, j: i > j)


def causal_forgotten(case, inputs):
    """With CAUSAL set, queries see keys of the future all the same.

    Which chunks of keys meet the diagonal, and what hides the part of them that lies above it?
    """
    return _attention(case, inputs, sees=lambda i, j: i >= 0 * j)


def keys_of_the_first_head(case, inputs):
    """Every head attends to the keys and values of the first one.

    Head h owns the rows from h * NSEQ on, of k and v as well as of q. Where does each load begin?
    """
    return _attention(case, inputs, first_head=True)


def scale_of_its_own(case, inputs):
    """The scores are divided by the square root of HEAD, whatever scale is handed in.

    The scale is an argument of the kernel, and it need not be 1 / sqrt(HEAD). Where is it used?
    """
    return _attention(case, inputs, scale=case["head"] ** -0.5)


def division_forgotten(case, inputs):
    """o is l_i times what it should be in every row: the sum of weighted values, not their mean.

    What remains to be done to acc when the last chunk has been added?
    """
    return _attention(case, inputs, divided=False)


MISTAKES = (
    log2e_forgotten,
    lse_in_base_2,
    causal_strict,
    causal_forgotten,
    keys_of_the_first_head,
    scale_of_its_own,
    division_forgotten,
)
