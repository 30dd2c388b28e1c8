"""An author's self-check: the proofs that the grader is real, for every exercise of a course."""

from autograder.selfcheck._proofs import PROOFS, Finding, Proof, SelfCheck

__all__ = ["PROOFS", "Finding", "Proof", "SelfCheck"]
