"""Where a cluster should be and is not: each address, file and certificate that is wrong is a sentence, exit code 2."""

from __future__ import annotations

import gc
import http.server
import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("distributed", reason="Dask is not installed: `make test-cluster` installs it")

from autograder.bulk.engines import certificates, reach
from autograder.bulk.engines.certificates import Certificates
from autograder.bulk.engines.reach import NoSchedulerError, Reach
from autograder.errors import EnvironmentProblem, UsageError

pytestmark = pytest.mark.filterwarnings("default")  # Dask's own are not ours to forbid


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    made = Certificates(tmp_path_factory.mktemp("tls") / "ours")
    made.make(days=1)
    return made


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reach, "_CONNECT_SECONDS", 1.5)
    monkeypatch.setattr(reach, "_MORE_SECONDS", 1.0)


def moved(days: int) -> type[datetime]:
    """A clock that goes wrong by so many days."""

    class Moved(datetime):
        @classmethod
        def now(cls, tz: object = None) -> datetime:  # type: ignore[override]
            return datetime.now(UTC) + timedelta(days=days)

    return Moved


@contextmanager
def hanging_up() -> Iterator[int]:
    """The port of something that takes connections and ends them, as what speaks TLS does with whoever does not."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    server.accept()[0].close()

        threading.Thread(target=serve, daemon=True).start()
        yield int(server.getsockname()[1])
        server.shutdown(socket.SHUT_RDWR)


def said(way: Reach) -> str:
    """What is said when a run tries to connect."""
    with pytest.raises(UsageError) as caught, way.opened(lambda sentence: None) as connect:
        connect()
    assert caught.value.exit_code == 2
    return str(caught.value)


@pytest.fixture
def web() -> Iterator[str]:
    """A web server, where a scheduler should be."""

    class Silent(http.server.BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Silent) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def test_an_address_that_cannot_be_is_not_tried(ours: Certificates) -> None:
    assert "a port is a number from 1 to 65535" in said(Reach(ours, "login1:99999"))
    assert "a port is a number from 1 to 65535" in said(Reach(ours, "login1:0"))


def test_a_name_that_no_machine_has(ours: Certificates) -> None:
    assert "no machine of that name is known" in said(Reach(ours, "no-such-host.invalid:8786"))


def test_a_file_that_an_earlier_scheduler_left(ours: Certificates, tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (tmp_path / "cluster.json").write_text(json.dumps({"address": f"tls://127.0.0.1:{port}"}))
    told = said(Reach(ours, scheduler_file=tmp_path / "cluster.json"))
    assert "nothing listens there" in told
    assert "cluster.json, which may be an old one." in told


def test_what_listens_is_no_scheduler(ours: Certificates, web: str) -> None:
    assert "what is there does not speak TLS" in said(Reach(ours, web))
    assert "what is there is none, or speaks another protocol" in said(Reach(None, web))


def test_what_to_do_goes_with_what_is_wrong(ours: Certificates, web: str) -> None:
    """Who reaches something that speaks otherwise is not told to start another."""
    assert "start it with TLS (docs/clusters.md), or add --no-tls if nobody else can reach it" in said(Reach(ours, web))
    with hanging_up() as port:
        told = said(Reach(None, f"127.0.0.1:{port}"))
    assert told.endswith("If it was started with TLS, leave out --no-tls; if it is none, correct the address.")


@pytest.mark.parametrize("tls", [True, False])
@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_that_nothing_listens_is_said_whatever_dask_tried_last(
    ours: Certificates, host: str, tls: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    from distributed.comm import tcp

    async def late(*_: object, **__: object) -> None:
        raise TimeoutError

    monkeypatch.setattr(tcp.BaseTCPConnector, "connect", late)
    assert ": nothing listens there. Start one" in said(Reach(ours if tls else None, f"{host}:1"))


def test_that_nobody_answers_yet_is_said_soon_and_once(ours: Certificates, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reach, "_QUIET_SECONDS", 0.2)
    sentences: list[str] = []
    with Reach(ours, "localhost:1").opened(sentences.append) as connect:
        for _ in range(2):
            with pytest.raises(NoSchedulerError):
                connect()
    assert sentences == ["No scheduler of Dask answers at tls://localhost:1 yet; waiting up to 2 s for one."]


def test_a_client_that_was_never_connected_goes_in_silence(
    ours: Certificates, web: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is raised while it goes is printed by Python, with its traceback, and of use to nobody."""
    from distributed import Client

    def closed(*_: object, **__: object) -> None:
        raise RuntimeError("IOLoop is closed")

    printed: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", printed.append)
    monkeypatch.setattr(Client, "close", closed)
    said(Reach(ours, web))
    for _ in range(20):
        gc.collect()
        time.sleep(0.02)
    assert not printed


