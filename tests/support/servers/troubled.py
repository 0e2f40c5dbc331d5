"""The way to an HTTP server that has trouble: an object store or a catalog that is away, refuses, or is slow.

Owns: its port, what becomes of each request.
Must not know: what is asked.
"""

import http.client
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

HOP: Final = frozenset({"connection", "keep-alive", "transfer-encoding"})
PATIENCE_SECOND: Final = 60.0
DENIED: Final = 403
REFUSAL: Final = '<?xml version="1.0" encoding="UTF-8"?><Error><Code>{code}</Code><Message>{message}</Message></Error>'


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Answer:
    """Of the server, or what is said in its place."""

    status: int
    headers: tuple[tuple[str, str], ...]
    content: bytes

    @property
    def ok(self) -> bool:
        return self.status < http.client.BAD_REQUEST


class TroubledWay:
    """Passes requests on. `away`: it hangs up on each; `delay`: seconds that each takes in addition; `refuse`: the
    answer to each, and to writes alone if `only_writes`; `passed`: requests that were passed on; `signers`: the
    keys by which requests of S3 were signed.
    """

    kept_back: frozenset[str] = frozenset()  # headers that the server does not get

    def __init__(self, target: int) -> None:
        self.target = target
        self.away, self.delay, self.only_writes, self.passed = False, 0.0, False, 0
        self.signers = set[str]()
        self._refusal: tuple[int, str, str] | None = None
        self._server = _Server(self)
        threading.Thread(target=self._server.serve_forever, name="troubled way", daemon=True).start()

    @property
    def uri(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def refuse(self, status: int, code: str, message: str, *, only_writes: bool = False) -> None:
        """`code`, `message`: as S3 names the error."""
        self.only_writes = only_writes
        self._refusal = (status, code, message)

    def hang_up(self) -> None:
        self.away = True

    def heal(self) -> None:
        self.away, self.delay, self._refusal = False, 0.0, None

    def refusal(self, method: str) -> tuple[int, str, str] | None:
        return None if self.only_writes and method not in {"PUT", "POST"} else self._refusal

    def said(self, method: str, path: str, answer: Answer) -> Answer | None:
        """What the client gets of what the server has answered; None: nothing."""
        del method, path
        return answer

    def ask(self, request: Request) -> Answer | None:
        """What the server says; None: it is away."""
        server = http.client.HTTPConnection("127.0.0.1", self.target, timeout=PATIENCE_SECOND)
        try:
            headers = {key: value for key, value in request.headers.items() if key.lower() not in HOP | self.kept_back}
            server.request(request.method, request.path, request.body, headers)
            answer = server.getresponse()
            return Answer(answer.status, tuple(answer.getheaders()), answer.read())
        except OSError:
            return None
        finally:
            server.close()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, way: TroubledWay) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.way = way

    def handle_error(self, *_: object) -> None:
        """A client that has gone is no fault."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def _pass_on(self) -> None:
        way = self.server.way
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        way.signers.add(_signer(self.headers.get("Authorization") or ""))
        time.sleep(way.delay)
        refusal = way.refusal(self.command)
        if way.away:
            self.close_connection = True
        elif refusal is not None:
            status, code, message = refusal
            self._answer(Answer(status, (("Content-Type", "application/xml"),), _refused(code, message)))
        else:
            way.passed += 1
            self._ask(body)

    def _ask(self, body: bytes) -> None:
        answer = self.server.way.ask(Request(self.command, self.path, dict(self.headers.items()), body))
        said = None if answer is None else self.server.way.said(self.command, self.path, answer)
        if said is None:
            self.close_connection = True
        else:
            self._answer(said)

    def _answer(self, answer: Answer) -> None:
        self.send_response_only(answer.status)
        length = str(len(answer.content))
        for key, value in answer.headers:
            if key.lower() == "content-length":
                length = value if self.command == "HEAD" else length
            elif key.lower() not in HOP:
                self.send_header(key, value)
        self.send_header("Content-Length", length)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.content)

    do_GET = do_POST = do_HEAD = do_DELETE = do_PUT = _pass_on  # noqa: N815 - http.server's names

    def log_message(self, *_: object) -> None:
        """Nothing of it is needed."""


def _refused(code: str, message: str) -> bytes:
    return REFUSAL.format(code=code, message=message).encode()


def _signer(authorization: str) -> str:
    """AWS4-HMAC-SHA256 Credential=KEY/20261128/..., ...; "" without a signature."""
    return authorization.partition("Credential=")[2].partition("/")[0]
