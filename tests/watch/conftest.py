"""The student of docs/capture_watch.py, who types at a pseudo-terminal."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="session")
def student() -> ModuleType:
    """The module ``docs/capture_watch.py``."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(DOCS))
        spec = importlib.util.spec_from_file_location("capture_watch", DOCS / "capture_watch.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        patch.setitem(sys.modules, "capture_watch", module)
        spec.loader.exec_module(module)
        return module
