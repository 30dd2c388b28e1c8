"""`grade bench`: the plan without a GPU, the table and the plot with what a worker measured, and plain errors."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console

from autograder.benching import Benched, collected, to_document
from autograder.catalogue import Exercise, load_course
from autograder.cli import _bench
from autograder.cli.grade import cli
from autograder.protocol import CheckReply
from autograder.reports.bench import print_bench
from autograder.reports.bench_plot import text_plot
from autograder.result import Environment

ROOT = Path(__file__).parents[2]
HERE = Environment("cuda", "NVIDIA H200", "3.6.0", "2.11.0", "2.3", "3.11")


@pytest.fixture(autouse=True)
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_bench, "choose_device", lambda wish: ("cpu", None))


def grade(*args: str) -> tuple[int, str]:
    result = CliRunner().invoke(cli, ["bench", *args, "--root", str(ROOT)], standalone_mode=False)
    if result.exception is not None:
        return getattr(result.exception, "exit_code", 3), str(result.exception)
    return int(result.return_value or 0), result.output


@pytest.fixture(scope="module")
def exercise() -> Exercise:
    return load_course(ROOT).exercise("flash_attention")


def replies(exercise: Exercise, share: float = 0.5) -> list[CheckReply]:
    """What a worker would say: four times as long for twice the length, and torch twice as fast."""
    assert exercise.bench is not None
    found = []
    for variant in exercise.bench.variants:
        for case in exercise.bench.cases(variant):
            seconds = (case["seqlen_q"] / 512) ** 2 * 1e-4
            measured = {"share.before": share / 2, "share.after": share, "error.after": 1e-6, "bar.after": 2e-6}
            for name, factor in {"student": 1.0, "unfused": 3.0, "efficient": 0.5}.items():
                measured |= {
                    f"median.{name}": seconds * factor,
                    f"low.{name}": seconds * factor * 0.9,
                    f"high.{name}": seconds * factor * 1.1,
                    f"memory.{name}": 5e6 if name == "unfused" else 0.0,
                }
            measured |= {"absent.flash": 1.0, "absent.cudnn": 1.0, "roof.copy": 4e12, "roof.float32": 5e13}
            measured |= {"registers": 128.0, "spills": 0.0, "shared_bytes": 32768.0}
            found.append(CheckReply(f"m{len(found)}", "ran", measurements=measured))
    return found


def benched(exercise: Exercise, found: list[CheckReply]) -> Benched:
    assert exercise.bench is not None
    return collected(Benched(exercise.id, exercise.bench.baselines, "seqlen_q", HERE), exercise, found)


def printed(found: Benched) -> str:
    stream = io.StringIO()
    print_bench(Console(file=stream, width=80, color_system=None, force_terminal=False), found, plain=True)
    return stream.getvalue()


def test_without_a_gpu_it_says_what_it_would_measure() -> None:
    code, text = grade("flash_attention", "--dir", str(ROOT / "solutions"), "--plain")
    assert code == 0
    assert "Nothing is measured here" in text
    assert "unfused torch, torch efficient" in " ".join(text.split())
    assert "17,179,869,184" in text  # 4 x 8192 x 8192 x 64 operations
    assert text.isascii()
    assert max(map(len, text.splitlines())) <= 80


def test_json_without_a_gpu_counts_bytes_and_operations() -> None:
    code, text = grade("flash_attention", "--dir", str(ROOT / "solutions"), "--json", "-")
    document = json.loads(text)
    assert (code, document["measured"]) == (0, False)
    size = document["series"][0]["sizes"][0]
    assert (size["length"], size["flops"], size["outcome"]) == (512, 4 * 512 * 512 * 64, "not-run")


def test_what_is_not_started_has_nothing_to_measure() -> None:
    code, text = grade("flash_attention", "--dir", str(ROOT / "assignments"))
    assert code == 1
    assert "not-started" in text


def test_an_exercise_without_a_bench_says_which_have_one() -> None:
    code, text = grade("score_mask")
    assert code == 2
    assert "flash_attention" in text


def test_a_plot_has_a_kind_that_is_known() -> None:
    code, text = grade("flash_attention", "--plot", "times.jpg")
    assert (code, text) == (2, "--plot writes .svg or .png, and times.jpg is neither.")


def test_a_table_names_times_rates_memory_and_ratio(exercise: Exercise) -> None:
    text = printed(benched(exercise, replies(exercise)))
    row = next(line for line in text.splitlines() if "unfused torch" in line)
    assert row.split()[-1] == "3.00x"
    assert "0.50x" in text
    assert "yours" in text
    assert "Not everywhere: torch flash, torch cuDNN." in text
    assert "128 registers" in text
    assert "4,000 GB/s" in text
    assert "WRONG" not in text
    assert max(map(len, text.splitlines())) <= 80


def test_the_share_of_the_roof_is_the_longer_of_bytes_and_operations(exercise: Exercise) -> None:
    text = printed(benched(exercise, replies(exercise)))
    # 4 x 16384 x 16384 x 64 operations at 5e13 a second are 1.37 ms of 102.4 ms.
    assert "At seqlen_q 16384 yours reaches 1% of this GPU's roof." in " ".join(text.split())


def test_wrong_results_are_called_wrong_and_have_no_ratio(exercise: Exercise) -> None:
    found = benched(exercise, replies(exercise, share=3.0))
    text = printed(found)
    assert not found.all_right
    assert "yours (WRONG)" in text
    assert "3.00x" not in text
    assert "where 2e-06 is allowed" in text


def test_a_kernel_that_does_not_compile_has_its_message(exercise: Exercise) -> None:
    found = benched(exercise, [CheckReply("m0", "compile-error", "Line 3: no.")])
    assert not found.all_right
    assert "seqlen_q 512: Line 3: no." in printed(found)
    assert json.dumps(to_document(found))


def test_a_text_plot_shows_each_curve_with_its_letter() -> None:
    curves = {"yours": [(512.0, 1.0), (1024.0, 10.0)], "torch": [(512.0, 2.0), (1024.0, 100.0)]}
    lines = list(text_plot(curves, "N", 60))
    assert lines[-1] == "* yours  A torch"
    top, bottom = lines[1], lines[12]
    assert top.rstrip().endswith("A")
    assert "100 ms" in top
    assert bottom.index("*") == bottom.index("|") + 1
    assert max(map(len, lines)) <= 60


def test_one_length_alone_makes_no_plot() -> None:
    assert not list(text_plot({"yours": [(512.0, 1.0)]}, "N", 60))
