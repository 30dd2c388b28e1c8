"""Tests of the trust boundary: what a student's source text may become; a package so that they share making.py."""
