"""Tests of the room that reads hand-ins; a package so that they share making.py."""
