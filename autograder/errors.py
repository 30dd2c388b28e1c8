"""Every error a person may see: one or two plain sentences, and the exit code that goes with it.

The tree::

    AutograderError            exit 3, a fault of the grader
     |- UsageError             exit 2, wrong command line, course or hand-in path
     |   |- CourseError        the course folder is missing or malformed
     |   |   `- MarkerError     exit 3, a solution's markers are wrong: its stub would give it away
     |   |- HandInError        no readable hand-in at the given place
     |   |- EnvironmentProblem the machine lacks something (no GPU, an old Triton)
     |   `- OutputError        stdout is closed, or its disk is full
     |- LeakError              exit 3, a release would have given away a solution
     `- WorkerError            exit 3, the worker could not be started or broke its protocol
         `- WorkStopped        what was at work was told to stop; nobody is at fault

Standard library only: both sides of the trust boundary import this module.
"""

from __future__ import annotations

EXIT_OK = 0
EXIT_NOT_ALL = 1
EXIT_USAGE = 2
EXIT_FAULT = 3


class AutograderError(Exception):
    """A fault that stops a command; ``str(error)`` says what to do."""

    exit_code = EXIT_FAULT


class UsageError(AutograderError):
    """What was asked for cannot be done as asked."""

    exit_code = EXIT_USAGE


class CourseError(UsageError):
    """The course folder is missing or one of its files is malformed."""


class MarkerError(CourseError):
    """The markers of a solution are wrong, so that its stub would give it away."""

    exit_code = EXIT_FAULT


class HandInError(UsageError):
    """The hand-in has no readable file at all."""


class EnvironmentProblem(UsageError):
    """This machine lacks something the request needs."""


class OutputError(UsageError):
    """What was to be printed cannot be written."""


class LeakError(AutograderError):
    """A release would have shown a solution or a hidden case."""


class WorkerError(AutograderError):
    """The worker did not start, or broke the protocol before any job ran."""


class WorkStopped(WorkerError):
    """What was at work was told to stop, since nobody waits for its result any more."""


def ended(message: str) -> str:
    """Somebody else's message as the end of a sentence: with a full stop, unless it has a mark of its own."""
    text = message.rstrip()
    return text if text.endswith((".", "?", "!")) else f"{text}."
