"""The student's own kernels: find the file, say kindly what is still to do, load the kernel, explain what it raises.

A `Part` is one stub file with one kernel to run.  `load_kernel` gives that kernel, or raises `Missing`, whose lines
name the exercises that are open with the commands that check them.
"""

import ast
import importlib.util
import re
import traceback
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Part:
    """One stub file: its lesson, its kernel, and the exercise that each of its functions belongs to, pieces first."""

    name: str
    lesson: int
    file: str
    kernel: str
    exercises: dict[str, str]

    @property
    def exercise(self):
        """The exercise that the kernel itself belongs to."""
        return self.exercises[self.kernel]


class Missing(Exception):
    """Something is still to do; ``lines`` are for the student."""

    def __init__(self, *lines):
        super().__init__(lines[0])
        self.lines = lines


def check_line(exercise):
    return f"  {exercise:<22} grade check {exercise}"


def find_folder(wish):
    """--dir, relative to the current folder; the default is looked for beside the course as well."""
    folder = Path(wish or "assignments")
    if wish is None and not folder.is_dir():
        folder = Path(__file__).resolve().parents[3] / "assignments"
    return folder


def find_file(folder, part):
    """The part's file, in ``folder`` or its folder for the lesson; raises `Missing`."""
    for path in (folder / f"lesson{part.lesson}" / part.file, folder / part.file):
        if path.is_file():
            return path
    raise Missing(
        f"There is no {part.file} in {folder} or its folder lesson{part.lesson}.",
        "Name the folder with your kernels by --dir. The exercises of this part:",
        *(check_line(exercise) for exercise in part.exercises.values()),
    )


def load_kernel(path, part):
    """The kernel, imported from the student's own file; raises `Missing`, and what the file raises."""
    if todo := _unfilled(path, part):
        raise Missing(
            f"Still to do in {path.name}, before {part.kernel} can run:",
            *(check_line(exercise) for exercise in todo),
            *(("and then the kernel itself:", check_line(part.exercise)) if part.exercise not in todo else ()),
        )
    spec = importlib.util.spec_from_file_location(f"student_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    kernel = getattr(module, part.kernel)
    if not hasattr(kernel, "run"):
        raise Missing(f"{part.kernel} has lost its @triton.jit line.", check_line(part.exercise))
    return kernel


def graded_together(path, part):
    """The exercises to check when a kernel's output is wrong: the pieces that it calls first, then its own."""
    return [*_called_exercises(_functions_in(path), part), part.exercise]


def explain(error, path, part):
    """Print which exercise an error belongs to: that of the function in which it came up."""
    causes = [error]
    while (cause := causes[-1].__cause__ or causes[-1].__context__) is not None and cause not in causes:
        causes.append(cause)
    line, exercise = place_of(causes, path, part)
    root = causes[-1]
    text = (str(root).strip() or type(root).__name__).splitlines()[-1][:200]
    where = f"{path.name}, line {line}" if line else path.name
    if isinstance(root, NameError) or "is not defined" in text:
        print(f"{where} uses a value that is not there yet:")
        print(f"  {text}")
        print("There is a TODO open, in this exercise:")
    else:
        print(f"{where} did not run:")
        print(f"  {type(root).__name__}: {text}")
        print("The grader says more about it:")
    print(check_line(exercise))


def place_of(causes, path, part):
    """The student's line that errors came from, if any, and the exercise of the function in which it is."""
    functions = _functions_in(path)
    line = next(filter(None, (_line_of(cause, path, functions) for cause in reversed(causes))), None)
    inside = [name for name, node in functions.items() if line and node.lineno <= line <= node.end_lineno]
    return line, part.exercises.get(inside[0] if inside else part.kernel, part.exercise)


def _unfilled(path, part):
    """Exercises with a function that is still to do: the kernel's own, and those of the pieces that it calls."""
    try:
        tree = ast.parse(path.read_text(encoding="utf-8-sig"))
    except (SyntaxError, ValueError) as error:
        line = f", line {error.lineno}" if getattr(error, "lineno", None) else ""
        raise Missing(
            f"{path.name}{line} is not valid Python yet: {getattr(error, 'msg', error)}.",
            "The grader still checks the functions around it:",
            *(check_line(exercise) for exercise in part.exercises.values()),
        ) from error
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    if part.kernel not in functions:
        return [part.exercise]
    wanted = [*_called_exercises(functions, part), part.exercise]
    return [
        exercise
        for exercise in wanted
        if any(_is_open(functions, name) for name, owner in part.exercises.items() if owner == exercise)
    ]


def _called_exercises(functions, part):
    """Exercises of the pieces that the kernel calls, itself or by way of other functions of the file."""
    called = _reached(functions, part.kernel)
    found = [exercise for name, exercise in part.exercises.items() if name in called]
    return [exercise for exercise in dict.fromkeys(found) if exercise != part.exercise]


def _reached(functions, name):
    """A function and all that it names, itself or by way of other functions of the file."""
    called, todo = set(), [name]
    while todo:
        name = todo.pop()
        if name not in called:
            called.add(name)
            nodes = ast.walk(functions[name]) if name in functions else ()
            todo += [node.id for node in nodes if isinstance(node, ast.Name)]
    return called


def _is_open(functions, name):
    """Whether there is nothing to run yet: no such function, an empty one, or one that neither returns nor stores."""
    function = functions.get(name)
    if function is None or _is_empty(function):
        return True
    if any(isinstance(node, ast.Return) and node.value is not None for node in ast.walk(function)):
        return False
    calls = (
        node.func.attr
        for called in _reached(functions, name) & functions.keys()
        for node in ast.walk(functions[called])
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    )
    return not any(call == "store" or call.startswith(("atomic_", "store_")) for call in calls)


def _is_empty(function):
    """Whether a function does nothing but return: no statement besides docstring, ``pass`` and ``return``."""
    return all(
        isinstance(node, (ast.Pass, ast.Return))
        or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        for node in function.body
    )


def _functions_in(path):
    try:
        tree = ast.parse(path.read_text(encoding="utf-8-sig"))
    except (SyntaxError, ValueError):
        return {}
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}


def _line_of(error, path, functions):
    """The student's line that an error came from: in its traceback, or named by Triton's compiler; else None."""
    numbers = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    if numbers:
        return numbers[-1]
    node, source = getattr(error, "node", None), getattr(error, "src", None)
    match = re.match(r"def (\w+)", source) if isinstance(source, str) else None
    if node is None or match is None or match[1] not in functions:
        return None
    return functions[match[1]].lineno + node.lineno - 1  # the compiler counts from the line of the def
