"""`grade watch`: grades on every save in a warm server, and stays on the exercise that the student is at."""

from autograder.watch._loop import Settings, watch

__all__ = ["Settings", "watch"]
