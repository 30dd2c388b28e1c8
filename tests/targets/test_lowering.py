"""What is not lowered a second time is what lowering it would give."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton", reason="Triton is not installed")

ROOT = Path(__file__).parents[2]


def test_a_variant_is_the_same_on_targets_of_one_family_and_from_its_text(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TRITON_CACHE_DIR": str(tmp_path)}
    environment.pop("TRITON_INTERPRET", None)
    command = [sys.executable, "-m", "tests.targets.lowerings"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True, text=True)
    found = json.loads(done.stdout)
    for targets in found.values():
        assert all(shared == again for _, shared, again in targets.values())
        families: dict[str, set[int]] = {}
        for family, shared, _ in targets.values():
            families.setdefault(family, set()).add(shared)
        assert all(len(sizes) == 1 for sizes in families.values())
    assert {name: len({family for family, _, _ in targets.values()}) for name, targets in found.items()} == {
        "ieee": 2,
        "tf32": 4,
        "half": 4,
        "sums": 1,
    }
    assert found["ieee"]["sm_75"][1] < found["ieee"]["sm_80"][1]  # copies beside the dot need room
