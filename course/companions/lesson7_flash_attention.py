"""Lesson 7, start to finish, on your own kernels: run Part A and Part B beside torch and see what fusing saves.

    python course/companions/lesson7_flash_attention.py [--dir assignments] [--device auto|cpu|cuda] [--seed N]

The script loads `one_shot_attention.py` and `flash_attention.py` from --dir (or from its folder lesson7/), runs both
kernels on ragged and on causal input, and prints the largest error against float64 with torch's own float32 error
beside it.  Then come the memory that the scores would have taken, a picture of causal attention drawn by your kernel,
and on a GPU a timing.  A piece that is still to do is named with the command that checks it, and the other part goes
on.  Exit code 0 when both parts ran and match, 1 otherwise.  It grades nothing: that is what `grade` does.
"""

import math
import sys
from dataclasses import dataclass

from beside_torch.buffers import Buffers
from beside_torch.page import companion
from beside_torch.speed import show_speed
from beside_torch.student import Part

SUM_HEADS, SUM_LAYERS = 32, 32  # a model of about 7 billion parameters, for the memory sums
RAMP = " .:-=+*#%@"
MIB = 2**20


PART_A = Part(
    "Part A, one-shot attention",
    7,
    "one_shot_attention.py",
    "attention_kernel",
    {
        "load_tiles": "kernel_loads",
        "mask_scores": "score_mask",
        "pin_ghost_rows": "ghost_row_pin",
        "attention_kernel": "one_shot_attention",
    },
)
PART_B = Part(
    "Part B, FlashAttention",
    7,
    "flash_attention.py",
    "flash_attention_kernel",
    {"online_softmax_update": "online_softmax_update", "flash_attention_kernel": "flash_attention"},
)


@dataclass(frozen=True)
class Case:
    """One run of a kernel: sizes, tiles and flags."""

    name: str
    seqlen_q: int
    seqlen_k: int
    head: int
    block_m: int
    block_n: int
    causal: bool


CASES_A = (
    Case("ragged", 20, 20, 32, 32, 32, False),
    Case("ragged, 4 query tiles", 100, 100, 32, 32, 128, False),
    Case("ragged, causal", 100, 100, 32, 32, 128, True),
)
CASES_B = (
    Case("ragged", 100, 100, 32, 32, 32, False),
    Case("ragged, causal", 100, 100, 32, 32, 32, True),
    Case("cached keys, causal", 20, 84, 32, 32, 16, True),
    Case("dead rows, causal", 70, 33, 32, 32, 32, True),
    Case("1024 keys, streamed", 32, 1024, 32, 32, 64, False),
)


def run_on(part):
    """The run of a part's kernel for the table: random input, and {output: (got, exact, plain)}."""

    def run(kernel, case, device, generator):
        import torch

        sizes = (case.seqlen_q, case.seqlen_k, case.seqlen_k)
        q, k, v = (torch.randn(size, case.head, generator=generator) for size in sizes)
        scale = case.head**-0.5
        got = launch(part, kernel, case, device, q, k, v, scale)
        exact = unfused(case, q.double(), k.double(), v.double(), scale)
        plain = unfused(case, q, k, v, scale)
        return dict(zip(("o", "lse"), zip(got, exact, plain)))

    return run


def launch(part, kernel, case, device, q, k, v, scale):
    """[o (seqlen_q, head)], and for Part B lse (seqlen_q,) after it, on CPU."""
    import triton

    buffers = Buffers(device)
    tensors = [buffers.input(x) for x in (q, k, v)] + [buffers.output(q.shape)]
    lengths = [case.seqlen_q]
    if part is PART_B:
        tensors.append(buffers.output((case.seqlen_q,)))
        lengths.append(case.seqlen_k)
    kernel[(triton.cdiv(case.seqlen_q, case.block_m),)](
        *tensors,
        *lengths,
        HEAD=case.head,
        scale=scale,
        BLOCK_M=case.block_m,
        BLOCK_N=case.block_n,
        BLOCK_D=case.head,
        CAUSAL=case.causal,
    )
    return buffers.collect(part)


def unfused(case, q, k, v, scale):
    """Attention in three lines of torch, S written out in full; (o, lse) in the precision of the inputs."""
    import torch

    s = scale * (q @ k.T)
    if case.causal:
        future = torch.ones_like(s, dtype=torch.bool).triu(1 + case.seqlen_k - case.seqlen_q)
        s = s.masked_fill(future, float("-inf"))
    p = torch.nan_to_num(torch.softmax(s, 1))  # a dead row is 0 / 0
    return p @ v, torch.logsumexp(s, 1)


