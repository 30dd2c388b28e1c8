"""What a student has tried on this machine, so that a report can say how it was before; never part of a score."""

from autograder.attempts._model import Attempt, History
from autograder.attempts._record import FOLDER, Memory
from autograder.attempts._remarks import remark_on

__all__ = ["FOLDER", "Attempt", "History", "Memory", "remark_on"]
