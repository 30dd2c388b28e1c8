"""What this machine has, and every combination of it that is known to go wrong, with what to do.

``probe`` looks, ``examine`` judges, and neither imports torch or triton.  ``blocking`` is the same judgement in one
sentence, for the start of a grading run.  Looking goes through the functions of ``Probes``, so that a test can stand
in for any machine.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

from autograder import wrapping
from autograder.devices import Gpu, find_gpu
from autograder.errors import UsageError

OK, NOTE, PROBLEM = "ok", "note", "problem"

PACKAGES = ("triton", "torch", "numpy")
_INSTALLED_IN = ("site-packages", "dist-packages")
_OLDEST_TESTED, _FIRST_UNTESTED = (3, 6), (3, 10)
_RANGE_FIXED = (3, 7, 1)  # triton issue 9171: range() over a run-time bound in the interpreter with numpy 2.4
_NUMPY_STRICT = (2, 4)
_TURING = (7, 5)
_TURING_COMPILES = (3, 4)
_PYTHONS = ((3, 11), (3, 14))
_TIME_LIMIT = 20


@dataclass(frozen=True, slots=True)
class Tool:
    """A program that Triton calls: where it is, and what it says of itself or why it does not run."""

    path: str
    version: str | None
    trouble: str | None = None


@dataclass(frozen=True, slots=True)
class Machine:
    """What there is.  ``versions`` holds None for what is not installed; ``torch_cuda`` is None if nobody knows."""

    system: str
    python: tuple[int, int, int]
    versions: Mapping[str, str | None]
    torch_cuda: bool | None
    gpu: Gpu | None
    ptxas: Tool | None
    compiler: str | None
    python_headers: bool
    stand_ins: Mapping[str, str] = field(default_factory=dict)  # the file by the library's name
    bubblewrap: Tool | None = None
    wrapping: str = ""  # what the environment asks of bubblewrap, or why that cannot be told


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the doctor's report: ``ok``, ``note`` or ``problem``; what is so; what to do, if anything is."""

    severity: str
    subject: str
    message: str
    advice: str = ""

    @property
    def sentence(self) -> str:
        return f"{self.message} {self.advice}".strip()


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _torch_cuda() -> bool | None:
    """Whether torch is a CUDA build, from its version file: an import would take seconds."""
    try:
        path = Path(str(metadata.distribution("torch").locate_file("torch/version.py")))
        match = re.search(r"^cuda\b[^=\n]*=\s*(\S+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    except (metadata.PackageNotFoundError, OSError, UnicodeDecodeError):
        return None
    return match[1] != "None" if match else None


def _ptxas() -> Tool | None:
    """The assembler in Triton's wheel, or the one that TRITON_PTXAS_PATH names."""
    named = os.environ.get("TRITON_PTXAS_PATH")
    try:
        folder = Path(str(metadata.distribution("triton").locate_file("triton/backends/nvidia/bin")))
    except metadata.PackageNotFoundError:
        return None
    places = [Path(named)] if named else [folder / "ptxas", folder / "ptxas-blackwell"]
    found = next((place for place in places if place.is_file()), None)
    return _run_tool(str(found)) if found else None


def _run_tool(path: str) -> Tool:
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=_TIME_LIMIT)
    except subprocess.TimeoutExpired:
        return Tool(path, None, f"gave no answer in {_TIME_LIMIT} s")
    except (OSError, ValueError) as error:
        return Tool(path, None, (getattr(error, "strerror", None) or str(error)).lower())
    match = re.search(r"\bV(\d[\w.]*)", done.stdout)
    if done.returncode:
        return Tool(path, None, f"ended with exit code {done.returncode}")
    return Tool(path, match[1] if match else "unknown")


def _bubblewrap() -> Tool | None:
    """Whether it makes a file system and a process list of its own here; in many containers nobody may."""
    path = shutil.which("bwrap")
    if path is None:
        return None
    trial = [path, "--unshare-pid", "--unshare-net", "--ro-bind", "/", "/", "--proc", "/proc", "true"]
    try:
        done = subprocess.run(trial, capture_output=True, text=True, errors="replace", timeout=_TIME_LIMIT)
        told = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=_TIME_LIMIT).stdout
    except (OSError, subprocess.TimeoutExpired) as error:
        return Tool(path, None, (getattr(error, "strerror", None) or str(error)).lower())
    said = (done.stderr.strip().splitlines() or ["nothing"])[-1].removeprefix("bwrap: ")
    return Tool(path, told.split()[-1] if told.split() else "unknown", said if done.returncode else None)


