"""Each known bad combination is named with what to do, on a machine that only pretends to have it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from autograder.devices import Gpu
from autograder.doctor import NOTE, OK, PROBLEM, Finding, Machine, Probes, Tool, blocking, examine, probe, stand_ins_in
from autograder.errors import UsageError
from autograder.pool import Pool

ROOT = Path(__file__).parents[2]

GOOD = Machine(
    system="Linux",
    python=(3, 12, 3),
    versions={"triton": "3.9.0", "torch": "2.13.0+cpu", "numpy": "2.4.6"},
    torch_cuda=False,
    gpu=None,
    ptxas=Tool("/t/ptxas", "12.9.86"),
    compiler="/usr/bin/gcc",
    python_headers=True,
)
T4 = Gpu("Tesla T4", (7, 5))
H200 = Gpu("NVIDIA H200", (9, 0))
GPU = replace(GOOD, gpu=H200, torch_cuda=True)


def having(machine: Machine, **versions: str | None) -> Machine:
    return replace(machine, versions={**machine.versions, **versions})


def probes(machine: Machine) -> Probes:
    return Probes(
        system=lambda: machine.system,
        python=lambda: machine.python,
        version=machine.versions.get,
        torch_cuda=lambda: machine.torch_cuda,
        gpu=lambda: machine.gpu,
        ptxas=lambda: machine.ptxas,
        compiler=lambda: machine.compiler,
        python_headers=lambda: machine.python_headers,
        stand_ins=lambda: machine.stand_ins,
        bubblewrap=lambda: machine.bubblewrap,
        wrapping=lambda: machine.wrapping,
    )


def about(machine: Machine, subject: str) -> Finding:
    return next(finding for finding in examine(machine) if finding.subject == subject)


def problems(machine: Machine) -> list[str]:
    return [finding.subject for finding in examine(machine) if finding.severity == PROBLEM]


@pytest.mark.parametrize(
    ("tool", "severity", "words"),
    [
        (None, NOTE, "apt-get install bubblewrap"),
        (
            Tool("/usr/bin/bwrap", "0.8.0", "Creating new namespace failed"),
            NOTE,
            "says 'Creating new namespace failed'",
        ),
        (Tool("/usr/bin/bwrap", "0.8.0"), OK, "bubblewrap 0.8.0 works here"),
    ],
)
def test_bubblewrap_is_an_extra_and_never_a_problem(tool: Tool | None, severity: str, words: str) -> None:
    finding = about(replace(GOOD, bubblewrap=tool), "bubblewrap")
    assert finding.severity == severity
    assert words in finding.sentence


@pytest.mark.parametrize(
    ("value", "severity", "words"),
    [
        ("OFF", NOTE, "is turned off by AUTOGRADER_BUBBLEWRAP. If you grade others' work, unset it."),
        ("cuda", OK, "around kernels on CPU and GPU"),
        ("no", PROBLEM, "AUTOGRADER_BUBBLEWRAP is 'no'. Set it to off (no bubblewrap) or cuda"),
    ],
)
def test_what_the_environment_asks_of_bubblewrap_is_told(
    monkeypatch: pytest.MonkeyPatch, value: str, severity: str, words: str
) -> None:
    monkeypatch.setenv("AUTOGRADER_BUBBLEWRAP", value)
    machine = replace(GOOD, bubblewrap=Tool("/usr/bin/bwrap", "0.8.0"), wrapping=Probes().wrapping())
    finding = about(machine, "bubblewrap")
    assert finding.severity == severity
    assert words in finding.sentence


def test_a_word_that_asks_nothing_of_bubblewrap_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUTOGRADER_BUBBLEWRAP", "no")
    with pytest.raises(UsageError, match="AUTOGRADER_BUBBLEWRAP is 'no'"):
        Pool("cpu")


def test_what_is_probed_is_what_is_examined() -> None:
    assert probe(probes(GPU)) == GPU


@pytest.mark.parametrize("machine", [GOOD, GPU, having(GOOD, triton="3.6.0", numpy="2.3.9")])
def test_good_machines_have_no_problem(machine: Machine) -> None:
    assert problems(machine) == []
    assert blocking("cuda" if machine.gpu else "cpu", probes(machine)) is None


BAD = [
    # machine, subject, words of the message, words of the advice, the device on which it blocks
    (having(GOOD, triton="3.6.0"), "interpreter", "breaks loops in Triton's interpreter", "numpy<2.4", "cpu"),
    (having(GOOD, triton="3.7.0", numpy="2.4.0"), "interpreter", "triton 3.7.0 with numpy 2.4.0", "3.7.1", "cpu"),
    (having(GOOD, triton=None), "triton", "not installed", "pip install 'triton", "cpu"),
    (having(GOOD, torch=None), "torch", "not installed", "pip install torch", "cpu"),
    (having(GOOD, numpy=None), "numpy", "not installed", "pip install numpy", "cpu"),
    (
        replace(GOOD, stand_ins={"torch": "/kit/torch.py"}),
        "torch stand-in",
        "/kit/torch.py stands in for",
        "rename it",
        "cpu",
    ),
    (replace(GOOD, python=(3, 10, 2)), "python", "Python 3.10.2", "3.11, 3.12 or 3.13", "cpu"),
    (replace(GOOD, python=(3, 14, 0)), "python", "Python 3.14.0", "3.11, 3.12 or 3.13", "cpu"),
    (replace(GOOD, system="Darwin"), "system", "no wheel for macOS", "Colab", "cpu"),
    (replace(GOOD, system="Windows"), "system", "no wheel for Windows", "WSL2", "cpu"),
    (replace(GPU, gpu=Gpu("Tesla V100", (7, 0))), "gpu", "too old", "--device cpu", "cuda"),
    (
        having(replace(GPU, gpu=T4), triton="3.3.1"),
        "gpu",
        "cannot compile for Tesla T4 (sm_75)",
        "triton>=3.7.1",
        "cuda",
    ),
    (replace(GPU, torch_cuda=False), "torch for the gpu", "CPUs only", "CUDA build", None),
    (replace(GPU, compiler=None), "C compiler", "no gcc", "apt-get install gcc", None),
    (replace(GPU, python_headers=False), "Python headers", "Python.h is missing", "python3.12-dev", None),
    (replace(GPU, ptxas=None), "ptxas", "no ptxas", "reinstall", None),
    (replace(GPU, ptxas=Tool("/t/ptxas", None, "permission denied")), "ptxas", "'permission denied'", "Check", None),
]


@pytest.mark.parametrize(("machine", "subject", "message", "advice", "device"), BAD)
def test_a_bad_combination_is_a_problem_with_what_to_do(
    machine: Machine, subject: str, message: str, advice: str, device: str | None
) -> None:
    finding = about(machine, subject)
    assert finding.severity == PROBLEM
    assert message in finding.message
    assert advice in finding.advice
    if device is not None:
        assert blocking(device, probes(machine)) == finding.sentence


def test_the_interpreters_trouble_does_not_stop_a_gpu() -> None:
    machine = having(GPU, triton="3.6.0", numpy="2.4.0")
    assert about(machine, "interpreter").severity == NOTE
    assert blocking("cuda", probes(machine)) is None
    assert blocking("cpu", probes(machine)) is not None


def test_a_t4s_limits_are_named() -> None:
    finding = about(replace(GPU, gpu=T4), "gpu limits")
    assert finding.severity == NOTE
    assert "64 KB of shared memory" in finding.message
    assert "float32 or float16" in finding.advice
    assert blocking("cuda", probes(replace(GPU, gpu=T4))) is None


def test_bfloat16_is_warned_of() -> None:
    assert "bfloat16 arithmetic wrong" in about(GOOD, "bfloat16").message


@pytest.mark.parametrize("version", ["3.5.0", "3.10.0", "4.0.0"])
def test_versions_that_are_not_tested_are_a_note(version: str) -> None:
    finding = about(having(GOOD, triton=version, numpy="2.3.0"), "triton")
    assert finding.severity == NOTE
    assert version in finding.message


def test_without_a_gpu_missing_build_tools_are_only_a_note() -> None:
    machine = replace(GOOD, compiler=None, python_headers=False, ptxas=None)
    assert problems(machine) == []
    for subject in ("C compiler", "Python headers", "ptxas"):
        assert about(machine, subject).severity == NOTE
        assert "interpreter does not" in about(machine, subject).message


def test_the_guard_looks_for_a_gpu_only_if_one_is_used() -> None:
    def never() -> Gpu | None:
        raise AssertionError("looked")

    assert blocking("cpu", replace(probes(GOOD), gpu=never)) is None


def test_findings_are_short_sentences_that_need_no_colour() -> None:
    for machine in (GOOD, GPU, *(case[0] for case in BAD)):
        for finding in examine(machine):
            assert finding.severity in (OK, NOTE, PROBLEM)
            assert finding.message.endswith(".")
            assert finding.advice == "" or finding.advice[-1] in ".`"
            assert finding.sentence.isascii()
            assert (finding.severity == PROBLEM) <= bool(finding.advice)


def test_the_command_says_what_it_found(grade: Callable[..., object]) -> None:
    """On this machine, whatever it has; no course is needed."""
    printed = grade("doctor", "--plain")
    words = {line.split()[0] for line in printed.stdout.split("\n") if line[:1].isalpha()}
    assert words <= {OK, NOTE, PROBLEM, "No", "1", "2", "3"}
    assert printed.stdout.isascii()
    assert printed.returncode == (1 if PROBLEM in words else 0)
    document = json.loads(grade("doctor", "--json", "-").stdout)
    assert document["ok"] is (printed.returncode == 0)
    assert {"severity", "subject", "message", "advice"} == set(document["findings"][0])
    assert document["machine"]["system"] == "Linux"


def test_files_beside_the_kit_with_a_librarys_name_are_found(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("")
    (tmp_path / "numpy").mkdir()
    assert stand_ins_in(tmp_path) == {"torch": str(tmp_path / "torch.py")}  # a folder alone gives way to a library
    (tmp_path / "numpy" / "__init__.py").write_text("")
    assert set(stand_ins_in(tmp_path)) == {"torch", "numpy"}
    installed = tmp_path / "site-packages"
    (installed / "numpy").mkdir(parents=True)
    (installed / "numpy" / "__init__.py").write_text("")
    assert stand_ins_in(installed) == {}


@pytest.fixture
def kit(tmp_path: Path) -> Path:
    """A checkout of the kit in which somebody works."""
    for name in ("autograder", "course", "assignments"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "assignments", tmp_path / "course" / "pristine")
    return tmp_path


def run_in(kit: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", *arguments], cwd=kit, capture_output=True, text=True)


@pytest.mark.parametrize("name", ["rich", "click", "torch", "json"])
@pytest.mark.parametrize("module", ["autograder.cli.grade", "autograder.cli.course"])
def test_a_file_with_a_librarys_name_in_the_current_folder_is_not_imported(kit: Path, name: str, module: str) -> None:
    (kit / f"{name}.py").write_text("raise RuntimeError('HIJACKED')\n")
    done = run_in(kit, module, "--help")
    assert done.returncode == 0, done.stderr
    assert "Usage" in done.stdout


@pytest.mark.parametrize("name", ["triton", "torch", "numpy"])
def test_a_file_that_the_worker_would_import_for_a_library_is_named_before_it_starts(kit: Path, name: str) -> None:
    (kit / f"{name}.py").write_text("raise RuntimeError('HIJACKED')\n")
    done = run_in(kit, "autograder.cli.grade", "score_mask", "--device", "cpu", "--no-targets")
    assert done.returncode == 2
    assert "HIJACKED" not in done.stdout + done.stderr
    assert f"{kit / name}.py stands in for the library {name}" in done.stderr
