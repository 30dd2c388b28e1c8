"""An autograder for GPU-kernel homework in Triton."""

__version__ = "0.1.0"
