"""The files and folders that a child has to read after it is confined: Python's, the system's libraries', CUDA's.

Everything else is hidden from it by being left out.  Roots of file trees are never on the list, since a course or a
home folder may lie in one (a virtual environment in the course's folder, `/usr/src/app` in a container): their parts
are.  A folder of PYTHONPATH may be a checkout with solutions in it: of such a folder only the packages that are loaded
already are on the list.
"""

from __future__ import annotations

import os
import shutil
import site
import sys
from collections.abc import Iterator
from pathlib import Path

_ROOTS = ("/", "/usr", "/usr/local")
_PARTS = ("bin", "sbin", "lib", "lib32", "lib64", "libexec", "include", "share")
# Of an installation that brings compilers and CUDA with it, as conda's do.
_INSTALLED_PARTS = (*_PARTS, "nvvm", "targets", "*-linux-gnu")
_SYSTEM = (
    "/proc",
    "/sys/devices/system",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/nsswitch.conf",
    "/etc/passwd",
    "/etc/group",
    "/nix/store",
)
_CUDA = (
    "/sys",
    "/etc/nvidia",
    "/usr/lib64-nvidia",
    "/usr/local/cuda*",
    "/usr/local/nvidia",
    "/opt/cuda*",
    "/run/opengl-driver",
)
_SITE = ("site-packages", "dist-packages")


def readable(device: str) -> tuple[str, ...]:
    """What may be read, as absolute paths that exist."""
    patterns = [os.path.join(root, part) for root in _ROOTS for part in _PARTS]
    patterns += [os.path.join(root, part) for root in _prefixes() for part in _INSTALLED_PARTS]
    patterns += _SYSTEM
    if device == "cuda":
        patterns += _CUDA
        patterns += [os.environ.get("CUDA_HOME", ""), *os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep)]
        patterns += _compiler()
    found = [*_site_folders(), *(path for pattern in patterns for path in _existing(pattern))]
    return tuple(dict.fromkeys([*found, *_loaded(found)]))


def module_files() -> tuple[str, ...]:
    """A file of every folder that a module was loaded from: what lies beside it may have to be read later."""
    beside: dict[str, str] = {}
    for path in _module_paths():
        if (folder := os.path.dirname(path)) not in beside and os.path.isfile(path):
            beside[folder] = path
    return tuple(beside.values())


def _prefixes() -> set[str]:
    return {sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix}


def _compiler() -> Iterator[str]:
    """Patterns for the C compiler with which Triton builds its launchers, where it has a place of its own."""
    for name in filter(None, (os.environ.get("CC"), "gcc", "clang")):
        if found := shutil.which(name):
            for prefix in {Path(path).parent.parent for path in (found, os.path.realpath(found))}:
                if prefix.parent == Path("/opt"):  # a place for programs, each with a folder laid out as it likes
                    yield str(prefix)
                yield from (str(prefix / part) for part in _INSTALLED_PARTS)


def _site_folders() -> Iterator[str]:
    for folder in dict.fromkeys([*site.getsitepackages(), site.getusersitepackages(), *sys.path]):
        if os.path.basename(folder) in _SITE and os.path.isdir(folder):
            yield folder


def _existing(pattern: str) -> Iterator[str]:
    """The paths behind an absolute pattern with a star in its last part at most; nothing for the root or a relative."""
    path = Path(pattern)
    if not path.is_absolute() or path == path.parent:
        return
    yield from (str(found) for found in path.parent.glob(path.name))


def _loaded(known: list[str]) -> Iterator[str]:
    """Packages and modules that were loaded from elsewhere, each by itself."""
    roots = tuple(os.path.realpath(path) + os.sep for path in known)
    for name, module in list(sys.modules.items()):
        if "." in name:
            continue
        file = getattr(module, "__file__", None)
        folders = [str(path) for path in getattr(module, "__path__", ())]
        for path in folders or ([file] if isinstance(file, str) else []):
            if os.path.exists(path) and not os.path.realpath(path).startswith(roots):
                yield path


def _module_paths() -> Iterator[str]:
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str):
            yield file
