"""``grade doctor``: what this machine has, and what to do about what it lacks."""

from __future__ import annotations

import json
import sys
import textwrap
from dataclasses import asdict
from pathlib import Path

import click

from autograder import __version__
from autograder.cli.common import shared_options
from autograder.doctor import OK, PROBLEM, Finding, Machine, examine, probe
from autograder.errors import EXIT_NOT_ALL, EXIT_OK
from autograder.release.files import write_whole
from autograder.reports.terminal import WIDTH

_STYLES = {"ok": "green", "note": "yellow", "problem": "red"}


@click.command()
@click.option(
    "--json", "json_path", metavar="PATH|-", help="Write what was found as JSON; with - stdout holds it alone."
)
@click.option("--plain", is_flag=True, help="No colour, ASCII only.")
@shared_options
def doctor(json_path: str | None, plain: bool) -> int:
    """Look at this machine: device, versions, compilers, and combinations that are known to go wrong.

    The exit code is 0 if there is no problem.

    \b
    Examples:
      grade doctor
      grade doctor --json -
    """
    machine = probe()
    findings = examine(machine)
    if json_path != "-":
        for finding in findings:
            _show(finding, plain or not sys.stdout.isatty())
        problems = sum(finding.severity == PROBLEM for finding in findings)
        counted = {0: "No problem.", 1: "1 problem."}.get(problems, f"{problems} problems.")
        click.echo(f"\n{counted}")
    if json_path is not None:
        text = _document(machine, findings)
        if json_path == "-":
            click.echo(text, nl=False)
        else:
            write_whole(Path(json_path), text.encode())
    return EXIT_NOT_ALL if any(finding.severity == PROBLEM for finding in findings) else EXIT_OK


def _show(finding: Finding, plain: bool) -> None:
    word = f"{finding.severity:<9}"
    lines = textwrap.wrap(
        f"{finding.subject}: {finding.message if finding.severity == OK else finding.sentence}",
        WIDTH,
        initial_indent=" " * len(word),
        subsequent_indent=" " * len(word),
        break_long_words=False,
        break_on_hyphens=False,
    )
    # click leaves colours out by itself where stdout is no terminal, but does not know NO_COLOR.
    click.echo((word if plain else _coloured(word, finding.severity)) + lines[0].lstrip())
    for line in lines[1:]:
        click.echo(line)


def _coloured(word: str, severity: str) -> str:
    import os

    return word if os.environ.get("NO_COLOR") else click.style(word, fg=_STYLES[severity])


def _document(machine: Machine, findings: tuple[Finding, ...]) -> str:
    document = {
        "schema": 1,
        "kit_version": __version__,
        "ok": all(finding.severity != PROBLEM for finding in findings),
        "machine": asdict(machine),
        "findings": [asdict(finding) for finding in findings],
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"
