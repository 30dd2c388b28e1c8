"""Lesson 7, start to finish, on your own kernels: run Part A and Part B beside torch and see what fusing saves.

    python course/companions/lesson7_flash_attention.py [--dir assignments] [--device auto|cpu|cuda] [--seed N]

The script loads `one_shot_attention.py` and `flash_attention.py` from --dir (or from its folder lesson7/), runs both
kernels on ragged and on causal input, and prints the largest error against float64 with torch's own float32 error
beside it.  Then come the memory that the scores would have taken, a picture of causal attention drawn by your kernel,
and on a GPU a timing.  A piece that is still to do is named with the command that checks it, and the other part goes
on.  Exit code 0 when both parts ran and match, 1 otherwise.  It grades nothing: that is what `grade` does.
"""

import argparse
import ast
import importlib.util
import math
import os
import re
import sys
import traceback
import warnings
from dataclasses import dataclass
from pathlib import Path

SUM_HEADS, SUM_LAYERS = 32, 32  # a model of about 7 billion parameters, for the memory sums
RAMP = " .:-=+*#%@"
MIB = 2**20
UNWRITTEN = 0x7FC5DEAD  # a NaN with a mark in its bits: what an output holds before the kernel runs


@dataclass(frozen=True)
class Part:
    """One stub file: its kernel, and the exercise that each of its functions belongs to."""

    name: str
    file: str
    kernel: str
    exercises: dict[str, str]


