"""One observed tensor against the oracle's: written at all, special values in place, error within the bar.

Three kinds of comparison.  ``exact`` (copies, masks, maxima, indices): every element equals the oracle's; +0 equals -0
and NaN never passes.  ``close``: the largest absolute error over the oracle's finite elements is at most

    bar = max(4 * E_torch, 8 * eps * max|oracle|)

where E_torch is the error of unfused torch at the same dtype on the same inputs.  The test suites of flash-attention
bound their kernels by a multiple of the framework's own error in the same way; the second term keeps the bar sane
where torch happens to be exact.  ``twice`` is for 16 bits, where torch rounds the scores as well and a kernel need not:

    bar = max(2 * E_torch, eps * max|oracle|)

A check with ``slack`` has a bar that many times as wide: some right orders of adding up round far more than torch's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from autograder.judge.region import Layout, extremes, share_picture, size_picture, span_text, spans, tiles, words
from autograder.judge.tensors import unwritten
from autograder.result import NAN_COMES_OF

# Of wrong rows, so many spans are kept.
MOST_SPANS = 16


@dataclass(frozen=True, slots=True)
class Comparison:
    """``message`` is empty when all is well.  ``measurements`` has error, bar and rms where there is one."""

    name: str
    message: str
    measurements: Mapping[str, float] = field(default_factory=dict)
    where: Mapping[str, Any] | None = None

    @property
    def ok(self) -> bool:
        return not self.message


def compare(
    name: str,
    kind: str,
    got: torch.Tensor,
    exact: torch.Tensor,
    plain: torch.Tensor,
    raw: torch.Tensor | None,
    label: str | None = None,
    layout: Layout | None = None,
    of_nan: str = NAN_COMES_OF,
    slack: float = 1.0,
) -> Comparison:
    """Compare ``got`` with ``exact`` (float64), both of one shape.

    ``plain`` is unfused torch's value at the input's dtype; ``raw`` is the output as it came back, or the part of it
    that is compared, for the poison, or None if ``got`` is something derived.  ``label`` is what messages call it, and
    ``layout`` tells of its axes.  ``of_nan`` is a sentence on where a NaN may come from; the bar is
    ``slack`` times the usual one.
    """
    said = label or name
    if tuple(got.shape) != tuple(exact.shape):
        return Comparison(name, f"{said} has shape {tuple(got.shape)}, expected {tuple(exact.shape)}.")
    if raw is not None and (left := unwritten(raw)).any():
        wrong = _wrong_elements(got, exact, plain, kind, slack)
        picture = share_picture(wrong, left, layout) if layout is not None else None
        message = f"{_places(left, said, layout)} never written{_of_the_written(wrong & ~left, left, layout)}."
        where = _where(name, left, got, exact, picture=picture, said=said, layout=layout)
        return Comparison(name, message, where=where)
    if not exact.is_floating_point():
        return _compare_exact(name, got, exact, said, layout)
    got64, exact64 = got.double(), exact.double()
    special = _special(got64, exact64)
    if special.any():
        wrong = _wrong_elements(got, exact, plain, kind, slack)
        rest = int(wrong.sum()) - int(special.sum())
        message = _special_message(said, special, got64, exact64, layout)
        if rest:
            message += " 1 other is wrong too." if rest == 1 else f" {rest} others are wrong too."
        if bool((torch.isnan(got64) & torch.isfinite(exact64)).any()):
            message += f" {of_nan}"
        picture = _picture(wrong, layout)
        where = _where(name, special, got64, exact64, picture=picture, said=said, layout=layout)
        return Comparison(name, message, where=where)
    if kind == "exact":
        return _compare_exact(name, got64, exact64, said, layout)
    return _compare_close(name, kind, got64, exact64, plain, said, layout, slack)


def _compare_exact(name: str, got: torch.Tensor, exact: torch.Tensor, said: str, layout: Layout | None) -> Comparison:
    wrong = got != exact
    measurements: dict[str, float] = {}
    if exact.is_floating_point():
        finite = torch.isfinite(exact)
        error = (got - exact)[finite].abs()
        measurements = {
            "error": float(error.max()) if error.numel() else 0.0,
            "bar": 0.0,
            "rms": _rms(got, exact, finite),
        }
    if not wrong.any():
        return Comparison(name, "", measurements)
    index = _first(wrong)
    at = _index_text(index, said, layout)
    differ = "differs" if int(wrong.sum()) == 1 else "differ"
    place = words(wrong, layout) if layout is not None and int(wrong.sum()) > 1 else ""
    where = _where(name, wrong, got, exact, picture=_picture(wrong, layout), said=said, layout=layout, whole=True)
    if exact.dtype == torch.bool and bool(exact[index]):
        message = f"It must hold that {said}, and it does not for {_count(wrong)}, the first at {at}."
    else:
        message = (
            f"{said} must match exactly, and {_count(wrong)} {differ}, the first at {at}: "
            f"{_got_and_expected(got[index], exact[index])}."
        )
    return Comparison(name, f"{message} Wrong: {place}." if place else message, measurements, where)


def _compare_close(
    name: str,
    kind: str,
    got: torch.Tensor,
    exact: torch.Tensor,
    plain: torch.Tensor,
    said: str,
    layout: Layout | None,
    slack: float,
) -> Comparison:
    finite = torch.isfinite(exact)
    error = torch.where(finite, (got - exact).abs(), 0.0)
    bar, torch_error = _bar(kind, exact, plain, finite, slack)
    worst = float(error.max()) if error.numel() else 0.0
    measurements = {"error": worst, "bar": bar, "torch_error": torch_error, "rms": _rms(got, exact, finite)}
    if worst <= bar:
        return Comparison(name, "", measurements)
    wrong = error > bar
    index = tuple(int(i) for i in torch.unravel_index(error.argmax(), error.shape))
    message = (
        f"{said} is off by up to {worst:.2g} where at most {bar:.2g} is rounding. "
        f"Worst at {_index_text(index, said, layout)}: {_got_and_expected(got[index], exact[index])}. "
        f"{_over_the_bar(wrong, error, bar, layout)}."
    )
    picture = size_picture(error, bar, layout) if layout is not None and _nearly_all(wrong) else None
    picture = picture or (share_picture(wrong, None, layout, by_chance=True) if layout is not None else None)
    return Comparison(
        name, message, measurements, _where(name, wrong, got, exact, index, picture, said, layout, whole=True)
    )


def _over_the_bar(wrong: torch.Tensor, error: torch.Tensor, bar: float, layout: Layout | None) -> str:
    """How much is wrong and where: "... are off by more than rounding: query tile 2 (rows 64-69)"."""
    if layout is None:
        are = "is" if int(wrong.sum()) == 1 else "are"
        return f"{_count(wrong)} {are} off by more than rounding{_rows_text(wrong)}"
    if wrong.numel() == 1:
        return "It is the only element"
    if int(wrong.sum()) == 1:
        return f"{_count(wrong)} is off by more than rounding"
    said = (
        f"All {wrong.numel()} elements are off by more than rounding"
        if wrong.all()
        else f"{_count(wrong)} are off by more than rounding"
    )
    every_row = bool(wrong.reshape(wrong.shape[0], -1).any(1).all())
    if _nearly_all(wrong) and every_row and (uneven := extremes(error, bar, layout)):
        return f"{said}, {uneven}"
    place = words(wrong, layout)
    return f"{said}: {place}" if place else said


def _nearly_all(wrong: torch.Tensor) -> bool:
    """Whether so much is wrong that where it is tells less than how large the errors are."""
    return float(wrong.double().mean()) >= 0.9


def _picture(wrong: torch.Tensor, layout: Layout | None) -> dict[str, Any] | None:
    return share_picture(wrong, None, layout) if layout is not None else None


def _wrong_elements(
    got: torch.Tensor, exact: torch.Tensor, plain: torch.Tensor, kind: str, slack: float
) -> torch.Tensor:
    """Which elements are not what they must be, each by itself."""
    if kind == "exact" or not exact.is_floating_point():
        return got != exact
    bar, _ = _bar(kind, exact, plain, torch.isfinite(exact), slack)
    got64 = got.double()
    return ~((got64 == exact) | ((got64 - exact).abs() <= bar))


def _of_the_written(wrong: torch.Tensor, left: torch.Tensor, layout: Layout | None) -> str:
    """The rest of a sentence that says what was never written; "" if that is all there is."""
    written = left.numel() - int(left.sum())
    if written == 0:
        return ""
    count = int(wrong.sum())
    if count == 0:
        return "; the rest is right"
    if count == written:
        return "; the rest is wrong"
    place = words(wrong, layout) if layout is not None and count > 1 else ""
    verb = "is" if count == 1 else "are"
    return f"; of the {written} elements that were written, {count} {verb} wrong{f': {place}' if place else ''}"


def _bar(
    kind: str, exact: torch.Tensor, plain: torch.Tensor, finite: torch.Tensor, slack: float
) -> tuple[float, float]:
    """The bar and torch's own error."""
    if not finite.any():
        return 0.0, 0.0
    gap = (plain.double() - exact)[finite].abs()
    torch_error = float(torch.nan_to_num(gap, nan=0.0, posinf=0.0).max())
    eps = torch.finfo(plain.dtype).eps
    times, roundings = (2, 1) if kind == "twice" else (4, 8)
    return slack * max(times * torch_error, roundings * eps * float(exact[finite].abs().max())), torch_error


