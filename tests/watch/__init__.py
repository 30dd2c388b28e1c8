"""Tests of autograder/watch."""
