"""The sentences of `grade trace`: plain, with the number and the place; standard library only."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from autograder.result import RIGHT_BUT
from autograder.traced import Difference, Line


def different(
    found: Difference, chunk: int | None, keys: tuple[int, int] | None, part: str, more: Sequence[str]
) -> list[str]:
    """The first difference: where, what, and the line that made it."""
    row, *columns = found.index
    place = f"row {row}" + "".join(f", column {column}" for column in columns)
    when = "in a pass behind the last chunk"
    if keys is not None:
        when = f"after {span(keys)}" if chunk is None else f"after chunk {chunk} ({span(keys)})"
    got, expected = numbers(found.got, found.expected)
    name = found.name if found.variable in (None, found.name) else f"{found.name} (in {found.variable})"
    if not re.fullmatch(r"\w+", found.name):
        name = found.name
    sentences = [f"First difference {when}: {name} is {got} where {expected} is expected, in {place}."]
    sentences += more
    if found.at is not None and found.helper is not None:
        sentences.append(f"{found.variable or part} was last assigned in {found.at.place}: {found.at.source}")
        helper = found.helper
        sentences.append(f"The value was made in {helper.function}, {helper.place}: {helper.source}")
    elif found.at is not None:
        word = f"{found.variable or part} was last assigned" if found.variable else f"{part} was made"
        sentences.append(f"{word} in {found.at.place}: {found.at.source}")
    return sentences


def left_out(loops: Sequence[Line], steps: int, spans: Sequence[tuple[int, int]], whole: bool) -> str:
    """The state is right as far as it goes; ``whole`` if each pass takes keys, and none takes a chunk in part."""
    which = listed([span(item) for item in spans])
    if not whole:
        return f"The state is right for the keys that are loaded, and no pass loads {which}."
    if not loops:
        return f"All {steps} calls are as expected, and none is left for {which}."
    passes = f"{steps} {'pass' if steps == 1 else 'passes'}"
    ended = "The loop ended" if len(loops) == 1 else f"The {len(loops)} loops ended"
    return f"{ended} after {passes}, without {which}. See {loops[-1].place}: {loops[-1].source}"


def only_output(loop: Line | None, message: str, shown: Sequence[str], unknown: Sequence[str]) -> str:
    """The state is right in all that is shown of it, and the output is not."""
    after = "after the last call" if loop is None else f"after the loop in {loop.place}"
    if message.startswith(RIGHT_BUT):
        return f"Every state is as expected. {message}"
    right = "Every state is as expected" if not unknown else f"{listed(shown)} {_are(shown)} as expected in the end"
    return f"{right}, and the output is not: {message} What happens {after}?"


def unread(unknown: Sequence[str], shown: Sequence[str], near: Sequence[str], verdict: str) -> str:
    """Nothing is said of what holds the parts in ``unknown``; without ``verdict`` the output is right."""
    found = verdict or "The output is right."
    if near:
        return f"{listed(near)} {_are(near)} off by as little as the output: too little to tell in which pass. {found}"
    if not unknown or set(unknown) <= set(shown):
        return f"The state is kept in a way of its own, in which no pass can be told to be wrong. {found}"
    told = f"It could not be told which of your variables hold{'s' if len(unknown) == 1 else ''} {listed(unknown)}"
    if shown:
        told += f", so the table shows {listed(shown)} alone"
    return f"{told}. {found}"


def listed(names: Sequence[str]) -> str:
    """``m, l and acc``."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def _are(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"


def right_here(rows: tuple[int, int], asked: str, wrong: Mapping[str, Sequence[tuple[int, int]]], worst: int) -> str:
    """The rows that were asked for are right throughout, and others are not; ``asked`` is the option."""
    first, last = rows
    named, are = (f"Row {first}", "is") if first == last else (f"Rows {first} to {last}", "are")
    alike = len({tuple(spans) for spans in wrong.values()}) == 1 and len(wrong) > 1
    others = [f"{name} is wrong in {_rows(spans)}" for name, spans in wrong.items()]
    if alike:
        others = [f"{' and '.join(wrong)} are wrong in {_rows(next(iter(wrong.values())))}"]
    return (
        f"{named} {are} as expected to the end, and what is wrong lies elsewhere: {' and '.join(others)}. "
        f"--row {worst} looks at one of them; without {asked} the first difference is looked for."
    )


def _rows(spans: Sequence[tuple[int, int]]) -> str:
    """``rows 0-39, 41-69``; of many the first."""
    shown = [f"{first}" if first == last else f"{first}-{last}" for first, last in spans[:6]]
    one = len(spans) == 1 and spans[0][0] == spans[0][1]
    return f"row{'' if one else 's'} {', '.join(shown)}{' and more' if len(spans) > 6 else ''}"


def other_scale(reading: str, invariants: Sequence[str], right: bool) -> str:
    """A state that is kept otherwise; as well, if all that comes of it is ``right``."""
    how = reading or "the state is kept in another scale than expected"
    judged = f"each line is judged by {' and '.join(invariants)}"
    if right:
        return f"Here {how}, which is as good: {judged}."
    if reading:
        return f"Here {how}, as it seems; what is expected is shown in the same way."
    return f"Here {how}: {judged}."


def given(function: str, name: str, place: tuple[int, int], key: int, got: float, expected: float) -> str:
    """What a function was given was different already."""
    value, right = numbers(got, expected)
    return f"{name}, which {function} was given, is {value} where {right} belongs, in row {place[0]} for key {key}."


def astray(name: str, rows: Collection[int], keys: Collection[int]) -> str:
    """A pass has loaded other rows of an input than those that belong there."""
    return f"In this pass {_rows_of(rows)} of {name} were loaded, and {_rows_of(keys)} belong there."


def _rows_of(rows: Collection[int]) -> str:
    if not rows:
        return "none"
    first, last = min(rows), max(rows)
    if len(rows) < last - first + 1:
        return f"{len(rows)} rows from {first} to {last}"
    return f"rows {first} to {last}"


def taken_before(keys: tuple[int, int]) -> str:
    """The first chunk is not part of the loop."""
    return f"What is loaded before the first pass, {span(keys)}, counts as taken in."


def fixed(variable: str) -> str:
    """No pass changes a part of the state."""
    return f"No pass of the loop gives {variable} a new value."


def unchanged(part: str, function: str, name: str) -> str:
    """A function gave back what it was given."""
    return f"{part} is {name} as {function} was given it: no line gives it a new value before it is returned."


def span(keys: tuple[int, int]) -> str:
    """``keys 32-63``, or ``key 96``."""
    first, last = keys
    return f"key {first}" if first == last else f"keys {first}-{last}"


def numbers(got: float, expected: float) -> tuple[str, str]:
    """Both values, with as many digits as it takes to tell them apart."""
    texts = [(f"{got + 0.0:.{digits}g}", f"{expected + 0.0:.{digits}g}") for digits in (4, 6, 9, 17)]
    return next((pair for pair in texts if pair[0] != pair[1]), texts[0])
