"""A seccomp filter: the system calls that no kernel of a student's needs fail with EPERM.

A list of what is refused, not of what is allowed: torch, Triton and CUDA's driver change what they call from release to
release.  A filter sees numbers, not what pointers point at; so `clone3`, whose flags lie in memory, is said not to
exist, and the C library goes on with `clone`.
See https://docs.kernel.org/userspace-api/seccomp_filter.html and seccomp(2).
"""

from __future__ import annotations

import ctypes
import errno
import os
import socket
import struct
from dataclasses import dataclass

from autograder.worker.sandbox._kernel import machine, number, system_call

_SET_MODE_FILTER, _SPEC_ALLOW = 1, 1 << 2
_RETURN_ALLOW, _RETURN_ERRNO = 0x7FFF0000, 0x00050000
_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32 = 0x40000000  # set in the numbers of x86_64's second, 32-bit table
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_AT_NUMBER, _AT_ARCHITECTURE, _AT_ARGUMENTS = 0, 4, 16

_CLONE_THREAD = 0x00010000
_CLONE_NAMESPACES = 0x7E020000
_SET_PDEATHSIG = 1
_SET_OWNER = (8, 15)  # F_SETOWN, F_SETOWN_EX: have the kernel signal somebody else
_TERMINAL_AND_OWNER = (0x5412, 0x541C, 0x8901, 0x8902)  # TIOCSTI, TIOCLINUX, FIOSETOWN, SIOCSPGRP

# Other processes' memory, mounts and namespaces, keys, tracing, the kernel itself, rings that do calls unseen.
_NEVER = """
ptrace process_vm_readv process_vm_writev process_madvise process_mrelease kcmp pidfd_open pidfd_getfd pidfd_send_signal
mount umount2 pivot_root chroot unshare setns move_mount open_tree open_tree_attr fsopen fsconfig fsmount fspick
mount_setattr keyctl add_key request_key bpf perf_event_open userfaultfd kexec_load kexec_file_load init_module
finit_module delete_module reboot swapon swapoff acct quotactl quotactl_fd syslog settimeofday clock_settime
clock_adjtime adjtimex sethostname setdomainname iopl ioperm modify_ldt lookup_dcookie vhangup fanotify_init
open_by_handle_at io_uring_setup io_uring_enter io_uring_register setpriority truncate
chown lchown fchown fchownat
"""
# Where no program has to be started and no GPU to be opened: also what landlock does not cover, modes and times of
# files, and what would stay behind after a child, as shared memory by number does.
_WITHOUT_PROGRAMS = """
fork vfork execve execveat chmod fchmod fchmodat fchmodat2 setxattr lsetxattr fsetxattr removexattr lremovexattr
utime utimes utimensat futimesat shmget semget msgget mq_open
"""
_SIGNALS = ("kill", "tgkill", "tkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo")
_SCHEDULING = ("sched_setaffinity", "sched_setattr", "sched_setparam", "sched_setscheduler")


@dataclass(frozen=True, slots=True)
class Rule:
    """Refuse ``call`` with ``error``; or only if its ``argument``, of which 32 bits are looked at, passes no test.

    It passes if it is one of ``only``, is none of ``never``, has a bit of ``needs``, and none of ``bits``; a test that
    is left at None is not made.
    """

    call: str
    argument: int | None = None
    only: tuple[int, ...] | None = None
    never: tuple[int, ...] | None = None
    needs: int | None = None
    bits: int | None = None
    error: int = errno.EPERM


def rules(pid: int, cuda: bool, programs: bool) -> tuple[Rule, ...]:
    """What the process ``pid`` may not call; ``programs`` says whether it may start programs."""
    itself = (pid, 0, -pid)
    refused = [Rule(call) for call in _NEVER.split()]
    refused += [Rule(call, 0, only=itself) for call in (*_SIGNALS, "prlimit64")]
    refused += [
        Rule("clone3", error=errno.ENOSYS),
        Rule("clone", 0, bits=_CLONE_NAMESPACES),
        Rule("prctl", 0, never=(_SET_PDEATHSIG,)),  # a child dies with its server
        Rule("fcntl", 1, never=_SET_OWNER),
        Rule("ioctl", 1, never=_TERMINAL_AND_OWNER),
        Rule("socket", 0, only=(socket.AF_UNIX,) if cuda else ()),  # CUDA's driver does not open without
    ]
    if not cuda:
        refused += [Rule(call, 0, only=itself) for call in _SCHEDULING]
    if not programs:
        refused += [Rule(call) for call in _WITHOUT_PROGRAMS.split()]
        refused.append(Rule("clone", 0, needs=_CLONE_THREAD))
    return tuple(refused)


def restrict(cuda: bool, programs: bool) -> None:
    """Put the filter on this thread and what it starts.

    Raises:
        OSError: the kernel refuses, or the machine is of a kind without a table.
    """
    name = machine()
    if name is None:
        raise OSError(errno.ENOSYS, f"no table of system calls for {os.uname().machine}")
    program = assemble(rules(os.getpid(), cuda, programs), name)
    code = ctypes.create_string_buffer(program, len(program))
    attributes = ctypes.create_string_buffer(struct.pack("@HP", len(program) // 8, ctypes.addressof(code)))
    try:
        # Without the flag old kernels slow the process down, lest it read what it can read anyway.
        system_call("seccomp", _SET_MODE_FILTER, _SPEC_ALLOW, attributes)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        system_call("seccomp", _SET_MODE_FILTER, 0, attributes)


def assemble(refused: tuple[Rule, ...], machine_name: str) -> bytes:
    """The filter's program: instructions of 8 bytes, whose jumps count the instructions that are left out."""
    refuse = _step(_RETURN, _RETURN_ERRNO | errno.EPERM)
    program = [_step(_LOAD, _AT_ARCHITECTURE), _step(_EQUAL, _ARCHITECTURES[machine_name], 1, 0), refuse]
    program.append(_step(_LOAD, _AT_NUMBER))
    if machine_name == "x86_64":
        program += [_step(_AT_LEAST, _X32, 0, 1), refuse]
    for rule in refused:
        code = number(rule.call, machine_name)
        if code is not None:
            block = _block(rule)
            program += [_step(_EQUAL, code, 0, len(block)), *block]
    program.append(_step(_RETURN, _RETURN_ALLOW))
    return b"".join(program)


def _block(rule: Rule) -> list[bytes]:
    """What is done once the number fits: return an error, or load the number again and go on with the next rule."""
    refuse = _step(_RETURN, _RETURN_ERRNO | rule.error)
    if rule.argument is None:
        return [refuse]
    block = [_step(_LOAD, _AT_ARGUMENTS + 8 * rule.argument)]
    if rule.bits is not None:
        block += [_step(_ANY_BIT, rule.bits, 0, 1), refuse]
    if rule.needs is not None:
        block += [_step(_ANY_BIT, rule.needs, 1, 0), refuse]
    for value in rule.never or ():
        block += [_step(_EQUAL, value, 0, 1), refuse]
    if rule.only is not None:
        values = [value & 0xFFFFFFFF for value in rule.only]
        block += [_step(_EQUAL, value, len(values) - place, 0) for place, value in enumerate(values)]
        block.append(refuse)
    return [*block, _step(_LOAD, _AT_NUMBER)]


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)
