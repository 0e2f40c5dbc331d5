import contextlib
import http.client
import json
import socket
import ssl
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.types import ASGIApp

from syncmgr.console.login.tls import load_identity
from syncmgr.control.users import Users
from syncmgr.errors import Code, SyncError
from syncmgr.fe.doors import Known
from syncmgr.web.api.recent import Recent
from syncmgr.web.app import Choices, application
from syncmgr.web.asked import House
from syncmgr.web.connections import USUAL, Bounds
from syncmgr.web.server import LONGEST_REQUEST, HttpServer
from syncmgr.web.tokens import Tokens
from tests.contract.web.doors import Measured
from tests.support.until import until
from tests.unit.console.frontend import FakeAccounts, FakeFrontend
from tests.unit.job.metrics.factories import make_job_sample, make_sample

IMPATIENT = Bounds(request_second=0.5)
ASK = b"GET /api/bootstrap HTTP/1.1\r\nhost: localhost\r\n\r\n"


@contextlib.contextmanager
def serving(measured: Measured, identity: ssl.SSLContext | None = None, bounds: Bounds = USUAL) -> Iterator[HttpServer]:
    server = HttpServer(app_of(measured), hosts=("127.0.0.1",), port=0, identity=identity, bounds=bounds)
    server.start()
    yield server
    server.stop()


def app_of(measured: Measured) -> ASGIApp:
    """Nobody can log in here: there is no console."""
    known = Known(FakeFrontend(), Users(FakeAccounts()))
    calls: Any = None
    house = House(statements=calls, users=known, tokens=Tokens(b"", known.kept, 60.0), body_bytes=1024)
    return application(measured, Recent(), house, Choices(query_port=9030, own_hosts=lambda: {"fe-1"}))


@pytest.fixture
def measured() -> Measured:
    return Measured()


@pytest.fixture
def server(measured: Measured) -> Iterator[HttpServer]:
    with serving(measured) as started:
        yield started


def asked(server: HttpServer, path: str, *, host: str = "localhost", method: str = "GET") -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    try:
        connection.request(method, path, headers={"host": host})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def silent(server: HttpServer, text: bytes = b"") -> socket.socket:
    client = socket.create_connection(("127.0.0.1", server.port), timeout=30)
    client.sendall(text)
    return client


def test_routes(server: HttpServer, measured: Measured) -> None:
    """Metrics, health, readiness and what Doris' tools ask; nothing else is there, and nothing can be changed."""
    assert b'syncmgr_job_state{db="demo",state="RUNNING",sync_job="shop"} 1.0' in asked(server, "/metrics")[1]
    for path in ("/api/health", "/api/ready", "/api/bootstrap"):
        status, body = asked(server, path)
        assert (status, json.loads(body)["code"]) == (200, 0), path
    assert json.loads(asked(server, "/api/bootstrap")[1])["data"]["queryPort"] == 9030
    assert asked(server, "/")[0] == 200
    assert asked(server, "/nothing")[0] == 404
    assert asked(server, "/metrics", method="POST")[0] == 405


def test_while_nothing_is_measured_it_is_not_ready(server: HttpServer, measured: Measured) -> None:
    """503 with the reason and when to ask again; metrics answer nevertheless."""
    measured.sample = None
    status, body = asked(server, "/api/ready")
    assert (status, json.loads(body)["msg"]) == (503, "the frontend starts")
    assert asked(server, "/api/health")[0] == 503
    assert asked(server, "/metrics")[0] == 200
    measured.sample = make_sample(at=time.time(), meta_up=False)
    assert [asked(server, f"/api/{name}")[0] for name in ("health", "ready")] == [200, 503]


@pytest.mark.parametrize("path", ["/metrics", "/api/health", "/nothing"])
def test_a_name_of_others_is_refused(server: HttpServer, path: str) -> None:
    """421 and the setting, whatever is asked: a page of another site could make its name mean this address."""
    status, body = asked(server, path, host="evil.example")
    assert status == 421
    assert b"http_hosts" in body
    assert asked(server, "/api/health", host="FE-1:80")[0] == 200


def test_silent_clients_give_way(server: HttpServer) -> None:
    """More of them than there are places, and whoever asks is answered; the first one was dropped."""
    clients = [silent(server) for _ in range(USUAL.connections + 8)]
    assert asked(server, "/api/health")[0] == 200
    assert clients[0].recv(1) == b""
    for client in clients:
        client.close()


@pytest.mark.parametrize("text", [b"", b"GET /metrics HTTP/1.1\r\nhost: loc", ASK + b"GET /"])
def test_a_slow_client_is_dropped(measured: Measured, text: bytes) -> None:
    """Whether it says nothing, does not end its request, or does not end its second one."""
    with (
        serving(measured, bounds=IMPATIENT) as server,
        silent(server, text) as client,
        contextlib.suppress(ConnectionResetError),
    ):
        while client.recv(4096):
            pass


def test_a_client_that_does_not_read_is_dropped(measured: Measured) -> None:
    """Its answers do not pile up."""
    measured.sample = make_sample(*(make_job_sample(name=f"job{n}" * 50) for n in range(200)), at=time.time())
    with serving(measured, bounds=IMPATIENT) as server, silent(server) as client:

        def dropped() -> bool:
            try:
                client.sendall(b"GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n")
            except OSError:
                return True
            return False

        client.settimeout(0.2)
        until(dropped, why="the connection ends")


def test_a_request_without_end_is_refused(server: HttpServer) -> None:
    """After a bounded number of bytes."""
    with silent(server, b"GET /metrics HTTP/1.1\r\nx: ") as client:
        client.sendall(b"y" * (2 * LONGEST_REQUEST))
        assert client.recv(12) in {b"HTTP/1.1 400", b"HTTP/1.1 431"}


def test_tls(measured: Measured, tmp_path: Path) -> None:
    """With the console's certificate, where it is wanted."""
    identity = load_identity(tmp_path)
    trusted = ssl.create_default_context(cafile=str(tmp_path / "console.crt"))
    trusted.check_hostname = False
    with serving(measured, identity.context) as server:
        connection = http.client.HTTPSConnection("127.0.0.1", server.port, context=trusted, timeout=30)
        connection.request("GET", "/api/health", headers={"host": "localhost"})
        assert connection.getresponse().status == 200
        connection.close()


def test_a_port_in_use_is_told(server: HttpServer, measured: Measured) -> None:
    """With the setting that names it."""
    other = HttpServer(app_of(measured), hosts=("127.0.0.1",), port=server.port, identity=None)
    with pytest.raises(SyncError, match="http_port") as caught:
        other.start()
    assert caught.value.code is Code.PORT_IN_USE
    other.stop()
