"""A proxy before a REST catalog that reports something else than what its server did, or gives credentials with tables.

Owns: its port, which lie is next, what is given with a table.
Must not know: what is committed.
"""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

import requests

NAMES: Final = {409: "CommitFailedException", 500: "InternalServerError", 503: "ServiceUnavailableException"}
SILENT: Final = 0
HOP: Final = frozenset(
    {"host", "content-length", "connection", "accept-encoding", "content-encoding", "transfer-encoding"}
)


class LyingCatalog:
    """`lie`: the status with which the next commits are answered after the server has accepted them, SILENT: none for
    longer than a client waits; after `times` of them it tells the truth again. `delay`: seconds that each request takes
    in addition; `passed`: requests until now; `vends`: settings of a FileIO that are given with each table, below
    `prefix` alone if there is one.
    """

    def __init__(self, target: str) -> None:
        self._lie, self._times, self._lock = 200, 0, threading.Lock()
        self.told: list[int] = []
        self.retry_after, self.delay, self.passed = False, 0.0, 0
        self.vends: dict[str, str] = {}
        self.prefix: str | None = None
        self._server = _Server(("127.0.0.1", 0), _handler(self, target))
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def uri(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def lie(self, status: int, *, times: int = 1, retry_after: bool = False) -> None:
        with self._lock:
            self._lie, self._times, self.retry_after = status, times, retry_after
            self.told.clear()

    def next(self) -> int | None:
        """What to say of a commit that was accepted; None: the truth."""
        with self._lock:
            if not self._times:
                return None
            self._times -= 1
            self.told.append(self._lie)
            return self._lie

    def with_credentials(self, answer: bytes) -> bytes:
        """What is a table, as a catalog that vends them sends it: in its settings, or by what lies below a prefix."""
        table = json.loads(answer)
        if "metadata" not in table:
            return answer
        if self.prefix is None:
            table["config"] = {**table.get("config", {}), **self.vends}
        else:
            table["storage-credentials"] = [{"prefix": self.prefix, "config": dict(self.vends)}]
        return json.dumps(table).encode()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """Where its server is away, or a client has gone: nobody is answered, and that is all."""


def _handler(catalog: LyingCatalog, target: str) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _pass_on(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {key: value for key, value in self.headers.items() if key.lower() not in HOP}
            catalog.passed += 1
            time.sleep(catalog.delay)
            answer = requests.request(self.command, target + self.path, data=body, headers=headers, timeout=60)
            status, content, lie = answer.status_code, answer.content, None
            if self.command == "POST" and "/tables/" in self.path and answer.ok:
                lie = catalog.next()
            if catalog.vends and answer.ok and "/tables" in self.path and content:
                content = catalog.with_credentials(content)
            if lie == SILENT:
                time.sleep(SILENCE_SECOND)
                self.close_connection = True
                return
            if lie is not None:
                status = lie
                content = json.dumps(
                    {"error": {"message": "it is committed", "type": NAMES[lie], "code": lie}},
                ).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            if lie is not None and catalog.retry_after:
                self.send_header("Retry-After", "1")
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        do_GET = do_POST = do_HEAD = do_DELETE = do_PUT = _pass_on  # noqa: N815 - http.server's names

        def log_message(self, *_: object) -> None:
            """Nothing of it is needed."""

    return Handler


SILENCE_SECOND: Final = 15.0  # the tests' client waits less