def show_memory(fused):
    """What the scores would have taken, and what the fused kernel writes; for one forward pass in float32."""
    head = 64
    print("\nWhat is never written\n---------------------")
    print("S is N x N float32 for each head. Unfused, it goes to memory and comes back.")
    print(f"Fused, only o ({head} numbers a row) and lse (one a row) are written. In MiB:\n")
    print(f"{'N':>6} {'S, a head':>10} {f'{SUM_HEADS} heads':>10} {f'{SUM_LAYERS} layers':>10}", end="")
    print(f"   {'o + lse, a head':>15} {'all':>8} {'S / fused':>10}")
    for n in (1024, 4096, 16384):
        scores = n * n * 4
        written = (n * head + n) * 4
        heads, layers = scores * SUM_HEADS, scores * SUM_HEADS * SUM_LAYERS
        print(f"{n:>6} {scores / MIB:>10,.0f} {heads / MIB:>10,.0f} {layers / MIB:>10,.0f}", end="")
        print(f"   {written / MIB:>15.2f} {written * SUM_HEADS * SUM_LAYERS / MIB:>8,.0f} {scores / written:>9.0f}x")
    if not fused:
        print("\nThese numbers become yours once Part B runs.")


def show_picture(part, kernel, device, block_n):
    """Causal attention mass by query and group of keys, drawn by the student's kernel.

    V is one-hot by group of keys, so row i of the output is how much of query i's weight each group holds.
    """
    import torch

    n, head = 96, 32
    group = n // head
    position = torch.arange(n)[:, None]
    frequency = torch.linspace(0.02, 0.25, head // 2)[None, :]
    qk = torch.cat([torch.cos(position * frequency), torch.sin(position * frequency)], 1)
    v = torch.eye(head).repeat_interleave(group, 0)
    case = Case("picture", n, n, head, 32, block_n, True)
    mass = launch(part, kernel, case, device, qk, qk, v, 0.2)[0]
    rows = mass.reshape(n // 6, 6, head).mean(1)
    brightest = float(rows[2:].max())  # the first rows have few keys to share their weight among
    title = "Where the attention goes"
    print(f"\n{title}\n{'-' * len(title)}")
    print(f"{n} tokens that look for their neighbours, drawn by {part.kernel}.")
    print(f"V holds a 1 for the group of {group} keys that a column stands for, so the output")
    print("is the attention mass itself. Nothing lies right of the diagonal.\n")
    print(f"     keys 0 {'-' * 17}> {n - 1}")
    for number, row in enumerate(rows):
        cells = "".join(RAMP[min(len(RAMP) - 1, math.ceil(float(x) / brightest * (len(RAMP) - 1) - 0.05))] for x in row)
        print(f"{'query ' if number == 0 else '      '}{number * 6:>3} |{cells}|")


def show_timing(part, kernel, page):
    """The student's kernel against three lines of torch on one head: their times, and the memory each takes."""
    import torch
    import triton

    n, head = 4096, 64
    q, k, v, o = (torch.randn(n, head, device="cuda") for _ in range(4))
    lse = torch.empty(n, device="cuda")
    case = Case("timing", n, n, head, 32, 32, False)
    meta = {"HEAD": head, "scale": head**-0.5, "BLOCK_M": 32, "BLOCK_N": 32, "BLOCK_D": head, "CAUSAL": False}
    grid = (triton.cdiv(n, 32),)

    runs = {
        part.kernel: lambda: kernel[grid](q, k, v, o, lse, n, n, **meta),
        "unfused torch": lambda: unfused(case, q, k, v, head**-0.5),
    }
    page.heading("Time on this GPU")
    print(f"One head, N = {n}, head size {head}, float32, 32 x 32 tiles, nothing tuned:\n")
    times = show_speed(runs, moved=4 * (4 * n * head + n), flops=4 * n * n * head)
    print(f"\n  {'unfused / yours':<24} {times['unfused torch'] / times[part.kernel]:>8.2f}")
    for name, run in runs.items():
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        run()
        extra = torch.cuda.max_memory_allocated() - before
        print(f"  {name:<24} {extra / MIB:>8.0f} MiB beside inputs and outputs")
    print("\nOne head fills little of a large GPU, and true float32 leaves the tensor cores")
    print("idle: read the ratio as a start. In half precision, with many heads and tuned")
    print("tiles, the fused kernel pulls ahead.")


def show(page):
    """The whole page; whether both parts ran and match."""
    columns = {"queries": "seqlen_q", "keys": "seqlen_k", "head": "head"}
    kernel_a = page.table(PART_A, CASES_A, run_on(PART_A), columns)
    kernel_b = page.table(PART_B, CASES_B, run_on(PART_B), columns)
    show_memory(kernel_b is not None)
    if kernel_b is not None:
        show_picture(PART_B, kernel_b, page.device, 32)
    elif kernel_a is not None:
        show_picture(PART_A, kernel_a, page.device, 128)
    if kernel_b is not None and page.device == "cuda":
        show_timing(PART_B, kernel_b, page)
    if kernel_a is None or kernel_b is None:
        return False
    print("\nBoth parts ran and match.")
    return True


if __name__ == "__main__":
    sys.exit(companion("Lesson 7: your attention kernels beside torch", show))
