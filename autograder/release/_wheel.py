"""The kit's wheel for the student bundle: built from the sources, or checked if it is given."""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from autograder import __version__
from autograder.errors import EnvironmentProblem, UsageError

_SOURCES = ("pyproject.toml", "README.md", "LICENSE", "autograder")
_SETUPTOOLS = 77  # as in pyproject.toml
_TIME_LIMIT = 600


@dataclass(frozen=True, slots=True)
class Wheel:
    name: str
    data: bytes


def read_wheel(path: Path) -> Wheel:
    """A wheel that is there already.

    Raises:
        UsageError: it is no wheel of this kit and this version.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({(error.strerror or str(error)).lower()}).") from error
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = archive.namelist()
            stated = next(name for name in names if re.fullmatch(r"[^/]+\.dist-info/METADATA", name))
            match = re.search(r"^Version: (.+)$", archive.read(stated).decode("utf-8"), re.MULTILINE)
    except (zipfile.BadZipFile, StopIteration, UnicodeDecodeError):
        names, match = [], None
    if path.suffix != ".whl" or match is None or "autograder/__init__.py" not in names:
        raise UsageError(f"{path} is no wheel of this kit. Leave --wheel out to have one built.")
    if match[1].strip() != __version__:
        raise UsageError(
            f"{path} is version {match[1].strip()}, this kit is {__version__}. Leave --wheel out to have one built."
        )
    return Wheel(path.name, data)


def build_wheel(root: Path) -> Wheel:
    """Build the wheel from the sources in ``root``, in a copy of them, so that no earlier build can get into it.

    Raises:
        UsageError: the sources of the kit are not there.
        EnvironmentProblem: pip or setuptools is missing or failed.
    """
    if not (root / "pyproject.toml").is_file() or not (root / "autograder" / "__init__.py").is_file():
        raise UsageError(f"The kit's sources are not in {root}, so no wheel can be built. Name one with --wheel PATH.")
    with tempfile.TemporaryDirectory() as name:
        sources, out = Path(name) / "sources", Path(name) / "out"
        sources.mkdir()
        for item in _SOURCES:
            if (root / item).is_dir():
                shutil.copytree(
                    root / item, sources / item, ignore=shutil.ignore_patterns("__pycache__", "*.pyc", ".*")
                )
            elif (root / item).is_file():
                shutil.copy(root / item, sources / item)
        command = [sys.executable, "-P", "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps"]
        command += [*(["--no-build-isolation"] if _has_setuptools() else []), "--wheel-dir", str(out), str(sources)]
        # The times in the wheel, so that the same sources give the same bytes: 1980-01-01.
        environment = {**os.environ, "SOURCE_DATE_EPOCH": "315532800", "PYTHONDONTWRITEBYTECODE": "1"}
        try:
            done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=_TIME_LIMIT)
            trouble = done.stderr.strip() if done.returncode else ""
        except (OSError, subprocess.TimeoutExpired) as error:
            trouble = str(error)
        wheels = sorted(out.glob("*.whl"))
        if trouble or len(wheels) != 1:
            last = trouble.splitlines()[-1].strip() if trouble else "pip made no wheel"
            raise EnvironmentProblem(
                f"The wheel could not be built ({last[:200]}). Install pip and setuptools {_SETUPTOOLS} or newer into "
                "this environment, or build it elsewhere with `pip wheel . --no-deps` and name it with --wheel PATH."
            )
        return Wheel(wheels[0].name, wheels[0].read_bytes())


def _has_setuptools() -> bool:
    """Whether this environment can build by itself; if not, pip fetches setuptools."""
    try:
        return int(metadata.version("setuptools").split(".")[0]) >= _SETUPTOOLS
    except (metadata.PackageNotFoundError, ValueError):
        return False
