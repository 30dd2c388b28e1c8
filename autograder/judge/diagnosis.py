"""Which mistake explains a wrong output?  Models of known mistakes against what the kernel gave, on several cases.

The diagnosis sees tensors and messages, never source.  It speaks only if one model is clearly the nearest, and it never
changes a score.
"""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import torch

from autograder.catalogue import Check
from autograder.errors import CourseError
from autograder.judge.modelled import Modelled
from autograder.judge.oracles import Tensors
from autograder.packed import unpack
from autograder.result import CheckResult, Diagnosis

# A model explains an output up to rounding, and no other comes near: distances are relative, see `distance`.
_NEAR = 2e-3
_TIMES_FURTHER = 10.0
_FURTHER = 1e-4
# On one case a model this far away is given up; its distance on the others could only be larger.
_GIVEN_UP = 5e-2
# Elements of a case's inputs beyond which models take too long.
_LARGEST = 500_000

# Stands in an output for an element that was never written: another kind than any number, NaN and infinities included.
UNWRITTEN = torch.finfo(torch.float64).min
# Stands in a model's output for an element of which it says nothing, as where two programs store different values.
UNKNOWN = torch.finfo(torch.float64).max

# A model gives outputs, or the pattern of the message with which its kernel is stopped.
Model = Callable[[Mapping[str, Any], Tensors], Tensors | str]


@dataclass(frozen=True, slots=True)
class Sign:
    """A mistake that shows in how a check ends: ``outcome``, and ``pattern`` in its message."""

    mistake: str
    outcome: str
    pattern: re.Pattern[str]
    text: str


@dataclass(frozen=True, slots=True)
class Mistakes:
    """What an exercise's mistakes.py says: models by name with their words for the student, and signs.

    ``aliases`` maps to a mistake's name those of its other models, and mistakes that no case can tell from it;
    ``gpu_aliases`` those that no case can tell from it on a GPU.
    """

    models: Mapping[str, Model]
    texts: Mapping[str, str]
    signs: tuple[Sign, ...]
    aliases: Mapping[str, str]
    gpu_aliases: Mapping[str, str] = field(default_factory=dict)

    def stands_for(self, name: str, device: str = "cpu") -> str:
        """The name that a model's finding goes by."""
        name = self.aliases.get(name, name)
        return self.gpu_aliases.get(name, name) if device == "cuda" else name

    @property
    def names(self) -> frozenset[str]:
        """All mistakes that can be named."""
        return frozenset({*self.models, *(sign.mistake for sign in self.signs)})


@dataclass(frozen=True, slots=True)
class Probe:
    """What a kernel gave on one case: ``observed`` as the oracle observes it; ``right`` are the right values.

    ``ran`` is False where the kernel was stopped; then all that is observed is +inf, and ``message`` says why.
    ``modelled`` is what models give on the case.
    """

    check: Check
    inputs: Tensors
    observed: Tensors
    right: Tensors
    ran: bool = True
    message: str = ""
    modelled: Modelled = field(default_factory=Modelled)


@lru_cache(maxsize=256)
def load_mistakes(path: Path) -> Mistakes:
    """The models at ``path``; none if there is no such file.

    ``MISTAKES`` is a tuple of functions ``(case, inputs) -> outputs``: the name is the mistake's, the docstring the
    student's text; ``case`` holds the ``device`` as well, ``cpu`` or ``cuda``.  Where the kernel is stopped, a model
    gives a regular expression for the message.  ``SIGNS`` is a tuple of (mistake, outcome, regular expression, text).
    ``ALIASES`` maps a name to the one that stands for it, ``GPU_ALIASES`` does so on a GPU alone.

    Raises:
        CourseError: the file cannot be loaded, or a mistake has no text.
    """
    if not path.is_file():
        return Mistakes({}, {}, (), {})
    module = types.ModuleType(f"mistakes_{path.parent.name}")
    module.__file__ = str(path)
    try:
        text = path.read_text(encoding="utf-8")
        text = unpack(text) if path.suffix == ".packed" else text
        exec(compile(text, str(path), "exec"), module.__dict__)
        models = {model.__name__: model for model in module.__dict__.get("MISTAKES", ())}
        texts = {name: _text(inspect.getdoc(model)) for name, model in models.items()}
        signs = tuple(
            Sign(mistake, outcome, re.compile(pattern), _text(text))
            for mistake, outcome, pattern, text in module.__dict__.get("SIGNS", ())
        )
    except Exception as error:
        raise CourseError(f"{path} cannot be loaded: {error!r}") from error
    silent = [name for name, text in texts.items() if not text] + [sign.mistake for sign in signs if not sign.text]
    if silent:
        raise CourseError(f"{path}: {silent[0]} has no words for the student.")
    aliases, on_a_gpu = (module.__dict__.get(name, {}) for name in ("ALIASES", "GPU_ALIASES"))
    return Mistakes(models, texts, signs, aliases, on_a_gpu)


