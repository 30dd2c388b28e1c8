"""Thin click commands: ``grade`` for students, ``course`` for instructors."""
