"""Settings of go_fast by settings on the GPU at hand: tiles, warps, stages, scores ahead, and the order of tiles.

    python benchmarks/attention_sweep.py                           about three minutes on an H200
    python benchmarks/attention_sweep.py --markdown benchmarks/attention_sweep.md
    python benchmarks/attention_sweep.py --head 128                one head dimension
    python benchmarks/attention_sweep.py --ahead 0 --ahead 3       no overlap, and weighted sums beside the softmax

What is printed last are the settings that are best for all shapes of a head dimension, as LAUNCH and GROUP
of `solutions/lesson7/go_fast.py` have them.  A setting that is wrong, or that does not fit, is left out.
"""

from __future__ import annotations

import argparse
import itertools
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from attention import LARGE, Run
from attention_problem import Problem, Shape, Variant, measure

from autograder.worker.timing import CudaClock

# BLOCK_M, BLOCK_N, num_warps
TILES = {
    64: [(64, 64, 4), (64, 128, 4), (128, 64, 4), (128, 128, 8), (128, 64, 8)],
    128: [(64, 64, 4), (64, 128, 4), (128, 64, 4), (128, 64, 8), (128, 128, 8)],
}
STAGES = (2, 3, 4)
ORDERS = [(long_first, group) for long_first in (True, False) for group in (1, 4, 8, 16)]
ROUNDS = 2
AHEAD = {
    0: "no",
    1: "yes, p carried in float32",
    2: "yes, p carried in q.dtype",
    3: "no, weighted sums behind",
    4: "both",
}
KEPT = 8  # settings of each head dimension that the table shows
REORDERED = 2  # settings of each head dimension that are tried in every order


@dataclass(frozen=True)
class Setting:
    """One way to launch; ``ahead``: scores or weighted sums beside the softmax, as AHEAD of the steps has it.

    The last two order the tiles of causal shapes.
    """

    block_m: int
    block_n: int
    warps: int
    stages: int
    ahead: int
    long_first: bool = True
    group: int = 16

    def __str__(self) -> str:
        order = f"{'long' if self.long_first else 'short'} first of {self.group}"
        ahead = AHEAD[self.ahead]
        return f"{self.block_m} x {self.block_n}, {self.warps} warps, {self.stages} stages, ahead: {ahead}; {order}"

    def variant(self, problem: Problem) -> Variant:
        settings = {
            "BLOCK_M": self.block_m,
            "BLOCK_N": self.block_n,
            "num_warps": self.warps,
            "num_stages": self.stages,
        }
        switches = {"AHEAD": self.ahead, "LONG_FIRST": self.long_first, "GROUP": self.group}
        return problem.with_steps(settings, switches)

    def solution(self, head: int) -> str:
        """The lines of the solution that say this."""
        launch = (
            f'{head}: {{"BLOCK_M": {self.block_m}, "BLOCK_N": {self.block_n}, "num_warps": {self.warps}, '
            f'"num_stages": {self.stages}, "descriptors": True, "programs": 0}}'
        )
        order = f"GROUP = {self.group}, {'long' if self.long_first else 'short'} tiles first"
        return f"{launch}; scores ahead: {AHEAD[self.ahead]}; {order}"


def launches(head: int) -> list[Setting]:
    """All launches of a head dimension, with the order of tiles that the solution has."""
    chosen = itertools.product(TILES[head], STAGES, AHEAD)
    return [Setting(*tile, stages, ahead) for tile, stages, ahead in chosen if ahead < 3 or tile[0] <= tile[1]]


def orders(setting: Setting) -> list[Setting]:
    """The same launch with every order of tiles."""
    fixed = (setting.block_m, setting.block_n, setting.warps, setting.stages, setting.ahead)
    return [Setting(*fixed, *order) for order in ORDERS]


Ratios = dict[str, dict[str, float]]
"""By setting and shape: times as fast as torch's flash backend."""


