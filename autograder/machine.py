"""The machine that grades: which device runs the kernels, and the versions that a result depends on."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from pathlib import Path

from autograder import devices
from autograder.errors import EnvironmentProblem
from autograder.result import Environment


def choose_device(wish: str) -> tuple[str, str | None]:
    """``cpu`` or ``cuda`` for ``auto``, ``cpu`` or ``cuda``, and the GPU's name.

    Raises:
        EnvironmentProblem: ``cuda`` was asked for and there is none.
    """
    if wish == "cpu":
        return "cpu", None
    gpu = devices.find_gpu()
    if gpu is not None and not _torch_has_cuda():
        gpu = None
    if gpu is not None:
        return "cuda", gpu.name
    if wish == "cuda":
        raise EnvironmentProblem(
            "No CUDA GPU that torch can use was found here. Use --device cpu, which runs Triton's interpreter."
        )
    return "cpu", None


def gpus_alike() -> tuple[str, ...]:
    """What CUDA_VISIBLE_DEVICES calls each GPU that is of the first one's kind: results name one kind of GPU.

    Checks that are large run or not by the first one's memory: the others must not have much less.
    """
    found = devices.find_gpus()
    return tuple(
        gpu.visible
        for gpu in found
        if (gpu.name, gpu.capability) == (found[0].name, found[0].capability) and gpu.memory >= 0.9 * found[0].memory
    )


def cores() -> int:
    """How many cores this process may use, which a batch system may have made fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def environment(device: str, gpu: str | None) -> Environment:
    """The versions that a result depends on."""
    return Environment(
        device=device,
        gpu=gpu,
        triton=version_of("triton"),
        torch=version_of("torch"),
        numpy=version_of("numpy"),
        python=platform.python_version(),
    )


def version_of(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _torch_has_cuda() -> bool:
    """Whether the installed torch is a CUDA build, read from its version file: importing it here would take seconds."""
    try:
        files = importlib.metadata.files("torch") or []
        path = next(file for file in files if str(file) == "torch/version.py").locate()
        return "cuda: Optional[str] = None" not in Path(str(path)).read_text(encoding="utf-8")
    except (importlib.metadata.PackageNotFoundError, StopIteration, OSError):
        return True
