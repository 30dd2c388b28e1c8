"""How fast: times on a GPU beside torch and beside what this GPU can do at best, measured in the same run.

The best is the roofline: data cannot move faster than a device-to-device copy does, and arithmetic cannot go faster
than a large matmul does.  A task of so many bytes and so many operations takes at least the longer of the two times.
"""

_COPIED = 2**28  # bytes: beyond any cache
_MATMUL = 4096  # rows and columns


def copy_bandwidth():
    """GB/s of a copy within the GPU's memory: bytes read plus bytes written, over its time."""
    import torch

    source = torch.empty(_COPIED, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    return 2 * _COPIED / milliseconds(lambda: target.copy_(source)) / 1e6


def matmul_rate(dtype):
    """TFLOP/s of a large torch matmul at ``dtype``; float32 in true float32, without TF32."""
    import torch

    left, right = (torch.randn(_MATMUL, _MATMUL, device="cuda").to(dtype) for _ in range(2))
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = False
    try:
        return 2 * _MATMUL**3 / milliseconds(lambda: left @ right) / 1e9
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before


def milliseconds(run):
    """The mean time of ``run()`` on the GPU, with its caches flushed between runs."""
    import triton

    return triton.testing.do_bench(run)


def show_speed(runs, *, moved, flops=0, dtype=None):
    """Print a table: each run's time, its rate, and the share of this GPU's best; returns {name: milliseconds}.

    ``runs`` is {name: function without arguments}.  ``moved`` is the number of bytes that the task has to read and
    write at least, ``flops`` its floating-point operations, done by tl.dot at ``dtype`` (torch.float32 if not given);
    leave it out where memory alone decides.  The rate shown is TFLOP/s if arithmetic decides, GB/s if memory does.
    """
    import torch

    bandwidth = copy_bandwidth()
    least = moved / bandwidth / 1e6
    best, unit, amount = f"{bandwidth:,.0f} GB/s, a copy within its memory", "GB/s", moved / 1e6
    if flops:
        rate = matmul_rate(dtype or torch.float32)
        if flops / rate / 1e9 > least:
            least = flops / rate / 1e9
            best, unit, amount = f"{rate:,.1f} TFLOP/s, a large torch matmul", "TFLOP/s", flops / 1e9
    print(f"{'':<26} {'ms':>9} {unit:>9} {'of best':>8}")
    times = {}
    for name, run in runs.items():
        times[name] = taken = milliseconds(run)
        print(f"  {name:<24} {taken:>9.3f} {amount / taken:>9,.1f} {least / taken:>7.0%}")
    print(f"\nBest is what this GPU just did: {best}.")
    counted = "compute" if unit == "TFLOP/s" else "read and write"
    print(f"Counted is what the task has to {counted} at least; more earns nothing.")
    return times
