"""Write anew what the experiments print, as the lessons show it: `python course/lessons/experiments/capture.py`."""

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def printed(script):
    """What an experiment prints on this machine's CPU."""
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    run = subprocess.run(
        [sys.executable, str(script)], env=environment, capture_output=True, text=True, check=True, timeout=120
    )
    return "\n".join(line.rstrip() for line in run.stdout.splitlines()) + "\n"


def experiments():
    return sorted(path for path in HERE.glob("*.py") if path.name != Path(__file__).name)


if __name__ == "__main__":
    for path in experiments():
        path.with_suffix(".txt").write_text(printed(path), encoding="utf-8")
        print(path.with_suffix(".txt").name)
