"""The trusted handle on workers: start the fork server, feed it jobs, read raw replies, kill what does not end."""

from autograder.pool._crew import CarryOn, Child, Crew
from autograder.pool._gate import Gate
from autograder.pool._pool import Pool
from autograder.pool._workplace import full_disk, is_full_disk

__all__ = ["CarryOn", "Child", "Crew", "Gate", "Pool", "full_disk", "is_full_disk"]
