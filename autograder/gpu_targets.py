"""Would the kernels compile for the course's GPUs, without having one?  The trusted side of it.

A child of a fork server that holds nothing but the triton wheel lowers the vetted kernels (`worker.lowering`), within
limits on CPU time, wall time and memory.  What it found is kept by lifted source, exercise and versions, so that the
same source is never lowered twice on a machine.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from autograder import __version__
from autograder.kept import Kept, key_of
from autograder.pool import Pool
from autograder.protocol import RAN, CheckJob, CheckReply, Job, Limits
from autograder.result import TargetResult

_LIMITS = Limits(cpu_seconds=30.0, wall_seconds=60.0)

# Shared memory that a block may use, in bytes, by compute capability: CUDA C++ Programming Guide, "Technical
# Specifications per Compute Capability", maximum amount of shared memory per thread block.
SHARED_LIMITS: Mapping[str, int] = {
    "sm_75": 64 * 1024,
    "sm_80": 163 * 1024,
    "sm_86": 99 * 1024,
    "sm_89": 99 * 1024,
    "sm_90": 227 * 1024,
    "sm_100": 227 * 1024,
    "sm_120": 99 * 1024,
}
KNOWN_AS = {"sm_75": "T4", "sm_80": "A100", "sm_90": "H100", "sm_100": "B200"}


# What an exercise's kernels are launched with: ``{"case": {...}, "inputs": {name: [dtype, shape]}}`` for each launch.
Launches = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class TargetVerdict:
    """All targets of one exercise; ``outcome`` is that of the first that fails, or ``pass``."""

    outcome: str
    message: str
    line: int | None
    targets: tuple[TargetResult, ...]


class TargetChecker:
    """Checks kernels against ``targets``, the smallest first; ``kept`` remembers what came of it.

    ``pool`` gives the fork server; it is called only when something has to be lowered.
    """

    def __init__(
        self, pool: Callable[[], Pool], targets: Sequence[str], kept: Kept, triton_version: str | None
    ) -> None:
        self._pool = pool
        self._targets = tuple(sorted(targets, key=lambda name: int(name.removeprefix("sm_"))))
        self._kept = kept
        self._triton = triton_version

    def knows(self, job: Job, exercise: str) -> bool:
        """Whether nothing has to be lowered to `check` this."""
        return _from_document(self._kept.get(self._key(job, exercise, False))) is not None

    def check(
        self, job: Job, exercise: str, launches: Callable[[], Launches], true_float32: bool, full: bool = False
    ) -> TargetVerdict:
        """Lower ``job``'s kernels for the ``launches`` of an exercise; ``exercise`` is a hash of all that it is.

        ``full`` goes down to machine code on every target and reports registers and spills.

        Raises:
            WorkerError: the fork server is gone.
        """
        key = self._key(job, exercise, full)
        with self._kept.alone(key):
            if (found := _from_document(self._kept.get(key))) is not None:
                return found
            verdict = self._lower(job, launches(), true_float32, full)
            if all(item.outcome in ("pass", "fail", "compile-error") for item in verdict.targets):
                self._kept.put(key, asdict(verdict))
            return verdict

    def _lower(self, job: Job, cases: Launches, true_float32: bool, full: bool) -> TargetVerdict:
        replies: dict[str, CheckReply] = {}

        def carry_on(reply: CheckReply, following: CheckJob | None) -> bool:
            replies[reply.id] = reply
            return reply.outcome != "timeout"  # what keeps the compiler busy once would do so for every target

        checks = tuple(
            CheckJob(
                target, {"cases": list(cases), "every_variant": not number, "depth": "cubin" if full else "shared"}, {}
            )
            for number, target in enumerate(self._targets)
        )
        self._pool().run(
            Job(
                launch=job.launch,
                file_name=job.file_name,
                module=job.module,
                functions=job.functions,
                checks=checks,
                substitutes=job.substitutes,
                device="targets",
                limits=_LIMITS,
            ),
            carry_on,
        )
        last = replies[self._targets[len(replies) - 1]]
        return _verdict(
            [_judge(replies.get(target, replace(last, id=target)), true_float32) for target in self._targets]
        )

    def _key(self, job: Job, exercise: str, full: bool) -> str:
        """A hash of all that the verdict depends on."""
        versions = [__version__, self._triton, self._targets]
        return key_of(versions, exercise, job.module, sorted(job.substitutes.items()), full)


def default_cache() -> Path:
    """Where this user's verdicts are kept: ``$XDG_CACHE_HOME`` or ``~/.cache``."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "mini-flash-attention" / "targets"


def _judge(reply: CheckReply, true_float32: bool) -> tuple[TargetResult, int | None]:
    """What one target's reply means, and the line it points at."""
    target = reply.id
    name = f"{target} ({KNOWN_AS[target]})" if target in KNOWN_AS else target
    message, _, original = reply.message.partition("\n")
    if reply.outcome != RAN:
        plain = f"Does not compile for {name}: {message}" if reply.outcome == "compile-error" else f"{name}: {message}"
        return TargetResult(target, reply.outcome, None, plain, original), reply.line
    measured = reply.measurements
    shared = int(measured["shared"]) if "shared" in measured else None
    extra = {key: int(measured[key]) for key in ("registers", "spills") if key in measured}
    limit = SHARED_LIMITS.get(target)
    if shared is not None and limit is not None and shared > limit:
        text = f"Needs {shared} bytes of shared memory a block, and {name} has {limit}. Smaller tiles need less."
        return TargetResult(target, "fail", shared, text, "", **extra), None
    lines = sorted(int(key.partition(".")[2]) for key in measured if key.startswith("tf32_line."))
    if true_float32 and lines:
        text = (
            f"tl.dot rounds its float32 tiles to TF32 on {name} and keeps about three digits: "
            'add input_precision="ieee".'
        )
        if target != "sm_75":  # Turing has no TF32: there the same kernel is exact
            return TargetResult(target, "fail", shared, text, "", **extra), lines[0] or None
    return TargetResult(target, "pass", shared, "", "", **extra), None


def _verdict(judged: Sequence[tuple[TargetResult, int | None]]) -> TargetVerdict:
    targets = tuple(target for target, _ in judged)
    for target, line in judged:
        if target.outcome != "pass":
            return TargetVerdict(target.outcome, target.message, line, targets)
    return TargetVerdict("pass", "", None, targets)


def _from_document(document: Mapping[str, Any] | None) -> TargetVerdict | None:
    """A verdict that was kept; None if it is not there or not whole."""
    if document is None:
        return None
    try:
        targets = tuple(TargetResult(**target) for target in document["targets"])
        return TargetVerdict(document["outcome"], document["message"], document["line"], targets)
    except (KeyError, TypeError):
        return None
