"""Tensors with fences around them, and the comparison of what a kernel wrote with float64 and with torch.

A buffer lies amid a larger one full of a mark, in the gaps between its elements too: a stray store shows and does no
harm, and what the kernel never writes can be told from a wrong value.
"""

import math

from .student import Missing, check_line

_BAND = 64 * 1024  # elements on either side
_MARKS = {  # by the size of an element: NaN in float32 and float16, an unlikely number in integers
    2: 0x7E5A,
    4: 0x7FC5DEAD,
    8: 0x7FF8DEADBEEF5EED,
}


class Buffers:
    """The tensors of one launch on ``device``, in the order in which they were asked for."""

    def __init__(self, device):
        self.device = device
        self._inputs, self._outputs = [], []

    def input(self, values):
        """A fenced copy of a CPU tensor on the device, with its values, dtype and strides."""
        fenced = _Fenced(values.shape, values.stride(), values.dtype, self.device)
        fenced.tensor.copy_(values)
        self._inputs.append((fenced, values))
        return fenced.tensor

    def output(self, shape, dtype=None, strides=None):
        """A fenced tensor that holds the mark throughout; float32 and contiguous if nothing else is said."""
        import torch

        strides = strides or [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
        fenced = _Fenced(shape, strides, dtype or torch.float32, self.device)
        self._outputs.append(fenced)
        return fenced.tensor

    def collect(self, part):
        """The outputs on CPU; raises `Missing` if the kernel of ``part`` wrote anywhere else."""
        fences = [fenced for fenced, _ in self._inputs] + self._outputs
        if not all(fenced.intact() for fenced in fences):
            raise Missing(
                "The kernel wrote outside its tensors. The masks of its stores are checked by:",
                check_line(part.exercise),
            )
        if not all(_same_bits(fenced.tensor.cpu(), values) for fenced, values in self._inputs):
            raise Missing("The kernel changed one of its inputs. Its stores are checked by:", check_line(part.exercise))
        return [fenced.tensor.cpu() for fenced in self._outputs]


class _Fenced:
    """One tensor of any strides within a marked buffer."""

    def __init__(self, shape, strides, dtype, device):
        import torch

        self.whole = [tuple(shape), tuple(strides), _BAND]
        span = 1 + sum((size - 1) * stride for size, stride in zip(shape, strides)) if math.prod(shape) else 0
        self.mark = _MARKS[dtype.itemsize]
        self.bits = torch.full((span + 2 * _BAND,), self.mark, dtype=_integers(dtype), device=device)
        self.tensor = self.bits.view(dtype).as_strided(*self.whole)

    def intact(self):
        around = self.bits.clone()
        around.as_strided(*self.whole).fill_(self.mark)
        return bool((around == self.mark).all())


def measure(results):
    """(largest error, torch's largest error, what is wrong or "") over all outputs of a launch.

    ``results`` is {name: (got, exact, plain)}: what the kernel wrote, the truth in float64, and what plain torch gives
    at the kernel's dtype. The bar is four times torch's error, or rounding at the size of the largest value.  Where
    ``plain`` is None the values must be equal: a copy has nothing to round.
    """
    worst, worst_torch, wrong = 0.0, 0.0, ""
    for name, (got, exact, plain) in results.items():
        finite = exact.isfinite()
        torch_error, bar = _bar(got, exact, plain, finite)
        worst_torch = max(worst_torch, torch_error)
        bad = ~got.isfinite() & finite | (got != exact) & ~finite | _never_written(got)
        if bad.any():
            untouched = bool(_never_written(got)[bad].all())
            what = "was never written" if untouched else "is not what it should be: NaN or infinite"
            wrong = wrong or f"{name} {what} in {_count(bad)}"
            worst = math.nan
            continue
        error = float((got.double() - exact)[finite].abs().max()) if finite.any() else 0.0
        if error > bar and not wrong:
            compared = f"where {bar:.1e} would be rounding" if bar else "where it should be equal"
            wrong = f"{name} is off by {error:.1e}, {compared}"
        worst = max(worst, error)
    return worst, worst_torch, wrong


def _bar(got, exact, plain, finite):
    import torch

    if plain is None or not finite.any():
        return 0.0, 0.0
    torch_error = float((plain.double() - exact)[finite].abs().max())
    eps = torch.finfo(got.dtype).eps
    return torch_error, max(4 * torch_error, 8 * eps * float(exact[finite].abs().max()))


def _never_written(values):
    return values.contiguous().view(_integers(values.dtype)) == _MARKS[values.dtype.itemsize]


def _same_bits(left, right):
    integers = _integers(left.dtype)
    return bool((left.contiguous().view(integers) == right.contiguous().view(integers)).all())


def _count(bad):
    if bad.dim() == 1:
        return f"{int(bad.sum())} of {len(bad)} places"
    rows = bad.reshape(len(bad), -1).any(1)
    return f"{int(rows.sum())} of {len(rows)} rows"


def _integers(dtype):
    """The integer dtype as wide as ``dtype``."""
    import torch

    return {2: torch.int16, 4: torch.int32, 8: torch.int64}[dtype.itemsize]
