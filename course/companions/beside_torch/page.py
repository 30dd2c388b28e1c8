"""What every companion script is made of: its options, its device, its table of runs, and its exit code.

A script describes its kernels as `Part`s and hands `companion` a function of a `Page`:

    def show(page):
        kernel = page.table(PART, CASES, run, columns={"rows": "rows"})
        return kernel is not None

    if __name__ == "__main__":
        sys.exit(companion("Lesson 3: your softmax beside torch", show))

Import torch and triton inside functions only: the device decides how triton has to be imported.
"""

import argparse
import os
import sys
import traceback
import warnings
from dataclasses import dataclass
from pathlib import Path

from .apart import TooLong, begins, is_apart, run_apart, settle
from .buffers import measure
from .student import Missing, check_line, explain, find_file, find_folder, graded_together, load_kernel, place_of


@dataclass(frozen=True)
class Page:
    """One run of a companion: where the kernels run, whose they are, and the seed of the inputs."""

    device: str
    folder: Path
    seed: int
    debug: bool

    def heading(self, title):
        print(f"\n{title}\n{'-' * len(title)}")

    def table(self, part, cases, run, columns):
        """Run a part's kernel on each case and print a row for each; the kernel if all match, else None.

        ``run(kernel, case, device, generator)`` gives {output: (got, exact, plain)}, see `buffers.measure`.
        ``columns`` maps the head of a column to the attribute of a case that stands in it; a case has a ``name`` too.
        """
        self.heading(part.name)
        try:
            path = find_file(self.folder, part)
        except Missing as missing:
            print("\n".join(missing.lines))
            return None
        print(f"{path}\n")

        def run_one(case, generator):
            begins(part.exercise)
            return run(kernel, case, self.device, generator)

        try:
            begins(part.exercise)  # what the file does when it is imported counts too
            kernel = load_kernel(path, part)
            matches = self._rows(cases, columns, run_one)
        except TooLong as error:
            line, exercise = place_of([error], path, part)
            where = f"{path.name}, line {line}" if line else path.name
            print(f"\n{where} was still at work when its time was up. Is there a loop that never ends?")
            print("The grader says more about it:")
            print(check_line(exercise))
            return None
        except Missing as missing:
            print("\n".join(missing.lines))
            return None
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever the student's file or kernel raises
            if self.debug:
                traceback.print_exc()
            explain(error, path, part)
            return None
        finally:
            begins("")
        if not matches:
            # A wrong piece shows in the kernel: graded together, the first that does not pass is the one to mend.
            together = graded_together(path, part)
            first = ", pieces first" if len(together) > 1 else ""
            print(f"\nThis does not match yet. The grader says where it goes wrong{first}:")
            print(f"  grade check {' '.join(together)}")
            return None
        return kernel

    def _rows(self, cases, columns, run):
        import torch

        widths = {
            head: max(5, len(head), *(len(str(getattr(case, name))) for case in cases))
            for head, name in columns.items()
        }
        print(f"{'case':<22} {' '.join(f'{head:>{widths[head]}}' for head in columns)}", end="")
        print(f"  {'max error':>9}  {'torch own':>9}")
        matches, exact, within = True, True, True
        for case in cases:
            results = run(case, torch.Generator().manual_seed(self.seed))
            error, torch_error, wrong = measure(results)
            exact = exact and all(plain is None for _, _, plain in results.values())
            within = within and error <= torch_error
            cells = " ".join(f"{getattr(case, name):>{widths[head]}}" for head, name in columns.items())
            print(f"{case.name:<22} {cells}  {error:>9.1e}  {torch_error:>9.1e}  {'differs' if wrong else 'ok'}")
            if wrong:
                print(f"    {wrong}")
                matches = False
        if matches:
            beside = "torch's own float32 is off by as much." if within else "they are rounding, as torch's own are."
            print(f"\nMatches. {'Value for value.' if exact else f'Errors are against float64; {beside}'}")
        return matches


def companion(title, show, arguments=None):
    """Run a companion script from its options to its exit code: 0 if ``show(page)`` is true, else 1; no tracebacks.

    It runs in a child process, which a kernel may hang or end.
    """
    if not is_apart():
        return run_apart(arguments)
    try:
        return _run(title, show, arguments)
    except TooLong:
        print("\nA kernel was still at work when its time was up. Is there a loop that never ends?")
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


def _run(title, show, arguments):
    parser = argparse.ArgumentParser(description=f"{title}. It runs your own kernels and grades nothing.")
    parser.add_argument("--dir", help="folder with lesson<N>/... or the flat files (default: assignments)")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    parser.add_argument("--seed", type=int, default=7, help="seed of the random inputs (default: 7)")
    parser.add_argument("--debug", action="store_true", help="show tracebacks")
    options = parser.parse_args(arguments)

    sys.dont_write_bytecode = True  # leave no __pycache__ beside the student's files
    os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")
    warnings.filterwarnings("ignore", category=RuntimeWarning)  # numpy on NaN: the table says so in better words
    device = _choose_device(options.device)
    if device is None:
        return 1
    import torch
    import triton

    place = torch.cuda.get_device_name() if device == "cuda" else "CPU, in Triton's interpreter"
    settle(device)
    print(title)
    print(f"{place}; triton {triton.__version__}, torch {torch.__version__}, seed {options.seed}")
    if show(Page(device, find_folder(options.dir), options.seed, options.debug)):
        return 0
    print("\nNot there yet: see the commands above. `grade hint EXERCISE` gives hints.")
    return 1


def _choose_device(wish):
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