def _special(got: torch.Tensor, exact: torch.Tensor) -> torch.Tensor:
    """Where one of the two is not finite and the other is not the same infinity."""
    either = ~torch.isfinite(got) | ~torch.isfinite(exact)
    return either & ~(got == exact)


def _special_message(
    name: str, wrong: torch.Tensor, got: torch.Tensor, exact: torch.Tensor, layout: Layout | None
) -> str:
    index = _first(wrong)
    value, right = _number(got[index]), _number(exact[index])
    place = _index_text(index, name, layout)
    are = "is" if int(wrong.sum()) == 1 else "are"
    others = f"{_count(wrong)} {are} like that{_rows_text(wrong)}"
    if layout is not None:
        region = words(wrong, layout) if int(wrong.sum()) > 1 else ""
        count = f"all {wrong.numel()} elements" if wrong.numel() > 1 and wrong.all() else _count(wrong)
        others = f"{count} {are} like that" + (f": {region}" if region else "")
    if wrong.numel() == 1:
        return f"{name} is {value} where {right} belongs."
    return f"{name} is {value} where {right} belongs, at {place}; {others}."


def _rms(got: torch.Tensor, exact: torch.Tensor, finite: torch.Tensor) -> float:
    """Root mean square of the error, relative to that of the oracle."""
    size = float(exact[finite].square().mean().sqrt()) if finite.any() else 0.0
    error = float((got - exact)[finite].square().mean().sqrt()) if finite.any() else 0.0
    return error / size if size > 0 else error