def test_certificates_of_another_authority_or_no_longer_valid(
    ours: Certificates, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both sides have some, and what is to be done is not to start another scheduler."""
    import asyncio

    from distributed.comm import listen

    theirs = Certificates(tmp_path / "theirs")
    theirs.make(days=1)
    over = Certificates(tmp_path / "over")
    with monkeypatch.context() as patch:
        patch.setattr(certificates, "datetime", moved(-2))
        over.make(days=1)
    for shown, one in ((ours, theirs), (over, over)):
        started: Future[tuple[str, asyncio.AbstractEventLoop, asyncio.Event]] = Future()

        async def serve(one: Certificates = one, started: Future[Any] = started) -> None:
            async def nothing(comm: object) -> None:
                pass

            arguments = one.security().get_listen_args("scheduler")
            async with listen("tls://127.0.0.1:0", nothing, **arguments) as listener:
                stop = asyncio.Event()
                started.set_result((listener.contact_address, asyncio.get_running_loop(), stop))
                await stop.wait()

        thread = threading.Thread(target=lambda serve=serve: asyncio.run(serve()), daemon=True)
        thread.start()
        address, loop, stop = started.result(10)
        told = said(Reach(shown, address))
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)
        assert ": one side does not take the other's certificates" in told
        assert told.endswith("or name theirs with --certificates DIR.")


def test_a_machine_that_never_answers(ours: Certificates) -> None:
    """A port whose queue is full, as behind a wall that drops what comes."""
    with socket.socket() as deaf, socket.socket() as first, socket.socket() as second:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(0)
        for filler in (first, second):
            filler.setblocking(False)
            filler.connect_ex(deaf.getsockname())
        told = said(Reach(ours, f"127.0.0.1:{deaf.getsockname()[1]}"))
    assert told.startswith("No scheduler of Dask answers at tls://127.0.0.1:")


def test_certificates_that_are_damaged_or_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Certificates(tmp_path / "tls")
    made.make(days=1)
    assert made.require() is made

    with monkeypatch.context() as patch:
        patch.setattr(certificates, "datetime", moved(2))
        with pytest.raises(EnvironmentProblem, match=r"were valid until .* Remove the folder, make new ones"):
            made.require()
    (made.folder / "cert.pem").write_text("-----BEGIN CERTIFICATE-----\nAAAA\n")
    with pytest.raises(EnvironmentProblem, match=r"are damaged\. Remove the folder, make new ones"):
        made.require()


def test_a_scheduler_that_is_not_there_is_an_error_of_its_own(ours: Certificates) -> None:
    with pytest.raises(NoSchedulerError), Reach(ours, "127.0.0.1:1").opened(print) as connect:
        connect()


def test_a_key_with_a_password_asks_nobody_for_it(tmp_path: Path) -> None:
    """Neither here, where somebody may sit at a terminal, nor in a batch job."""
    from cryptography.hazmat.primitives import serialization as form

    own = Certificates(tmp_path / "own")
    own.make(days=1)
    key = form.load_pem_private_key((own.folder / "key.pem").read_bytes(), None)
    locked = form.BestAvailableEncryption(b"secret")
    (own.folder / "key.pem").write_bytes(key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, locked))
    code = (
        "import sys; from pathlib import Path; from autograder.bulk.engines.certificates import Certificates\n"
        "try: Certificates(Path(sys.argv[1])).require()\n"
        "except Exception as error: print(error)"
    )
    command = [sys.executable, "-c", code, str(own.folder)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
    assert "are damaged" in done.stdout
    assert "pass phrase" not in done.stdout + done.stderr


def test_a_name_of_which_nobody_says_anything_is_bounded(tmp_path: Path) -> None:
    """A name server that does not answer holds a lookup up, in threads that Python would wait for at its end."""
    (tmp_path / "run.py").write_text(
        "import socket, time\n"
        "plain = socket.getaddrinfo\n"
        "def lookup(host, *rest, **more):\n"
        "    if host == 'hangs.example': time.sleep(90)\n"
        "    return plain(host, *rest, **more)\n"
        "socket.getaddrinfo = lookup\n"
        "from autograder.bulk.engines import reach\n"
        "reach._CONNECT_SECONDS, reach._MORE_SECONDS = 0.5, 0.5\n"
        "import click\n"
        "from autograder.cli.common import run\n"
        "@click.command()\n"
        "def look():\n"
        "    with reach.Reach(None, 'hangs.example:8786').opened(print) as connect: connect()\n"
        "run(look, 'look')\n"
    )
    command = [sys.executable, str(tmp_path / "run.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2, done.stderr
    assert "no machine of that name is known" in done.stderr
    assert "Traceback" not in done.stderr
