"""What a forked child does: take a job, run its checks in order, answer each at once; then the next job, or the end."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, BinaryIO

import torch

from autograder.protocol import (
    RAN,
    CheckJob,
    CheckReply,
    Job,
    Outputs,
    decode_job,
    encode_promise,
    encode_reply,
    read_frame,
)
from autograder.recording import encode_recording
from autograder.worker import buffers as memory
from autograder.worker import interpreter
from autograder.worker.compiled import measure, poison_undefined_lanes, take_numbers_as_they_come
from autograder.worker.failures import Failure, explain
from autograder.worker.faults import refuse_tiles_as_truth
from autograder.worker.loader import load_bench, load_kernels, load_launch, student_file
from autograder.worker.measuring import Contest, answer, measure_roof
from autograder.worker.process import apply_limits, renew_cpu_limit, silence
from autograder.worker.recorder import Recorder
from autograder.worker.sandbox import Confinement
from autograder.worker.timing import clock_of

_MAX_REQUEST = 4 * 1024**3

# Bytes of GPU memory that torch may hold on to between two checks.
_MOST_KEPT = 1 << 30

_Frame = tuple[Mapping[str, Any], memoryview]


def serve_job(connection: socket.socket, confinement: Confinement) -> None:
    """Read jobs from ``connection`` and answer their checks there, until nothing more comes or can be done."""
    with connection, connection.makefile("rb") as stream:
        frame = _next_frame(stream)
        assert frame is not None
        job, folder_name = decode_job(*frame)
        folder = Path(folder_name)
        silence(folder)
        apply_limits(job.limits, job.device, sum(map(len, job.whole_programme.values())))
        child = _Child(stream, connection.sendall, folder)
        if child.settle(job, confinement):
            following: _Frame | None = frame
            while following is not None:
                following = child.run(decode_job(*following)[0])


def _next_frame(stream: BinaryIO) -> _Frame | None:
    return read_frame(stream.read, _MAX_REQUEST)


class _Child:
    """Does the jobs of one hand-in, one after another."""

    def __init__(self, stream: BinaryIO, write: Callable[[bytes], None], folder: Path) -> None:
        self._stream = stream
        self._write = write
        self._folder = folder
        self._launches: dict[str, SimpleNamespace] = {}
        self._promise: dict[str, dict[str, Outputs]] = {}
        self._bench: SimpleNamespace | None = None
        self._jobs = 0

    def settle(self, job: Job, confinement: Confinement) -> bool:
        """Load the course's own code, go into the sandbox, and promise; False if the course is at fault."""
        try:
            for launch, cases in job.whole_programme.items():
                try:
                    self._load(launch, cases)
                except Exception as error:
                    if launch == job.launch:
                        raise _CourseFault(f"{launch}: {error!r}") from error
            if job.bench:
                self._load_bench(job)
            try:
                confinement.enter(self._folder, job.launch, programs=job.device == "cuda")
            except Exception as error:
                raise _CourseFault(f"A layer of the sandbox did not go on: {error}. Run the command again.") from error
        except _CourseFault as fault:
            for check in job.checks:
                self._write(encode_reply(CheckReply(check.id, "grader-error", str(fault))))
            return False
        # From here on the student's code runs: the pool takes no outputs but these, and no more faults of the course.
        self._write(encode_promise(self._promise))
        if job.device == "cuda":
            if not job.bench:  # there the kernel runs as it would anywhere
                poison_undefined_lanes()
            refuse_tiles_as_truth()
        return True

    def run(self, job: Job) -> _Frame | None:
        """Answer a job's checks; the frame of the next job, or None if there is none or this child can do no more."""
        self._jobs += 1
        place = self._folder / f"job{self._jobs}"
        place.mkdir()
        runner = _Runner(job, place, self._launches[job.launch], self._promise[job.launch], self._bench)
        for number, check in enumerate(job.checks):
            if number == job.unasked:
                frame = _next_frame(self._stream)
                if frame is None or frame[0]["kind"] != "go":
                    return frame
            reply = runner.run(check)
            self._write(encode_reply(reply))
            if reply.leaving:
                return None
        return _next_frame(self._stream)

    def _load_bench(self, job: Job) -> None:
        """Load what is measured against; such a job brings no outputs."""
        try:
            self._bench = load_bench(Path(job.bench))
        except Exception as error:
            raise _CourseFault(f"{job.bench}: {error!r}") from error
        self._promise = {launch: {id: {} for id in cases} for launch, cases in self._promise.items()}

    def _load(self, launch: str, cases: Mapping[str, Mapping[str, Any]]) -> None:
        loaded = load_launch(Path(launch))
        outputs = {id: loaded.outputs(case) for id, case in cases.items()}
        self._promise[launch] = {
            id: {name: (dtype, tuple(shape)) for name, (shape, dtype) in named.items()} for id, named in outputs.items()
        }
        self._launches[launch] = loaded


class _CourseFault(Exception):
    """Something that is not the student's is broken."""


