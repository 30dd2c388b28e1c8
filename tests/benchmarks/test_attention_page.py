"""The page's tables are those of the committed output, and figures are read from it rightly."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

import attention_page as page  # noqa: E402

TABLE = """# Attention

Made by `python benchmarks/attention.py`.

A GPU, 132 multiprocessors.

## Large shapes

| shape | variant | ms (10 to 90 %) | TFLOP/s |
|---|---|---|---|
| B4 H16 N4096 D128 full | torch flash | 2.000 (1.9 to 2.1) | 300 | 1.0 |
| B1 H16 N16384 D128 full | torch flash | 2.000 (1.9 to 2.1) | 340 | 1.0 |
| B4 H16 N4096 D128 full | Everest | not here | | |

## One step off at a time

| B4 H16 N4096 D128 full | torch flash | 2.000 (1.9 to 2.1) | 300 | 1.0 |
| B4 H16 N4096 D128 full | all steps | 1.000 (0.9 to 1.1) | 600 | 2.0 |
| B4 H16 N4096 D128 full | every chunk masked | 4.000 (1.9 to 2.1) | 150 | 0.5 |
| B1 H16 N16384 D128 full | all steps | 1.000 (0.9 to 1.1) | 600 | 2.0 |
| B1 H16 N16384 D128 full | every chunk masked | 1.000 (1.9 to 2.1) | 150 | 0.5 |
"""


def test_the_page_is_made_from_the_committed_output() -> None:
    text = page.PAGE.read_text(encoding="utf-8")
    assert page.written(text, page.TABLE.read_text(encoding="utf-8")) == text, "run benchmarks/attention_page.py"


def test_rates_and_geometric_means_are_told_by_kind_of_shape() -> None:
    made = page.written(f"{page.BEGIN}\nold\n{page.END}\n", TABLE)
    assert "| torch flash | 300 to 340 |" in made
    assert "| every chunk masked | 2.00x |" in made  # of 4 and 1
    assert "Everest" not in made
    assert "old" not in made
    assert "Made by `python benchmarks/attention.py`. A GPU, 132 multiprocessors." in made


def test_a_page_without_markers_is_an_error() -> None:
    with pytest.raises(ValueError, match="needs the lines"):
        page.written("text", TABLE)
