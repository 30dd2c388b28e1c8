"""A file, folder, notebook or zip -> the student's sources, as text; nothing is imported or run."""

from autograder.handin._decode import read_text
from autograder.handin._magics import python_of_cell
from autograder.handin._model import HandIn, Place, Source, defined_again, defined_names, definitions, split_lines
from autograder.handin._names import a_few
from autograder.handin._read import read_handin

__all__ = [
    "HandIn",
    "Place",
    "Source",
    "a_few",
    "defined_again",
    "defined_names",
    "definitions",
    "python_of_cell",
    "read_handin",
    "read_text",
    "split_lines",
]
