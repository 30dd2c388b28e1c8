"""An autograder for GPU-kernel homework in Triton."""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# By name, and only when they are wanted: every room is part of this package, and few need the notebook's.
_NOTEBOOK = "autograder.notebook"


def load_ipython_extension(shell: Any) -> None:
    """What `%load_ext autograder` calls."""
    import_module(_NOTEBOOK).load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """What `%unload_ext autograder` and `%reload_ext autograder` call."""
    import_module(_NOTEBOOK).unload(shell)
