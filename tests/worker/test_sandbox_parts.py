"""Parts of the sandbox that this machine cannot show whole: other processors' filters, other containers, other luck."""

from __future__ import annotations

import errno
import os
import re
import struct
from pathlib import Path
from types import SimpleNamespace

import pytest

from autograder.worker.sandbox import Confinement, _kernel, _places, _probe, _seccomp, _uid
from autograder.worker.sandbox._layers import CAPABILITIES, LANDLOCK, SECCOMP, SPARE_UID

ALLOW = 0x7FFF0000
REFUSE, UNKNOWN = 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
PID = 4242
THREAD, FORK = 0x3D0F00, 0x1200011  # the flags of pthread_create and of fork in the C library


def decide(program: bytes, architecture: int, number: int, *arguments: int) -> int:
    """What the kernel would: classic BPF, as far as the filter uses it."""
    data = struct.pack("=IIQ6Q", number, architecture, 0, *[*arguments, 0, 0, 0, 0, 0, 0][:6])
    steps = [struct.unpack_from("=HBBI", program, 8 * place) for place in range(len(program) // 8)]
    accumulator, place = 0, 0
    while True:
        code, if_true, if_false, value = steps[place]
        place += 1
        if code == 0x20:
            [accumulator] = struct.unpack_from("=I", data, value)
        elif code == 0x06:
            return value
        else:
            holds = {0x15: accumulator == value, 0x35: accumulator >= value, 0x45: bool(accumulator & value)}[code]
            place += if_true if holds else if_false


CASES = [
    ("ptrace", (), REFUSE, REFUSE),
    ("kill", (PID, 9), ALLOW, ALLOW),
    ("kill", (0, 9), ALLOW, ALLOW),
    ("kill", (2**64 - PID, 9), ALLOW, ALLOW),
    ("kill", (2**64 - 1, 9), REFUSE, REFUSE),
    ("kill", (PID + 1, 9), REFUSE, REFUSE),
    ("tgkill", (PID, 7, 6), ALLOW, ALLOW),
    ("tgkill", (1, 1, 6), REFUSE, REFUSE),
    ("prlimit64", (0, 7), ALLOW, ALLOW),
    ("prlimit64", (1, 7), REFUSE, REFUSE),
    ("clone", (THREAD,), ALLOW, ALLOW),
    ("clone", (FORK,), REFUSE, ALLOW),
    ("clone", (FORK | 0x10000000,), REFUSE, REFUSE),
    ("clone", (THREAD | 0x00020000,), REFUSE, REFUSE),
    ("clone3", (), UNKNOWN, UNKNOWN),
    ("execve", (), REFUSE, ALLOW),
    ("socket", (1,), REFUSE, ALLOW),
    ("socket", (2,), REFUSE, REFUSE),
    ("socket", (10,), REFUSE, REFUSE),
    ("socket", (17,), REFUSE, REFUSE),
    ("fcntl", (3, 8), REFUSE, REFUSE),
    ("fcntl", (3, 3), ALLOW, ALLOW),
    ("ioctl", (3, 0x5412), REFUSE, REFUSE),
    ("ioctl", (3, 0xC0104629), ALLOW, ALLOW),
    ("prctl", (1, 0), REFUSE, REFUSE),
    ("prctl", (15, 0), ALLOW, ALLOW),
    ("io_uring_setup", (), REFUSE, REFUSE),
]


@pytest.mark.parametrize("machine", list(ARCHITECTURES))
@pytest.mark.parametrize(("call", "arguments", "on_cpu", "on_cuda"), CASES)
def test_the_filter_decides_as_it_should(
    machine: str, call: str, arguments: tuple[int, ...], on_cpu: int, on_cuda: int
) -> None:
    number = _kernel.number(call, machine)
    assert number is not None
    for cuda, expected in ((False, on_cpu), (True, on_cuda)):
        program = _seccomp.assemble(_seccomp.rules(PID, cuda, programs=cuda), machine)
        assert decide(program, ARCHITECTURES[machine], number, *arguments) == expected


@pytest.mark.parametrize("machine", list(ARCHITECTURES))
def test_what_no_rule_names_is_allowed_and_other_tables_are_not(machine: str) -> None:
    program = _seccomp.assemble(_seccomp.rules(PID, False, False), machine)
    for number in (0, 1, 2, 3, 9, 10, 11, 12, 13, 63, 64, 202, 257):
        if number not in {_kernel.number(call, machine) for call in _kernel.CALLS}:
            assert decide(program, ARCHITECTURES[machine], number) == ALLOW
    assert decide(program, 0x40000003, 1) == REFUSE  # 32-bit x86 on the same processor
    if machine == "x86_64":
        assert decide(program, ARCHITECTURES[machine], 0x40000000 | 1) == REFUSE


@pytest.mark.parametrize(
    ("machine", "header"),
    [("x86_64", "x86_64-linux-gnu/asm/unistd_64.h"), ("aarch64", "asm-generic/unistd.h")],
)
def test_numbers_are_those_of_the_kernels_headers(machine: str, header: str) -> None:
    path = Path("/usr/include") / header
    if not path.exists():
        pytest.skip(f"no {path} on this machine")
    pattern = re.compile(r"^#define\s+__NR(?:3264)?_(\w+)\s+(\d+)$", re.MULTILINE)
    theirs = {name: int(number) for name, number in pattern.findall(path.read_text())}
    ours = {call: _kernel.number(call, machine) for call in _kernel.CALLS}
    newest = max(theirs.values())
    known = {call: number for call, number in ours.items() if number is not None and number <= newest}
    assert len(known) > 80
    assert known == {call: theirs[call] for call in known}
    assert not {call for call, number in ours.items() if number is None} & set(theirs)


def test_servers_give_their_children_different_users() -> None:
    whole = "         0          0 4294967295\n"
    ranges = [_uid.spare_uids(pid, whole) for pid in (1, 2, 300, 4194303)]
    ids = [uid for one in ranges for uid in one]
    assert len(set(ids)) == 4 * _uid.PER_SERVER
    assert min(ids) >= 1879048192
    assert max(ids) < 2147483648


def test_a_container_with_few_users_has_spare_ones_too() -> None:
    for pid in (1, 77, 65535, 4194303):
        uids = _uid.spare_uids(pid, "         0     100000      65536\n")
        assert uids[0] > 1000
        assert uids[-1] < 65534


@pytest.mark.parametrize(
    ("culprit", "dropped"),
    [({LANDLOCK}, {LANDLOCK}), ({SECCOMP}, {SECCOMP}), ({LANDLOCK, SPARE_UID}, {LANDLOCK, SPARE_UID})],
)
def test_as_few_layers_as_possible_are_left_out(
    culprit: set[str], dropped: set[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def runs(confinement: Confinement, *_: object) -> str | None:
        return None if culprit & confinement.layers else "cache"

    monkeypatch.setattr(_probe, "runs", runs)
    every = Confinement("cuda", frozenset({LANDLOCK, SPARE_UID, SECCOMP, CAPABILITIES}), ())
    kept, reasons = _probe._rehearse(every, lambda *_: None, tmp_path)
    assert every.layers - kept.layers == dropped
    assert kept.cache == "cache"
    assert reasons == dict.fromkeys(dropped, "CUDA does not open under it on this machine")


def test_a_gpu_that_does_not_work_at_all_costs_no_layer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(_probe, "runs", lambda *_: None)
    every = Confinement("cuda", frozenset({LANDLOCK, SECCOMP}), ())
    assert _probe._rehearse(every, lambda *_: None, tmp_path) == (every, {})


@pytest.mark.parametrize("device", ["cpu", "targets"])
def test_surroundings_in_which_nothing_runs_are_said_to(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, device: str
) -> None:
    monkeypatch.setattr(_probe, "runs", lambda *_: None)
    every = Confinement(device, frozenset({LANDLOCK, SECCOMP}), ())
    with pytest.raises(_probe.Unusable, match="Is memory limited"):
        _probe._rehearse(every, lambda *_: None, tmp_path)


def test_a_checkout_on_pythonpath_opens_its_package_and_not_its_solutions(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    package = tmp_path / "kit"
    package.mkdir()
    (package / "__init__.py").touch()
    (tmp_path / "solutions").mkdir()
    monkeypatch.syspath_prepend(str(tmp_path))
    module = SimpleNamespace(__file__=str(package / "__init__.py"), __path__=[str(package)])
    monkeypatch.setitem(_places.sys.modules, "kit", module)
    found = _places.readable("cpu")
    assert str(package) in found
    assert not {str(tmp_path), str(tmp_path / "solutions"), "/", "/usr", os.path.expanduser("~")} & set(found)
    assert all(os.path.isabs(path) for path in found)


def test_an_environment_in_the_courses_folder_opens_only_itself(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for part in ("bin", "lib", "solutions", "course"):
        (tmp_path / part).mkdir()
    monkeypatch.setattr(_places.sys, "prefix", str(tmp_path))
    mine = {path for path in _places.readable("cpu") if path.startswith(str(tmp_path))}
    assert mine == {str(tmp_path / "bin"), str(tmp_path / "lib")}


def test_a_compiler_with_a_place_of_its_own_can_be_run_where_kernels_are_compiled(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    compiler, elsewhere = tmp_path / "tools" / "bin" / "gcc", tmp_path / "gcc-14"
    for folder in (compiler.parent, *(elsewhere / part for part in ("bin", "libexec", "notes"))):
        folder.mkdir(parents=True)
    (elsewhere / "bin" / "gcc").write_text("")
    (elsewhere / "bin" / "gcc").chmod(0o755)
    compiler.symlink_to(elsewhere / "bin" / "gcc")
    monkeypatch.setenv("PATH", str(compiler.parent))
    monkeypatch.delenv("CC", raising=False)
    mine = {path for path in _places.readable("cuda") if path.startswith(str(tmp_path))}
    assert mine == {str(compiler.parent), str(elsewhere / "bin"), str(elsewhere / "libexec")}
    assert not {path for path in _places.readable("cpu") if path.startswith(str(tmp_path))}


def test_relative_and_empty_entries_of_a_library_path_open_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    before = _places.readable("cuda")
    monkeypatch.setenv("LD_LIBRARY_PATH", ":.:lib:/")
    monkeypatch.setenv("CUDA_HOME", "")
    assert set(_places.readable("cuda")) <= set(before)