def _wrapping() -> str:
    try:
        return wrapping.asked()
    except UsageError as error:
        return str(error)


def _compiler() -> str | None:
    """The C compiler that Triton would take: CC, else gcc, else clang."""
    named = os.environ.get("CC")
    candidates = [named] if named else ["gcc", "clang"]
    return next((path for name in candidates if (path := shutil.which(name))), None)


def _python_headers() -> bool:
    return (Path(sysconfig.get_paths()["include"]) / "Python.h").is_file()


def _stand_ins() -> Mapping[str, str]:
    """Files beside the kit with the name of a library: the worker finds the kit in its folder, and them first."""
    return stand_ins_in(Path(__file__).resolve().parents[1])


def stand_ins_in(folder: Path) -> Mapping[str, str]:
    """The files and packages in ``folder`` that would be imported for a library that is installed elsewhere."""
    if folder.name in _INSTALLED_IN:  # there the libraries themselves are
        return {}
    places = {name: (folder / f"{name}.py", folder / name / "__init__.py") for name in PACKAGES}
    found = {name: next((str(place) for place in places[name] if place.is_file()), None) for name in PACKAGES}
    return {name: place for name, place in found.items() if place is not None}


@dataclass(frozen=True, slots=True)
class Probes:
    """How each thing is looked up; the defaults look at this machine."""

    system: Callable[[], str] = platform.system
    python: Callable[[], tuple[int, int, int]] = field(default=lambda: sys.version_info[:3])
    version: Callable[[str], str | None] = _version
    torch_cuda: Callable[[], bool | None] = _torch_cuda
    gpu: Callable[[], Gpu | None] = find_gpu
    ptxas: Callable[[], Tool | None] = _ptxas
    compiler: Callable[[], str | None] = _compiler
    python_headers: Callable[[], bool] = _python_headers
    stand_ins: Callable[[], Mapping[str, str]] = _stand_ins
    bubblewrap: Callable[[], Tool | None] = _bubblewrap
    wrapping: Callable[[], str] = _wrapping


def probe(probes: Probes | None = None) -> Machine:
    """Look at everything; takes a second at most."""
    look = probes or Probes()
    return Machine(
        system=look.system(),
        python=look.python(),
        versions={package: look.version(package) for package in PACKAGES},
        torch_cuda=look.torch_cuda(),
        gpu=look.gpu(),
        ptxas=look.ptxas(),
        compiler=look.compiler(),
        python_headers=look.python_headers(),
        stand_ins=look.stand_ins(),
        bubblewrap=look.bubblewrap(),
        wrapping=look.wrapping(),
    )


def examine(machine: Machine) -> tuple[Finding, ...]:
    """Everything that there is to say about a machine, in a fixed order."""
    return (
        _system(machine),
        _python(machine),
        *_packages(machine),
        *_stand_in_files(machine),
        _interpreter(machine),
        *_gpu(machine),
        *_build_tools(machine),
        *_one_more_layer(machine),
        Finding(
            NOTE,
            "bfloat16",
            "Triton's interpreter gets bfloat16 arithmetic wrong.",
            "Try bfloat16 on a GPU of sm_80 or newer only; the exercises are in float32, which is right everywhere.",
        ),
    )


def blocking(device: str, probes: Probes | None = None) -> str | None:
    """Why nothing can be graded on ``cpu`` or ``cuda`` here, with what to do, as one or two sentences; else None.

    Reads versions only; the GPU is asked for its capability if it is to be used.
    """
    look = probes or Probes()
    on_gpu = device == "cuda"
    machine = Machine(
        system=look.system(),
        python=look.python(),
        versions={package: look.version(package) for package in PACKAGES},
        torch_cuda=None,
        gpu=look.gpu() if on_gpu else None,
        ptxas=None,
        compiler=None,
        python_headers=False,
        stand_ins=look.stand_ins(),
    )
    found = [
        _system(machine),
        _python(machine),
        *_packages(machine),
        *_stand_in_files(machine),
        *([] if on_gpu else [_interpreter(machine)]),
    ]
    if on_gpu and machine.gpu is not None:
        found.append(_capability(machine, machine.gpu))
    return next((finding.sentence for finding in found if finding.severity == PROBLEM), None)


