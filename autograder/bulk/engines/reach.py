"""How a run gets to its cluster: a scheduler's address, its file, or Slurm; over TLS unless told otherwise."""

from __future__ import annotations

import json
import re
import shutil
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autograder.bulk.engines.certificates import Certificates
from autograder.bulk.engines.lasting import asked
from autograder.errors import EnvironmentProblem, UsageError, ended

_CONNECT_SECONDS = 15.0
_MORE_SECONDS = 5.0
_QUIET_SECONDS = 2.0  # without an answer, after which it is said that one is waited for
_PROBE_SECONDS = 2.0
_LOOK_SECONDS = 0.1
_START = "Start one (`dask scheduler`, see docs/clusters.md), or correct the address."
_INSTALL = "Install what it needs: pip install 'mini-flash-attention-kit[dask]'."


@dataclass(frozen=True, slots=True)
class Reach:
    """One of ``scheduler``, ``scheduler_file`` and ``slurm``; ``jobs`` is how many workers Slurm is asked for.

    ``certificates`` are for TLS; None is plain TCP, where whoever reaches the scheduler can run code on its workers.
    """

    certificates: Certificates | None
    scheduler: str | None = None
    scheduler_file: Path | None = None
    slurm: bool = False
    jobs: int = 1
    device: str = "auto"

    @property
    def queued(self) -> bool:
        """Whether workers may take hours to come."""
        return self.slurm

    @property
    def hint(self) -> str:
        """What helps who waits for workers."""
        return "`squeue` shows where they stand" if self.slurm else "start some with `dask worker`"

    @property
    def approach(self) -> str:
        """What is done to get to the cluster."""
        if self.slurm:
            return "Asking Slurm for workers"
        return f"Connecting to {self.scheduler or self.scheduler_file}"

    @contextmanager
    def opened(self, say: Callable[[str], None]) -> Iterator[Callable[[], Any]]:
        """What makes a client; jobs of Slurm's are ended with the context.

        Raises:
            UsageError: the address or file is none, or Slurm refuses.
        """
        if not self.slurm:
            self._address()
        _require_dask()
        say_once = _once(say)
        with ExitStack() as ends:
            if self.slurm:
                cluster = ends.enter_context(self._slurm_cluster())
                say(f"Asked Slurm for {self.jobs} workers.")
                yield lambda: self._client(cluster.scheduler_address, say_once)
            else:
                yield lambda: self._client(self._address(), say_once)

    def _address(self) -> str:
        """Where the scheduler is, with its protocol."""
        address = self.scheduler if self.scheduler_file is None else _address_in(self.scheduler_file)
        address = address or ""
        protocol, mark, rest = address.rpartition("://")
        if not re.fullmatch(r"(?:[^\s/:\[\]]+|\[[0-9A-Fa-f:.%\w]+\]):\d{1,5}", rest):
            raise UsageError(f"{address!r} is no address of a scheduler. Write it as HOST:PORT, such as login1:8786.")
        if not 0 < int(rest.rpartition(":")[2]) < 1 << 16:
            raise UsageError(f"{address!r} is no address of a scheduler: a port is a number from 1 to 65535.")
        wanted = "tls" if self.certificates is not None else "tcp"
        if mark and protocol != wanted:
            how = "add --no-tls if nobody else can reach it" if protocol == "tcp" else "leave out --no-tls"
            raise UsageError(f"The scheduler at {address} does not speak {wanted.upper()}. Start it so, or {how}.")
        return f"{wanted}://{rest}"

    def _client(self, address: str, say: Callable[[str], None]) -> Any:
        """A client that is connected; ``say`` is told where that takes long.

        Raises:
            EnvironmentProblem: nothing answers, or not in our protocol.
        """
        client = _client_class()
        security = self.certificates.security() if self.certificates is not None else None
        made: Future[Any] = Future()

        def make() -> None:
            try:
                made.set_result(client(address, security=security, timeout=_CONNECT_SECONDS, set_as_default=False))
            except BaseException as error:  # noqa: BLE001 - raised below
                made.set_exception(error)

        # Of what is no scheduler, such as a web server, Dask may wait for the rest of a message without end.
        threading.Thread(target=make, name="dask-connect", daemon=True).start()
        quiet = min(_QUIET_SECONDS, _CONNECT_SECONDS)
        if not wait([made], quiet).done:
            say(f"No scheduler of Dask answers at {address} yet; waiting up to {_CONNECT_SECONDS:.0f} s for one.")
        try:
            return made.result(timeout=_CONNECT_SECONDS + _MORE_SECONDS - quiet)
        except (OSError, TimeoutError, ValueError) as error:  # ValueError: its words come before TLS is agreed on
            file = (
                f" The address is from {self.scheduler_file}, which may be an old one." if self.scheduler_file else ""
            )
            why = _why(error, address, made.done(), security is not None)
            raise NoSchedulerError(f"No scheduler of Dask answers at {address}{why}{file}") from error

    @contextmanager
    def _slurm_cluster(self) -> Iterator[Any]:
        """A scheduler in this process, and workers that Slurm starts, as Dask's configuration says.

        Raises:
            EnvironmentProblem: there is no Slurm here, or too little is configured.
        """
        try:
            from dask_jobqueue import SLURMCluster
        except ImportError:
            raise EnvironmentProblem(f"Slurm is asked through dask-jobqueue, which is not here. {_INSTALL}") from None

        class Whole(SLURMCluster):  # type: ignore[misc]
            def __del__(self, *rest: Any) -> None:
                if hasattr(self, "_cluster_info"):  # else it was refused before it was one, and has nothing to close
                    super().__del__(*rest)

        tls: dict[str, Any] = {"protocol": "tcp://"}
        if self.certificates is not None:
            tls = {"protocol": "tls://", "security": self.certificates.security()}
        import dask

        if self.device != "cpu" and not dask.config.get("jobqueue.slurm.worker-extra-args", None):
            tls["worker_extra_args"] = ["--nthreads", "1", "--resources", "GPU=1"]
        if shutil.which("sbatch") is None:
            raise EnvironmentProblem("There is no Slurm here: the command sbatch is not found. See docs/clusters.md.")
        try:
            cluster = Whole(processes=1, **tls)
        except (ValueError, OSError, RuntimeError) as error:
            reason = str(error).partition("\n")[0].partition(", for example")[0].rstrip(".:")
            raise EnvironmentProblem(
                f"Slurm could not be asked for workers: {ended(reason)} See docs/clusters.md."
            ) from error
        with cluster:
            cluster.adapt(minimum_jobs=self.jobs, maximum_jobs=self.jobs)  # one that ends is asked for again
            yield cluster


