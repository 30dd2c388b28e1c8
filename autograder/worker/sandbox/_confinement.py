"""What a child gives up before a student's code is loaded: the layers, and the order in which they are put on."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from autograder.worker.sandbox import _kernel, _landlock, _seccomp, _uid
from autograder.worker.sandbox._layers import CAPABILITIES, LANDLOCK, SECCOMP, SPARE_UID

CACHE = "triton-cache"


@dataclass(frozen=True, slots=True)
class Confinement:
    """The layers that work on this machine and what they need to know; made by `probe`.

    ``layers`` has names of `_layers`.  ``readable`` is what children may read, ``uids`` the users they may become,
    ``uid`` the one of the child at hand, ``cache`` a folder of Triton's that children begin with, made by trusted code.
    """

    device: str
    layers: frozenset[str]
    readable: tuple[str, ...]
    uids: range = range(0)
    uid: int | None = None
    cache: str = ""

    def enter(self, folder: Path, launch: str, programs: bool) -> None:
        """Put on all layers, for good.  The calling process must have one thread.

        ``folder`` is the child's own, ``launch`` a file it may read as well; ``programs`` says whether it may start
        other programs.

        Raises:
            OSError: a layer that worked when it was probed does not any more.
        """
        for _, put_on in self.steps(folder, launch, programs):
            put_on()

    def steps(self, folder: Path, launch: str, programs: bool) -> Iterator[tuple[str, Callable[[], None]]]:
        """Each layer's name and what puts it on, in order: what takes rights that a later one needs comes later."""
        cuda = self.device == "cuda"
        self._settle(folder)
        _kernel.gain_nothing_by_exec()
        if LANDLOCK in self.layers:
            # Before the change of user, who may be unable to reach all that is on the list.
            yield LANDLOCK, lambda: _landlock.restrict(str(folder), (*self.readable, launch), cuda, programs)
        if SPARE_UID in self.layers:
            yield SPARE_UID, lambda: self._change_user(folder, programs)
        elif CAPABILITIES in self.layers:
            yield CAPABILITIES, _uid.give_up_capabilities
        if SECCOMP in self.layers:
            yield SECCOMP, lambda: _seccomp.restrict(cuda, programs)

    def _settle(self, folder: Path) -> None:
        """Have caches and temporary files in the child's own folder."""
        if self.cache:
            shutil.copytree(self.cache, folder / CACHE)
        os.environ.update(HOME=str(folder), TMPDIR=str(folder), TRITON_CACHE_DIR=str(folder / CACHE))
        tempfile.tempdir = None  # Python remembers where it was

    def _change_user(self, folder: Path, programs: bool) -> None:
        assert self.uid is not None
        _uid.own_everything(str(folder), self.uid)
        _uid.become(self.uid, programs)
