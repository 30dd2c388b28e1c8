"""Attempts to cheat, break out of, or bring down the grader; one test a kind."""
