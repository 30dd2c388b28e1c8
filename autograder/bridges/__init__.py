"""A class's grades in the formats of others: Canvas, Moodle, Gradescope and nbgrader."""

from autograder.bridges._canvas import to_canvas
from autograder.bridges._gradebook import write_gradebook
from autograder.bridges._gradescope import results_document
from autograder.bridges._gradescope_checks import checks_document
from autograder.bridges._marks import Options, Ready, ready
from autograder.bridges._moodle import to_moodle
from autograder.bridges._sheet import Sheet, csv_bytes, csv_text
from autograder.bridges._words import headline

__all__ = [
    "Options",
    "Ready",
    "Sheet",
    "checks_document",
    "csv_bytes",
    "csv_text",
    "headline",
    "ready",
    "results_document",
    "to_canvas",
    "to_moodle",
    "write_gradebook",
]
