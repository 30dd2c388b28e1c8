"""One run: read the download, copy each student's attempts, put them in their places, and say what happened."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from autograder.bulk.collect._canvas import read_canvas
from autograder.bulk.collect._claim import claim
from autograder.bulk.collect._copy import copy_attempt
from autograder.bulk.collect._gradescope import read_gradescope
from autograder.bulk.collect._ids import Ids
from autograder.bulk.collect._listing import Listing, looks_like_a_class, wrapped
from autograder.bulk.collect._model import Handed, Reading
from autograder.bulk.collect._moodle import read_moodle
from autograder.bulk.collect._plain import read_plain
from autograder.bulk.collect._report import Collected, Outcome, Refusal
from autograder.bulk.collect._source import open_source
from autograder.bulk.collect._target import EMPTY, OLDER, UNCHANGED, Made, Target
from autograder.bulk.collect._usable import trouble
from autograder.bulk.roster import HandedIn, Roster, Student, load_roster
from autograder.bulk.submissions import AN_EARLIER_ONE, Submission
from autograder.errors import UsageError
from autograder.handin._names import a_few, show
from autograder.protocol import printable

_LEADS_OUT = "was not copied: its name leads out of the download"
_UNMATCHED = "Not found in the roster."
_CALLED = {"canvas": "Canvas", "moodle": "Moodle", "gradescope": "Gradescope", "folder": "plain folders"}
_MAX_NOTES = 20
_MAX_NAMES = 100


def collect(
    source: Path,
    out: Path,
    roster: Path | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
    mixed: bool = False,
) -> Collected:
    """Make one folder a student under ``out`` from the LMS download ``source``, a zip or a folder.

    A run with a newer download updates ``out``: earlier attempts are kept under ``out/.attempts``. ``progress`` is
    called with the number of students done and of all.  Another LMS's download has to be ``mixed`` in: it knows
    everybody by other ids, so that who is in both would be there twice.

    Raises:
        UsageError: the source cannot be read or holds no hand-in, the roster cannot be read, or ``out`` is no folder
            for this, or holds another LMS's students.
    """
    table = load_roster(roster) if roster is not None else None
    with open_source(source) as everything:
        listing, strays = everything.strays()
        reading = _understand(listing)
        if not reading.students:
            raise UsageError(_nothing(source, reading.unknown))
        with claim(out, source) as target:
            if not mixed:
                _refuse_mixing(out, target, reading.lms)
            outcomes, refused = _take(reading, target, roster_given=table is not None, progress=progress)
            missing, unmatched, late = _compare(target, table)
            notes = [*reading.notes]
            if table is not None and (foreign := table.foreign_ids(target.submissions)):
                notes.append(show(foreign))
            target.save()
            total = len(target.submissions)
            outcomes = [replace(one, submission=target.submissions[one.submission.student]) for one in outcomes]
    refused = [*(Refusal(None, file.shown, _LEADS_OUT) for file in strays), *refused]
    return Collected(
        out,
        reading.lms,
        total,
        tuple(outcomes),
        tuple(refused),
        reading.unknown,
        tuple(notes),
        missing,
        unmatched,
        late,
    )


def _understand(listing: Listing) -> Reading:
    """Whose download it is; folders that wrap all of it are looked through."""
    layers = wrapped(listing)
    for _, layer in layers:
        for read in (read_moodle, read_gradescope, read_canvas):
            if (reading := read(layer)) is not None:
                return reading
    wrapper, innermost = layers[-1]
    if not wrapper or not looks_like_a_class(innermost):
        return read_plain(listing)
    reading = read_plain(innermost)
    return replace(reading, notes=(*reading.notes, f"The students were looked for in {show(wrapper)}."))


def _refuse_mixing(out: Path, target: Target, lms: str) -> None:
    others = sorted({record.lms for record in target.submissions.values()} - {lms})
    if others:
        raise UsageError(
            f"{show(str(out))} holds hand-ins from {' and '.join(_CALLED.get(other, other) for other in others)}, and "
            f"these are from {_CALLED.get(lms, lms)}: who is in both would be there twice. Choose another --out, or "
            "add --mixed if nobody is in both."
        )


def _nothing(source: Path, unknown: Sequence[str]) -> str:
    what = f"There is no hand-in in {show(str(source))}"
    names = f": {a_few(unknown)} {'is' if len(unknown) == 1 else 'are'} nobody's" if unknown else ": it is empty"
    return f"{what}{names}. Give the zip that the LMS made, or a folder with one folder or file a student."


def _take(
    reading: Reading, target: Target, roster_given: bool, progress: Callable[[int, int], None]
) -> tuple[list[Outcome], list[Refusal]]:
    ids = Ids(target.ids)
    students = {
        ids.give(one.key, one.label, one.tail): one for one in sorted(reading.students, key=lambda one: one.key)
    }
    target.expect({student: one.key for student, one in students.items()})
    outcomes: list[Outcome] = []
    refused: list[Refusal] = []
    try:
        for done, student in enumerate(sorted(students)):
            progress(done, len(students))
            outcome, own = _take_one(student, students[student], reading.lms, target, roster_given)
            target.submissions[student] = outcome.submission
            outcomes.append(outcome)
            refused += own
        progress(len(students), len(students))
    except BaseException:
        target.save()  # what is done is done, also for who stops it here
        raise
    return outcomes, refused


def _take_one(
    student: str, handed: Handed, lms: str, target: Target, roster_given: bool
) -> tuple[Outcome, list[Refusal]]:
    made: list[Made] = []
    refused: list[Refusal] = []
    unusable = False  # the latest attempt
    for attempt in handed.attempts:
        folder = target.new_folder()
        copied = copy_attempt(attempt.files, folder)
        refused += (Refusal(student, shown, reason) for shown, reason in copied.refused)
        unusable = copied.files == 0
        if not unusable:
            made.append(Made(folder, attempt.order))
    state = target.place(student, made)
    notes = [*handed.notes, *(f"{one.shown} {one.reason}." for one in refused)]
    before = target.submissions.get(student)
    if unusable and state != EMPTY:
        notes.append(AN_EARLIER_ONE)
    kept_back = state == OLDER or (state == UNCHANGED and not made)
    if kept_back and before is not None:
        record = replace(before, attempts=target.attempts(student))
        if state != OLDER:
            record = replace(record, notes=_few((*before.notes, *notes)))
    else:
        record = _record(student, handed, lms, target.attempts(student), notes)
        if before is not None and not roster_given:  # what an earlier run knew from a roster
            submitted = record.submitted or (before.submitted if state == UNCHANGED else None)
            record = replace(record, name=before.name or record.name, submitted=submitted)
    return Outcome(record, state, trouble(target.folder(student))), refused


def _record(student: str, handed: Handed, lms: str, attempts: int, notes: Sequence[str]) -> Submission:
    return Submission(
        student=student,
        name=_one_line(handed.name),
        lms=lms,
        lms_id=handed.lms_id,
        submitted=handed.submitted,
        late=handed.late,
        attempts=attempts,
        notes=_few(notes),
        original=tuple(name for name in handed.attempts[-1].names if name.isprintable())[:_MAX_NAMES],
    )


def _few(notes: Sequence[str]) -> tuple[str, ...]:
    once = tuple(dict.fromkeys(notes))
    more = len(once) - _MAX_NOTES
    return once if more <= 0 else (*once[:_MAX_NOTES], f"{more} more notes were left out.")


def _with_row(record: Submission, row: Student) -> Submission:
    """The name and, where the roster tells it, the time of handing in."""
    return replace(record, name=_one_line(row.name) or record.name, submitted=row.submitted or record.submitted)


def _one_line(name: str) -> str:
    return " ".join(printable(name).split())


def _compare(target: Target, table: Roster | None) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Note what the roster tells; who is in it and handed in nothing, who is not in it, and whom it calls late."""
    if table is None:
        return (), (), ()
    found: set[int] = set()
    unmatched = []
    late = []
    handed_in = {
        student: HandedIn(record.name, record.lms_id, record.lms) for student, record in target.submissions.items()
    }
    for student, match in table.match_all(handed_in).items():
        record = target.submissions[student]
        notes = tuple(note for note in record.notes if note != _UNMATCHED)
        found |= {id(row) for row in match.rows}
        if match.row is None:
            unmatched.append(student)
            notes = (*notes, _UNMATCHED)
        else:
            record = _with_row(record, match.row)
            if record.submitted is None and (words := match.row.called_late):
                late.append(show(f"{student}: {words}"))
        target.submissions[student] = replace(record, notes=notes)
    rows = (row for row in table.students if id(row) not in found)
    missing = (row.name or row.student or row.login or row.email or row.lms_id for row in rows)
    return tuple(show(name) for name in missing), tuple(sorted(unmatched)), tuple(sorted(late))
