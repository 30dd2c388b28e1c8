"""Write the tables of the page "From 1x to the roof" from the committed output of `benchmarks/attention.py`.

    python benchmarks/attention_page.py            needs no GPU; run it after benchmarks/attention.md is made anew

The page tells nothing of gains but what stands between its two markers, and that is all made here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "benchmarks" / "attention.md"
PAGE = ROOT / "course" / "site" / "pages" / "roof.md"
BEGIN = "% begin of what benchmarks/attention_page.py writes"
END = "% end of what benchmarks/attention_page.py writes"
_SHAPE = re.compile(r"B\d+ H\d+ N(\d+) D(\d+) (full|causal)")
ALL = "all steps"


def times_in(text: str, title: str) -> Mapping[str, Mapping[str, tuple[float, float]]]:
    """By variant and shape, the milliseconds and TFLOP/s of the part with that title."""
    found: dict[str, dict[str, tuple[float, float]]] = {}
    part = ""
    for line in text.splitlines():
        if line.startswith("## "):
            part = line.removeprefix("## ")
        cells = [cell.strip() for cell in line.strip("| ").split(" | ")]
        if part == title and len(cells) >= 4 and _SHAPE.fullmatch(cells[0]) and cells[2][:1].isdigit():
            found.setdefault(cells[1], {})[cells[0]] = (float(cells[2].split()[0]), float(cells[3]))
    return found


def made_by(text: str) -> str:
    """The sentences of the table that say which command made it, and on what."""
    lines = text.splitlines()
    command = next(line for line in lines if line.startswith("Made by "))
    device = next(line for line in lines if "multiprocessors" in line)
    return f"{command} {device}"


def _kind(shape: str) -> str:
    match = _SHAPE.fullmatch(shape)
    assert match is not None
    return f"HEAD {match[2]}, {'causal' if match[3] == 'causal' else 'all keys'}"


def rates(text: str) -> Iterator[str]:
    """TFLOP/s of everybody, by kind of shape."""
    found = times_in(text, "Large shapes")
    kinds = list(dict.fromkeys(_kind(shape) for times in found.values() for shape in times))
    yield f"| TFLOP/s | {' | '.join(kinds)} |"
    yield "|---|" + "---|" * len(kinds)
    for name, times in found.items():
        cells = []
        for kind in kinds:
            some = [rate for shape, (_, rate) in times.items() if _kind(shape) == kind]
            low, high = min(some, default=math.nan), max(some, default=math.nan)
            cells.append(f"{low:.0f}" if low == high else f"{low:.0f} to {high:.0f}")
        yield f"| {name} | {' | '.join(cells)} |"


def gains(text: str) -> Iterator[str]:
    """What each step brings: the time without it over the time of the reference, the geometric mean over shapes."""
    found = times_in(text, "One step off at a time")
    whole = found[ALL]
    kinds = list(dict.fromkeys(_kind(shape) for shape in whole))
    yield f"| turned off or otherwise | {' | '.join(kinds)} |"
    yield "|---|" + "---|" * len(kinds)
    for name, times in found.items():
        if name in (ALL, "torch flash"):
            continue
        cells = []
        for kind in kinds:
            some = [once / whole[shape][0] for shape, (once, _) in times.items() if _kind(shape) == kind]
            cells.append(f"{math.prod(some) ** (1 / len(some)):.2f}x" if some else "")
        yield f"| {name} | {' | '.join(cells)} |"


def written(page: str, text: str) -> str:
    """The page with its tables made from ``text``.

    Raises:
        ValueError: the page lacks a marker.
    """
    before, begin, rest = page.partition(f"{BEGIN}\n")
    _, end, after = rest.partition(f"{END}\n")
    if not begin or not end:
        raise ValueError(f"The page needs the lines {BEGIN!r} and {END!r}.")
    parts = [
        made_by(text),
        "",
        *rates(text),
        "",
        "How many times as long it takes with one thing turned off; below 1 it would be faster:",
        "",
        *gains(text),
    ]
    return before + begin + "\n".join(["", *parts, "", ""]) + end + after


def main() -> None:
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(written(page, TABLE.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
