"""Grading on Gradescope: the zip that an instructor uploads there, and what runs in its container."""

from autograder.gradescope._grading import check, grade
from autograder.gradescope._package import VISIBILITIES, Package, make_package

__all__ = ["VISIBILITIES", "Package", "check", "grade", "make_package"]
