"""Landlock: a child reads what it is given, writes its own folder, and (by kernel) opens no TCP and signals nobody.

Rights that a kernel does not know are left out: links between folders since ABI 2 (Linux 5.19), truncation since 3
(6.2), TCP since 4 (6.7), ioctl on devices since 5 (6.10), signals and abstract sockets since 6 (6.12).
See https://docs.kernel.org/userspace-api/landlock.html.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import stat
import struct
from collections.abc import Iterable
from glob import glob

from autograder.worker.sandbox._kernel import system_call

_VERSION, _PATH_BENEATH = 1, 1

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_REMOVE_DIR, _REMOVE_FILE, _MAKE_DIR, _MAKE_REG = 1 << 4, 1 << 5, 1 << 7, 1 << 8
_MAKE_FIFO, _MAKE_SYM, _REFER = 1 << 10, 1 << 12, 1 << 13
_TRUNCATE, _IOCTL_DEV = 1 << 14, 1 << 15
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV

_READ = _READ_FILE | _READ_DIR
_MAKE = _MAKE_DIR | _MAKE_REG | _MAKE_FIFO | _MAKE_SYM | _REMOVE_DIR | _REMOVE_FILE | _REFER
_OWN = _READ | _WRITE_FILE | _TRUNCATE | _MAKE
_DEVICE = _READ | _WRITE_FILE | _TRUNCATE | _IOCTL_DEV
_SHARED_MEMORY = _READ | _WRITE_FILE | _TRUNCATE | _MAKE_REG | _REMOVE_FILE

_DEVICES = {"/dev/null": _DEVICE, "/dev/zero": _READ, "/dev/random": _READ, "/dev/urandom": _READ}
_CUDA_DEVICES = ("/dev/nvidia*", "/dev/nvhost*", "/dev/nvmap", "/dev/dxg", "/dev/dri")
# Without writing to /proc/self CUDA does not open: error 304, measured on an H200.
_CUDA = {"/dev/shm": _SHARED_MEMORY, "/proc/self": _READ | _WRITE_FILE | _TRUNCATE}

_BIND_TCP, _CONNECT_TCP = 1, 2
_ABSTRACT_SOCKETS, _SIGNALS = 1, 2


def abi() -> int:
    """The version of this kernel's landlock.

    Raises:
        OSError: it has none, or it is switched off.
    """
    return system_call("landlock_create_ruleset", None, 0, _VERSION)


def restrict(folder: str, readable: Iterable[str], cuda: bool, programs: bool) -> None:
    """From here on this thread, and what it starts, has ``folder`` to itself and may read ``readable``, and no more.

    ``programs`` says whether programs in ``readable`` may be started.

    Raises:
        OSError: the kernel refuses.
    """
    version = abi()
    read = _READ | (_EXECUTE if programs else 0)
    rights = {**dict.fromkeys(readable, read), **_DEVICES, folder: _OWN}
    if cuda:
        rights |= _CUDA
        rights |= {path: _DEVICE for pattern in _CUDA_DEVICES for path in glob(pattern)}
    handled = _handled(version)
    ruleset = _create(version, handled)
    try:
        for path, allowed in rights.items():
            with contextlib.suppress(FileNotFoundError):
                _allow(ruleset, path, allowed & handled)
        system_call("landlock_restrict_self", ruleset, 0)
    finally:
        os.close(ruleset)


def _handled(version: int) -> int:
    bits = 13 if version < 2 else 14 if version < 3 else 15 if version < 5 else 16
    return (1 << bits) - 1


def _create(version: int, handled: int) -> int:
    fields = [handled]
    if version >= 4:
        fields.append(_BIND_TCP | _CONNECT_TCP)
    if version >= 6:
        fields.append(_ABSTRACT_SOCKETS | _SIGNALS)
    attributes = struct.pack(f"={len(fields)}Q", *fields)
    return system_call("landlock_create_ruleset", ctypes.c_char_p(attributes), len(attributes), 0)


def _allow(ruleset: int, path: str, rights: int) -> None:
    handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        if not stat.S_ISDIR(os.fstat(handle).st_mode):
            rights &= _OF_FILES
        attributes = struct.pack("=Qi", rights, handle)
        system_call("landlock_add_rule", ruleset, _PATH_BENEATH, ctypes.c_char_p(attributes), 0)
    finally:
        os.close(handle)
