"""Write anew what the experiments print, as the lessons show it: `python course/lessons/experiments/capture.py`."""

import contextlib
import io
import runpy
from pathlib import Path
from unittest import mock

HERE = Path(__file__).resolve().parent


def printed(script):
    """What an experiment prints on this machine's CPU, also where there is a GPU."""
    text = io.StringIO()
    with mock.patch("torch.cuda.is_available", return_value=False), contextlib.redirect_stdout(text):
        runpy.run_path(str(script), run_name="__main__")
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines()) + "\n"


def experiments():
    return sorted(path for path in HERE.glob("*.py") if path.name != Path(__file__).name)


if __name__ == "__main__":
    for path in experiments():
        path.with_suffix(".txt").write_text(printed(path), encoding="utf-8")
        print(path.with_suffix(".txt").name)