def nearest(mistakes: Mistakes, probes: Sequence[Probe], device: str = "cpu") -> Diagnosis | None:
    """The one mistake whose model gives what the kernel gave, on every probe; None if there is none, or several.

    A model may say nothing of a probe, by giving no output for it, or of an element (`UNKNOWN`).  On what it speaks
    of, the right values have to be much further away than it is: an output that is merely a little rough is nobody's
    mistake, and a model that speaks only where the kernel is right is nobody's either.  A model's outputs speak for
    nothing if the kernel never ran; its message may.

    A GPU takes some numbers below the smallest normal one as 0 (PTX's ``.ftz``), depending on how a kernel is written:
    there a model may explain an output with them or without.
    """
    probes = sorted((probe for probe in probes if _size(probe)[0] <= _LARGEST), key=_size)
    if not mistakes.models:
        return None
    ever_ran = any(probe.ran for probe in probes)
    fits = {name: _Fit() for name in mistakes.models}
    for probe in probes:
        doubled = {name: x.double() if x.is_floating_point() else x for name, x in probe.inputs.items()}
        from_right = distance(probe.observed, probe.right)
        for name, fit in fits.items():
            if fit.own > _GIVEN_UP:
                continue
            run = partial(_run, mistakes.models[name], {**probe.check.case, "device": device}, doubled)
            own, known = _own(probe, probe.modelled.outputs(mistakes.models[name], device, run), ever_ran)
            if own is not None and own > _NEAR and device == "cuda":
                with _tiny_numbers_are_zero():
                    flushed, _ = _own(probe, run(), ever_ran)
                own = own if flushed is None else min(own, flushed)
            if own is not None:
                fit.add(own, distance(probe.observed, known) if known else from_right)
    found = {name: fit.own if fit.explains else float("inf") for name, fit in fits.items()}
    best = min(found, key=lambda name: found[name])
    own = found[best]
    if own > _NEAR:
        return None
    mistake = mistakes.stands_for(best, device)
    others = [far for name, far in found.items() if mistakes.stands_for(name, device) != mistake]
    runner_up = min([fits[best].from_right, *others])
    if runner_up < max(_TIMES_FURTHER * own, own + _FURTHER):
        return None
    only_here = mistake != mistakes.stands_for(best)  # then the words have to be those that hold for both
    text = mistakes.texts[best] if not only_here else mistakes.texts.get(mistake, mistakes.texts[best])
    return Diagnosis(mistake, text, own, runner_up)


@dataclass(slots=True)
class _Fit:
    """How far the outputs are from one model at most, and from the right values, on the probes it speaks of."""

    own: float = 0.0
    from_right: float = 0.0
    compared: bool = False

    @property
    def explains(self) -> bool:
        """Whether the model speaks of a failure: one that is silent wherever the kernel is wrong explains nothing."""
        return self.compared and self.from_right > _FURTHER

    def add(self, own: float, from_right: float) -> None:
        self.own = max(self.own, own)
        self.from_right = max(self.from_right, from_right)
        self.compared = True


def by_sign(mistakes: Mistakes, checks: Sequence[CheckResult]) -> Diagnosis | None:
    """The mistake that the first failed check's message is a sign of; signs are tried in their order."""
    failed = next((check for check in checks if check.outcome not in ("pass", "skipped")), None)
    if failed is None:
        return None
    for sign in mistakes.signs:
        if sign.outcome == failed.outcome and sign.pattern.search(failed.message):
            return Diagnosis(sign.mistake, sign.text, 0.0, None)
    return None


def distance(got: Tensors, model: Tensors) -> float:
    """How far an output is from a model's, over all names that the model gives, where it knows the values.

    The share of elements of another kind (never written, NaN, +inf, -inf, finite), plus the root of the mean square of
    the difference over elements that are finite in both, relative to that of the model.  Infinite if shapes differ.
    """
    total = 0.0
    for name, right in model.items():
        if name not in got or got[name].shape != right.shape:
            return float("inf")
        x, y = got[name].double(), right.double()
        x, y = x[y != UNKNOWN], y[y != UNKNOWN]
        if x.numel() == 0:
            continue
        same = (torch.isnan(x) & torch.isnan(y)) | (~_is_number(x) & (x == y))
        both = _is_number(x) & _is_number(y)
        total += float((~(same | both)).double().mean())
        if bool(both.any()):
            size = y[both].square().mean().sqrt().clamp_min(1e-30)
            total += float((x[both] - y[both]).square().mean().sqrt() / size)
    return total


def _is_number(x: torch.Tensor) -> torch.Tensor:
    return torch.isfinite(x) & (x != UNWRITTEN)


def _own(probe: Probe, outputs: Tensors | str, ever_ran: bool) -> tuple[float | None, Tensors]:
    """How far the output, or the message of a kernel that was stopped, is from a model's; None if it says nothing.

    And the right values of what the model knows, if there is anything that it does not.
    """
    if isinstance(outputs, str):
        return (0.0 if not probe.ran and re.search(outputs, probe.message) else float("inf")), {}
    if not ever_ran:
        return float("inf"), {}
    return (distance(probe.observed, outputs) if outputs else None), _known(probe.right, outputs)


def _known(right: Tensors, outputs: Tensors) -> Tensors:
    """The right values, with `UNKNOWN` where a model has it; nothing if it has none."""
    unknown = {name: x == UNKNOWN for name, x in outputs.items() if name in right and bool((x == UNKNOWN).any())}
    if not unknown:
        return {}
    return {
        name: torch.where(unknown[name], UNKNOWN, x.double()) if name in unknown else x for name, x in right.items()
    }


@contextmanager
def _tiny_numbers_are_zero() -> Iterator[None]:
    """This thread's arithmetic rounds subnormal numbers to 0, where the processor can."""
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)


def _run(model: Model, case: Mapping[str, Any], inputs: Tensors) -> Tensors | str:
    """A model's outputs; a model that does not fit a case explains nothing there."""
    try:
        return model(case, inputs)
    except (RuntimeError, IndexError, KeyError, ValueError):
        return {"": torch.empty(0)}


def _size(probe: Probe) -> tuple[int, str]:
    """Small probes first, as most models are given up on the first; by name where sizes are equal."""
    return sum(x.numel() for x in probe.inputs.values()), probe.check.id


def _text(doc: str | None) -> str:
    """The paragraphs of a docstring as one line."""
    return " ".join((doc or "").split())
