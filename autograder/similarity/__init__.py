"""Hand-ins that share long passages: something to look at, for the instructor alone, and never part of a grade."""

from autograder.similarity._model import Pair, Side, Similar
from autograder.similarity._search import similar_hand_ins

__all__ = ["Pair", "Side", "Similar", "similar_hand_ins"]
