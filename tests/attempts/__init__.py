"""Tests of autograder/attempts."""
