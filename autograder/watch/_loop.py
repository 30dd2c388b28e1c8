"""The loop of `grade watch`: saves, keys and results, in one thread; what takes long is done by `Work`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from autograder.attempts import Memory
from autograder.catalogue import Course, Exercise
from autograder.errors import EXIT_OK, AutograderError, WorkStopped
from autograder.gpu_targets import default_cache
from autograder.machine import environment
from autograder.result import ExerciseResult, RunResult
from autograder.session import Grader, Request
from autograder.standing import PASSED, Standing, standings
from autograder.texts import read_hints
from autograder.watch._keys import Keys
from autograder.watch._saves import Save, Saves
from autograder.watch._voice import Voice
from autograder.watch._work import ANEW, Done, Work

_TICK, _SHORT_TICK = 0.1, 0.03  # seconds between two looks at the files
_COMPILED = frozenset({"pass", "fail", "compile-error"})
_HINTS = 3
_SAYS_SO = (1.0, 10.0, 30.0)  # seconds after which it is said that something still runs; then each minute


@dataclass(frozen=True, slots=True)
class Settings:
    """What to watch: the files at ``handin``, graded on ``device``; ``start`` is where the student is, if named.

    ``place`` is what the hand-in is called on the screen, ``repro_options`` what commands that repeat a run need, and
    ``folder`` where its files are.
    """

    course: Course
    handin: Path
    place: str
    device: str
    gpu: str | None
    seed: int
    start: Exercise | None
    targets: bool = True
    plain: bool = False
    repro_options: str = ""
    folder: str = ""


def watch(settings: Settings, console: Console) -> int:
    """Grade on every save until the student leaves; the exit code.

    Raises:
        UsageError: no exercise of the course runs on this device.
        KeyboardInterrupt: Ctrl-C; the terminal and all processes are as before by then.
    """

    def make_grader() -> Grader:
        when = "always" if settings.targets else "off"
        return Grader(settings.course, settings.device, settings.gpu, targets=when, target_cache=default_cache())

    with Keys() as keys, Work(make_grader) as work:
        return _Watch(settings, Voice(console, settings.plain, keys.there, settings.folder), work).run(keys)


class _Watch:
    """Where the student is, and what is known of it."""

    def __init__(self, settings: Settings, voice: Voice, work: Work) -> None:
        self._settings = settings
        self._course = settings.course
        self._voice = voice
        self._work = work
        self._memory = Memory(settings.course, settings.handin)
        self._saves = Saves(settings.handin)
        self._route = [item for item in self._course.exercises if settings.device in item.devices]
        self._passes: dict[str, str] = {}  # sources that have passed in this sitting, by exercise
        self._seeking = settings.start is None  # passed exercises are left behind, until one is not
        self._at = settings.start or self._first_open()
        self._hints: dict[str, int] = {}
        self._begun = 0.0
        self._task, self._since = "", 0.0  # what was begun last, and when
        self._said = 0  # how often it was said that it still runs
        self._warm = False  # the worker has given a verdict
        self._verdict: ExerciseResult | None = None
        self._early: ExerciseResult | None = None  # what was said already of the verdict that is on its way
        self._passed: str | None = None  # the source with which this exercise passes
        self._goes_on = False  # saved after a pass: on to the next, unless that changed what passed
        self._trace_wanted = False

    def run(self, keys: Keys) -> int:
        settings = self._settings
        self._voice.begin(self._course, environment(settings.device, settings.gpu), settings.place)
        self._voice.at(self._at)
        self._grade()
        while not keys.gone:
            typed = keys.wait(_SHORT_TICK if self._saves.pending else _TICK, [self._work.handle])
            for key in typed:
                if key in "qQ":
                    return EXIT_OK
                self._press(key.lower())
            if (save := self._saves.look()) is not None:
                self._saved(save)
            if (done := self._work.ended()) is not None:
                self._ended(done)
            self._be_patient(time.monotonic())
            if self._trace_wanted and not self._work.busy:
                self._trace()
        return EXIT_OK

    # What the student does --------------------------------------------------------------------------------------------

    def _saved(self, save: Save) -> None:
        if save.changed:
            self._goes_on = self._passed is not None
            self._grade()
        else:
            self._voice.say("Saved; nothing in it changed.", style="dim")

    def _press(self, key: str) -> None:
        if key == "h":
            self._hint()
        elif key == "t":
            self._trace_wanted = True
        elif key == "l":
            self._voice.map(self._course, standings(self._course, self._settings.handin), self._at)
        elif key == "n":
            following = self._following() if self._passed is not None else self._beside(1)
            self._go(following, "This is the last exercise.")
        elif key == "p":
            self._go(self._beside(-1), "This is the first exercise.")
        elif key == "r":
            self._grade(again=True)
        elif key == "?":
            self._voice.keys()

    def _go(self, exercise: Exercise | None, otherwise: str) -> None:
        """Move to an exercise and grade it."""
        if exercise is None:
            self._voice.say(otherwise)
            return
        self._seeking = False
        self._move(exercise)

    def _hint(self) -> None:
        number = self._hints.get(self._at.id, 0) % _HINTS + 1
        self._hints[self._at.id] = number
        try:
            self._voice.hint(self._at, read_hints(self._at)[number - 1], number)
        except AutograderError as error:
            self._voice.say(str(error))

    def _trace(self) -> None:
        self._trace_wanted = False
        exercise, settings = self._at, self._settings

        def run(grader: Grader) -> object:
            from autograder.tracing import TraceRequest, trace  # imports torch

            pool = grader.pool if grader.device == "cpu" else None
            return trace(self._course, TraceRequest(settings.handin, exercise, settings.seed), pool)

        self._begin("trace", run)

    # Grading ----------------------------------------------------------------------------------------------------------

    def _grade(self, again: bool = False) -> None:
        """The checks of the exercise, without GPU targets: those follow."""
        self._goes_on = self._goes_on and not again
        request, self._begun = self._request(targets=False), time.monotonic()

        def run(grader: Grader) -> RunResult:
            if again:
                grader.forget()
            return grader.grade(request, early=lambda result: self._work.tell("early", result))

        self._early = None
        self._begin("verdict", run)

    def _begin(self, name: str, run: Callable[[Grader], object]) -> None:
        self._task, self._said, self._since = name, 0, time.monotonic()
        self._work.start(name, run)

    def _be_patient(self, now: float) -> None:
        """Say what is still at work if it takes long, and how it ends."""
        if not self._work.busy:
            return
        after = _SAYS_SO[self._said] if self._said < len(_SAYS_SO) else 60.0 * (self._said - len(_SAYS_SO) + 1)
        if now - self._since < after:
            return
        self._said += 1
        own = {check.id for check in self._at.checks}
        checks = [check for check in self._work.checks() if check in own]
        if self._task == "verdict" and not (self._warm or checks):
            if after > _SAYS_SO[0]:  # that it takes some seconds is said already
                self._voice.starts(now - self._since)
            return
        if self._task == "targets" and after == _SAYS_SO[0]:
            return
        asks = self._task == "verdict" and self._early is not None
        endless = self._task == "verdict" and bool(checks) and self._settings.device == "cpu" and after > _SAYS_SO[0]
        self._voice.still(self._at, self._task, "" if asks else ", ".join(checks), now - self._since, asks, endless)

    def _request(self, targets: bool) -> Request:
        settings = self._settings
        return Request(
            settings.handin, (self._at,), settings.seed, repro_options=settings.repro_options, targets=targets
        )

    def _ended(self, done: Done) -> None:
        if done.name == ANEW:
            self._warm = False
            self._voice.say("The worker had stopped, and is started again.")
            return
        if isinstance(done.error, WorkStopped):
            return
        if done.error is not None:
            if done.name == "trace" and isinstance(done.error, AutograderError):
                self._voice.say(str(done.error))
            else:
                self._voice.error(done.error)
            return
        self._warm = True
        if done.name == "early":
            self._decided(done.value)
        elif done.name == "verdict":
            self._judged(done.value)
        elif done.name == "targets":
            self._compiled(done.value)
        else:
            self._voice.trace(done.value, f"grade check {self._at.id}{self._settings.repro_options}")

    def _decided(self, result: ExerciseResult) -> None:
        """The checks have failed, and it is being asked why."""
        if result.id == self._at.id:
            self._early = result
            self._voice.verdict(result, time.monotonic() - self._begun)

    def _judged(self, run: RunResult) -> None:
        """The checks are done."""
        result = run.exercises[0]
        if self._goes_on and result.passed and result.source == self._passed:
            following = self._following()
            if following is not None:
                self._voice.moves(self._at, following)
                self._move(following)
                return
        self._passed = None
        self._verdict = result
        # What passes is remembered once the compiler has said so too.
        remark = "" if result.passed else self._remember(run)
        if self._early is None:
            self._voice.verdict(result, time.monotonic() - self._begun)
        self._voice.story(run, remark)
        if not result.passed:
            self._seeking = False
        if self._targets_follow(result):
            if result.passed:
                self._voice.compiling(self._course.gpu_targets)
            else:
                self._voice.keys()
            request = self._request(targets=True)
            self._begin("targets", lambda grader: grader.grade(request))
        elif result.passed:
            self._pass(run)
        else:
            self._voice.keys()

    def _targets_follow(self, result: ExerciseResult) -> bool:
        """Whether the compiler is asked: not for what crashed or never ran, nor for what nobody has begun."""
        ran = [check.outcome for check in result.checks if check.outcome != "skipped"]
        return self._settings.targets and bool(self._course.gpu_targets) and bool(ran) and _COMPILED.issuperset(ran)

    def _compiled(self, run: RunResult) -> None:
        """The compiler is done with what was judged before."""
        result = run.exercises[0]
        if self._verdict is None or result.source != self._verdict.source:
            return  # saved in between: the next verdict is on its way
        self._voice.targets(result)
        if result.passed:
            self._pass(run)
            return
        remark = self._remember(run)  # now with the score that the compiler's verdict makes
        if self._verdict.passed:
            self._seeking = False
            if remark:
                self._voice.history(remark)
            self._voice.keys()

    def _pass(self, run: RunResult) -> None:
        """The exercise passes, compiler and all: say so, and what comes next."""
        result = run.exercises[0]
        self._passed = result.source
        if result.source is not None:
            self._passes[result.id] = result.source
        self._voice.passed(result, self._remember(run))
        following = self._following()
        if self._seeking and following is not None:
            self._move(following)
            return
        self._voice.offer(following, self._at)
        self._voice.keys()

    def _remember(self, run: RunResult) -> str:
        return self._memory.take(run).get(run.exercises[0].id, "")

    # The way through the course ---------------------------------------------------------------------------------------

    def _move(self, exercise: Exercise) -> None:
        self._at, self._passed, self._verdict, self._goes_on = exercise, None, None, False
        self._voice.at(exercise)
        self._grade()

    def _first_open(self) -> Exercise:
        """The first exercise that is not known to pass; the last of the course if all do."""
        return self._open_of(self._route) or self._route[-1]

    def _following(self) -> Exercise | None:
        """The next exercise that is not known to pass, from here to the end and then from the beginning."""
        place = self._route.index(self._at)
        return self._open_of([*self._route[place + 1 :], *self._route[:place]])

    def _open_of(self, exercises: Iterable[Exercise]) -> Exercise | None:
        """The first that is open, or else the first that is not passed."""
        found = standings(self._course, self._settings.handin, self._settings.device)
        standing = {item.exercise.id: item for item in found}
        left = [item for item in exercises if not self._is_passed(standing[item.id])]
        return next((item for item in left if standing[item.id].is_open), left[0] if left else None)

    def _is_passed(self, item: Standing) -> bool:
        """Known from earlier, or seen here, where nothing can be remembered."""
        seen = self._passes.get(item.exercise.id)
        return item.state == PASSED or (seen is not None and seen == item.source)

    def _beside(self, step: int) -> Exercise | None:
        place = self._route.index(self._at) + step
        return self._route[place] if 0 <= place < len(self._route) else None
