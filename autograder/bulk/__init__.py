"""Grading a class: collect, grade, and what the instructor gives back."""
