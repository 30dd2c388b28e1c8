"""What setup.sh and run_autograder start in Gradescope's container."""

from __future__ import annotations

from pathlib import Path

import click

from autograder import gradescope
from autograder.cli.common import run


@click.group()
def cli() -> None:
    """Grade a submission in Gradescope's container."""


@cli.command()
@click.option("--source", type=click.Path(path_type=Path, file_okay=False), required=True)
def check(source: Path) -> int:
    """Grade the solutions, and say what stands between a submission and SOURCE; fails where either is not enough."""
    return gradescope.check(source)


@cli.command()
@click.option("--source", type=click.Path(path_type=Path, file_okay=False), required=True)
@click.option("--submission", type=click.Path(path_type=Path), required=True)
@click.option("--results", type=click.Path(path_type=Path, dir_okay=False), required=True)
def grade(source: Path, submission: Path, results: Path) -> int:
    """Grade SUBMISSION and write results.json."""
    return gradescope.grade(source, submission, results)


if __name__ == "__main__":
    run(cli, "autograder")
