"""The trusted handle on workers: start the fork server, feed it jobs, read raw replies, kill what does not end."""

from autograder.pool._pool import CarryOn, Pool

__all__ = ["CarryOn", "Pool"]
