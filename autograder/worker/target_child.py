"""What a forked child does for a lowering job: one reply a GPU target, without a GPU and without torch.

On the first target, the smallest, every variant is lowered as far as the front end's checks, the one with the largest
tile further, until its shared memory is known, and the one with the smallest tile to LLVM IR, since some faults show
only there.  The other targets see the largest alone, and only where they may make a difference to it.
"""

from __future__ import annotations

import gc
import re
import socket
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from autograder.protocol import RAN, CheckReply, decode_job, encode_reply, read_frame
from autograder.worker.failures import explain
from autograder.worker.faults import refuse_tiles_as_truth
from autograder.worker.loader import load_kernels, load_launch, student_file
from autograder.worker.lowering import Lowered, Lowering, Variant, record
from autograder.worker.process import apply_limits, renew_cpu_limit, silence
from autograder.worker.sandbox import Confinement

_MAX_REQUEST = 64 * 1024**2
# Of a complaint: it is about sizes, and so about those that a variant is compiled with.
_SIZES_MATTER = re.compile(r"\d|cannot multiply")


@dataclass(slots=True)
class _Progress:
    """The variants of a job, the one that was lowered last, and the one that the later targets look at."""

    variants: list[Variant]
    last: Variant | None = None
    largest: Lowering | None = None
    tf32_lines: set[int] = field(default_factory=set)
    families: dict[str, Lowered] = field(default_factory=dict)


def serve_targets(connection: socket.socket, confinement: Confinement) -> None:
    """Read the job from ``connection``; each of its checks is a target, and each is answered there."""
    with connection, connection.makefile("rb") as stream:
        frame = read_frame(stream.read, _MAX_REQUEST)
        assert frame is not None
        job, folder_name = decode_job(*frame)
        folder = Path(folder_name)
        silence(folder)
        gc.disable()  # the front end makes a great many small objects, and this process ends soon
        apply_limits(job.limits, job.device, len(job.checks))
        refuse_tiles_as_truth()
        launch = load_launch(Path(job.launch))
        # The assembler is a program of its own; lowering as far as shared memory starts none.
        confinement.enter(folder, job.launch, programs=any(check.case["depth"] == "cubin" for check in job.checks))
        progress: _Progress | None = None
        for check in job.checks:
            renew_cpu_limit(job.limits)
            try:
                if progress is None:
                    progress = _Progress(record(launch, load_kernels(job, folder), check.case["cases"]))
                lowered = _lower(progress, check.id, check.case, job.file_name)
                reply = CheckReply(check.id, RAN, measurements=_measurements(lowered))
            except Exception as error:  # noqa: BLE001 - whatever the compiler raises
                dtypes = {dtype for case in check.case["cases"] for dtype, _ in case["inputs"].values()}
                failure = explain(error, student_file(job, folder), job.module, compiling=True, dtypes=dtypes)
                message = failure.message
                if progress is not None and progress.last is not None and _SIZES_MATTER.search(message):
                    message += _tile_sizes(progress.last)
                message = f"{message}\n{failure.original}" if failure.original else message
                reply = CheckReply(check.id, failure.outcome, message, failure.line)
            connection.sendall(encode_reply(reply))


def _lower(progress: _Progress, target: str, case: Any, file_name: str) -> Lowered:
    depth = case["depth"]
    if case["every_variant"]:
        lowering = _lower_all(progress, target, file_name)
    elif progress.largest is not None:
        known = progress.families.get(progress.largest.family(target))
        if depth == "shared" and known is not None:
            return known
        lowering = progress.largest.again(target)
    else:  # an earlier target failed at the one that was lowered last
        lowering = Lowering(progress.last or progress.variants[0], target, file_name)
    lowered = lowering.to(depth)
    # A dot that is rounded in any variant is rounded on every target that knows TF32.
    lowered = replace(lowered, tf32_lines=tuple(sorted(progress.tf32_lines | set(lowered.tf32_lines))))
    progress.families[lowering.family(target)] = lowered
    return lowered


def _lower_all(progress: _Progress, target: str, file_name: str) -> Lowering:
    """Lower every variant, the smallest of them to LLVM IR; the largest."""
    smallest: Lowering | None = None
    largest: Lowering | None = None
    for variant in progress.variants:
        progress.last = variant
        one = Lowering(variant, target, file_name)
        progress.tf32_lines.update(one.tf32_lines)
        if smallest is None or one.largest < smallest.largest:
            smallest = one
        if largest is None or one.largest > largest.largest:
            largest = one
    assert smallest is not None
    assert largest is not None
    progress.last = smallest.variant
    (smallest.again(target) if smallest is largest else smallest).to("llir")
    progress.last, progress.largest = largest.variant, largest
    return largest


def _tile_sizes(variant: Variant) -> str:
    """A sentence on what a variant is compiled with; the failed check may have been run with other sizes."""
    sizes = [f"{name} = {value}" for name, value in variant.constants.items() if name.startswith("BLOCK_")]
    return f" Compiled with {', '.join(sizes)}." if sizes else ""


def _measurements(lowered: Lowered) -> dict[str, float]:
    measured = {"largest_tile": float(lowered.largest)}
    for name, value in (("shared", lowered.shared), ("registers", lowered.registers), ("spills", lowered.spills)):
        if value is not None:
            measured[name] = float(value)
    for line in lowered.tf32_lines:
        measured[f"tf32_line.{line}"] = 1.0
    return measured
