"""A console, HTTP in front of it, and a client of that."""

import contextlib
import http.client
import json
import ssl
import time
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from syncmgr.accounts.user import Account
from syncmgr.fe.doors import Known
from syncmgr.job.metrics.sample import Sample
from syncmgr.web.api.recent import Recent
from syncmgr.web.app import Choices, application
from syncmgr.web.asked import House
from syncmgr.web.connections import USUAL, Bounds
from syncmgr.web.server import HttpServer
from syncmgr.web.tokens import Tokens
from tests.unit.console.frontend import FakeFrontend
from tests.unit.console.running import Running, running
from tests.unit.job.metrics.factories import make_job_sample, make_sample

ROOT = Account(name="root")


class Measured:
    """A sampler with a sample."""

    def __init__(self) -> None:
        self.sample: Sample | None = make_sample(make_job_sample(), at=time.time())

    def last(self) -> Sample | None:
        return self.sample


@dataclass
class Got:
    """An answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Door:
    """HTTP in front of a console."""

    console: Running
    measured: Measured
    recent: Recent
    server: HttpServer
    tokens: Tokens
    make_server: Callable[[int], HttpServer]
    hides_metrics: bool = False

    @property
    def frontend(self) -> FakeFrontend:
        return self.console.frontend

    def stop(self) -> None:
        """HTTP alone."""
        self.server.stop()

    def start(self) -> None:
        """Again, on the same port."""
        self.server = self.make_server(self.server.port)
        self.server.start()

    def client(self) -> "HttpClient":
        return HttpClient(self.server.port)


@dataclass
class HttpClient:
    """A browser, as far as cookies go; or a program, if it has a user and a password."""

    port: int
    basic: tuple[str, str] | None = None
    cookie: str = ""
    csrf: str = ""
    headers: dict[str, str] = field(default_factory=dict)

    def ask(self, method: str, path: str, body: object = None, **headers: str) -> Got:
        given = {"host": "localhost", **self.headers}
        if self.basic is not None:
            given["authorization"] = "Basic " + b64encode(":".join(self.basic).encode()).decode()
        if self.cookie:
            given |= {"cookie": self.cookie, "x-syncmgr-csrf": self.csrf}
        if method != "GET":
            given["content-type"] = "application/json"
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            text = body if isinstance(body, bytes) else json.dumps({} if body is None else body).encode()
            connection.request(method, path, text if method != "GET" else None, given)
            answer = connection.getresponse()
            got = Got(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())
        finally:
            connection.close()
        if "set-cookie" in got.headers:
            self.cookie = got.headers["set-cookie"].partition(";")[0]
        return got

    def get(self, path: str, **headers: str) -> Got:
        return self.ask("GET", path, **headers)

    def post(self, path: str, body: object = None, **headers: str) -> Got:
        return self.ask("POST", path, body, **headers)

    def log_in(self, user: str = "root", password: str = "") -> "HttpClient":
        got = self.post("/api/v1/session", {"user": user, "password": password})
        assert got.status == 200, got.body
        self.csrf = got.json["csrf"]
        return self


@contextlib.contextmanager
def door(
    folder: Path,
    *,
    password: str = "",
    bounds: Bounds = USUAL,
    identity: ssl.SSLContext | None = None,
    most_streams: int = 24,
    port: int = 0,
    body_bytes: int = 1 << 20,
    **limits: Any,
) -> Iterator[Door]:
    with running(folder, password=password, **limits) as console:
        measured, recent = Measured(), Recent()
        known = Known(console.frontend, console.frontend.users)
        tokens = Tokens(b"secret of this test", known.kept, 3600.0)
        house = House(statements=console.console.calls, users=known, tokens=tokens, body_bytes=body_bytes)
        choices = Choices(
            query_port=9030,
            own_hosts=lambda: {"fe-1"},
            hides_metrics=lambda: it.hides_metrics,
            most_streams=most_streams,
            log_file=folder / "fe.log",
        )
        app = application(measured, recent, house, choices)

        def make(port: int) -> HttpServer:
            return HttpServer(app, hosts=("127.0.0.1",), port=port, identity=identity, bounds=bounds)

        it = Door(console, measured, recent, make(port), tokens, make)
        it.server.start()
        try:
            yield it
        finally:
            it.stop()
