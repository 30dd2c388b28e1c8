"""One exercise of one hand-in: which checks are still worth running, what came of them, and why."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from autograder.catalogue import Check, Exercise
from autograder.judge.clues import clues
from autograder.judge.diagnosis import load_mistakes, nearest
from autograder.judge.verdict import Case, Verdict
from autograder.protocol import CheckJob, CheckReply
from autograder.result import Clue, Diagnosis

# Failures that a model of a mistake may explain: there are outputs, or the compiler's word.
_EXPLAINED = frozenset({"fail", "compile-error"})

# All that is run after the verdict may take this many times the patience: names are worth more than what is shown, and
# an ordinary kernel takes a tenth of it.
_IN_ALL = 4.0


@dataclass(frozen=True, slots=True)
class Findings:
    """What came of an exercise's checks: verdicts by check id, the mistake that explains them, what else was seen."""

    verdicts: Mapping[str, Verdict]
    diagnosis: Diagnosis | None = None
    clues: tuple[Clue, ...] = ()


class Inquiry:
    """Judges replies until a tier with a public failure in it has come to its end, and then asks only why.

    A hidden check that fails costs its own weight: what a student sees passed at home is passed here as well.
    ``cases`` holds the checks' cases and, if ``ask_why``, those of the probes behind them: all are one job, as a second
    one would import, open the GPU and compile once more.  ``thorough`` finishes a tier after a failure in it.
    ``patience`` is how many seconds the probes that are there to be shown may take, and `_IN_ALL` times as many all
    that is run after the verdict; None is no limit.  ``decided`` is called with the verdicts once they are all there
    and only why is left to ask.
    """

    def __init__(
        self,
        exercise: Exercise,
        checks: Sequence[Check],
        cases: Mapping[str, Case],
        thorough: bool,
        ask_why: bool,
        patience: float | None = None,
        decided: Callable[[Mapping[str, Verdict]], None] | None = None,
    ) -> None:
        self._exercise = exercise
        self._tiers = {check.id: check.tier for check in checks}
        self._public = frozenset(check.id for check in exercise.checks)
        self._cases = cases
        self._thorough = thorough
        self._ask_why = ask_why
        self._patience = patience
        self._on_decided = decided
        self._shown = frozenset(id for view in exercise.views for id in view.probes)
        self._verdicts: dict[str, Verdict] = {}
        self._replies: dict[str, CheckReply] = {}
        self._decided = False

    def carry_on(self, reply: CheckReply, following: CheckJob | None) -> bool:
        """Take a reply in; whether what follows is to be run."""
        self._replies[reply.id] = reply
        if self._decided:
            return reply.outcome != "timeout" and not self._is_tired
        verdict = self._cases[reply.id].judge(reply)
        self._verdicts[reply.id] = verdict
        self._decided = self._is_decided(verdict, reply, following)
        if not self._decided:
            return True
        # What never ends once would cost each of the checks that follow its whole limit.
        go_on = self._explainable and verdict.outcome != "timeout"
        if go_on and self._on_decided is not None:
            self._on_decided(dict(self._verdicts))
        return go_on

    def findings(self, device: str) -> Findings:
        """The verdicts, of the checks that were reached, and the known mistake behind a failure."""
        if not self._explainable:
            return Findings(self._verdicts)
        probes = [self._cases[id].probe(reply) for id, reply in self._replies.items() if id not in self._shown]
        mistakes = load_mistakes(self._exercise.mistakes)
        named = nearest(mistakes, [probe for probe in probes if probe is not None], device)
        return Findings(self._verdicts, named, clues(self._exercise, self._cases, self._replies))

    def _is_decided(self, verdict: Verdict, reply: CheckReply, following: CheckJob | None) -> bool:
        if verdict.outcome != "pass" and not self._thorough:
            return True
        if verdict.outcome == "timeout" and reply.id in self._public:
            return True
        if following is None or following.id not in self._tiers:
            return True
        same_tier = self._tiers[following.id] == self._tiers[reply.id]
        failed = any(self._verdicts[id].outcome != "pass" for id in self._public.intersection(self._verdicts))
        return failed and not same_tier

    @property
    def _is_tired(self) -> bool:
        """Whether to ask a slow kernel why would cost more than it is worth."""
        if self._patience is None:
            return False
        shown = sum(reply.seconds for id, reply in self._replies.items() if id in self._shown)
        after = sum(reply.seconds for id, reply in self._replies.items() if id not in self._verdicts)
        return shown > self._patience or after > _IN_ALL * self._patience

    @property
    def _explainable(self) -> bool:
        return self._ask_why and any(verdict.outcome in _EXPLAINED for verdict in self._verdicts.values())
