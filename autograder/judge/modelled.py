"""What models of mistakes give on one case, kept for all hand-ins that are judged on it."""

from __future__ import annotations

from collections.abc import Callable

import torch

from autograder.judge.oracles import Tensors

# Bytes of outputs that are kept for one case.  On the smallest case all models are run, on others those that still fit.
_MOST = 4 << 20


class Modelled:
    """The outputs of models by model and device, or the pattern of a message where that is what a model gives."""

    def __init__(self) -> None:
        self._kept: dict[tuple[object, str], Tensors | str] = {}
        self._left = _MOST

    def outputs(self, model: object, device: str, run: Callable[[], Tensors | str]) -> Tensors | str:
        """What ``run()`` gives, or gave when it was called for this model and device before."""
        kept = self._kept.get((model, device))
        if kept is None:
            kept = run()
            size = 0 if isinstance(kept, str) else sum(_bytes(x) for x in kept.values())
            if size <= self._left:
                self._left -= size
                self._kept[model, device] = kept
        return kept


def _bytes(x: torch.Tensor) -> int:
    """What is held in memory for the sake of a tensor, which may be a view of a larger one."""
    return int(x.untyped_storage().nbytes())
