"""Which of the files found is graded for each place, and the sentence that says so."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

from autograder.handin._gather import Found
from autograder.handin._model import Place, Source
from autograder.handin._names import Kind, a_few, copy_name, explicit_lesson

Started = Callable[[Place, str], bool]
_COPY = 2
# Whether a file is started takes seconds a megabyte to see if it is made to: after so many characters of candidates the
# rest are taken for started.
_LOOKED_AT = 3_000_000


class Tier(IntEnum):
    """What beats what, best first; within a tier a lesson folder beats flat files."""

    STARTED = 0  # a .py with the wanted name
    STARTED_COPY = 1  # "x (1).py", "Copy of x.py": a hand-in when the plain one is missing or untouched
    BY_CONTENT = 2  # a notebook, or a .py of another name that defines the functions
    REFUSED = 3  # better than an untouched stub: the student's work is in it
    UNTOUCHED = 4


@dataclass(frozen=True, slots=True)
class Candidate:
    """A file that may be graded for one place. ``how`` says why, when its name alone does not.

    ``untouched`` is looked at only where there are several notebooks.
    """

    found: Found
    tier: Tier
    in_lesson: bool
    spelling: int
    defines: int
    how: str
    untouched: bool = False

    @property
    def key(self) -> tuple[object, ...]:
        """Smallest is best."""
        found = self.found
        by_content = self.tier in {Tier.BY_CONTENT, Tier.REFUSED}
        return (
            self.tier,
            -self.defines if by_content else 0,
            found.kind is Kind.NOTEBOOK,
            self.untouched,
            not self.in_lesson,
            self.spelling,
            found.zip_depth,
            len(found.folders),
            -copy_name(found.name).number,
            found.source.path,
        )


class Chooser:
    """All files found, asked for one place after the other."""

    def __init__(
        self,
        found: Sequence[Found],
        places: Sequence[Place],
        names: Mapping[Place, frozenset[str]],
        started: Started,
    ) -> None:
        self._found = found
        self._places = places
        self._names = names
        self._started = started
        self._known: dict[tuple[int, Place], bool] = {}
        self._left = _LOOKED_AT

    def choose(self, place: Place) -> tuple[Source, str | None] | None:
        """The source for ``place`` and, if there was something to decide, the sentence about it."""
        named = [candidate for found in self._found if (candidate := self._named(found, place))]
        others = [candidate for found in self._found if (candidate := self._by_content(found, place, bool(named)))]
        candidates = sorted([*named, *others], key=lambda candidate: candidate.key)
        if not candidates:
            return None
        best, *rest = candidates
        return best.found.source, _sentence(place, best, rest)

    def _named(self, found: Found, place: Place) -> Candidate | None:
        if found.kind is not Kind.PYTHON or place not in self._places_named(found):
            return None
        spelling = _spelling(found.name, place.file)
        tier = self._tier(found, place, Tier.STARTED if spelling < _COPY else Tier.STARTED_COPY)
        in_lesson = place.lesson in {explicit_lesson(found.folders), self._hint(found)}
        how = "by its name" if spelling else ""
        return Candidate(found, tier, in_lesson, spelling, self._defines(found, place), how)

    def _by_content(self, found: Found, place: Place, has_named: bool) -> Candidate | None:
        defines = self._defines(found, place)
        if not defines:
            return None
        in_lesson = explicit_lesson(found.folders) == place.lesson
        if found.kind is Kind.NOTEBOOK:
            tier = Tier.REFUSED if found.source.text is None else Tier.BY_CONTENT
            several = sum(one.kind is Kind.NOTEBOOK for one in self._found) > 1
            untouched = several and not self._is_started(found, place)
            return Candidate(found, tier, in_lesson, 0, defines, "", untouched)
        if not self._may_stand_in(found, place, has_named):
            return None
        tier = self._tier(found, place, Tier.BY_CONTENT)
        return Candidate(found, tier, in_lesson, 0, defines, "by the functions it defines")

    def _may_stand_in(self, found: Found, place: Place, has_named: bool) -> bool:
        """Whether a .py of another name may serve ``place``."""
        own = self._places_named(found)
        if place in own or place not in self._places_defined(found):
            return False
        if own:
            # It belongs elsewhere: it stands in where nothing else is, if it was worked on and brings more.
            expected = frozenset[str]().union(*(self._wanted(each) for each in own))
            more = (found.defined & self._wanted(place)) - expected
            return bool(more) and not has_named and any(self._is_started(found, each) for each in own)
        if explicit_lesson(found.folders) not in {None, place.lesson}:
            # Another lesson's folder: its files may well define functions of the same name.
            return not has_named and _names_place(found.name, place)
        return True

    def _tier(self, found: Found, place: Place, if_started: Tier) -> Tier:
        if found.source.text is None:
            return Tier.REFUSED
        return if_started if self._is_started(found, place) else Tier.UNTOUCHED

    def _is_started(self, found: Found, place: Place) -> bool:
        text = found.source.text
        if text is None:
            return True
        key = id(found), place  # `found` lives as long as this chooser
        if key not in self._known:
            self._left -= len(text)
            self._known[key] = self._left < 0 or self._started(place, text)
        return self._known[key]

    def _defines(self, found: Found, place: Place) -> int:
        return len(found.defined & self._wanted(place))

    def _wanted(self, place: Place) -> frozenset[str]:
        return self._names.get(place, frozenset())

    def _places_named(self, found: Found) -> list[Place]:
        """The places that a .py is meant for by its name and folder."""
        # "x-1.py" may be a wanted name itself, and is then no copy of "x.py".
        matching = [place for place in self._places if _same(found.name, place.file)]
        matching = matching or [place for place in self._places if _names_place(found.name, place)]
        lesson = explicit_lesson(found.folders)
        if lesson is not None:
            return [place for place in matching if place.lesson == lesson]
        hinted = [place for place in matching if place.lesson == found.hint]
        if hinted or len(matching) < 2:
            return hinted or matching
        # Two lessons have a file of this name and no folder tells them apart: its functions do.
        return [place for place in matching if self._defines(found, place)] or matching

    def _hint(self, found: Found) -> int | None:
        return found.hint if explicit_lesson(found.folders) is None else None

    def _places_defined(self, found: Found) -> list[Place]:
        """The places that a file of any name serves: where it defines most, and where it adds functions."""
        ranked = sorted(self._places, key=lambda place: -self._defines(found, place))
        most = self._defines(found, ranked[0]) if ranked else 0
        served: list[Place] = []
        seen: set[str] = set()
        for place in ranked:
            defined = found.defined & self._wanted(place)
            if defined and (len(defined) == most or not defined <= seen):
                served.append(place)
            seen |= defined
        return served


def _same(name: str, file: str) -> bool:
    return name.lower() == file.lower()


def _spelling(name: str, file: str) -> int:
    """0 the very name, 1 in other case, 2 a copy of it."""
    if name == file:
        return 0
    return 1 if _same(name, file) else _COPY


def _names_place(name: str, place: Place) -> bool:
    return _same(name, place.file) or _same(copy_name(name).plain, place.file)


def _sentence(place: Place, best: Candidate, rest: Sequence[Candidate]) -> str | None:
    """One sentence if there were several candidates or the name was not the wanted one; else None."""
    if not rest and not best.how:
        return None
    how = f" ({best.how})" if best.how else ""
    losers = [f"{other.found.source.path} ({_why_not(best, other)})" for other in rest]
    instead = f", not {a_few(losers)}" if losers else ""
    return f"For {place}, {best.found.source.path} is read{how}{instead}."


def _why_not(best: Candidate, other: Candidate) -> str:
    if other.tier is Tier.REFUSED:
        return "refused"
    if other.tier is Tier.UNTOUCHED and not other.defines:
        return "none of the functions is in it"
    if other.tier is Tier.UNTOUCHED and best.tier is not Tier.UNTOUCHED:
        return "unchanged"
    if best.tier < Tier.BY_CONTENT <= other.tier:
        is_notebook = other.found.kind is Kind.NOTEBOOK
        return "a started .py beats a notebook" if is_notebook else "not the wanted name"
    if best.tier < other.tier:
        return "a copy"
    if best.tier is Tier.BY_CONTENT and best.defines != other.defines:
        return "defines fewer of the functions"
    if best.found.kind is not other.found.kind:
        return "a .py beats a notebook"
    if best.in_lesson != other.in_lesson:
        return "a lesson folder beats other places"
    if best.spelling != other.spelling:
        return "a copy" if other.spelling >= _COPY else "spelled differently"
    return "only one can count"
