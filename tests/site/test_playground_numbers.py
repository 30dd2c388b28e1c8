"""The playground's arithmetic against float64, on random numbers and without a browser: node runs the module."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.browser.reading import oracle

MODULE = Path(__file__).parents[2] / "course" / "playground" / "attention-playground.js"
_SCRIPT = """
import { readFileSync } from 'node:fs';
const source = readFileSync(process.argv[1], 'utf8');
const { attention, online, settled } = await import('data:text/javascript,' + encodeURIComponent(source));
const text = (key, x) => (typeof x === 'number' && !Number.isFinite(x) ? String(x) : x);
const out = JSON.parse(readFileSync(0, 'utf8')).map(({ state, chunk, guard }) => ({
  rows: attention(state).rows,
  ends: online(state, chunk, guard).map((steps) => settled(steps.at(-1), guard)),
  states: online(state, chunk, guard).map((steps) => [steps.at(-1).m, steps.at(-1).l]),
}));
console.log(JSON.stringify(out, text));
"""


def _run(cases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    node = shutil.which("node")
    if node is None:
        pytest.skip("there is no node to run the playground's module with")
    command = [node, "--input-type=module", "-e", _SCRIPT, str(MODULE)]
    run = subprocess.run(command, input=json.dumps(cases), capture_output=True, text=True, check=False, timeout=60)
    assert run.returncode == 0, run.stderr
    return list(json.loads(run.stdout))


def _state(seed: int, tokens: int, block: int, **options: Any) -> dict[str, Any]:
    generator = torch.Generator().manual_seed(seed)
    q, k, v = ((torch.randn(tokens, 2, generator=generator) * 2).tolist() for _ in range(3))
    return {
        "q": q,
        "k": k,
        "v": v,
        "scale": 0.7,
        "causal": False,
        "padding": 0,
        "maskGhosts": True,
        "block": block,
    } | options


def _numbers(values: Any) -> torch.Tensor:
    return torch.tensor([[float(x) for x in row] for row in values], dtype=torch.float64)


STATES = [
    _state(seed, tokens, block, causal=causal, padding=padding)
    for seed, (tokens, block) in enumerate([(1, 1), (3, 8), (5, 8), (8, 8), (6, 6)])
    for causal in (False, True)
    for padding in (0, 2)
    if padding < tokens
]


def test_one_shot_and_online_give_the_oracles_output() -> None:
    cases = [{"state": state, "chunk": chunk, "guard": "within"} for state in STATES for chunk in (1, 2, 3, 8)]
    for case, got in zip(cases, _run(cases), strict=True):
        state = case["state"]
        exact = oracle(state)
        tokens = len(state["q"])
        rows = got["rows"][:tokens]
        torch.testing.assert_close(_numbers(row["s"][:tokens] for row in rows), exact["s"], rtol=1e-6, atol=1e-6)
        torch.testing.assert_close(_numbers(row["share"][:tokens] for row in rows), exact["p"], rtol=1e-5, atol=1e-6)
        torch.testing.assert_close(_numbers(row["o"] for row in rows), exact["o"], rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(_numbers([[row["lse"] for row in rows]])[0], exact["lse"], rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(_numbers(got["ends"][:tokens]), exact["o"], rtol=1e-5, atol=1e-5)
        for row in got["rows"][tokens:]:  # ghosts
            assert all(x == "-Infinity" for x in row["s"])
            assert row["o"] == [0, 0]


def test_without_their_mask_ghosts_count_as_zeros() -> None:
    states = [_state(seed, 5, 8, maskGhosts=False, causal=causal) for seed in range(3) for causal in (False, True)]
    for state, got in zip(states, _run([{"state": s, "chunk": 2, "guard": "within"} for s in states]), strict=True):
        exact = oracle(state)["o"]
        torch.testing.assert_close(_numbers(row["o"] for row in got["rows"][:5]), exact, rtol=1e-5, atol=1e-5)


def test_a_carried_zero_is_harmless_near_0_and_loses_rows_near_minus_120() -> None:
    near = _state(1, 6, 6, padding=2)
    far = near | {"k": [[-60.0, 0.0]] * 6, "q": [[3.0, 1.0]] * 6}  # every score is -126
    (first, second) = _run([{"state": state, "chunk": 2, "guard": "carried"} for state in (near, far)])
    torch.testing.assert_close(_numbers(first["ends"]), oracle(near)["o"], rtol=1e-5, atol=1e-5)
    assert all(x == "NaN" for row in second["ends"] for x in row)
    assert all(state == [0, 0] for state in second["states"])
