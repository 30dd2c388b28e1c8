"""The few system calls that Python has no function for, by name, on x86_64 and aarch64."""

from __future__ import annotations

import ctypes
import os
from typing import Any

_NO_NEW_PRIVS, _SET_DUMPABLE = 38, 4
_MACHINES = {"x86_64": 0, "aarch64": 1}
_LIBC = ctypes.CDLL(None, use_errno=True)

# Numbers on x86_64 and aarch64.  The newer half has one number everywhere.
_NUMBERS: dict[str, tuple[int | None, int | None]] = {
    "acct": (163, 89),
    "add_key": (248, 217),
    "adjtimex": (159, 171),
    "bpf": (321, 280),
    "capset": (126, 91),
    "chmod": (90, None),
    "chown": (92, None),
    "chroot": (161, 51),
    "clock_adjtime": (305, 266),
    "clock_settime": (227, 112),
    "clone": (56, 220),
    "clone3": (435, 435),
    "delete_module": (176, 106),
    "execve": (59, 221),
    "execveat": (322, 281),
    "fanotify_init": (300, 262),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "fchown": (93, 55),
    "fchownat": (260, 54),
    "fcntl": (72, 25),
    "finit_module": (313, 273),
    "fork": (57, None),
    "fsconfig": (431, 431),
    "fsetxattr": (190, 7),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "futimesat": (261, None),
    "init_module": (175, 105),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "ioctl": (16, 29),
    "ioperm": (173, None),
    "iopl": (172, None),
    "kcmp": (312, 272),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "kill": (62, 129),
    "landlock_add_rule": (445, 445),
    "landlock_create_ruleset": (444, 444),
    "landlock_restrict_self": (446, 446),
    "lchown": (94, None),
    "lookup_dcookie": (212, 18),
    "lremovexattr": (198, 15),
    "lsetxattr": (189, 6),
    "modify_ldt": (154, None),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "mq_open": (240, 180),
    "msgget": (68, 186),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "open_tree_attr": (467, 467),
    "perf_event_open": (298, 241),
    "pidfd_getfd": (438, 438),
    "pidfd_open": (434, 434),
    "pidfd_send_signal": (424, 424),
    "pivot_root": (155, 41),
    "prctl": (157, 167),
    "prlimit64": (302, 261),
    "process_madvise": (440, 440),
    "process_mrelease": (448, 448),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "reboot": (169, 142),
    "removexattr": (197, 14),
    "request_key": (249, 218),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "sched_setaffinity": (203, 122),
    "sched_setattr": (314, 274),
    "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119),
    "seccomp": (317, 277),
    "semget": (64, 190),
    "setdomainname": (171, 162),
    "sethostname": (170, 161),
    "setns": (308, 268),
    "setpriority": (141, 140),
    "settimeofday": (164, 170),
    "setxattr": (188, 5),
    "shmget": (29, 194),
    "socket": (41, 198),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "syslog": (103, 116),
    "tgkill": (234, 131),
    "tkill": (200, 130),
    "truncate": (76, 45),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "userfaultfd": (323, 282),
    "utime": (132, None),
    "utimensat": (280, 88),
    "utimes": (235, None),
    "vfork": (58, None),
    "vhangup": (153, 58),
}


CALLS = tuple(_NUMBERS)


def machine() -> str | None:
    """``x86_64`` or ``aarch64``; None on anything else, for which there is no table."""
    name = os.uname().machine
    return name if name in _MACHINES else None


def number(call: str, machine_name: str) -> int | None:
    """The number of a system call, None where the machine has none by this name."""
    return _NUMBERS[call][_MACHINES[machine_name]]


def system_call(call: str, *arguments: Any) -> int:
    """Make a system call; integers are passed as 64 bits.

    Raises:
        OSError: it failed, or this machine is of another kind.
    """
    name = machine()
    code = number(call, name) if name else None
    if code is None:
        raise OSError(38, f"{call} is not known on this kind of machine")
    wide = [ctypes.c_long(item) if isinstance(item, int) else item for item in arguments]
    ctypes.set_errno(0)
    result: int = _LIBC.syscall(ctypes.c_long(code), *wide)
    if result == -1:
        raise OSError(ctypes.get_errno(), f"{call}: {os.strerror(ctypes.get_errno())}")
    return result


def gain_nothing_by_exec() -> None:
    """No program that is started from here on can have more rights than this process; needed by the layers."""
    _prctl(_NO_NEW_PRIVS, 1)


def stay_inspectable() -> None:
    """Keep /proc/self in this process's own hands after a change of user, as CUDA needs it."""
    _prctl(_SET_DUMPABLE, 1)


def _prctl(option: int, value: int) -> None:
    if _LIBC.prctl(option, *(ctypes.c_ulong(item) for item in (value, 0, 0, 0))) != 0:
        raise OSError(ctypes.get_errno(), "prctl failed")
