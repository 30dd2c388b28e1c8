"""The pages, built once for all tests that read them."""

from __future__ import annotations

import sys
from pathlib import Path

SITE = Path(__file__).parents[2] / "course" / "site"
if str(SITE) not in sys.path:
    sys.path.insert(0, str(SITE))
