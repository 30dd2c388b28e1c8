"""Pages for people: feedback for a student, and the report on a class; offline, without scripts, reproducible."""

from autograder.reports.html.class_report import class_report
from autograder.reports.html.comments import Comments, read_comments
from autograder.reports.html.feedback import feedback_page
from autograder.reports.html.files import Written, write_feedback, write_report

__all__ = [
    "Comments",
    "Written",
    "class_report",
    "feedback_page",
    "read_comments",
    "write_feedback",
    "write_report",
]
