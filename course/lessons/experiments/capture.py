"""Write anew what the experiments print, as the lessons show it: `python course/lessons/experiments/capture.py`."""

import contextlib
import io
import os
import runpy
import subprocess
import sys
from pathlib import Path
from unittest import mock

HERE = Path(__file__).resolve().parent


def printed(script):
    """What an experiment prints on this machine's CPU, also where there is a GPU."""
    if "import triton" in script.read_text(encoding="utf-8"):
        return _tidy(_in_a_process_of_its_own(script))
    text = io.StringIO()
    with mock.patch("torch.cuda.is_available", return_value=False), contextlib.redirect_stdout(text):
        runpy.run_path(str(script), run_name="__main__")
    return _tidy(text.getvalue())


def _in_a_process_of_its_own(script):
    """Triton has one mode a process, compiled or interpreted."""
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    run = subprocess.run(
        [sys.executable, str(script)], env=environment, capture_output=True, text=True, check=True, timeout=300
    )
    return run.stdout


def _tidy(text):
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


def experiments():
    return sorted(path for path in HERE.glob("*.py") if path.name != Path(__file__).name)


if __name__ == "__main__":
    for path in experiments():
        path.with_suffix(".txt").write_text(printed(path), encoding="utf-8")
        print(path.with_suffix(".txt").name)
