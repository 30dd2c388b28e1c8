"""The sandbox around a child: landlock, seccomp and a user of its own, each tried out before it is counted on."""

from autograder.worker.sandbox._confinement import Confinement
from autograder.worker.sandbox._probe import Outcome, Unusable, probe

__all__ = ["Confinement", "Outcome", "Unusable", "probe"]
