"""One grading run, in the order a hand-in travels: handin -> lift -> pool -> judge -> result.

What the command line, bulk grading and notebooks call.  Torch is imported only after the worker has been started, so
that the two imports overlap.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autograder import __version__, devices, racing, scoring
from autograder.catalogue import Check, Course, Exercise
from autograder.gpu_targets import TargetVerdict
from autograder.kept import Kept, key_of
from autograder.lift import CompactModule
from autograder.machine import environment
from autograder.plan import Plan, Reference, plan_exercises
from autograder.pool import Crew, Pool
from autograder.protocol import Job, Limits, Programme
from autograder.result import CheckResult, Clue, Diagnosis, ExerciseResult, RunResult, Sandbox
from autograder.target_checks import Lowerings, TargetChecks

if TYPE_CHECKING:
    from autograder.judge.inquiry import Findings
    from autograder.judge.verdict import Case, Verdict

    Decided = Callable[[Mapping[str, Verdict]], None]

DEFAULT_SEED = 7

# Seconds of one check, on CPU and on a GPU, where the first launch of a variant is compiled.
LIMITS = {
    "cpu": Limits(cpu_seconds=12.0, wall_seconds=60.0),
    "cuda": Limits(cpu_seconds=600.0, wall_seconds=30.0),
}

# Seconds for the probes that are there to be shown: an ordinary kernel takes a tenth of them.  On a GPU they compile.
_PATIENCE: dict[str, float | None] = {"cpu": 1.5, "cuda": None}

# Outcomes that a second run would give again.
_REPEATABLE = frozenset({"pass", "fail", "compile-error"})

# Cases that are held with their inputs and right values, some hundred kilobytes each.
_CASES = 256

Progress = Callable[[ExerciseResult], None]


@dataclass(frozen=True, slots=True)
class Request:
    """What to grade.  ``reference`` makes the run official: hidden checks, and follow-through marks.

    ``thorough`` finishes a tier after a failure in it, so that a report can show all of the tier; without it an
    exercise ends with its first failed check.  ``diagnose`` looks for the mistake behind a failure, on the checks that
    were left out as well; with ``clues`` it runs the probes that are there to be shown, too.  Without
    ``targets`` the check on GPU targets is left out, whatever the grader does otherwise, and without ``races`` all
    checks on speed are, as if the exercise had none.  Without ``remembered`` its checks are run, though the same
    source may have been graded before.  ``unhurried`` asks why for as long as it takes: what is found then depends on
    no machine's speed.
    """

    handin: Path
    exercises: tuple[Exercise, ...]
    seed: int = DEFAULT_SEED
    reference: Reference | None = None
    student: str | None = None
    thorough: bool = True
    diagnose: bool = True
    clues: bool = True
    repro_options: str = ""
    targets: bool = True
    remembered: bool = True
    races: bool = True
    unhurried: bool = False


@dataclass(frozen=True, slots=True)
class _Run:
    """One request at work: the children that run its checks, and what the compiler says of its kernels."""

    request: Request
    crew: Crew
    lowerings: Lowerings
    early: Progress | None = None


class Grader:
    """Grades hand-ins of one course on one device with one worker pool; a context manager.

    The same vetted source on the same checks is run once, whoever handed it in: a second time its verdicts are taken
    from the first.  ``kept`` is a folder that remembers them from run to run.  ``targets`` says when kernels are
    lowered for the course's GPU targets: ``always``, ``if-passed`` (all else is) or ``off``; ``target_cache`` is a
    folder that remembers what came of it.  ``gpu`` is the name of the GPU, ``visible_gpu`` what CUDA_VISIBLE_DEVICES
    calls it, where there are several.

    Raises:
        WorkerError: the worker cannot be started.
    """

    def __init__(
        self,
        course: Course,
        device: str,
        gpu: str | None = None,
        jobs: int | None = None,
        targets: str = "always",
        target_cache: Path | None = None,
        kept: Path | None = None,
        visible_gpu: str | None = None,
    ) -> None:
        self.course = course
        self.device = device
        self._lock = threading.Lock()
        self._kept = Kept(kept)
        self.environment = environment(device, gpu)
        self._digests: dict[str, str] = {}
        self._cases: dict[tuple[str, str, int], Case] = {}
        self._jobs = jobs or (os.cpu_count() or 1)
        self._targets = TargetChecks(course, targets, target_cache, self._jobs, self._digest)
        self._pool = Pool(device, [exercise.folder for exercise in course.exercises], visible_gpu)

    def __enter__(self) -> Grader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._pool.close()
        self._targets.close()

    @property
    def sandbox(self) -> Sandbox:
        """What stands around the worker's children on this machine."""
        from autograder.judge import verdict  # noqa: F401 - while the worker imports torch, so does the judge

        return self._pool.sandbox

    @property
    def pool(self) -> Pool:
        """The warm worker, for cases that are not graded."""
        return self._pool

    def stop(self) -> None:
        """End what is at work, from another thread: `grade` then raises WorkStopped.  The workers stay warm."""
        self._pool.stop_jobs()
        self._targets.stop()

    def forget(self) -> None:
        """What is graded next is run, though the same source was graded before."""
        self._kept.forget()

    @property
    def with_targets(self) -> bool:
        """Whether kernels are lowered for the course's GPU targets."""
        return self._targets.when != "off"

    def grade(self, request: Request, progress: Progress | None = None, early: Progress | None = None) -> RunResult:
        """Grade one hand-in; ``progress`` is called with each exercise's result as it is done.

        ``early`` is called with the result of an exercise that fails as soon as its checks say so, before it is asked
        why: without cause, clues and GPU targets.

        Raises:
            HandInError: there is nothing readable at the hand-in's place.
            CourseError: an oracle or a stub of the course is broken.
            WorkerError: the worker is gone.
        """
        plans, notes = plan_exercises(self.course, request.handin, request.exercises, request.reference)
        if not request.races:
            plans = tuple(racing.without_races(plan) for plan in plans)
        if self.device == "cuda":
            plans = tuple(_that_fit(plan, _gpu_memory()) for plan in plans)
        self._targets.prepare(self._to_lower(plans, request))
        from autograder.judge import verdict  # noqa: F401 - while the worker imports torch, so does the judge

        self._pool.wait_ready()
        ahead = self._targets.ahead(self._to_lower(plans, request), request.reference is not None)
        with ahead as lowerings, self._pool.crew(self._programme(plans)) as crew:
            results = self._run_plans(plans, _Run(request, crew, lowerings, early), progress)
        wanted = {exercise.id for exercise in request.exercises}
        exercises = tuple(results[plan.exercise.id] for plan in plans if plan.exercise.id in wanted)
        return replace(self.document(request, exercises), notes=notes)

    def document(self, request: Request, exercises: tuple[ExerciseResult, ...]) -> RunResult:
        """A run's result around its exercises."""
        return RunResult(
            kit_version=__version__,
            course_title=self.course.title,
            seed=request.seed,
            hidden=request.reference is not None,
            environment=self.environment,
            sandbox=self.sandbox,
            exercises=exercises,
            student=request.student,
        )

    def compile_fully(self, request: Request) -> Iterator[tuple[Exercise, TargetVerdict]]:
        """Compile each exercise's kernels to machine code for every GPU target, one exercise at a time.

        Raises:
            HandInError: there is nothing readable at the hand-in's place.
            WorkerError: the worker is gone.
        """
        plans, _ = plan_exercises(self.course, request.handin, request.exercises, request.reference)
        for plan in plans:
            if plan.outcome is None and plan.exercise.gpu_targets:
                module = plan.module(())
                verdict = self._targets.lowered(plan.exercise, self._job(plan, module, (), request), full=True)
                yield plan.exercise, replace(verdict, line=module.student_line(verdict.line))

    def _job(self, plan: Plan, module: CompactModule, failed: Sequence[str], request: Request) -> Job:
        """What the worker needs to run a plan, yet without checks; references stand in for the ``failed`` pieces."""
        return Job(
            launch=str(plan.exercise.launch),
            file_name=plan.exercise.file,
            module=module.text,
            functions=plan.exercise.handed,
            checks=(),
            substitutes=plan.substitutes(failed, request.reference),
            device=self.device,
            allow_atomics=plan.exercise.allow_atomics,
            limits=LIMITS[self.device],
        )

    def _programme(self, plans: Sequence[Plan]) -> Programme:
        """All that may be run for these plans, by launch file and check."""
        return {
            str(plan.exercise.launch): {
                check.id: check.case
                for check in (*plan.checks, *plan.exercise.probes)
                if self.device in check.devices and check.at_least is None
            }
            for plan in plans
            if plan.outcome is None and self._runnable(plan)
        }

    def _run_plans(self, plans: Sequence[Plan], run: _Run, progress: Progress | None) -> Mapping[str, ExerciseResult]:
        """Run all plans, several at once, each after those that it builds on."""
        results: dict[str, ExerciseResult] = {}
        waiting = list(plans)
        running: dict[Future[ExerciseResult], Plan] = {}
        with ThreadPoolExecutor(self._jobs) as executor:
            while waiting or running:
                ready = [plan for plan in waiting if all(need in results for need in plan.builds_on)]
                if not ready and not running:
                    ready = waiting[:1]  # exercises whose functions call each other in a circle: begin somewhere
                for plan in ready:
                    waiting.remove(plan)
                    needs = {need: need in results and results[need].passed for need in plan.builds_on}
                    running[executor.submit(self._run_plan, plan, needs, run)] = plan
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    result = future.result()
                    results[running.pop(future).exercise.id] = result
                    if progress is not None:
                        progress(result)
        return results

    def _run_plan(self, plan: Plan, needs: Mapping[str, bool], run: _Run) -> ExerciseResult:
        start = time.perf_counter()
        request, lowerings = run.request, run.lowerings
        failed = [need for need, passed in needs.items() if not passed]
        runnable = self._runnable(plan)
        if plan.outcome is not None:
            return scoring.not_run(plan, plan.outcome, plan.message)
        if not runnable:
            device = "a CUDA GPU" if self.device == "cpu" else "the CPU"
            return scoring.not_run(plan, "skipped", f"Runs only on {device}.", counts=False)
        if too_old := racing.too_old(plan.exercise):
            return scoring.not_run(plan, "skipped", too_old, counts=False)
        if failed and request.reference is None:
            return scoring.not_run(plan, "skipped", f"Calls {' and '.join(failed)}, which has to pass first.")
        module = plan.module(failed)
        job = self._job(plan, module, failed, request)
        message = _still_to_write(plan.unbegun)
        if failed:
            message = f"{message} " if message else ""
            message += f"Graded with the reference in place of {' and '.join(failed)}, which did not pass."
        repro = f"grade check {plan.exercise.id} --seed {request.seed} --device {self.device}{request.repro_options}"

        def results_of(verdicts: Mapping[str, Verdict]) -> list[CheckResult]:
            checks = []
            for check in plan.checks:
                verdict = verdicts.get(check.id)
                if verdict is not None:
                    verdict = replace(verdict, line=module.student_line(verdict.line))
                seed = seed_of(plan.exercise, check, request)
                checks.append(scoring.check_result(plan, check, verdict, self.device, repro, seed))
            return checks

        def decided(verdicts: Mapping[str, Verdict]) -> None:
            if run.early is not None:
                seconds = time.perf_counter() - start
                run.early(scoring.scored(plan, results_of(verdicts), None, message, seconds, self.device, repro))

        findings = self._verdicts(plan, job, runnable, run, decided)
        verdicts = findings.verdicts
        if (
            any(check.at_least is not None for check in plan.checks)
            and len(verdicts) == len(runnable)
            and racing.all_pass(verdicts)
        ):
            verdicts = {**verdicts, **racing.race(plan.exercise, job, run.crew)}
        checks = results_of(verdicts)
        if not request.targets or not plan.exercise.gpu_targets:
            targets = None
        elif not failed and plan.exercise.id in lowerings:
            targets = lowerings[plan.exercise.id].result()
        elif self._targets.when == "if-passed" and any(check.outcome not in ("pass", "skipped") for check in checks):
            targets = TargetVerdict("skipped", "Not run: another check failed.", None, ())
        else:
            targets = self._targets.verdict(plan.exercise, job, request.reference is not None)
        if targets is not None:
            targets = replace(targets, line=module.student_line(targets.line))
        result = scoring.scored(plan, checks, targets, message, time.perf_counter() - start, self.device, repro)
        diagnosis = self._diagnosis(plan.exercise, result, findings.diagnosis, request)
        clues = _most_telling(findings.clues, bool(diagnosis))
        closer = scoring.closer(plan.exercise, checks, request.repro_options, not failed)
        return replace(result, diagnosis=diagnosis, clues=clues, closer=closer)

    def _diagnosis(
        self, exercise: Exercise, result: ExerciseResult, found: Diagnosis | None, request: Request
    ) -> tuple[Diagnosis, ...]:
        """The mistake that the outputs show, or else the one that a message is a sign of."""
        if found is None and request.diagnose and not result.passed:
            from autograder.judge.diagnosis import by_sign, load_mistakes

            found = by_sign(load_mistakes(exercise.mistakes), result.checks)
        return (found,) if found is not None else ()

    def _runnable(self, plan: Plan) -> Sequence[Check]:
        """The checks that this device can run, of a plan that it can run."""
        if self.device not in plan.exercise.devices:
            return ()
        return [check for check in plan.checks if self.device in check.devices and check.at_least is None]

    def _to_lower(self, plans: Sequence[Plan], request: Request) -> Iterator[tuple[Exercise, Job]]:
        """What is lowered whatever the checks say; pieces first, as whole kernels wait for them."""
        if self._targets.ahead_of_checks and request.targets:
            whole = {plan.exercise.id for plan in plans if plan.outcome is None}
            for plan in sorted(plans, key=lambda plan: len(plan.builds_on)):
                wanted = plan.exercise.gpu_targets and self._runnable(plan)
                if wanted and whole.issuperset({plan.exercise.id, *plan.builds_on}):
                    yield plan.exercise, self._job(plan, plan.module(()), (), request)

    def _verdicts(self, plan: Plan, job: Job, checks: Sequence[Check], run: _Run, decided: Decided) -> Findings:
        """Run a plan's checks tier by tier; the verdicts by check id, without those that were not reached."""
        key = self._key(plan.exercise, job, checks, run.request)
        with self._kept.alone(key):
            if run.request.remembered and (found := _kept_findings(self._kept.get(key))) is not None:
                return found
            findings = self._judged(plan, job, checks, run, decided)
            if all(verdict.outcome in _REPEATABLE for verdict in findings.verdicts.values()):
                self._kept.put(key, asdict(findings))
            return findings

    def _judged(self, plan: Plan, job: Job, checks: Sequence[Check], run: _Run, decided: Decided) -> Findings:
        """Run the checks and judge what comes back; after a failure, the rest and the probes, for the diagnosis."""
        from autograder.judge.inquiry import Inquiry

        exercise, request = plan.exercise, run.request
        ask_why = request.diagnose and (exercise.mistakes.is_file() or bool(exercise.views))
        left_out = () if request.clues else {id for view in exercise.views for id in view.probes}
        probes = [
            probe for probe in exercise.probes if ask_why and self.device in probe.devices and probe.id not in left_out
        ]
        cases = {
            check.id: self._case(exercise, check, seed_of(exercise, check, request)) for check in (*checks, *probes)
        }
        patience = None if request.unhurried else _PATIENCE[self.device]
        inquiry = Inquiry(exercise, checks, cases, request.thorough, ask_why, patience, decided)
        large = max(check.gpu_memory for check in checks)
        share = large / _gpu_memory() if large and self.device == "cuda" else 0.0
        job = replace(job, checks=tuple(case.job for case in cases.values()), unasked=len(checks), gpu_share=share)
        run.crew.run(job, inquiry.carry_on)
        return inquiry.findings(self.device)

    def _case(self, exercise: Exercise, check: Check, seed: int) -> Case:
        """A check with its inputs; those that the whole class needs are made once."""
        from autograder.judge.oracles import load_oracle
        from autograder.judge.verdict import Case

        key = (exercise.id, check.id, seed)
        with self._lock:
            case = self._cases.pop(key, None)
        if case is None:
            case = Case(exercise, check, load_oracle(exercise.oracle), seed)
        with self._lock:
            self._cases[key] = case  # the newest is last
            while len(self._cases) > _CASES:
                del self._cases[next(iter(self._cases))]
        return case

    def _key(self, exercise: Exercise, job: Job, checks: Sequence[Check], request: Request) -> str:
        """A hash of all that verdicts depend on."""
        cases = [[check.id, check.tier, dict(check.case), seed_of(exercise, check, request)] for check in checks]
        source = [job.module, sorted(job.substitutes.items())]
        how = [request.thorough, request.diagnose, request.clues, request.unhurried]
        return key_of(asdict(self.environment), __version__, self._digest(exercise), source, cases, how)

    def _digest(self, exercise: Exercise) -> str:
        if exercise.id not in self._digests:
            self._digests[exercise.id] = exercise.digest()
        return self._digests[exercise.id]


