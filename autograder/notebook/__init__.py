"""The notebook: `%load_ext autograder`, then `%%exercise ID` cells that save, grade and show; see docs/notebook.md."""

from autograder.notebook._magics import load, unload

__all__ = ["load", "unload"]
