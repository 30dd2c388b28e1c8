"""The proofs of `course selfcheck`, one method each, over a shared grader that never runs the same kernel twice."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from autograder.catalogue import Course, Exercise
from autograder.errors import MarkerError, UsageError
from autograder.plan import Reference
from autograder.release.stubs import generate_stubs
from autograder.result import ExerciseResult, RunResult
from autograder.selfcheck._mistakes import AGAIN, Variant, equivalent_mutants, mistakes, unusual
from autograder.selfcheck._mutants import Mutant, mutants
from autograder.session import Grader, Request

PROOFS = {
    "stubs": "every stub is not started, and assignments/ is what the solutions make",
    "solutions": "every solution has full score, with errors of at most half the bar",
    "streaming": "what a streaming exercise promises is measured on its solution, and holds",
    "targets": "every solution compiles to machine code for every GPU target and fits its shared memory",
    "mistakes": "every mistake loses points on its own exercise alone, and is named if there is a model of it",
    "unusual": "every correct but unusual kernel has full score",
    "mutants": "every mutant of a solution loses points, or is listed as equivalent with a reason",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that does not hold."""

    subject: str
    message: str


@dataclass(slots=True)
class Proof:
    """One proof: how many cases were looked at, how many this device cannot show, and what does not hold.

    Of the ``whole`` course there has to be something to look at; a part of it may have nothing for a proof.
    """

    name: str
    whole: bool = True
    checked: int = 0
    skipped: int = 0
    findings: list[Finding] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not self.findings and (self.checked > 0 or not self.whole)


# A quick check tries one mutant in so many, and one mistake in so many.
_ONE_IN = 6
_MISTAKES_ONE_IN = 2

T = TypeVar("T")
R = TypeVar("R")
Step = Callable[[int, int], None]
Show = Callable[[str, RunResult], None]


