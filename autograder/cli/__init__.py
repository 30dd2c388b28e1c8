"""Thin click commands: ``grade`` for students, ``course`` for instructors."""

import sys

# Under `python -m` the current folder, which may hold a student's torch.py, comes first where modules are looked for.
# Python calls the program "-m" while it looks for it; later it has a name.
if sys.argv[:1] == ["-m"] and not sys.flags.safe_path:
    sys.path.append(sys.path.pop(0))
if sys.argv[:1] == ["-m"]:
    from autograder.cli.start import stop_quietly

    stop_quietly()
