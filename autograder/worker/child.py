"""What a forked child does: take one job, run its checks in order, answer each at once, and end."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch

from autograder.protocol import RAN, CheckJob, CheckReply, Job, decode_job, encode_promise, encode_reply, read_frame
from autograder.worker import buffers as memory
from autograder.worker.failures import explain
from autograder.worker.faults import refuse_tiles_as_truth
from autograder.worker.loader import load_kernels, load_launch, student_file
from autograder.worker.process import apply_limits, renew_cpu_limit, silence
from autograder.worker.sandbox import Confinement

_MAX_REQUEST = 4 * 1024**3


def serve_job(connection: socket.socket, confinement: Confinement) -> None:
    """Read the job from ``connection``, answer its checks there, and return."""
    with connection, connection.makefile("rb") as stream:
        frame = read_frame(stream.read, _MAX_REQUEST)
        assert frame is not None
        job, folder_name = decode_job(*frame)
        folder = Path(folder_name)
        silence(folder)
        apply_limits(job.limits, job.device, len(job.checks))
        _Runner(job, folder, connection.sendall, confinement).run()


class _Runner:
    def __init__(self, job: Job, folder: Path, send: Callable[[bytes], None], confinement: Confinement) -> None:
        self._job = job
        self._confinement = confinement
        self._folder = folder
        self._file = student_file(job, folder)
        self._write = send

    def _send(self, reply: CheckReply) -> None:
        self._write(encode_reply(reply))

    def _fault(self, message: str) -> None:
        for check in self._job.checks:
            self._send(CheckReply(check.id, "grader-error", message))

    def run(self) -> None:
        try:
            launch = load_launch(Path(self._job.launch))
            promise = {
                check.id: {name: (dtype, tuple(shape)) for name, (shape, dtype) in launch.outputs(check.case).items()}
                for check in self._job.checks
            }
        except Exception as error:  # noqa: BLE001 - the course's fault, and said so
            self._fault(f"{self._job.launch}: {error!r}")
            return
        try:
            self._confinement.enter(self._folder, self._job.launch, programs=self._job.device == "cuda")
        except Exception as error:  # noqa: BLE001 - nothing of a student's runs outside the sandbox
            self._fault(f"A layer of the sandbox did not go on: {error}. Run the command again.")
            return
        # From here on the student's code runs: the pool takes no outputs but these, and no more faults of the course.
        self._write(encode_promise(promise))
        if self._job.device == "cuda":
            from autograder.worker.compiled import poison_undefined_lanes

            poison_undefined_lanes()
            refuse_tiles_as_truth()
        try:
            student = load_kernels(self._job, self._folder)
        except Exception as error:  # noqa: BLE001 - whatever the student's definitions raise
            failure = explain(error, self._file, self._job.module)
            for check in self._job.checks:
                self._send(CheckReply(check.id, failure.outcome, failure.message, failure.line))
            return
        for check in self._job.checks:
            renew_cpu_limit(self._job.limits)
            reply, fatal = self._run_check(check, launch, student, promise[check.id])
            # A CUDA error sticks to the process, and a launch that broke off may have left the interpreter in a state
            # of its own: the pool goes on with a fresh process.
            leaving = fatal or (self._job.device == "cpu" and reply.outcome != RAN)
            self._send(replace(reply, leaving=leaving))
            if leaving:
                return

    def _run_check(
        self, check: CheckJob, launch: SimpleNamespace, student: Any, promise: Mapping[str, tuple[str, tuple[int, ...]]]
    ) -> tuple[CheckReply, bool]:
        device = self._job.device
        inputs = {name: memory.allocate_input(name, raw, device) for name, raw in check.inputs.items()}
        outputs = {
            name: memory.allocate_output(name, shape, getattr(torch, dtype), device)
            for name, (dtype, shape) in promise.items()
        }
        every = [*inputs.values(), *outputs.values()]
        measurements: dict[str, float] = {}
        start = time.perf_counter()
        try:
            measurements = self._launch(check, launch, student, inputs, outputs)
            seconds = time.perf_counter() - start
            memory.verify(every)
        except Exception as error:  # noqa: BLE001 - whatever a kernel raises
            failure = explain(error, self._file, self._job.module)
            seconds = time.perf_counter() - start
            return CheckReply(check.id, failure.outcome, failure.message, failure.line, seconds), failure.fatal
        return CheckReply(check.id, RAN, "", None, seconds, memory.read_outputs(outputs), measurements), False

    def _launch(
        self,
        check: CheckJob,
        launch: SimpleNamespace,
        student: Any,
        inputs: dict[str, memory.Buffer],
        outputs: dict[str, memory.Buffer],
    ) -> dict[str, float]:
        """Run the launch and return its measurements."""
        compiled: list[Any] = []

        def run(kernel: Any, grid: tuple[int, ...], *args: Any, **meta: Any) -> None:
            compiled.append(kernel[grid](*args, **meta))

        tensors_in = {name: buffer.tensor for name, buffer in inputs.items()}
        tensors_out = {name: buffer.tensor for name, buffer in outputs.items()}
        if self._job.device == "cpu":
            from autograder.worker.interpreter import guarded

            with guarded([*inputs.values(), *outputs.values()], self._job.allow_atomics) as measurements:
                launch.launch(run, student, check.case, tensors_in, tensors_out)
            return measurements
        from autograder.worker.compiled import measure

        launch.launch(run, student, check.case, tensors_in, tensors_out)
        torch.cuda.synchronize()
        return measure(compiled)
