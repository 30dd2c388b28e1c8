"""What a kernel can do wrong while it runs; the text of each is for the student."""

from __future__ import annotations


class Violation(Exception):
    """A memory access outside the buffers, or a change of what must not change."""


class NotOneTruth(Exception):
    """A tile was used where Python wants a single truth value."""
