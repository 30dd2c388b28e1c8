"""A file, folder, notebook or zip -> the student's sources, as text; nothing is imported or run."""

from autograder.handin._model import HandIn, Place, Source, defined_names, split_lines
from autograder.handin._names import a_few
from autograder.handin._read import read_handin

__all__ = ["HandIn", "Place", "Source", "a_few", "defined_names", "read_handin", "split_lines"]
