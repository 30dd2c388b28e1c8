"""Grades on their way out: Canvas, Moodle, CSV, nbgrader, Gradescope."""
