"""What a worker gets to see of this machine."""

from __future__ import annotations

import os
import site
from pathlib import Path

# What a worker may see of our environment.  Everything else, tokens and passwords above all, stays here.
_PASSED_ON = ("PATH", "LD_LIBRARY_PATH", "LANG", "LC_ALL", "CUDA_VISIBLE_DEVICES", "CUDA_HOME", "CC", "TZ")


def environment(device: str, folder: Path, gpu: str | None = None) -> dict[str, str]:
    """The environment of a worker for ``device``; ``gpu`` is the one GPU it sees, None for all that we see."""
    environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    package = str(Path(__file__).resolve().parents[2])
    environment.update(
        PYTHONPATH=os.pathsep.join(filter(None, [package, *_import_folders()])),
        PYTHONDONTWRITEBYTECODE="1",
        PYTHONHASHSEED="0",
        HOME=str(folder),
        PYTHONUSERBASE=site.getuserbase(),  # HOME is another, and torch may be installed for this user
        TMPDIR=str(folder),
        TRITON_CACHE_DIR=str(folder / "triton-cache"),
        TRITON_DEFAULT_FP_FUSION="1",
        OMP_NUM_THREADS="1",
        OPENBLAS_NUM_THREADS="1",
        MKL_NUM_THREADS="1",
        # Huge pages for what the server allocates: a fork has fewer page tables to copy, and takes half the time.
        GLIBC_TUNABLES="glibc.malloc.hugetlb=1",
    )
    if device == "cpu":
        environment["TRITON_INTERPRET"] = "1"
    if device == "cuda":
        if gpu is not None:
            environment["CUDA_VISIBLE_DEVICES"] = gpu
        environment["TRITON_DISABLE_LINE_INFO"] = "1"  # nobody debugs the machine code, and it takes time to make
    else:
        environment["CUDA_VISIBLE_DEVICES"] = ""
    return environment


def _import_folders() -> list[str]:
    """PYTHONPATH as we were given it, since torch may be found through it; without relative folders.

    They would mean the folder that jobs write to, and here they may mean a hand-in.
    """
    return [folder for folder in os.environ.get("PYTHONPATH", "").split(os.pathsep) if os.path.isabs(folder)]
