"""Write anew what the experiments print, as the lessons show it: `python course/lessons/experiments/capture.py`."""

import contextlib
import io
import json
import os
import runpy
import subprocess
import sys
from pathlib import Path
from unittest import mock

HERE = Path(__file__).resolve().parent
_EACH = """
import contextlib, io, json, runpy, sys

def printed(script):
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        runpy.run_path(script, run_name="__main__")
    return text.getvalue()

print(json.dumps({script: printed(script) for script in sys.argv[1:]}))
"""


def printed(script):
    """What an experiment prints on this machine's CPU, also where there is a GPU."""
    if needs_triton(script):
        return all_printed([script])[script]
    text = io.StringIO()
    with mock.patch("torch.cuda.is_available", return_value=False), contextlib.redirect_stdout(text):
        runpy.run_path(str(script), run_name="__main__")
    return _tidy(text.getvalue())


def all_printed(scripts):
    """What experiments with kernels print, by script; one process runs all, since Triton takes seconds to start."""
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "TRITON_INTERPRET": "1", "PYTHONPATH": str(HERE)}
    command = [sys.executable, "-c", _EACH, *map(str, scripts)]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=300)
    texts = json.loads(run.stdout)
    return {script: _tidy(texts[str(script)]) for script in scripts}


def needs_triton(script):
    """Whether an experiment starts kernels; Triton has one mode a process, compiled or interpreted."""
    text = script.read_text(encoding="utf-8")
    return "import triton" in text or "from start import" in text


def _tidy(text):
    return "\n".join(line.rstrip() for line in text.splitlines()).rstrip() + "\n"


def experiments():
    """All experiments, by name: the scripts that can be run; others are part of them."""
    found = (path for path in HERE.glob("*.py") if path.name != Path(__file__).name)
    return sorted(path for path in found if "__main__" in path.read_text(encoding="utf-8"))


if __name__ == "__main__":
    kernels = all_printed([path for path in experiments() if needs_triton(path)])
    for path in experiments():
        path.with_suffix(".txt").write_text(kernels.get(path) or printed(path), encoding="utf-8")
        print(path.with_suffix(".txt").name)