def _system(machine: Machine) -> Finding:
    if machine.system == "Linux":
        return Finding(OK, "system", "Linux.")
    name = {"Darwin": "macOS"}.get(machine.system, machine.system or "this system")
    how = "Use WSL2 or Colab." if name == "Windows" else "Use Colab or a Linux machine."
    return Finding(PROBLEM, "system", f"Triton ships no wheel for {name}, so no kernel can run here.", how)


def _python(machine: Machine) -> Finding:
    version = ".".join(map(str, machine.python))
    if _PYTHONS[0] <= machine.python[:2] < _PYTHONS[1]:
        return Finding(OK, "python", f"Python {version}.")
    return Finding(
        PROBLEM,
        "python",
        f"Python {version} is not among those that this course runs with.",
        "Make a virtual environment with Python 3.11, 3.12 or 3.13.",
    )


def _packages(machine: Machine) -> Iterator[Finding]:
    advice = {
        "triton": "Run `pip install 'triton>=3.7.1,<3.10'`.",
        "torch": "Run `pip install torch`.",
        "numpy": "Run `pip install numpy`.",
    }
    for package in PACKAGES:
        version = machine.versions.get(package)
        if version is None:
            yield Finding(PROBLEM, package, f"{package} is not installed.", advice[package])
        elif package != "triton" or _OLDEST_TESTED <= _numbers(version) < _FIRST_UNTESTED:
            yield Finding(OK, package, f"{package} {version}.")
        else:
            word = "older" if _numbers(version) < _OLDEST_TESTED else "newer"
            yield Finding(
                NOTE,
                package,
                f"triton {version} is {word} than those that the grader is tested with, 3.6 to 3.9.",
                "If something odd happens, run `pip install 'triton>=3.7.1,<3.10'`.",
            )


def _stand_in_files(machine: Machine) -> Iterator[Finding]:
    for package, path in machine.stand_ins.items():
        yield Finding(
            PROBLEM,
            f"{package} stand-in",
            f"{path} stands in for the library {package}: it would be imported in its place.",
            "Move it to another folder, or rename it.",
        )


def _interpreter(machine: Machine) -> Finding:
    """The pair that breaks ``range(0, N, BLOCK)`` with N known at run time: "only 0-dimensional arrays ..."."""
    triton, numpy = machine.versions.get("triton"), machine.versions.get("numpy")
    if triton is None or numpy is None:
        return Finding(NOTE, "interpreter", "Without triton and numpy the interpreter cannot be judged.")
    if _numbers(triton) >= _RANGE_FIXED or _numbers(numpy) < _NUMPY_STRICT:
        return Finding(OK, "interpreter", f"triton {triton} and numpy {numpy} go together in Triton's interpreter.")
    return Finding(
        NOTE if _uses_gpu(machine) else PROBLEM,
        "interpreter",
        f"triton {triton} with numpy {numpy} breaks loops in Triton's interpreter, which runs kernels on a CPU.",
        "Run `pip install 'numpy<2.4'`, or take triton 3.7.1 or newer.",
    )


def _gpu(machine: Machine) -> Iterator[Finding]:
    gpu = machine.gpu
    if gpu is None:
        yield Finding(
            OK, "gpu", "No CUDA GPU: kernels run in Triton's interpreter on the CPU, where every address is checked."
        )
        return
    yield _capability(machine, gpu)
    if gpu.capability == _TURING:
        yield Finding(
            NOTE,
            "gpu limits",
            f"{gpu.name} has 64 KB of shared memory a block, no bfloat16 and no TF32; Triton supports it unofficially.",
            "Stay with float32 or float16, head sizes up to 64 and tiles of 32 x 32, at most 64 x 64.",
        )
    if machine.versions.get("torch") is not None and machine.torch_cuda is False:
        yield Finding(
            PROBLEM,
            "torch for the gpu",
            f"There is a GPU ({gpu.name}), but the installed torch is a build for CPUs only and cannot use it.",
            "Install a CUDA build of torch as pytorch.org says for your driver; until then --device cpu works.",
        )