class _Runner:
    """Runs the checks of one job, whose functions are loaded with the first of them."""

    def __init__(
        self,
        job: Job,
        folder: Path,
        launch: SimpleNamespace,
        promise: Mapping[str, Outputs],
        bench: SimpleNamespace | None,
    ) -> None:
        self._job = job
        self._folder = folder
        self._file = student_file(job, folder)
        self._launch_file = launch
        self._promise = promise
        self._bench = bench
        self._roof: dict[str, float] = {}
        self._student: SimpleNamespace | None = None
        self._failure: Failure | None = None
        self._recorder: Recorder | None = None

    def run(self, check: CheckJob) -> CheckReply:
        if self._student is None and self._failure is None:
            try:
                self._student = load_kernels(self._job, self._folder)
            except Exception as error:  # noqa: BLE001 - whatever the student's definitions raise
                self._failure = explain(error, self._file, self._job.module)
        if self._failure is not None:
            return CheckReply(check.id, self._failure.outcome, self._failure.message, self._failure.line)
        renew_cpu_limit(self._job.limits)
        reply, fatal = self._measure(check) if self._bench is not None else self._run_check(check)
        if self._job.device == "cuda" and not fatal and torch.cuda.memory_reserved() > _MOST_KEPT:
            torch.cuda.empty_cache()  # for other children, which cannot take what torch keeps here
        # A CUDA error sticks to the process, and a launch that broke off may have left the interpreter in a state of
        # its own: the pool goes on with a fresh process.
        return replace(reply, leaving=fatal or (self._job.device == "cpu" and reply.outcome != RAN))

    def _measure(self, check: CheckJob) -> tuple[CheckReply, bool]:
        assert self._bench is not None
        assert self._student is not None
        clock = clock_of(self._job.device)
        start = time.perf_counter()
        try:
            if not self._roof:
                self._roof = measure_roof(clock, self._job.device)
            contest = Contest(
                check.case, self._bench, self._launch_file, self._student, self._job.baselines, clock, self._job.device
            )
            reply = answer(check.id, contest, self._roof)
            if self._job.device == "cuda":
                torch.cuda.empty_cache()
        except Exception as error:  # noqa: BLE001 - whatever a kernel raises
            failure = explain(error, self._file, self._job.module)
            return CheckReply(check.id, failure.outcome, failure.message, failure.line), failure.fatal
        return replace(reply, seconds=time.perf_counter() - start), False

    def _run_check(self, check: CheckJob) -> tuple[CheckReply, bool]:
        device = self._job.device
        strides = self._launch_file.strides(check.case)
        measurements: dict[str, float] = {}
        self._recorder = Recorder(self._file, self._job.module) if self._job.recording and device == "cpu" else None
        start = time.perf_counter()
        try:
            inputs = {
                name: memory.allocate_input(name, raw, device, strides.get(name)) for name, raw in check.inputs.items()
            }
            outputs = {
                name: memory.allocate_output(name, shape, getattr(torch, dtype), device, strides.get(name))
                for name, (dtype, shape) in self._promise[check.id].items()
            }
            start = time.perf_counter()
            measurements = self._launch(check, inputs, outputs)
            seconds = time.perf_counter() - start
            memory.verify([*inputs.values(), *outputs.values()])
        except Exception as error:  # noqa: BLE001 - whatever a kernel raises
            dtypes = {raw.dtype for raw in check.inputs.values()}
            failure = explain(error, self._file, self._job.module, dtypes=dtypes)
            seconds = time.perf_counter() - start
            return CheckReply(check.id, failure.outcome, failure.message, failure.line, seconds), failure.fatal
        ran = CheckReply(check.id, RAN, "", None, seconds, memory.read_outputs(outputs), measurements)
        if self._recorder is not None:
            ran = replace(ran, recording=encode_recording(self._recorder.recording))
        return ran, False

    def _launch(
        self, check: CheckJob, inputs: dict[str, memory.Buffer], outputs: dict[str, memory.Buffer]
    ) -> dict[str, float]:
        """Run the launch and return its measurements."""
        compiled: list[Any] = []

        def run(kernel: Any, grid: tuple[int, ...], *args: Any, **meta: Any) -> None:
            if self._job.device == "cuda":
                take_numbers_as_they_come(kernel, args, meta)
            else:
                interpreter.begin_launch()
            compiled.append(kernel[grid](*args, **meta))

        tensors_in = {name: buffer.tensor for name, buffer in inputs.items()}
        tensors_out = {name: buffer.tensor for name, buffer in outputs.items()}
        if self._job.device == "cpu":
            with (
                interpreter.guarded([*inputs.values(), *outputs.values()], self._job.allow_atomics) as measurements,
                self._recorder.running(list(inputs.values())) if self._recorder else contextlib.nullcontext(),
            ):
                self._launch_file.launch(run, self._student, check.case, tensors_in, tensors_out)
            return measurements
        self._launch_file.launch(run, self._student, check.case, tensors_in, tensors_out)
        torch.cuda.synchronize()
        return measure(compiled)
