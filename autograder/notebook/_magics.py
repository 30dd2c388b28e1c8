"""The magics, and how they get into a shell: `%%exercise`, `%grade`, `%hint` and `%course`.

Works with IPython 7.34, which Colab has, and with today's.  IPython is imported by nobody but a running IPython.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autograder.catalogue import Course, Exercise, current_folder, find_root, load_course
from autograder.errors import AutograderError, CourseError, UsageError
from autograder.notebook._options import Words, read_words
from autograder.notebook._show import course_list, hint_bundle, run_bundle
from autograder.notebook._work import Saved, Stepped, Work, find_drive, shown
from autograder.release.stubs import create_missing_stubs
from autograder.result import ExerciseResult
from autograder.texts import read_hints
from autograder.warm import Warm

_ACTIONS = ("list", "redo", "restore", "show", "undo")
_HINTS = 3


class Notebook:
    """The magics of one shell; its worker stays warm from the first graded cell to the kernel's end."""

    def __init__(self, shell: Any, warm: Warm | None = None) -> None:
        self._shell = shell
        self._warm = warm if warm is not None else Warm()
        self._latest: dict[str, ExerciseResult] = {}

    def register(self) -> None:
        """Put the magics into the shell, and their words into its completion."""
        shell = self._shell
        shell.register_magic_function(self._spoken("%%exercise", self.exercise), "cell", "exercise")
        for name, function in (("grade", self.grade), ("hint", self.hint), ("course", self.course)):
            shell.register_magic_function(self._spoken(f"%{name}", function), "line", name)
        for word in ("%%exercise", "%grade", "%hint", "%course"):
            shell.set_hook("complete_command", self._complete, str_key=word)
        if _with_a_body not in shell.input_transformers_cleanup:
            shell.input_transformers_cleanup.insert(0, _with_a_body)

    def close(self) -> None:
        """End the worker."""
        self._warm.close()

    def latest(self, exercise_id: str) -> ExerciseResult | None:
        """The result of the exercise as it was last graded here; None if the last cell of it was not graded."""
        return self._latest.get(exercise_id)

    def exercise(self, words: Words, cell: str) -> None:
        """Save the cell as the answer to an exercise, grade it, and show the report.

        Raises:
            UsageError: no exercise of that name, or a cell that is no answer to it.
        """
        course = _course()
        if len(words.names) != 1:
            raise UsageError(f"Name one exercise: %%exercise ID. There are {_ids(course)}.")
        exercise = course.exercise(words.names[0])
        self._latest.pop(exercise.id, None)
        if not cell.strip():
            raise UsageError(
                f"The cell is empty. Below %%exercise {exercise.id} write {_functions(exercise)}; the handout is in "
                f"{shown(exercise.handout)}."
            )
        saved = Work(course, find_drive()).save(exercise, f"%%exercise\n{cell}")
        print("\n".join(_about(saved)))
        self._grade(course, (exercise,), words)

    def grade(self, words: Words, _: str) -> None:
        """Grade what is in ``assignments/``: the exercises named, or all.

        Raises:
            UsageError: no exercise of that name.
        """
        course = _course()
        self._grade(course, course.select(words.names), words)

    def hint(self, words: Words, _: str) -> None:
        """Show one of an exercise's three hints: ``%hint ID``, ``%hint ID 2``.

        Raises:
            UsageError: no exercise of that name, or no such hint.
        """
        course = _course()
        if not words.names or len(words.names) > 2:
            raise UsageError(f"It is %hint ID, or %hint ID 2 for the second hint. There are {_ids(course)}.")
        exercise = course.exercise(words.names[0])
        level = words.names[1] if len(words.names) == 2 else "1"
        if level not in [str(number) for number in range(1, _HINTS + 1)]:
            raise UsageError(f"There are three hints: %hint {exercise.id} 1, 2 or 3.")
        self._display(hint_bundle(exercise.id, read_hints(exercise), int(level)))

    def course(self, words: Words, _: str) -> None:
        """``%course`` lists the exercises; its ``show``, ``undo``, ``redo`` and ``restore`` bring work back.

        Raises:
            UsageError: an unknown action, or nothing to bring back.
        """
        course = _course()
        action, *rest = words.names or ("list",)
        work = Work(course, find_drive())
        if action == "list" and not rest:
            print(course_list(course))
        elif action == "restore" and not rest:
            stubs = work.restore()
            print("\n".join(f"Brought back from Drive: assignments/{stub}" for stub in stubs) or "All is as in Drive.")
        elif action == "show" and len(rest) == 1:
            print(work.answer(course.exercise(rest[0])))
        elif action == "undo" and len(rest) == 1:
            exercise = course.exercise(rest[0])
            if (stepped := work.undo(exercise)) is None:
                raise UsageError(f"No earlier version of {exercise.id} is kept.")
            print(_about_step(exercise, stepped, "is as it was before its last change", "redo"))
        elif action == "redo" and len(rest) == 1:
            exercise = course.exercise(rest[0])
            if (stepped := work.redo(exercise)) is None:
                raise UsageError(f"There is no %course undo of {exercise.id} to take back.")
            print(_about_step(exercise, stepped, "is as it was before %course undo", "undo"))
        else:
            raise UsageError("It is %course, %course show ID, %course undo ID, %course redo ID or %course restore.")

    def _grade(self, course: Course, exercises: tuple[Exercise, ...], words: Words) -> None:
        if not self._warm.is_warm(course, words.device):
            print("Starting the grader, which takes a few seconds the first time ...")
        folder = course.root / "assignments"
        result = self._warm.grade(course, folder, exercises, words.seed, words.device)
        self._latest |= {item.id: item for item in result.exercises}
        self._display(run_bundle(result))

    def _display(self, bundle: dict[str, str]) -> None:
        from IPython.display import display

        display(bundle, raw=True)

    def _spoken(self, magic: str, function: Callable[[Words, str], None]) -> Callable[..., None]:
        """A magic whose errors are sentences: IPython shows its own UsageError without a traceback."""

        def called(line: str, cell: str = "") -> None:
            from IPython.core.error import UsageError as Shown

            debug = "--debug" in line.split()
            try:
                function(read_words(magic, line), cell)
            except AutograderError as error:
                if debug:
                    raise
                raise Shown(str(error)) from None
            except Exception as error:
                if debug:
                    raise
                raise Shown(
                    f"the grader itself failed ({type(error).__name__}: {error}). This costs no points; add --debug to "
                    "see where, and report it."
                ) from None

        called.__doc__ = function.__doc__
        return called

    def _complete(self, _: Any, event: Any) -> list[str]:
        """Words that may follow: exercises, and for ``%course`` what it does."""
        try:
            ids = [exercise.id for exercise in load_course(find_root(current_folder())).exercises]
        except (AutograderError, OSError):
            return []
        before = event.line[: len(event.line) - len(event.symbol)].split()
        if event.command == "%course" and len(before) == 1:
            return list(_ACTIONS)
        if event.command in ("%%exercise", "%hint") and len(before) > 1:
            return []
        return ids


