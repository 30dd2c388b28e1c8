"""The README's terminal capture is what the command prints."""

from __future__ import annotations

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_capture_in_the_readme_is_real(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("capture_readme", ROOT / "docs" / "capture_readme.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.shown() == module.capture(tmp_path), "run python docs/capture_readme.py"