def blank_run(grader: Grader, request: Request, outcome: str, error: str) -> RunResult:
    """The result of a hand-in of which nothing could be graded: every exercise is there, with that outcome."""
    hidden = request.reference.hidden if request.reference else {}
    exercises = tuple(
        scoring.not_run(
            Plan(exercise, (*exercise.checks, *hidden.get(exercise.id, ())), None, None, {}), outcome, error
        )
        for exercise in request.exercises
    )
    return replace(grader.document(request, exercises), error=error)


def _kept_findings(document: Mapping[str, Any] | None) -> Findings | None:
    """Findings as they were kept; None if they are not there or not whole."""
    from autograder.judge.inquiry import Findings
    from autograder.judge.verdict import Verdict

    if document is None:
        return None
    try:
        verdicts = {check: Verdict(**values) for check, values in document["verdicts"].items()}
        diagnosis = document["diagnosis"]
        clues = tuple(Clue(**clue) for clue in document.get("clues", ()))
        return Findings(verdicts, Diagnosis(**diagnosis) if diagnosis is not None else None, clues)
    except (KeyError, TypeError, AttributeError):
        return None


def _still_to_write(names: Sequence[str]) -> str:
    """A sentence on the functions of an exercise that are not begun, while others of it are; "" if there are none."""
    if not names:
        return ""
    said = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    return f"Not started yet: {said} {'is' if len(names) == 1 else 'are'} still as handed out."


def _gpu_memory() -> float:
    """GiB of the GPU that there is."""
    gpu = devices.find_gpu()
    return gpu.memory / 1024**3 if gpu is not None else 0.0


def _that_fit(plan: Plan, gpu_memory: float) -> Plan:
    """A plan whose checks, where they need more than the ``gpu_memory`` there is, run on no device."""
    checks = (replace(check, devices=()) if check.gpu_memory > gpu_memory else check for check in plan.checks)
    return replace(plan, checks=tuple(checks))


def _most_telling(clues: Sequence[Clue], named: bool) -> tuple[Clue, ...]:
    """With the message, and the likely cause where it is named, at most three remarks to read."""
    return tuple(clue for clue in clues if clue.telling)[:1] if named else tuple(clues[:2])


def seed_of(exercise: Exercise, check: Check, request: Request) -> int:
    """The seed of a check's inputs in this run."""
    from autograder.judge.oracles import check_seed

    return check_seed(exercise, check, request.seed, request.reference.secret if request.reference else None)
