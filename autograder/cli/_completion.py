"""What the shell completes: click's own mechanism, with the ids of the course at hand."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path

import click
from click.shell_completion import CompletionItem, get_completion_class

from autograder.catalogue import Course, current_folder, find_root, load_course
from autograder.cli.common import shared_options
from autograder.errors import EXIT_OK, AutograderError

SHELLS = ("bash", "zsh", "fish")
_FILES = {
    "bash": "~/.bashrc",
    "zsh": "~/.zshrc, after compinit",
    "fish": "~/.config/fish/config.fish",
}


def complete_exercises(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Ids of exercises that begin like ``incomplete``, without those that are on the line already."""
    given = context.params.get(parameter.name or "") or ()
    taken = given if isinstance(given, tuple) else (given,)
    course = _course(context)
    items = [(item.id, item.title) for item in course.exercises if item.id not in taken] if course else []
    return _beginning(items, incomplete)


def complete_lessons(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Numbers of lessons."""
    course = _course(context)
    return _beginning([(str(item.number), item.title) for item in course.lessons] if course else [], incomplete)


def complete_checks(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Ids of the checks, and for `grade trace` the traces, of the exercises on the line."""
    # The option that is being completed has no value yet, and click leaves the words of such a line in `args`.
    words = (*(context.params.get("exercises") or ()), context.params.get("exercise_id"), *context.args)
    course = _course(context)
    named = [item for item in course.exercises if item.id in words] if course else []
    traces = [check for item in named for check in item.traces] if context.info_name == "trace" else []
    checks = [check for item in named for check in item.checks]
    return _beginning([(check.id, check.proves) for check in (*traces, *checks)], incomplete)


def completion_command(program: str) -> click.Command:
    """The command ``completion`` of ``grade`` or ``course``."""

    @click.command("completion", help=_help(program))
    @click.argument("shell", type=click.Choice(SHELLS))
    @shared_options
    def completion(shell: str) -> int:
        found = get_completion_class(shell)
        assert found is not None  # click brings these three
        root = click.get_current_context().find_root().command
        click.echo(found(root, {}, program, f"_{program.upper()}_COMPLETE").source())
        return EXIT_OK

    return completion


def _help(program: str) -> str:
    places = "\n".join(f"  {shell:<6}{place}" for shell, place in _FILES.items())
    return (
        f"Print the script by which a shell completes `{program}`: commands, options, and the course's own ids.\n\n"
        f"\b\nIt belongs into a file that the shell reads when it starts:\n{places}\n\n"
        f"\b\nExamples:\n  {program} completion bash >> ~/.bashrc\n"
        f'  eval "$({program} completion zsh)"\n'
        f"  {program} completion fish | source\n"
    )


def _course(context: click.Context) -> Course | None:
    """The course of the line that is being typed; None without one, or if it is broken: nobody reads errors now."""
    root = (context.find_root().obj or {}).get("root")
    with contextlib.suppress(AutograderError, OSError):
        return load_course(Path(root).resolve() if root is not None else find_root(current_folder()))
    return None


def _beginning(items: Iterable[tuple[str, str]], incomplete: str) -> list[CompletionItem]:
    unique = dict(items)
    return [CompletionItem(word, help=text) for word, text in unique.items() if word.startswith(incomplete)]
