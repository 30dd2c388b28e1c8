"""Lesson 5 on your own kernels: RMSNorm and SwiGLU beside torch, and the trips to memory that fusing leaves out.

    python course/companions/lesson5_fusion.py [--dir assignments] [--device auto|cpu|cuda] [--seed N]

The script loads `rms_norm.py` and `swiglu.py` from --dir (or from its folder lesson5/), runs both kernels on full and
on ragged rows, and prints the largest error against float64 with torch's own float32 error beside it.  Then come the
sums: what the separate steps would move, and what is left.  On a GPU the kernels are timed beside torch.  What is still
to do is named with the command that checks it.  Exit code 0 when both kernels ran and match, 1 otherwise.
"""

import sys
from dataclasses import dataclass

from beside_torch.buffers import Buffers
from beside_torch.page import companion
from beside_torch.speed import show_speed
from beside_torch.student import Part

NORM = Part("RMSNorm with the residual", 5, "rms_norm.py", "rms_norm_kernel", {"rms_norm_kernel": "rms_norm"})
GATE = Part("SwiGLU", 5, "swiglu.py", "swiglu_kernel", {"swiglu_kernel": "swiglu"})
EPS = 1e-5
MIB = 2**20
TOKENS, WIDTH = 8192, 4096  # of the sums and of the timing

# Elements that travel, in rows of WIDTH: reads and writes of the separate steps, as the handouts list them.
STEPS = {
    "RMSNorm": {"x + residual": 3, "h * h": 2, "mean, rsqrt": 1, "h * r": 2, "n * weight": 2, "fused": 4},
    "SwiGLU": {"copies of gate, up": 4, "sigmoid": 2, "s * gate": 3, "s * up": 3, "fused": 3},
}


@dataclass(frozen=True)
class Case:
    """One run of a kernel: rows, their width, and the size of a block."""

    name: str
    rows: int
    width: int
    block: int


NORM_CASES = (Case("full block", 8, 128, 128), Case("ragged", 9, 100, 128), Case("a wide row", 4, 1000, 1024))
GATE_CASES = (Case("full blocks", 8, 128, 64), Case("ragged", 9, 100, 64), Case("a wide row", 4, 1000, 128))


def run_norm(kernel, case, device, generator):
    import torch

    x, residual = (torch.randn(case.rows, case.width, generator=generator) for _ in range(2))
    weight = 0.5 + torch.rand(case.width, generator=generator)
    buffers = Buffers(device)
    inputs = [buffers.input(values) for values in (x, residual, weight)]
    outputs = [buffers.output(x.shape) for _ in range(2)]
    kernel[(case.rows,)](*inputs, *outputs, case.width, EPS, BLOCK=case.block)
    h, y = buffers.collect(NORM)
    exact, plain = norm(x.double(), residual.double(), weight.double()), norm(x, residual, weight)
    return {"h": (h, exact[0], plain[0]), "y": (y, exact[1], plain[1])}


def norm(x, residual, weight):
    import torch

    h = x + residual
    return h, torch.nn.functional.rms_norm(h, weight.shape, weight, EPS)


def run_gate(kernel, case, device, generator):
    import torch

    gate_up = torch.randn(case.rows, 2 * case.width, generator=generator)
    buffers = Buffers(device)
    y = buffers.output((case.rows, case.width))
    kernel[gate_grid(case.rows, case.width, case.block)](buffers.input(gate_up), y, case.width, BLOCK=case.block)
    (y,) = buffers.collect(GATE)
    return {"y": (y, gated(gate_up.double()), gated(gate_up))}


def gate_grid(rows, width, block):
    return rows, -(-width // block)


def gated(gate_up):
    import torch

    gate, up = gate_up.chunk(2, 1)
    return torch.nn.functional.silu(gate) * up


def show_what_moves(page):
    """The bytes that each separate step would read and write, and those of the fused kernel."""
    page.heading(f"What has to move for {TOKENS} tokens of width {WIDTH}, in MiB")
    row = TOKENS * WIDTH * 4 / MIB
    for name, steps in STEPS.items():
        separate = sum(rows for step, rows in steps.items() if step != "fused")
        for step, rows in steps.items():
            if step != "fused":
                print(f"  {name:<8} {step:<20} {rows * row:>6.0f}")
        print(f"  {name:<8} {'all steps':<20} {separate * row:>6.0f}")
        print(f"  {name:<8} {'fused':<20} {steps['fused'] * row:>6.0f}    {separate / steps['fused']:.1f} times less")


def show_norm_speed(page, kernel):
    import torch

    page.heading(f"RMSNorm on this GPU, {TOKENS} tokens of width {WIDTH}")
    x, residual, h, y = (torch.randn(TOKENS, WIDTH, device="cuda") for _ in range(4))
    weight = torch.rand(WIDTH, device="cuda")
    runs = {
        "yours": lambda: kernel[(TOKENS,)](x, residual, weight, h, y, WIDTH, EPS, BLOCK=WIDTH),
        "torch, in two steps": lambda: norm(x, residual, weight),
    }
    show_speed(runs, moved=4 * (STEPS["RMSNorm"]["fused"] * TOKENS * WIDTH + WIDTH))


def show_gate_speed(page, kernel):
    import torch

    page.heading(f"SwiGLU on this GPU, {TOKENS} tokens of width {WIDTH}")
    gate_up = torch.randn(TOKENS, 2 * WIDTH, device="cuda")
    y, block = torch.empty(TOKENS, WIDTH, device="cuda"), 1024
    runs = {
        "yours": lambda: kernel[gate_grid(TOKENS, WIDTH, block)](gate_up, y, WIDTH, BLOCK=block),
        "torch, in two steps": lambda: gated(gate_up),
    }
    show_speed(runs, moved=4 * STEPS["SwiGLU"]["fused"] * TOKENS * WIDTH)


def show(page):
    columns = {"rows": "rows", "width": "width", "block": "block"}
    norm_kernel = page.table(NORM, NORM_CASES, run_norm, columns)
    gate_kernel = page.table(GATE, GATE_CASES, run_gate, columns)
    show_what_moves(page)
    if page.device == "cuda":
        if norm_kernel is not None:
            show_norm_speed(page, norm_kernel)
        if gate_kernel is not None:
            show_gate_speed(page, gate_kernel)
    if norm_kernel is None or gate_kernel is None:
        return False
    print("\nBoth kernels ran and match.")
    return True


if __name__ == "__main__":
    sys.exit(companion("Lesson 5: fused kernels beside torch, and what need not move", show))
