"""Which layers work on this machine: found out once a server, in throw-away children, before the first job.

What each layer refuses is tried by `_refusals`.  Then a real, tiny job runs under all that worked (`_rehearsal`).  If
it fails, layers are left out until it runs; what is left out is missing, and said so.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

from autograder.worker.sandbox import _bubblewrap, _places, _refusals, _uid
from autograder.worker.sandbox._bubblewrap import Inside
from autograder.worker.sandbox._confinement import Confinement
from autograder.worker.sandbox._layers import BASIC, BUBBLEWRAP, CAPABILITIES, LANDLOCK, SECCOMP, SPARE_UID, sentence
from autograder.worker.sandbox._rehearsal import Serve, runs

# Seconds in which the layers to leave out have to be found; a server that takes longer to start counts as dead.
_PATIENCE = 60.0
_UNUSABLE = (
    "Not even a kernel of the grader's own runs here. Is memory limited (ulimit -v), the disk full, or Triton damaged?"
)
_NOT_ROOT = "only root can give a child a user of its own"


class Unusable(Exception):
    """No job can run in this process's surroundings; the message says so in a sentence."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What children are confined by; the names of all layers that hold, and a plain sentence for each that does not."""

    confinement: Confinement
    layers: tuple[str, ...]
    missing: tuple[str, ...]


def probe(device: str, serve: Serve, inside: Inside | None = None) -> Outcome:
    """Try everything out in the current folder; ``serve`` does a job as a child of the server does.

    ``inside`` is set in a server that was put into bubblewrap.

    Raises:
        Unusable: nothing runs on the CPU, whatever is left out; or the server is not inside.
    """
    if inside is not None:
        try:
            _bubblewrap.check(inside, device)
        except _bubblewrap.NotInsideError as leak:
            raise Unusable(f"{BUBBLEWRAP}: {leak}.") from None
    root = os.geteuid() == 0
    base = Path(tempfile.mkdtemp(prefix="probe-", dir=os.getcwd()))
    if root:
        os.chmod(os.getcwd(), 0o711)  # children of other users reach their own folders by their names
    base.chmod(0o755)
    # Inside, all servers have the same process id.
    number = os.getpid() if inside is None else inside.number
    uids = _uid.own_uids(number) if root else range(0)
    layers = {LANDLOCK, SECCOMP} | ({SPARE_UID, CAPABILITIES} if root else set())
    confinement = Confinement(device, frozenset(layers), _places.readable(device), uids, uids[0] if root else None)
    try:
        reasons = {} if root else {SPARE_UID: _NOT_ROOT}
        reasons |= _refusals.failures(confinement, base)
        if root and SPARE_UID in reasons:
            as_root = replace(confinement, layers=frozenset({CAPABILITIES}))
            reasons |= _refusals.failures(as_root, base)
        confinement = replace(confinement, layers=confinement.layers - set(reasons))
        confinement, failed = _rehearse(confinement, serve, base)
        reasons |= failed
        return _outcome(confinement, reasons, inside is not None)
    finally:
        shutil.rmtree(base, ignore_errors=True)


def _outcome(confinement: Confinement, reasons: dict[str, str], bubblewrap: bool) -> Outcome:
    named = (*BASIC, SPARE_UID, LANDLOCK, SECCOMP)
    return Outcome(
        confinement,
        (*(layer for layer in named if layer not in reasons), *([BUBBLEWRAP] if bubblewrap else ())),
        tuple(sentence(layer, reasons[layer]) for layer in named if layer in reasons),
    )


def _rehearse(confinement: Confinement, serve: Serve, base: Path) -> tuple[Confinement, dict[str, str]]:
    """The confinement with as many layers as the tiny job runs under, and why the others are left out."""
    what = "CUDA does not open" if confinement.device == "cuda" else "Triton does not run"
    bare = replace(confinement, layers=frozenset())
    end = time.monotonic() + _PATIENCE
    for dropped in _fewest_first(confinement.layers):
        fewer = replace(confinement, layers=confinement.layers - set(dropped))
        cache = runs(fewer, serve, base)
        if cache is not None:
            return replace(fewer, cache=cache), dict.fromkeys(dropped, f"{what} under it on this machine")
        if not dropped and runs(bare, serve, base) is None:
            if confinement.device == "cuda":
                break  # no layer's fault: the first job says what CUDA lacks
            raise Unusable(_UNUSABLE)  # no layer's fault, and no student's
        if time.monotonic() > end:
            return bare, dict.fromkeys(confinement.layers, f"{what} under it on this machine, or not in time")
    return confinement, {}


def _fewest_first(layers: frozenset[str]) -> Iterator[tuple[str, ...]]:
    order = [layer for layer in (LANDLOCK, SPARE_UID, SECCOMP, CAPABILITIES) if layer in layers]
    for count in range(len(order) + 1):
        yield from combinations(order, count)