def _with_a_body(lines: list[str]) -> list[str]:
    """A cell of nothing but `%%exercise ...` gets an empty line: without one IPython refuses it in words of its own."""
    filled = [line for line in lines if line.strip()]
    return [*lines, "\n"] if len(filled) == 1 and filled[0].startswith("%%exercise") else lines


def load(shell: Any) -> None:
    """What `%load_ext autograder` does."""
    notebook = Notebook(shell)
    notebook.register()
    shell.autograder_notebook = notebook
    try:
        course = _course()
        waiting = Work(course, find_drive()).waiting_in_drive()
    except AutograderError as error:
        print(f"{error}")
        return
    for stub in waiting:
        print(f"Your Drive holds work on {stub} that is not here: %course restore brings it back.")


def unload(shell: Any) -> None:
    """What `%unload_ext autograder` does: the magics stay, their worker ends."""
    notebook = getattr(shell, "autograder_notebook", None)
    if notebook is not None:
        notebook.close()


def _course() -> Course:
    """The course at or above the current folder, with its stubs in place.

    Raises:
        CourseError: there is none, or it is malformed.
    """
    where = ""
    try:
        here = current_folder()
        where = f"No course found at or above {here}."
        root = find_root(here)
    except CourseError:
        where = where or "The current folder is not there any more."
        raise CourseError(f"{where} Go to the course's folder with %cd FOLDER, then run the cell again.") from None
    course = load_course(root)
    if written := create_missing_stubs(course):
        print("Put into assignments/: " + ", ".join(written))
    return course


def _ids(course: Course) -> str:
    return ", ".join(exercise.id for exercise in course.exercises)


def _functions(exercise: Exercise) -> str:
    names = [function.name for function in exercise.functions]
    return f"the function{'s' if len(names) > 1 else ''} {' and '.join(names)}"


def _about(saved: Saved) -> list[str]:
    """Where the answer is now, and anything unusual about it."""
    answer = saved.answer
    if answer is None:
        return list(saved.notes)
    verb = "Saved to" if saved.changed else "Unchanged in"
    line = f"line {answer.cell_line} of this cell is line {answer.file_line} there"
    sentences = [f"{verb} {shown(saved.path)}: {line}.", *saved.notes]
    if answer.left_out:
        several = len(answer.left_out) > 1
        places = ", ".join(str(line) for line in answer.left_out)
        sentences.append(
            f"Line{'s' if several else ''} {places} of the cell {'are' if several else 'is'} no function, constant or "
            f"import, and {'were' if several else 'was'} neither saved nor run."
        )
    return sentences


def _about_step(exercise: Exercise, stepped: Stepped, how: str, back: str) -> str:
    """What going back or forth did: to which exercises, and how to have it otherwise."""
    changed = f"{exercise.id} in {shown(stepped.path)} {how}."
    if stepped.others:
        changed += f" {', '.join(stepped.others)} changed with it, since that change was to the whole file."
    kept = f" What was there is kept: %course {back} {exercise.id} brings it back." if stepped.kept else ""
    return f"{changed}{kept} Cells stay as they are."