PART_A = Part(
    "Part A, one-shot attention",
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


class Missing(Exception):
    """Something is still to do; ``lines`` are for the student."""

    def __init__(self, *lines):
        super().__init__(lines[0])
        self.lines = lines


# Finding and loading the student's file -------------------------------------------------------------------------------


def find_file(folder, part):
    for path in (folder / "lesson7" / part.file, folder / part.file):
        if path.is_file():
            return path
    raise Missing(
        f"There is no {part.file} in {folder} or its folder lesson7.",
        "Name the folder with your kernels by --dir. The exercises of this part:",
        *(check_line(exercise) for exercise in part.exercises.values()),
    )


def check_line(exercise):
    return f"  {exercise:<22} grade check {exercise}"


def kernel_line(part):
    return check_line(part.exercises[part.kernel])


def unfilled(path, part):
    """Exercises whose function is missing, or a piece the kernel calls that holds nothing but its return."""
    try:
        tree = ast.parse(path.read_text(encoding="utf-8-sig"))
    except (SyntaxError, ValueError) as error:
        line = f", line {error.lineno}" if getattr(error, "lineno", None) else ""
        raise Missing(
            f"{path.name}{line} is not valid Python yet: {getattr(error, 'msg', error)}.",
            "The grader still checks the functions around it:",
            *(check_line(exercise) for exercise in part.exercises.values()),
        ) from error
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    if part.kernel not in functions:
        return [part.exercises[part.kernel]]
    called = called_exercises(functions, part)
    owned = {exercise: functions.get(name) for name, exercise in part.exercises.items()}
    return [exercise for exercise in called if owned[exercise] is None or is_empty(owned[exercise])]


def called_exercises(functions, part):
    """Exercises of the pieces that the kernel calls, itself or by way of other functions of the file."""
    called, todo = set(), [part.kernel]
    while todo:
        name = todo.pop()
        if name not in called:
            called.add(name)
            nodes = ast.walk(functions[name]) if name in functions else ()
            todo += [node.id for node in nodes if isinstance(node, ast.Name)]
    return [exercise for name, exercise in part.exercises.items() if name in called and name != part.kernel]


def is_empty(function):
    """Whether a function does nothing but return: no statement besides docstring, ``pass`` and ``return``."""
    return all(
        isinstance(node, (ast.Pass, ast.Return))
        or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        for node in function.body
    )


def load_kernel(path, part):
    """The kernel, imported from the student's own file."""
    if todo := unfilled(path, part):
        raise Missing(
            f"Still to do in {path.name}, before {part.kernel} can run:",
            *(check_line(exercise) for exercise in todo),
            *(("and then the kernel itself:", kernel_line(part)) if part.exercises[part.kernel] not in todo else ()),
        )
    spec = importlib.util.spec_from_file_location(f"student_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    kernel = getattr(module, part.kernel)
    if not hasattr(kernel, "run"):
        raise Missing(f"{part.kernel} has lost its @triton.jit line.", kernel_line(part))
    return kernel


# Running a kernel -----------------------------------------------------------------------------------------------------


class Fenced:
    """A contiguous tensor amid a larger one full of marked NaN: a stray access shows, and does no harm."""

    def __init__(self, shape, device, values=None):
        import torch

        self.band = 64 * 1024
        size = math.prod(shape)
        self.bits = torch.full((size + 2 * self.band,), UNWRITTEN, dtype=torch.int32, device=device)
        self.tensor = self.bits[self.band : self.band + size].view(torch.float32).view(shape)
        if values is not None:
            self.tensor.copy_(values)

    def intact(self):
        bands = (self.bits[: self.band], self.bits[self.band + self.tensor.numel() :])
        return all(bool((band == UNWRITTEN).all()) for band in bands)


def launch(part, kernel, case, device, q, k, v, scale):
    """o (seqlen_q, head), and lse (seqlen_q,) or None, on CPU; what the kernel does not write stays marked NaN."""
    import triton

    inputs = [Fenced(x.shape, device, x) for x in (q, k, v)]
    outputs = [Fenced(q.shape, device)]
    lengths = [case.seqlen_q]
    if part is PART_B:
        outputs.append(Fenced((case.seqlen_q,), device))
        lengths.append(case.seqlen_k)
    kernel[(triton.cdiv(case.seqlen_q, case.block_m),)](
        *(buffer.tensor for buffer in inputs + outputs),
        *lengths,
        HEAD=case.head,
        scale=scale,
        BLOCK_M=case.block_m,
        BLOCK_N=case.block_n,
        BLOCK_D=case.head,
        CAUSAL=case.causal,
    )
    if not all(buffer.intact() for buffer in inputs + outputs):
        raise Missing(
            "The kernel wrote outside its tensors. The masks of its stores are checked by:", kernel_line(part)
        )
    results = [buffer.tensor.cpu() for buffer in outputs]
    return results[0], results[1] if part is PART_B else None


def unfused(case, q, k, v, scale):
    """Attention in three lines of torch, S written out in full; (o, lse) in the precision of the inputs."""
    import torch

    s = scale * (q @ k.T)
    if case.causal:
        future = torch.ones_like(s, dtype=torch.bool).triu(1 + case.seqlen_k - case.seqlen_q)
        s = s.masked_fill(future, float("-inf"))
    p = torch.nan_to_num(torch.softmax(s, 1))  # a dead row is 0 / 0
    return p @ v, torch.logsumexp(s, 1)


def compare(part, kernel, case, device, generator):
    """One row of the table: (largest error, torch's largest error, what is wrong or "")."""
    import torch

    sizes = (case.seqlen_q, case.seqlen_k, case.seqlen_k)
    q, k, v = (torch.randn(size, case.head, generator=generator) for size in sizes)
    scale = case.head**-0.5
    o, lse = launch(part, kernel, case, device, q, k, v, scale)
    exact_o, exact_lse = unfused(case, q.double(), k.double(), v.double(), scale)
    plain_o, plain_lse = unfused(case, q, k, v, scale)
    triples = [(o, exact_o, plain_o)] + ([(lse, exact_lse, plain_lse)] if lse is not None else [])
    worst, worst_torch, wrong = 0.0, 0.0, ""
    for name, (got, exact, plain) in zip(("o", "lse"), triples):
        finite = exact.isfinite()
        torch_error = float((plain - exact)[finite].abs().max())
        worst_torch = max(worst_torch, torch_error)
        bad = ~got.isfinite() & finite | (got != exact) & ~finite
        if bad.any():
            rows = int(bad.reshape(len(bad), -1).any(1).sum())
            untouched = bool((got.view(torch.int32) == UNWRITTEN)[bad].all())
            what = "was never written" if untouched else "is not what it should be: NaN or infinite"
            wrong = wrong or f"{name} {what} in {rows} of {len(bad)} rows"
            worst = math.nan
            continue
        error = float((got - exact)[finite].abs().max())
        bar = max(4 * torch_error, 8 * torch.finfo(torch.float32).eps * float(exact[finite].abs().max()))
        if error > bar and not wrong:
            wrong = f"{name} is off by {error:.1e}, where {bar:.1e} would be rounding"
        worst = max(worst, error)
    return worst, worst_torch, wrong


# The parts of the page ------------------------------------------------------------------------------------------------


def show_part(part, cases, folder, device, seed, debug):
    """Print one part's table; the kernel if all of it matches, else None."""
    import torch

    print(f"\n{part.name}\n{'-' * len(part.name)}")
    try:
        path = find_file(folder, part)
    except Missing as missing:
        print("\n".join(missing.lines))
        return None
    print(f"{path}\n")
    try:
        kernel = load_kernel(path, part)
        print(f"{'case':<22} {'queries':>7} {'keys':>5} {'head':>4}  {'max error':>9}  {'torch f32':>9}")
        matches = True
        for case in cases:
            generator = torch.Generator().manual_seed(seed)
            error, torch_error, wrong = compare(part, kernel, case, device, generator)
            row = f"{case.name:<22} {case.seqlen_q:>7} {case.seqlen_k:>5} {case.head:>4}"
            print(f"{row}  {error:>9.1e}  {torch_error:>9.1e}  {'differs' if wrong else 'ok'}")
            if wrong:
                print(f"    {wrong}")
                matches = False
    except Missing as missing:
        print("\n".join(missing.lines))
        return None
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever the student's file or kernel raises
        if debug:
            traceback.print_exc()
        explain(error, path, part)
        return None
    if not matches:
        # A wrong piece shows in the kernel: graded together, the first that does not pass is the one to mend.
        exercises = [*called_exercises(functions_in(path), part), part.exercises[part.kernel]]
        print("\nThis does not match yet. The grader says where it goes wrong, pieces first:")
        print(f"  grade check {' '.join(exercises)}")
        return None
    print("\nMatches. Errors are against float64; torch's own float32 is off by as much.")
    return kernel


def explain(error, path, part):
    """Say which exercise an error belongs to: that of the function in which it came up."""
    causes = [error]
    while (cause := causes[-1].__cause__ or causes[-1].__context__) is not None and cause not in causes:
        causes.append(cause)
    functions = functions_in(path)
    line = next(filter(None, (line_of(cause, path, functions) for cause in reversed(causes))), None)
    inside = [name for name, node in functions.items() if line and node.lineno <= line <= node.end_lineno]
    exercise = part.exercises.get(inside[0] if inside else part.kernel, part.exercises[part.kernel])
    root = causes[-1]
    text = (str(root).strip() or type(root).__name__).splitlines()[-1][:200]
    where = f"{path.name}, line {line}" if line else path.name
    if isinstance(root, NameError) or "is not defined" in text:
        print(f"{where} uses a value that is not there yet:")
        print(f"  {text}")
        print("There is a TODO open, in this exercise:")
    else:
        print(f"{where} did not run:")
        print(f"  {type(root).__name__}: {text}")
        print("The grader says more about it:")
    print(check_line(exercise))


def functions_in(path):
    try:
        tree = ast.parse(path.read_text(encoding="utf-8-sig"))
    except (SyntaxError, ValueError):
        return {}
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}


def line_of(error, path, functions):
    """The student's line that an error came from: in its traceback, or named by Triton's compiler; else None."""
    numbers = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    if numbers:
        return numbers[-1]
    node, source = getattr(error, "node", None), getattr(error, "src", None)
    match = re.match(r"def (\w+)", source) if isinstance(source, str) else None
    if node is None or match is None or match[1] not in functions:
        return None
    return functions[match[1]].lineno + node.lineno - 1  # the compiler counts from the line of the def


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
    mass, _ = launch(part, kernel, case, device, qk, qk, v, 0.2)
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


def show_timing(part, kernel, device):
    """The student's kernel against three lines of torch on one head: a ratio, and the memory each takes."""
    import torch
    import triton

    n, head = 4096, 64
    q, k, v, o = (torch.randn(n, head, device=device) for _ in range(4))
    lse = torch.empty(n, device=device)
    case = Case("timing", n, n, head, 32, 32, False)
    meta = {"HEAD": head, "scale": head**-0.5, "BLOCK_M": 32, "BLOCK_N": 32, "BLOCK_D": head, "CAUSAL": False}
    grid = (triton.cdiv(n, 32),)

    runs = {
        part.kernel: lambda: kernel[grid](q, k, v, o, lse, n, n, **meta),
        "unfused torch": lambda: unfused(case, q, k, v, head**-0.5),
    }
    print("\nTime on this GPU\n----------------")
    print(f"One head, N = {n}, head size {head}, float32, 32 x 32 tiles, nothing tuned:\n")
    times = []
    for name, run in runs.items():
        times.append(triton.testing.do_bench(run))
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        run()
        extra = torch.cuda.max_memory_allocated() - before
        print(f"  {name:<24} {times[-1]:>8.3f} ms  {extra / MIB:>6.0f} MiB beside inputs and outputs")
    print(f"  {'unfused / yours':<24} {times[1] / times[0]:>8.2f}")
    print("\nOne head fills little of a large GPU, and true float32 leaves the tensor cores")
    print("idle: read the ratio as a start. In half precision, with many heads and tuned")
    print("tiles, the fused kernel pulls ahead.")


# The whole page -------------------------------------------------------------------------------------------------------


def choose_device(wish):
    """``cpu`` or ``cuda``, with TRITON_INTERPRET set to match before triton is imported; None if that cannot be."""
    import torch

    interpret = os.environ.get("TRITON_INTERPRET") == "1"
    if wish == "cuda" and not torch.cuda.is_available():
        print("No CUDA GPU was found that torch can use. Run again with --device cpu.")
        return None
    device = wish
    if wish == "auto":
        device = "cuda" if torch.cuda.is_available() and not interpret else "cpu"
    loaded = "triton" in sys.modules
    if device == "cpu":
        os.environ["TRITON_INTERPRET"] = "1"
    else:
        os.environ.pop("TRITON_INTERPRET", None)
    if loaded and interpret != (device == "cpu"):
        print("Triton is loaded in this process already, in its other mode, and has one mode a process.")
        print("Run the script as a process of its own: in a notebook, `!python` in place of `%run`.")
        return None
    return device


def find_folder(wish):
    """--dir, relative to the current folder; the default is looked for beside the course as well."""
    folder = Path(wish or "assignments")
    if wish is None and not folder.is_dir():
        folder = Path(__file__).resolve().parents[2] / "assignments"
    return folder


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Run your own lesson 7 kernels beside torch.")
    parser.add_argument("--dir", help="folder with lesson7/... or the flat files (default: assignments)")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    parser.add_argument("--seed", type=int, default=7, help="seed of the random inputs (default: 7)")
    parser.add_argument("--debug", action="store_true", help="show tracebacks")
    options = parser.parse_args(arguments)

    sys.dont_write_bytecode = True  # leave no __pycache__ beside the student's files
    os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")
    warnings.filterwarnings("ignore", category=RuntimeWarning)  # numpy on NaN: the table says so in better words
    device = choose_device(options.device)
    if device is None:
        return 1
    import torch
    import triton

    place = torch.cuda.get_device_name() if device == "cuda" else "CPU, in Triton's interpreter"
    print("Lesson 7: your attention kernels beside torch")
    print(f"{place}; triton {triton.__version__}, torch {torch.__version__}, seed {options.seed}")

    folder = find_folder(options.dir)
    kernel_a = show_part(PART_A, CASES_A, folder, device, options.seed, options.debug)
    kernel_b = show_part(PART_B, CASES_B, folder, device, options.seed, options.debug)
    show_memory(kernel_b is not None)
    if kernel_b is not None:
        show_picture(PART_B, kernel_b, device, 32)
    elif kernel_a is not None:
        show_picture(PART_A, kernel_a, device, 128)
    if kernel_b is not None and device == "cuda":
        show_timing(PART_B, kernel_b, device)

    done = kernel_a is not None and kernel_b is not None
    if done:
        print("\nBoth parts ran and match.")
    else:
        print("\nNot there yet: see the commands above. `grade hint EXERCISE` gives hints.")
    return 0 if done else 1


def run_quietly():
    """`main` without tracebacks, unless --debug asks for them."""
    try:
        return main()
    except KeyboardInterrupt:
        print("\nStopped.")
    except BrokenPipeError:  # the reader of our output has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except Exception as error:
        if "--debug" in sys.argv:
            raise
        print(f"\nThis script could not go on: {type(error).__name__}: {str(error)[:200]}")
        print("Run it again with --debug to see where.")
    return 1


if __name__ == "__main__":
    sys.exit(run_quietly())
