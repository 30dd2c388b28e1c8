"""An LMS download -> one folder a student; nothing is imported, run, or written outside the folder asked for."""

from autograder.bulk.collect._report import Collected, Outcome, Refusal
from autograder.bulk.collect._run import collect

__all__ = ["Collected", "Outcome", "Refusal", "collect"]
