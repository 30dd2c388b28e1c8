"""The words behind a magic: names, and the options that `grade` has too."""

from __future__ import annotations

import argparse
import shlex
from dataclasses import dataclass
from typing import NoReturn

from autograder.errors import UsageError
from autograder.session import DEFAULT_SEED

_LARGEST_SEED = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Words:
    """What a magic was called with; ``debug`` asks for the traceback of an error."""

    names: tuple[str, ...]
    device: str
    seed: int
    debug: bool


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{self.prog}: {message}. Options are --device auto|cpu|cuda, --seed N and --debug.")


def read_words(magic: str, line: str) -> Words:
    """Take a magic's line apart.

    Raises:
        UsageError: an option is unknown, or a value is none.
    """
    parser = _Parser(prog=magic, add_help=False, allow_abbrev=False)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    parser.add_argument("--seed", type=int, default=DEFAULT_SEED)
    parser.add_argument("--debug", action="store_true")
    try:
        words = shlex.split(line)
    except ValueError:
        raise UsageError(f"{magic}: a quotation mark is not closed.") from None
    read = parser.parse_args(words)
    if not 0 <= read.seed <= _LARGEST_SEED:
        raise UsageError(f"{magic}: a seed is a whole number from 0 to {_LARGEST_SEED}.")
    return Words(tuple(read.names), read.device, read.seed, read.debug)