class NoSchedulerError(EnvironmentProblem):
    """Nothing answers where the scheduler should be."""


def _why(error: BaseException, address: str, over: bool, tls: bool) -> str:
    """Why nothing answers, as the end of a sentence, and what to do about it in another."""
    if _unknown(address):  # Dask's own error may be that its time was up
        return f": no machine of that name is known. {_START}"
    chain: list[BaseException] = []
    one: BaseException | None = error
    while one is not None and one not in chain:
        chain.append(one)
        one = one.__cause__ or one.__context__
    if not over:
        return f": what is there is none, or speaks another protocol. {_START}"
    if any(isinstance(each, ssl.SSLCertVerificationError) or "alert" in str(each) for each in chain):
        return (
            ": one side does not take the other's certificates, which are of another authority or no longer valid. "
            "Start the scheduler and its workers with those that are used here (docs/clusters.md), or name theirs "
            "with --certificates DIR."
        )
    if any(isinstance(each, (ssl.SSLError, ValueError)) for each in chain):
        return (
            ": what is there does not speak TLS. If it is a scheduler, start it with TLS (docs/clusters.md), or add "
            "--no-tls if nobody else can reach it; if it is none, correct the address."
        )
    # Dask tries until its time is up: of a last attempt that it broke off itself it says nothing.
    if any(isinstance(each, ConnectionRefusedError) for each in chain) or (listens := _listens(address)) is False:
        return f": nothing listens there. {_START}"
    if listens and not tls:
        return ", not without TLS. If it was started with TLS, leave out --no-tls; if it is none, correct the address."
    return f". {_START}"


def _listens(address: str) -> bool | None:
    """Whether a port takes connections; None if nobody says so in time."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), _PROBE_SECONDS):
            return True
    except ConnectionRefusedError:
        return False
    except OSError:
        return None


def _client_class() -> Any:
    """Dask's client, but one that was never connected goes in silence: Python prints what is raised at that time."""
    from distributed import Client

    class Quiet(Client):  # type: ignore[misc]
        def __del__(self) -> None:
            with suppress(Exception):
                super().__del__()

    return Quiet


def _once(say: Callable[[str], None]) -> Callable[[str], None]:
    """Says one sentence: that a connection which was lost is waited for is said elsewhere."""
    said = False

    def saying(sentence: str) -> None:
        nonlocal said
        if not said:
            said = True
            say(sentence)

    return saying


def _unknown(address: str) -> bool:
    """Whether no machine has the name in an address, or nobody says so in time."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    try:
        asked(lambda: socket.getaddrinfo(host.strip("[]"), int(port)), _MORE_SECONDS)
    except (socket.gaierror, TimeoutError):
        return True
    return False


def _address_in(file: Path) -> str:
    """The address that a scheduler wrote; one that was started together with us may be about to write it.

    Raises:
        UsageError: it does not, for too long.
    """
    end = time.monotonic() + _CONNECT_SECONDS
    while True:
        try:
            return str(json.loads(file.read_text(encoding="utf-8"))["address"])
        except (OSError, ValueError, KeyError, TypeError):
            if time.monotonic() > end:
                raise UsageError(
                    f"{file} is no file of a scheduler. `dask scheduler --scheduler-file` writes one."
                ) from None
        time.sleep(_LOOK_SECONDS)


def _require_dask() -> None:
    try:
        import distributed  # noqa: F401
    except ImportError:
        raise EnvironmentProblem(f"The engine Dask is not installed here. {_INSTALL}") from None
