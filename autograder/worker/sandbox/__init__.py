"""The sandbox around a child: landlock, seccomp and a user of its own, each tried out before it is counted on.

Around the server, where the machine allows it, bubblewrap.
"""

from autograder.worker.sandbox._bubblewrap import Inside, supervise
from autograder.worker.sandbox._confinement import Confinement
from autograder.worker.sandbox._probe import Outcome, Unusable, probe

__all__ = ["Confinement", "Inside", "Outcome", "Unusable", "probe", "supervise"]