def tried(run: Run, shape: Shape, settings: Sequence[Setting], ratios: Ratios, against: dict[str, float]) -> None:
    """Time settings on one shape; ``against`` gets cuDNN's own ratio to flash."""
    problem = Problem(shape, run.bench, run.clock, run.device)
    variants = {"torch flash": problem.torch_variant("flash"), "torch cuDNN": problem.torch_variant("cudnn")}
    variants |= {str(setting): setting.variant(problem) for setting in settings}
    run.compile(variants)
    rows = {row.name: row for row in measure(problem, variants, ROUNDS, False)}
    flash = rows["torch flash"].spread
    assert flash is not None, rows["torch flash"].note
    for name, row in rows.items():
        if row.spread is None:
            print(f"  {shape}: {name}: {row.note}", file=sys.stderr, flush=True)
        elif name == "torch cuDNN":
            against[str(shape)] = flash.median / row.spread.median
        elif name != "torch flash":
            ratios.setdefault(name, {})[str(shape)] = flash.median / row.spread.median
    first = max(ratios, key=lambda name: ratios[name].get(str(shape), 0.0))
    print(f"  {shape}: {ratios[first].get(str(shape), 0.0):.3f}x flash: {first}", file=sys.stderr, flush=True)
    torch.cuda.empty_cache()


def mean(found: dict[str, float], shapes: Sequence[str]) -> float:
    """The geometric mean over shapes; 0 where one is missing."""
    if any(shape not in found for shape in shapes):
        return 0.0
    return math.prod(found[shape] for shape in shapes) ** (1 / len(shapes))


def best(ratios: Ratios, settings: Sequence[Setting], shapes: Sequence[str]) -> list[Setting]:
    """Settings that ran on every shape, the best one first."""
    able = [setting for setting in settings if mean(ratios.get(str(setting), {}), shapes)]
    return sorted(able, key=lambda setting: -mean(ratios[str(setting)], shapes))


def table(head: int, ratios: Ratios, ordered: Sequence[Setting], against: dict[str, float]) -> Iterator[str]:
    """The best settings in Markdown: ratios to torch's flash backend by shape, and the means to both backends."""
    shapes = [str(shape) for shape in LARGE if shape.head_dim == head]
    yield f"## Head dimension {head}"
    yield ""
    yield f"| settings | {' | '.join(shapes)} | mean x flash | mean x cuDNN |"
    yield "|---|" + "---|" * (len(shapes) + 2)
    for setting in ordered[:KEPT]:
        found = ratios[str(setting)]
        to_cudnn = {shape: found[shape] / against[shape] for shape in shapes if shape in against}
        cells = [f"{found[shape]:.3f}" for shape in shapes]
        yield f"| {setting} | {' | '.join(cells)} | {mean(found, shapes):.3f} | {mean(to_cudnn, shapes):.3f} |"
    yield ""
    if ordered:
        yield f"Best: `{ordered[0].solution(head)}`"
        yield ""


def sweep(run: Run, head: int, ahead: Sequence[int]) -> Iterator[str]:
    shapes = [shape for shape in LARGE if shape.head_dim == head]
    names = [str(shape) for shape in shapes]
    ratios: Ratios = {}
    against: dict[str, float] = {}
    settings = [setting for setting in launches(head) if setting.ahead in ahead]
    for shape in shapes:
        tried(run, shape, settings, ratios, against)
    front = best(ratios, settings, names)[:REORDERED]
    again = [setting for one in front for setting in orders(one) if setting not in settings]
    for shape in shapes:
        if shape.causal:
            tried(run, shape, again, ratios, against)
        else:  # without a mask all tiles are of one length
            for setting in again:
                same = next(one for one in front if setting in orders(one))
                ratios.setdefault(str(setting), {})[str(shape)] = ratios[str(same)][str(shape)]
    yield from table(head, ratios, best(ratios, [*settings, *again], names), against)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--head", type=int, choices=sorted(TILES), action="append", help="this head dimension alone")
    parser.add_argument("--ahead", type=int, choices=sorted(AHEAD), action="append", help="this way of overlap alone")
    parser.add_argument("--markdown", type=Path, help="also write the tables there")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("benchmarks/attention_sweep.py needs a CUDA GPU, and there is none here.")
    run = Run(CudaClock())
    found = [
        f"# Settings of go_fast, tried by `python benchmarks/attention_sweep.py` on {torch.cuda.get_device_name()}"
    ]
    found.append("")
    for head in options.head or sorted(TILES, reverse=True):
        lines = list(sweep(run, head, options.ahead or sorted(AHEAD)))
        print("\n".join(lines), flush=True)
        found += lines
        if options.markdown:  # after each part, so that an end by a time limit leaves what there is
            options.markdown.write_text("\n".join(found).rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
