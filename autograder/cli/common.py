"""What both commands share: the course root, errors in plain sentences, and the right exit code."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import click

from autograder import doctor
from autograder.catalogue import Course, current_folder, find_root, load_course
from autograder.cli._say import say
from autograder.cli._streams import give_up_stdout, prepare_streams
from autograder.cli.start import begin
from autograder.errors import EXIT_FAULT, AutograderError, EnvironmentProblem, OutputError, UsageError
from autograder.release.stubs import create_missing_stubs

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


class WholeNumber(click.IntRange):
    """A whole number, between bounds if there are any, with words for what is none."""

    def _describe_range(self) -> str:
        """What help says behind the option: nothing where there are no bounds."""
        return "" if self.min is None and self.max is None else super()._describe_range()

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number; a usage error says which there are."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            bounds = f" from {self.min} to {self.max}" if None not in (self.min, self.max) else ""
            self.fail(f"{value!r} is no whole number{bounds}.", param, ctx)


def current_course() -> Course:
    """The course of the current command line.

    Raises:
        CourseError: there is none, or it is malformed.
    """
    settings = click.get_current_context().find_root().obj or {}
    root = settings.get("root")
    return load_course(Path(root).resolve() if root is not None else find_root(current_folder()))


def assignments(course: Course) -> Path:
    """The folder that is graded unless told otherwise; in a student bundle, stubs that are missing are put there.

    Raises:
        CourseError: the stubs cannot be put there.
    """
    if written := create_missing_stubs(course):
        say("Put into assignments/: " + ", ".join(written), err=True)
    return course.root / "assignments"


def require_machine(device: str) -> None:
    """Stop before anything is graded on a machine on which it would go wrong.

    Raises:
        EnvironmentProblem: what is wrong, and what to do.
    """
    if sentence := doctor.blocking(device):
        raise EnvironmentProblem(f"{sentence} `grade doctor` says more.")


def describe(error: Exception) -> str:
    """An error as the one or two sentences that a person reads."""
    if isinstance(error, AutograderError):
        return str(error)
    return (
        f"the grader itself failed ({type(error).__name__}: {error}). "
        "This costs no points; run again with --debug to see where, and report it."
    )


def run(command: click.Command, name: str) -> NoReturn:
    """Run the command called ``name``; every error ends as one or two sentences on stderr and its own exit code."""
    debug = "--debug" in sys.argv
    begin()
    _stop_on_signals()
    try:
        prepare_streams("--plain" in sys.argv)
        _refuse_broken_completion(name)
        code = command.main(prog_name=name, standalone_mode=False)
        _leave(code if isinstance(code, int) else 0)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt) as error:
        with contextlib.suppress(OSError):  # the terminal may be closed
            click.echo("Stopped.", err=True)
        cause = error.__cause__  # click makes an Abort of every interrupt
        stopped = next((one for one in (error, cause) if isinstance(one, _Stopped)), None)
        _leave(128 + (stopped.number if stopped is not None else signal.SIGINT))
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(1)
    except AutograderError as error:
        if isinstance(error, OutputError):
            give_up_stdout()
        if debug:
            traceback.print_exc()
        say(f"Error: {error}", err=True)
        _leave(error.exit_code)
    except Exception as error:  # noqa: BLE001 - the last line of defence
        if debug:
            traceback.print_exc()
        say(f"Error: {describe(error)}", err=True)
        sys.exit(EXIT_FAULT)


class _Stopped(KeyboardInterrupt):
    """Stopped by a signal: what a batch system, `timeout`, or a closed terminal sends."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


def _stop_on_signals() -> None:
    """Have workers and temporary folders cleared away then too, as after Ctrl-C; a second signal ends us as it is."""

    def stop(number: int, _: object) -> None:
        for other in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(other, signal.SIG_DFL)
        raise _Stopped(number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
            signal.signal(number, stop)


def _leave(code: int) -> NoReturn:
    """End this process, also while a thread that nobody waits for is still importing something."""
    if any(thread.daemon and thread.name != "pool-control" for thread in threading.enumerate()):
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError, AttributeError):
                stream.flush()
        os._exit(code)  # an interpreter that ends in the middle of an import may hang
    sys.exit(code)


def _refuse_broken_completion(name: str) -> None:
    """Click takes for granted that a shell asks.

    Raises:
        UsageError: it is asked to complete a line, and is not told which.
    """
    asked = os.environ.get(f"_{name.upper()}_COMPLETE", "")
    if not asked.endswith("_complete"):
        return
    place = os.environ.get("COMP_CWORD")
    if "COMP_WORDS" not in os.environ or place is None or not (asked.startswith("fish") or place.isdecimal()):
        raise UsageError(
            f"There is no line to complete: a shell sets COMP_WORDS and COMP_CWORD. `{name} completion --help` says "
            "how to have it ask."
        )


def _remember(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    root_context = context.find_root()
    if root_context.obj is None:
        root_context.obj = {}
    if value:
        root_context.obj[parameter.name] = value
