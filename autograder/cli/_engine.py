"""Which engine a class is graded by, from the options of `course grade`; and `course certificates`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from autograder.bulk.desk import Work
from autograder.bulk.engines.certificates import FOLDER, Certificates
from autograder.bulk.engines.dask_engine import DaskEngine
from autograder.bulk.engines.local import LocalEngine
from autograder.bulk.engines.model import Engine, Waits, unsaid
from autograder.bulk.engines.per_gpu import PerGpuEngine
from autograder.bulk.engines.reach import Reach
from autograder.cli._say import say
from autograder.cli.common import WholeNumber, current_course, require_machine, shared_options
from autograder.errors import EXIT_OK, EnvironmentProblem, UsageError
from autograder.gpu_targets import default_cache
from autograder.machine import choose_device, cores, gpus_alike
from autograder.session import Grader

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """What was asked for."""

    engine: str
    workers: int | None
    device: str
    targets: bool
    allow_weak_sandbox: bool
    scheduler: str | None
    scheduler_file: Path | None
    slurm: bool
    certificates: Path | None
    tls: bool

    def require_sense(self) -> None:
        """Nothing, if the options go together.

        Raises:
            UsageError: they do not.
        """
        ways = sum((self.scheduler is not None, self.scheduler_file is not None, self.slurm))
        if self.engine == "local" and (ways or self.certificates is not None or not self.tls):
            raise UsageError("--scheduler, --scheduler-file, --slurm and those of TLS go with --engine dask: add it.")
        if self.engine == "dask" and ways != 1:
            raise UsageError(
                "Say where the cluster is with one of --scheduler ADDRESS, --scheduler-file FILE and --slurm; "
                "docs/clusters.md shows how to start one."
            )
        if not self.tls and self.certificates is not None:
            raise UsageError("--certificates are for TLS: leave them out, or leave out --no-tls.")


def engine_options(function: F) -> F:
    """The options of a cluster."""
    options = (
        click.option("--scheduler", metavar="ADDRESS", help="Dask: where its scheduler is, such as login1:8786."),
        click.option("--scheduler-file", type=click.Path(path_type=Path), help="Dask: the file its scheduler wrote."),
        click.option("--slurm", is_flag=True, help="Dask: have Slurm start the workers, as Dask's settings say."),
        click.option(
            "--certificates",
            type=click.Path(path_type=Path, file_okay=False),
            help=f"Dask: what `course certificates` made; default {FOLDER} in the course's folder.",
        ),
        click.option("--tls/--no-tls", default=True, show_default=True, help="Dask: without TLS anyone can run code."),
    )
    for option in reversed(options):
        function = option(function)
    return function


def make_engine(asked: EngineOptions, work: Work, folder: Path, students: int, waits: Waits = unsaid) -> Engine:
    """The engine that was asked for; ``waits`` is told what is waited for.

    Raises:
        UsageError: the options do not go together.
        EnvironmentProblem: this machine lacks what the engine needs.
    """
    if asked.engine == "local":
        return _local(asked, work, min(asked.workers or cores(), students), waits)
    certificates = None
    if asked.tls:
        certificates = Certificates((asked.certificates or work.course.root / FOLDER).resolve()).require()
    jobs = min(asked.workers or 1, students)
    reach = Reach(certificates, asked.scheduler, asked.scheduler_file, asked.slurm, jobs, asked.device)
    return DaskEngine(
        reach,
        folder.resolve(),
        asked.device,
        asked.targets,
        asked.allow_weak_sandbox,
        most=None if asked.slurm else asked.workers,
        say=lambda sentence: say(sentence, err=True),
        waits=waits,
    )


def _local(asked: EngineOptions, work: Work, count: int, waits: Waits) -> Engine:
    """The engine of this machine for ``count`` hand-ins at once; with several GPUs each has a process of its own.

    Raises:
        EnvironmentProblem: kernels cannot run here.
    """
    chosen, _ = choose_device(asked.device)
    # With fewer hand-ins than GPUs the others have nothing to do.
    visible = gpus_alike()[:count] if chosen == "cuda" else ()
    if len(visible) < 2:
        return LocalEngine([local_maker(asked, work, count)], count, waits)
    require_machine(chosen)
    at_once = -(-count // len(visible))
    return PerGpuEngine(
        visible,
        at_once,
        chosen,
        asked.targets,
        asked.allow_weak_sandbox,
        max(1, cores() // (at_once * len(visible))),
        waits,
    )


def local_maker(asked: EngineOptions, work: Work, count: int, keep: bool = True) -> Callable[[], Grader]:
    """What starts the worker of this machine, on its GPU or its CPU; ``count`` hand-ins share the cores.

    Raises:
        EnvironmentProblem: kernels cannot run here.
    """
    chosen, gpu = choose_device(asked.device)
    require_machine(chosen)

    def make() -> Grader:
        grader = Grader(
            work.course,
            chosen,
            gpu,
            # With fewer hand-ins than cores the exercises of one share what is left.
            jobs=max(1, cores() // count),
            targets="always" if asked.targets else "off",
            target_cache=default_cache(),
            kept=work.store.kept if keep else None,
        )
        try:
            _require_sandbox(grader, asked.allow_weak_sandbox)
        except BaseException:
            grader.close()
            raise
        return grader

    return make


def _require_sandbox(grader: Grader, allow_weak: bool) -> None:
    weak = grader.sandbox.weak
    if weak and not allow_weak:
        raise EnvironmentProblem(
            f"Too little stands between a hand-in and this machine: {'; '.join(weak)}. "
            "Grade elsewhere, or add --allow-weak-sandbox if you trust every hand-in."
        )


@click.command()
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), help=f"Default {FOLDER} in the course's folder."
)
@click.option("--days", type=WholeNumber(1, 3650), default=180, show_default=True, help="How long they are valid.")
@shared_options
def certificates(out: Path | None, days: int) -> int:
    """Make certificates for a cluster: who holds them may give its workers work, and nobody else.

    \b
    Examples:
      course certificates
      course certificates --out ~/cluster-tls --days 30
    """
    made = Certificates((out or current_course().root / FOLDER).resolve())
    made.make(days)
    say(f"wrote {made.folder}: ca.pem, cert.pem, key.pem, dask.yaml. Let only those who grade read it.")
    say("Dask's commands use them in a shell in which this was said:")
    click.echo(f"  export DASK_CONFIG={made.config}")
    return EXIT_OK