def _capability(machine: Machine, gpu: Gpu) -> Finding:
    name = f"{gpu.name} (sm_{gpu.capability[0]}{gpu.capability[1]})"
    triton = machine.versions.get("triton")
    if gpu.capability < _TURING:
        return Finding(
            PROBLEM, "gpu", f"{name} is too old for Triton, which needs sm_75 or newer.", "Use --device cpu, or Colab."
        )
    if gpu.capability == _TURING and triton is not None and _numbers(triton) < _TURING_COMPILES:
        return Finding(
            PROBLEM,
            "gpu",
            f"triton {triton} cannot compile for {name}.",
            "Run `pip install 'triton>=3.7.1,<3.10'`, or use --device cpu.",
        )
    return Finding(OK, "gpu", f"{name}.")


def _build_tools(machine: Machine) -> Iterator[Finding]:
    """ptxas, a C compiler and Python's headers: on a GPU Triton builds with them, the interpreter needs none."""
    missing = PROBLEM if _uses_gpu(machine) else NOTE
    need = "" if _uses_gpu(machine) else " Only a GPU needs it; the interpreter does not."
    ptxas = machine.ptxas
    if ptxas is None:
        if machine.versions.get("triton") is not None:
            yield Finding(
                missing,
                "ptxas",
                f"Triton's wheel has no ptxas in it.{need}",
                "Run `pip install --force-reinstall triton`.",
            )
    elif ptxas.trouble:
        yield Finding(
            missing,
            "ptxas",
            f"{ptxas.path} does not run: it {_as_verb(ptxas.trouble)}.{need}",
            "Check that the folder allows programs to run, or reinstall triton.",
        )
    else:
        yield Finding(OK, "ptxas", f"ptxas {ptxas.version}.")
    if machine.compiler is None:
        yield Finding(
            missing, "C compiler", f"There is no gcc or clang.{need}", "On Debian or Ubuntu: `apt-get install gcc`."
        )
    else:
        yield Finding(OK, "C compiler", f"{machine.compiler}.")
    if machine.python_headers:
        yield Finding(OK, "Python headers", "Python.h is there.")
    else:
        major, minor, _ = machine.python
        yield Finding(
            missing,
            "Python headers",
            f"Python.h is missing, which Triton's launcher is built with.{need}",
            f"On Debian or Ubuntu: `apt-get install python{major}.{minor}-dev`.",
        )


def _one_more_layer(machine: Machine) -> Iterator[Finding]:
    """Bubblewrap: an extra around the worker, without which the sandbox's other layers do its part."""
    tool = machine.bubblewrap
    if machine.system != "Linux":
        return
    if machine.wrapping not in ("", wrapping.OFF, wrapping.CUDA):
        yield Finding(PROBLEM, "bubblewrap", machine.wrapping)
    elif machine.wrapping == wrapping.OFF:
        yield Finding(
            NOTE,
            "bubblewrap",
            f"bubblewrap, one more layer around kernels, is turned off by {wrapping.VARIABLE}.",
            "If you grade others' work, unset it.",
        )
    elif tool is None:
        yield Finding(
            NOTE,
            "bubblewrap",
            "There is no bubblewrap, one more layer around kernels; the sandbox's other layers do without.",
            "If you grade others' work, on Debian or Ubuntu: `apt-get install bubblewrap`. It can also make up for a "
            "layer that `course grade` says is missing.",
        )
    elif tool.trouble:
        yield Finding(
            NOTE,
            "bubblewrap",
            f"bubblewrap does not work here: it says {tool.trouble!r}. The sandbox's other layers do without.",
            "In a container that is usual, and nothing has to be done.",
        )
    else:
        where = "on CPU and GPU" if machine.wrapping == wrapping.CUDA else "on CPU"
        yield Finding(OK, "bubblewrap", f"bubblewrap {tool.version} works here: one more layer around kernels {where}.")


def _as_verb(trouble: str) -> str:
    return trouble if trouble.startswith(("gave", "ended")) else f"says {trouble!r}"


def _uses_gpu(machine: Machine) -> bool:
    """Whether kernels would run on a GPU by default here."""
    return machine.gpu is not None and machine.torch_cuda is not False


def _numbers(version: str) -> tuple[int, ...]:
    """``(3, 7, 1)`` of ``3.7.1+git``; a missing part counts as 0."""
    match = re.match(r"(\d+)(?:\.(\d+))?(?:\.(\d+))?", version)
    return tuple(int(part or 0) for part in match.groups()) if match else (0, 0, 0)