class SelfCheck:
    """Runs proofs for a course whose solutions are at hand."""

    def __init__(
        self,
        course: Course,
        grader: Grader,
        jobs: int,
        show: Show | None = None,
        mistakes: Collection[str] = (),
        exercises: Sequence[Exercise] = (),
        quick: bool = False,
    ) -> None:
        """``exercises`` are those to prove things of, and to find harmed by a mistake of another; none means all.

        ``mistakes`` are the labels of the wrong kernels to try; none means all.
        ``quick`` tries one wrong kernel of every second known mistake, and one mutant of six.
        """
        self._course = course
        self._exercises = tuple(exercises) or course.exercises
        self._grader = grader
        self._jobs = jobs
        self._show = show
        self._wanted = frozenset(mistakes)
        self._quick = quick
        self._reference = Reference.load(course, None)

    def run(self, name: str, step: Step) -> Proof:
        """Run the proof called ``name``; ``step(done, total)`` reports progress."""
        proof = Proof(name, whole=self._exercises == self._course.exercises and not self._wanted)
        run: Callable[[Proof, Step], None] = getattr(self, f"_{name}")
        run(proof, step)
        return proof

    def _stubs(self, proof: Proof, step: Step) -> None:
        try:
            stubs = generate_stubs(self._course)
        except MarkerError as error:  # a stub that gives its solution away
            proof.checked += 1
            proof.findings.append(Finding("solutions", str(error)))
            return
        with self._handin(stubs) as folder:
            result = self._grade(folder, self._exercises)
        self._present("the stubs, as students get them", result, "--only stubs")
        for exercise in result.exercises:
            proof.checked += 1
            if exercise.outcome != "not-started":
                proof.findings.append(Finding(exercise.id, f"the stub is {exercise.outcome}: {_why(exercise)}"))
        for stub, text in stubs.items():
            path = self._course.root / "assignments" / stub
            if not path.is_file() or path.read_text(encoding="utf-8") != text:
                message = (
                    "is not what its solution makes: it was worked on, or the solution changed. `grade` grades what is "
                    "in it; `course release --stubs-only` writes the stub anew and keeps a copy of the file"
                )
                proof.findings.append(Finding(f"assignments/{stub}", message))
        step(1, 1)

    def _solutions(self, proof: Proof, step: Step) -> None:
        result = self._solution_result()
        self._present("the solutions", result, "--only solutions")
        for exercise in result.exercises:
            if not exercise.counts and exercise.outcome == "skipped":
                proof.skipped += 1
                continue
            proof.checked += 1
            if not exercise.passed:
                proof.findings.append(Finding(exercise.id, f"the solution is {exercise.outcome}: {_why(exercise)}"))
            for check in exercise.checks:
                error, bar = check.measurements.get("error", 0.0), check.measurements.get("bar", 0.0)
                if check.outcome == "pass" and error > bar / 2:
                    proof.findings.append(
                        Finding(f"{exercise.id}/{check.id}", f"the solution uses {error / bar:.0%} of its bar")
                    )
        step(1, 1)

    def _streaming(self, proof: Proof, step: Step) -> None:
        from autograder.judge.oracles import load_oracle

        results = {exercise.id: exercise for exercise in self._solution_result().exercises}
        for exercise in self._exercises:
            oracle = load_oracle(exercise.oracle)
            checks = {check.id: check for check in results[exercise.id].checks}
            for source in (*exercise.checks, *self._reference.hidden.get(exercise.id, ())):
                limits = oracle.limits(source)
                done = checks.get(source.id)
                if not limits or done is None or done.outcome == "skipped":
                    continue
                measured = {name: done.measurements[name] for name in limits if name in done.measurements}
                if not measured and self._grader.device == "cuda":
                    proof.skipped += 1  # loads are counted in the interpreter
                    continue
                proof.checked += 1
                if not measured:
                    proof.findings.append(Finding(f"{exercise.id}/{source.id}", "none of its limits was measured"))
                for name, value in measured.items():
                    proof.remarks.append(f"{exercise.id}/{source.id}: {name} {value:.0f}, at most {limits[name]:.0f}")
        step(1, 1)

    def _targets(self, proof: Proof, step: Step) -> None:
        with self._handin({}) as folder:
            request = Request(folder, self._exercises, reference=self._reference)
            exercises = self._exercises
            for number, (exercise, verdict) in enumerate(self._grader.compile_fully(request), 1):
                step(number, len(exercises))
                for target in verdict.targets:
                    proof.checked += 1
                    label = f"{exercise.id} on {target.target}"
                    if target.outcome != "pass":
                        proof.findings.append(Finding(label, target.message))
                    used = f"{target.shared} bytes shared, {target.registers} registers, {target.spills} bytes spilled"
                    proof.remarks.append(f"{label}: {used}")

    def _mistakes(self, proof: Proof, step: Step) -> None:
        wanted = [variant for variant in mistakes(self._course) if variant.exercise in self._exercises]
        if unknown := self._wanted.difference(variant.label for variant in wanted):
            raise UsageError(f"There is no mistake {min(unknown)}. They are the files under tests/mistakes/.")
        wanted = [variant for variant in wanted if not self._wanted or variant.label in self._wanted]
        if self._quick:
            wanted = [variant for variant in wanted if not variant.is_second][::_MISTAKES_ONE_IN]
        for variant, result in self._each_variant(wanted, proof, step):
            own = next(item for item in result.exercises if item.id == variant.exercise.id)
            if own.passed:
                proof.findings.append(Finding(variant.label, "passes every check of its exercise"))
            elif (said := _misnamed(variant, own, self._grader.device)) is not None:
                proof.findings.append(Finding(variant.label, said))
            for other in result.exercises:
                if other.id != own.id and other.counts and not other.passed:
                    proof.findings.append(Finding(variant.label, f"costs points on {other.id}: {_why(other)}"))
            title = f"a wrong kernel: {variant.label}, added to its solution"
            self._present(title, result, f"--mistake {variant.label}")

    def _unusual(self, proof: Proof, step: Step) -> None:
        for variant, result in self._each_variant(list(unusual(self._course)), proof, step):
            for exercise in result.exercises:
                if exercise.counts and not exercise.passed:
                    proof.findings.append(
                        Finding(variant.label, f"{exercise.id} is {exercise.outcome}: {_why(exercise)}")
                    )

    def _mutants(self, proof: Proof, step: Step) -> None:
        cases = [
            (exercise, mutant)
            for exercise in self._exercises
            if self._grader.device in exercise.devices
            for function in exercise.functions
            for mutant in mutants(self._solution(exercise), function.name)
        ]
        if self._quick:
            cases = cases[::_ONE_IN]
        tried = {(exercise.id, mutant.change) for exercise, mutant in cases}
        survivors: dict[str, set[str]] = {exercise.id: set() for exercise in self._exercises}
        for (exercise, mutant), result in self._each(cases, self._grade_mutant, step):
            proof.checked += 1
            if result.passed:
                survivors[exercise.id].add(mutant.change)
        for exercise in self._exercises:
            listed = equivalent_mutants(self._course, exercise)
            if self._grader.device not in exercise.devices:
                proof.skipped += 1
                continue
            if self._quick:
                listed = {change: why for change, why in listed.items() if (exercise.id, change) in tried}
            for change in sorted(survivors[exercise.id] - set(listed)):
                proof.findings.append(Finding(exercise.id, f"survives: {change}"))
            for change in sorted(set(listed) - survivors[exercise.id]):
                proof.findings.append(Finding(exercise.id, f"listed as equivalent, but does not survive: {change}"))
            proof.remarks += [f"{exercise.id}: {change}. {listed[change]}" for change in sorted(listed)]

    def _grade_mutant(self, case: tuple[Exercise, Mutant]) -> ExerciseResult:
        exercise, mutant = case
        result = self._grade_overlay(exercise, mutant.text, (exercise,))
        return result.exercises[0]

    def _each_variant(
        self, variants: Sequence[Variant], proof: Proof, step: Step
    ) -> Iterator[tuple[Variant, RunResult]]:
        variants = [variant for variant in variants if variant.exercise in self._exercises]
        able = [variant for variant in variants if variant.device in (None, self._grader.device)]
        proof.skipped += len(variants) - len(able)

        def grade(variant: Variant) -> RunResult:
            return self._grade_overlay(variant.exercise, variant.text, self._exercises, diagnose=True)

        for variant, result in self._each(able, grade, step):
            proof.checked += 1
            yield variant, result

    def _each(self, items: Sequence[T], work: Callable[[T], R], step: Step) -> Iterator[tuple[T, R]]:
        """Do ``work`` on several items at once; yields in the items' order."""
        with ThreadPoolExecutor(self._jobs) as executor:
            futures = {executor.submit(work, item): number for number, item in enumerate(items)}
            done: dict[int, R] = {}
            following = 0
            for future in as_completed(futures):
                done[futures[future]] = future.result()
                step(len(done), len(items))
                while following in done:
                    yield items[following], done[following]
                    following += 1

    def _grade_overlay(
        self, exercise: Exercise, text: str, exercises: Iterable[Exercise], diagnose: bool = False
    ) -> RunResult:
        """Grade the solutions with ``text`` added at the end of one file: the last definition counts."""
        overlay = {exercise.stub: f"{self._solution(exercise)}\n\n{text}\n"}
        with self._handin(overlay) as folder:
            request = Request(
                folder,
                tuple(exercises),
                reference=self._reference,
                thorough=self._show is not None,
                diagnose=diagnose or self._show is not None,
                clues=self._show is not None,
                races=False,
                unhurried=True,
            )
            return self._grader.grade(request)

    def _solution_result(self) -> RunResult:
        with self._handin({}) as folder:
            return self._grade(folder, self._exercises)

    def _solution(self, exercise: Exercise) -> str:
        return (self._course.root / "solutions" / exercise.stub).read_text(encoding="utf-8")

    def _grade(self, folder: Path, exercises: tuple[Exercise, ...]) -> RunResult:
        return self._grader.grade(Request(folder, exercises, reference=self._reference, races=False))

    def _present(self, title: str, result: RunResult, options: str) -> None:
        """Show a result; what repeats it is this proof, since nothing of it lies in ``assignments/``."""
        if self._show is None:
            return
        again = f"course selfcheck {options} --show --device {self._grader.device}"
        exercises = []
        for exercise in result.exercises:
            checks = (replace(check, repro=again if check.repro else None) for check in exercise.checks)
            exercises.append(replace(exercise, checks=tuple(checks), closer=()))
        self._show(title, replace(result, exercises=tuple(exercises)))

    @contextmanager
    def _handin(self, files: Mapping[str, str]) -> Iterator[Path]:
        """A temporary hand-in: the solutions, with ``files`` in place of those of the same path."""
        with tempfile.TemporaryDirectory(prefix="selfcheck-") as name:
            folder = Path(name)
            for stub in dict.fromkeys(exercise.stub for exercise in self._course.exercises):
                (folder / stub).parent.mkdir(parents=True, exist_ok=True)
                if stub in files:
                    (folder / stub).write_text(files[stub], encoding="utf-8")
                else:
                    shutil.copyfile(self._course.root / "solutions" / stub, folder / stub)
            yield folder


def _misnamed(variant: Variant, result: ExerciseResult, device: str) -> str | None:
    """What is wrong with the diagnosis of a wrong kernel; None if it names the mistake, or cannot know it.

    It knows the mistakes that there is a model or a sign of, and on a GPU nothing of a kernel that ran out of time.
    """
    from autograder.judge.diagnosis import load_mistakes

    known = load_mistakes(variant.exercise.mistakes)
    name = known.stands_for(variant.name.removesuffix(AGAIN), device)
    said = result.diagnosis[0].mistake if result.diagnosis else None
    ran_out = device == "cuda" and result.outcome == "timeout"  # there a compiler may take all the time there is
    if said == name or (said is None and (name not in known.names or ran_out)):
        return None
    return f"is called {said}" if said is not None else "is not named"


def _why(exercise: ExerciseResult) -> str:
    failed = next((check for check in exercise.checks if check.outcome not in ("pass", "skipped")), None)
    return f"{failed.id}: {failed.message}" if failed else exercise.message
