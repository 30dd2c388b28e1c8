"""``course collect``: one folder a student from an LMS download, and a summary of what came and what did not."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.text import Text

from autograder.bulk.collect import Collected, Refusal
from autograder.bulk.collect import collect as collect_download
from autograder.cli._progress import Bar
from autograder.cli._say import lines_of
from autograder.cli.common import shared_options
from autograder.errors import EXIT_NOT_ALL, EXIT_OK
from autograder.protocol import printable
from autograder.reports.terminal import make_console

_DOWNLOADS = {
    "canvas": "A Canvas download",
    "moodle": "A Moodle download",
    "gradescope": "A Gradescope export",
    "folder": "Plain folders and files",
}
_LONGEST = 200  # lines of one section


@click.command()
@click.argument("source", type=click.Path(path_type=Path))
@click.option("--out", required=True, metavar="DIR", type=click.Path(path_type=Path), help="Where the folders go.")
@click.option(
    "--roster",
    metavar="CSV",
    type=click.Path(path_type=Path),
    help="Names, and who handed in nothing, from this table.",
)
@click.option("--mixed", is_flag=True, help="Collect into DIR though it was collected from another LMS.")
@click.option("--plain", is_flag=True, help="No colour, ASCII only.")
@shared_options
def collect(source: Path, out: Path, roster: Path | None, mixed: bool, plain: bool) -> int:
    """Make one folder a student from SOURCE, a zip or folder downloaded from Canvas, Moodle or Gradescope.

    A folder with one folder or file a student is understood too. Run it again with a newer download to update DIR:
    earlier attempts are kept. Nothing that was handed in is run.

    The exit code is 0 if every file was taken, 1 if one was refused.

    \b
    Examples:
      course collect submissions.zip --out collected
      course collect submissions.zip --out collected --roster gradebook.csv
    """
    collected = _with_progress(source, out, roster, mixed, plain)
    _print(make_console(sys.stdout, plain), collected, roster)
    return EXIT_NOT_ALL if collected.refused else EXIT_OK


def _with_progress(source: Path, out: Path, roster: Path | None, mixed: bool, plain: bool) -> Collected:
    """Collect, with a bar on stderr where that is a terminal."""
    if plain or not sys.stderr.isatty():
        return collect_download(source, out, roster, mixed=mixed)
    with Bar(title="collecting") as bar:
        return collect_download(source, out, roster, bar.at, mixed)


def _print(console: Console, collected: Collected, roster: Path | None) -> None:
    count = len(collected.students)
    _say(console, f"{_DOWNLOADS[collected.lms]} with {_counted(count, 'student')}, now in {collected.out}.", "bold")
    states = (
        f"{len(collected.in_state(state))} {word}"
        for state, word in (("new", "new"), ("updated", "updated"), ("unchanged", "unchanged"), ("empty", "empty"))
        if collected.in_state(state)
    )
    counts = f"{', '.join(states) or 'nothing new'}; {_counted(collected.attempts, 'attempt')}{_lateness(collected)}."
    _say(console, counts[0].upper() + counts[1:])
    if collected.total > count:
        _say(
            console, f"With those of earlier downloads there are {_counted(collected.total, 'student')} in the folder."
        )
    _names(console, "late", collected.late)
    late = "by the roster's column Status, which is shown and counts nowhere; times in a column `submitted` would"
    _names(console, f"late {late}", collected.called_late)
    empty = collected.in_state("empty")
    _names(console, f"handed in nothing that can be used, and {_have(empty)} an empty folder", empty)
    troubled = [f"{one.submission.student}: {one.trouble}" for one in collected.students if one.trouble]
    _names(console, "with files that cannot be graded, as far as can be seen from outside", troubled)
    older = collected.in_state("older")
    _names(console, f"{_have(older)} a later attempt in the folder than in this download, which is kept", older)
    _names(console, "in the roster, and handed in nothing", collected.missing)
    _names(console, "not in the roster", collected.unmatched)
    _names(console, "not understood, and left out", collected.unknown)
    for note in collected.notes:
        _say(console, f"Note: {note}")
    _refusals(console, collected.refused)
    console.print()
    given = f" --roster {shlex.quote(str(roster))}" if roster is not None else ""
    command = f"course grade {shlex.quote(str(collected.out))} --out results{given}"
    console.print(Text(f"Next: {printable(command)}"), soft_wrap=True)  # in one line, to be copied


def _lateness(collected: Collected) -> str:
    """How many are late, as far as the download or the roster tells."""
    if collected.lms == "canvas":
        return f", {len(collected.late)} late"
    if not collected.untimed:
        return ""
    if collected.untimed == len(collected.students):
        return "; when they were handed in is not known"
    return f"; when {collected.untimed} of them {'was' if collected.untimed == 1 else 'were'} handed in is not known"


def _have(names: Sequence[str]) -> str:
    return "has" if len(names) == 1 else "have"


def _names(console: Console, what: str, names: Sequence[str]) -> None:
    """A section: how many, what about them, and one name a line."""
    if not names:
        return
    console.print()
    _say(console, f"{len(names)} {what}:", "bold")
    for name in names[:_LONGEST]:
        _say(console, name, indent=2)
    if len(names) > _LONGEST:
        _say(console, f"and {len(names) - _LONGEST} more", indent=2)


def _refusals(console: Console, refused: Sequence[Refusal]) -> None:
    if not refused:
        return
    console.print()
    _say(console, f"{_counted(len(refused), 'file')} refused:", "bold red")
    for one in refused[:_LONGEST]:
        whose = f"{one.student}: " if one.student is not None else ""
        _say(console, f"{whose}{one.shown} {one.reason}.", indent=2)
    if len(refused) > _LONGEST:
        _say(console, f"and {len(refused) - _LONGEST} more", indent=2)


def _say(console: Console, text: str, style: str = "", indent: int = 0) -> None:
    """Print wrapped text in which nothing can move the cursor or colour the terminal."""
    for line in lines_of(printable(text).replace("\n", " "), console.width, indent, 2 * bool(indent)):
        console.print(Text(line, style=style), soft_wrap=True)


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
