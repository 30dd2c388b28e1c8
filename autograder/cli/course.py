"""``course``: what an instructor types."""

from __future__ import annotations

import json
import os
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import click
from rich.console import Console

from autograder import __version__
from autograder.cli._collect import collect
from autograder.cli._completion import complete_exercises, completion_command
from autograder.cli._engine import certificates
from autograder.cli._export import export
from autograder.cli._feedback import feedback, report
from autograder.cli._grade import grade, override
from autograder.cli._progress import Bar
from autograder.cli._release import release
from autograder.cli.common import current_course, run, shared_options
from autograder.errors import EXIT_NOT_ALL, EXIT_OK, UsageError
from autograder.machine import choose_device
from autograder.release.files import write_whole
from autograder.reports.terminal import make_console, print_run
from autograder.result import RunResult
from autograder.selfcheck import PROOFS, Proof, SelfCheck
from autograder.session import Grader

_SAID_AGAIN = 3  # findings of a proof


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="course")
@shared_options
def cli() -> None:
    """Run a course: check it, release it, grade it.

    \b
    Examples:
      course selfcheck                         the proofs that the grader is real
      course release --out dist                the zip for students
      course collect submissions.zip --out hand-ins
      course grade hand-ins --out results      again: only what has changed
      course feedback results
      course report results
      course export results --to canvas --out grades.csv
    """


@cli.command()
@click.option("--device", type=click.Choice(["auto", "cpu", "cuda"]), default="auto", show_default=True)
@click.option("--only", "only", type=click.Choice(list(PROOFS)), multiple=True, help="Run this proof; may be repeated.")
@click.option(
    "--exercise", "ids", multiple=True, shell_complete=complete_exercises, help="Only this exercise; may be repeated."
)
@click.option(
    "--mistake",
    "mistakes",
    multiple=True,
    metavar="EXERCISE/NAME",
    help="Of the mistakes, try this one; may be repeated.",
)
@click.option("--quick", is_flag=True, help="Try one kernel of every second mistake, and one mutant of six.")
@click.option("--show", is_flag=True, help="Print the report of each graded hand-in.")
@click.option("--json", "json_path", metavar="PATH|-", help="Write what was found as JSON.")
@click.option("--plain", is_flag=True, help="No colour, ASCII only.")
@shared_options
def selfcheck(
    device: str,
    only: tuple[str, ...],
    ids: tuple[str, ...],
    mistakes: tuple[str, ...],
    quick: bool,
    show: bool,
    json_path: str | None,
    plain: bool,
) -> int:
    """Prove that the grader is real, with the solutions and the known mistakes of the course.

    \b
    Examples:
      course selfcheck
      course selfcheck --only solutions --device cuda
      course selfcheck --exercise score_mask
      course selfcheck --quick
      course selfcheck --mistake flash_attention/acc_not_rescaled --show
    """
    course = current_course()
    if not (course.root / "solutions").is_dir():
        raise UsageError("This course has no solutions folder. The self-check is for instructors, who have one.")
    exercises = [course.exercise(id) for id in ids]
    names = list(only) + (["mistakes"] if mistakes and "mistakes" not in only else []) or list(PROOFS)
    quiet = json_path == "-"
    console = make_console(sys.stderr if quiet else sys.stdout, plain)
    jobs = os.cpu_count() or 1

    def present(title: str, result: RunResult) -> None:
        console.rule(title, align="left", characters="-", style="dim")
        print_run(console, result, plain)
        console.print()

    chosen, gpu = choose_device(device)
    proofs: list[Proof] = []
    with Grader(course, chosen, gpu, targets="always" if show else "if-passed") as grader:
        check = SelfCheck(course, grader, jobs, present if show else None, mistakes, exercises, quick)
        for name in names:
            proof = _run(check, name, plain)
            proofs.append(proof)
            state = "holds" if proof.ok else "DOES NOT HOLD"
            skipped = f", {proof.skipped} not for this device" if proof.skipped else ""
            console.print(f"{state}: {name}, {proof.checked} checked{skipped}", markup=False)
            console.print(f"    {PROOFS[name]}", style="dim", soft_wrap=True)
            for finding in proof.findings:
                console.print(f"    {finding.subject}: {finding.message}", markup=False, soft_wrap=True)
    _say_again(console, proofs, show)
    if json_path is not None:
        _write_json(json_path, chosen, proofs)
    return EXIT_OK if all(proof.ok for proof in proofs) else EXIT_NOT_ALL


def _run(check: SelfCheck, name: str, plain: bool) -> Proof:
    """One proof, with a bar on stderr where that is a terminal."""
    if plain or not sys.stderr.isatty():
        return check.run(name, lambda done, total: None)
    with Bar(title=name) as bar:
        return check.run(name, bar.at)


def _say_again(console: Console, proofs: Sequence[Proof], show: bool) -> None:
    """At the end, what does not hold, where more has been printed since."""
    for proof in proofs:
        if not proof.ok and (show or proof is not proofs[-1]):
            console.print()
            console.print(f"DOES NOT HOLD: {proof.name}", markup=False)
            for finding in proof.findings[:_SAID_AGAIN]:
                lines = textwrap.wrap(
                    f"{finding.subject}: {finding.message}", console.width - 4, break_long_words=False
                )
                console.print(textwrap.indent("\n".join(lines), "    "), markup=False, soft_wrap=True)
            if len(proof.findings) > _SAID_AGAIN:
                console.print(f"    and {len(proof.findings) - _SAID_AGAIN} more, listed above", markup=False)


def _write_json(path: str, device: str, proofs: list[Proof]) -> None:
    document: dict[str, Any] = {
        "schema": 1,
        "kit_version": __version__,
        "device": device,
        "ok": all(proof.ok for proof in proofs),
        "proofs": [
            {
                "name": proof.name,
                "ok": proof.ok,
                "checked": proof.checked,
                "skipped": proof.skipped,
                "findings": [{"subject": item.subject, "message": item.message} for item in proof.findings],
                "remarks": proof.remarks,
            }
            for proof in proofs
        ],
    }
    text = json.dumps(document, indent=1) + "\n"
    if path == "-":
        click.echo(text, nl=False)
    else:
        write_whole(Path(path), text.encode())


cli.add_command(release)
cli.add_command(collect)
cli.add_command(grade)
cli.add_command(override)
cli.add_command(feedback)
cli.add_command(report)
cli.add_command(export)
cli.add_command(certificates)
cli.add_command(completion_command("course"))


def main() -> NoReturn:
    """The console script."""
    run(cli, "course")


if __name__ == "__main__":
    main()
