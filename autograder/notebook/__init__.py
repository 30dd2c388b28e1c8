"""The notebook: `%load_ext autograder`, then `%%exercise ID` cells that save, grade and show; see docs/notebook.md."""

from autograder.notebook._magics import load, unload
from autograder.notebook._points import public_points

__all__ = ["load", "public_points", "unload"]