def _where(
    name: str,
    wrong: torch.Tensor,
    got: torch.Tensor,
    exact: torch.Tensor,
    index: tuple[int, ...] | None = None,
    picture: dict[str, Any] | None = None,
    said: str = "",
    layout: Layout | None = None,
    whole: bool = False,
) -> dict[str, Any]:
    """Where an output is wrong; ``whole`` if nothing else of it can be wrong than what ``wrong`` says."""
    index = _first(wrong) if index is None else index
    return {
        "output": name,
        "index": list(index),
        "got": float(got[index]),
        "expected": float(exact[index]),
        "wrong": int(wrong.sum()),
        "of": wrong.numel(),
        "whole": whole,
        "rows": [list(span) for span in spans(_wrong_rows(wrong))[:MOST_SPANS]],
        **({"picture": {"label": said, **picture}} if picture is not None else {}),
        **({"tiles": counted} if layout is not None and (counted := tiles(wrong, layout)) is not None else {}),
    }


def _first(wrong: torch.Tensor) -> tuple[int, ...]:
    return tuple(int(i) for i in wrong.nonzero()[0])


def _wrong_rows(wrong: torch.Tensor) -> list[int]:
    """Indices along the first dimension with anything wrong in them."""
    rows = wrong.reshape(wrong.shape[0], -1).any(1) if wrong.ndim else wrong.reshape(1)
    return [int(row) for row in rows.nonzero().flatten()]


def _rows_text(wrong: torch.Tensor) -> str:
    if wrong.ndim == 0 or wrong.shape[0] == 1:
        return ""
    rows = _wrong_rows(wrong)
    if len(rows) == wrong.shape[0]:
        return ", in every row" if wrong.ndim <= 2 else ""
    label = "row" if wrong.ndim <= 2 else "tile"
    return f", in {label} {span_text(spans(rows))}" if len(rows) == 1 else f", in {label}s {span_text(spans(rows))}"


def _places(wrong: torch.Tensor, name: str, layout: Layout | None) -> str:
    """What is wrong as the subject of a sentence, with its verb: "Rows 5-7 of o were"."""
    rows = _wrong_rows(wrong)
    if wrong.all():
        return f"All of {name} was"
    if wrong.ndim and wrong.reshape(wrong.shape[0], -1)[rows].all():
        noun = layout.axes[0].of.capitalize() if layout is not None else "Row"
        one = len(rows) == 1
        return f"{noun} {rows[0]} of {name} was" if one else f"{noun}s {span_text(spans(rows))} of {name} were"
    return f"{_count(wrong)} of {name} {'was' if int(wrong.sum()) == 1 else 'were'}"


def _index_text(index: tuple[int, ...], name: str, layout: Layout | None) -> str:
    """An element's place, in the words of its axes where they are known."""
    if index and layout is not None:
        return ", ".join(f"{axis.of} {number}" for axis, number in zip(layout.axes, index, strict=True))
    if len(index) == 2:
        return f"row {index[0]}, column {index[1]}"
    if len(index) == 1:
        return f"row {index[0]}"
    if index:
        return f"tile {', '.join(map(str, index[:-2]))}: row {index[-2]}, column {index[-1]}"
    return name


def _count(wrong: torch.Tensor) -> str:
    return f"{int(wrong.sum())} of {wrong.numel()} elements"


def _got_and_expected(got: torch.Tensor, exact: torch.Tensor) -> str:
    """Both values, with as many digits as it takes to tell them apart."""
    texts = [(_number(got, digits), _number(exact, digits)) for digits in (6, 9, 17)]
    value, right = next((pair for pair in texts if pair[0] != pair[1]), texts[0])
    return f"got {value}, expected {right}"


def _number(value: torch.Tensor, digits: int = 6) -> str:
    return str(value.item()) if value.dtype == torch.bool else f"{float(value) + 0.0:.{digits}g}"
