"""What both commands share: the course root, errors in plain sentences, and the right exit code."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import click

from autograder.catalogue import Course, find_root, load_course
from autograder.errors import EXIT_FAULT, AutograderError

F = TypeVar("F", bound=Callable[..., Any])

_KEYS = ("root", "debug")


def shared_options(function: F) -> F:
    """``--root`` and ``--debug``, accepted before and after the subcommand."""
    root = click.option(
        "--root",
        type=click.Path(path_type=Path),
        expose_value=False,
        callback=_remember,
        help="The course's folder, if it is not the current one or above it.",
    )
    debug = click.option(
        "--debug",
        is_flag=True,
        expose_value=False,
        callback=_remember,
        help="On an error, show where it came from.",
    )
    return root(debug(function))


def current_course() -> Course:
    """The course of the current command line.

    Raises:
        CourseError: there is none, or it is malformed.
    """
    settings = click.get_current_context().find_root().obj or {}
    root = settings.get("root")
    return load_course(Path(root).resolve() if root is not None else find_root(Path.cwd()))


def run(command: click.Command) -> NoReturn:
    """Run a command; every error ends as one or two sentences on stderr and its own exit code."""
    debug = "--debug" in sys.argv
    try:
        code = command.main(standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("Stopped.", err=True)
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(1)
    except AutograderError as error:
        if debug:
            traceback.print_exc()
        click.echo(f"Error: {error}", err=True)
        sys.exit(error.exit_code)
    except Exception as error:  # noqa: BLE001 - the last line of defence
        if debug:
            traceback.print_exc()
        click.echo(
            f"Error: the grader itself failed ({type(error).__name__}: {error}). "
            "This costs no points; run again with --debug to see where, and report it.",
            err=True,
        )
        sys.exit(EXIT_FAULT)


def _remember(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    root_context = context.find_root()
    if root_context.obj is None:
        root_context.obj = {}
    if value:
        root_context.obj[parameter.name] = value
