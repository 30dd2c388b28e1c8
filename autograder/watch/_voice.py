"""What `grade watch` prints: lines that scroll, each a sentence that makes sense when read aloud."""

from __future__ import annotations

import time
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from autograder.catalogue import TARGET_TIER, Course, Exercise
from autograder.errors import AutograderError
from autograder.reports.course_map import print_map
from autograder.reports.lines import say
from autograder.reports.terminal import outcome_style, points_text, print_story, public_count
from autograder.reports.trace import print_trace
from autograder.result import Environment, ExerciseResult, RunResult
from autograder.standing import Standing
from autograder.traced import Traced

KEYS = "keys: h hint, t trace, l list, n next, p previous, r run again, q quit"


class Voice:
    """Prints on one console; ``keys`` says whether there is anybody to press one, ``folder`` where the files are."""

    def __init__(self, console: Console, plain: bool, keys: bool, folder: str = "") -> None:
        self._console = console
        self._plain = plain
        self._keys = keys
        self._folder = folder

    def begin(self, course: Course, environment: Environment, place: str) -> None:
        self._console.print(Text(course.title, style="bold"))
        device = environment.gpu or "CPU (Triton's interpreter)"
        versions = f"triton {environment.triton or '?'}, torch {environment.torch or '?'}"
        self._console.print(Text(f"{device}, {versions}", style="dim"))
        ends = "" if self._keys else " Ctrl-C ends it."
        self.say(f"Watching {place}: what you save is graded. The first verdict takes some seconds.{ends}")
        self.keys()

    def say(self, text: str, indent: int = 0, style: str = "") -> None:
        say(self._console, text, indent, style)

    def keys(self) -> None:
        if self._keys:
            say(self._console, KEYS, style="dim", hanging=6)

    def at(self, exercise: Exercise) -> None:
        """Where the student is now."""
        self._console.print()
        self.say(f"At {exercise.id}: {exercise.title}, in {self._path(exercise)}", style="bold")

    def verdict(self, result: ExerciseResult, seconds: float) -> None:
        """What came of the checks, ``seconds`` after the save."""
        self._console.print()
        word = Text(result.outcome, outcome_style(result.outcome))
        counted = f", {count}" if (count := public_count(result)) else ""
        now = time.strftime("%H:%M:%S")
        self._console.print(
            Text.assemble(f"{now} ", (result.id, "bold"), ": ", word, f"{counted} ({seconds:.1f} s)"), soft_wrap=True
        )

    def starts(self, seconds: float) -> None:
        """The worker takes long to begin."""
        self.say(f"The worker is still starting, after {seconds:.0f} s. {self._way_out()}", style="dim")

    def still(
        self, exercise: Exercise, task: str, checks: str, seconds: float, asks_why: bool, perhaps_endless: bool
    ) -> None:
        """What takes long: a ``task`` of the loop, at the ``checks`` if they are known, and how it ends."""
        if task == "targets":
            what = f"Still compiling {exercise.id} for GPU targets"
        elif task == "trace":
            what = f"Still tracing {exercise.id}"
        elif asks_why:
            what = f"Still asking why {exercise.id} fails"
        else:
            what = f"Still running {exercise.id}" + (f", check {checks}" if checks else "")
        question = " Is there a loop that never ends?" if perhaps_endless else ""
        self.say(f"{what}, after {seconds:.0f} s.{question} {self._way_out()}", style="dim")

    def _way_out(self) -> str:
        return f"The next save stops it, and so does {'q, which quits' if self._keys else 'Ctrl-C, which ends all'}."

    def story(self, run: RunResult, remark: str) -> None:
        """Why, if it is not passed, and how it was before; GPU targets are told of later."""
        if not run.exercises[0].passed:
            print_story(self._console, run.exercises[0], self._plain, self._folder)
        if remark:
            self.history(remark)
        for note in run.notes:
            self.say(f"Note: {note}", style="dim")

    def history(self, remark: str) -> None:
        self.say(f"history: {remark}", 2)

    def compiling(self, targets: Sequence[str]) -> None:
        self.say(f"Compiling for GPU targets: {', '.join(targets)}", 2, "dim")

    def targets(self, result: ExerciseResult) -> None:
        """What the compiler said."""
        check = next((check for check in result.checks if check.tier == TARGET_TIER), None)
        if check is None:
            return
        word = Text(check.outcome, outcome_style(check.outcome))
        self._console.print(Text.assemble(f"  GPU targets of {result.id}: ", word), soft_wrap=True)
        if check.outcome != "pass":
            self.say(check.message, 6)
            if check.outcome != "skipped":
                self.say(f"This check proves: {check.proves}", 6, "dim")

    def passed(self, result: ExerciseResult, remark: str) -> None:
        score = f"{points_text(result.score)} / {points_text(result.points)}"
        self.say(f"{result.id} passes: {score}   (public checks)", style="green")
        if remark:
            self.history(remark)

    def offer(self, following: Exercise | None, at: Exercise) -> None:
        """What comes after an exercise that passes."""
        if following is None:
            self.say("Every exercise passes. `grade submit` packs your work; what you save is still graded.")
            return
        press = "Press n to go there; your" if self._keys else "Your"
        self.say(
            f"Next: {following.id}, in {self._path(following)}. "
            f"{press} next save goes there too, unless it changes {at.id}."
        )

    def _path(self, exercise: Exercise) -> str:
        return f"{self._folder.rstrip('/')}/{exercise.stub}" if self._folder else exercise.stub

    def moves(self, from_there: Exercise, to: Exercise) -> None:
        self._console.print()
        self.say(f"{from_there.id} passes as before: on to {to.id}.")

    def hint(self, exercise: Exercise, text: str, number: int) -> None:
        self._console.print()
        self.say(f"hint {number} of 3 for {exercise.id}:", style="bold")
        for line in text.split("\n"):
            self._console.print(Text(line), soft_wrap=True)

    def trace(self, traced: Traced, again: str) -> None:
        self._console.print()
        print_trace(self._console, traced, again, self._folder)

    def map(self, course: Course, found: Sequence[Standing], at: Exercise) -> None:
        self._console.print()
        print_map(self._console, course, found, self._plain)
        self.say(f"You are at {at.id}.")

    def error(self, error: Exception) -> None:
        self._console.print()
        if isinstance(error, AutograderError):
            self.say(str(error))
        else:
            self.say(f"The grader itself failed ({type(error).__name__}: {error}). This costs no points.")
        self.say("The next save is graded again.")
