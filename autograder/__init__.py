"""An autograder for GPU-kernel homework in Triton."""

from typing import Any

__version__ = "0.1.0"


def load_ipython_extension(shell: Any) -> None:
    """What `%load_ext autograder` calls; nothing else is imported until then."""
    from autograder.notebook import load

    load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """What `%unload_ext autograder` and `%reload_ext autograder` call."""
    from autograder.notebook import unload

    unload(shell)
