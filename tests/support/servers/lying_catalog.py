"""The way to a REST catalog that reports something else than what its server did, or gives credentials with tables.

Owns: which lie is next, what is given with a table.
Must not know: what is committed.
"""

import json
import threading
import time
from dataclasses import replace
from typing import Final
from urllib.parse import urlsplit

from tests.support.servers.troubled import Answer, Request, TroubledWay
from tests.support.until import PATIENCE

NAMES: Final = {409: "CommitFailedException", 500: "InternalServerError", 503: "ServiceUnavailableException"}
SILENT: Final = 0
GATEWAY: Final = 502
SILENCE_SECOND: Final = 15.0 * PATIENCE  # the tests' client waits less
MOST_AGO: Final = 2
JSON: Final = ("Content-Type", "application/json")


class LyingCatalog(TroubledWay):
    """`lie`: the status with which the next commits, and tables that are created, are answered after the server has
    accepted them, SILENT: none for
    longer than a client waits; after `times` of them it tells the truth again. `old`: how many of the next loads of a
    table are answered with what it was before its last commit, or as many as `ago`, as by a replica or a cache.
    `vends`: settings of a FileIO that are given with each table, below `prefix` alone if there is one. `late`: the next
    request by this method is answered with 502 and reaches the server with `deliver`.
    """

    kept_back = frozenset({"accept-encoding", "if-none-match"})

    def __init__(self, target: str) -> None:
        self._lie, self._times, self._lock = 200, 0, threading.Lock()
        self._tables: dict[str, list[Answer]] = {}  # the last states of each, as they were answered
        self.told: list[int] = []
        self.retry_after, self.old, self._old_after = False, 0, 0
        self.ago = 1
        self.vends: dict[str, str] = {}
        self.prefix: str | None = None
        self.late: str | None = None
        self._delayed: Request | None = None
        super().__init__(urlsplit(target).port or 0)

    def lie(self, status: int, *, times: int = 1, retry_after: bool = False, old: int = 0) -> None:
        """`old`: so many of the loads after each lie are answered with what was before it."""
        with self._lock:
            self._lie, self._times, self.retry_after, self._old_after = status, times, retry_after, old
            self.told.clear()

    def ask(self, request: Request) -> Answer | None:
        if request.method != self.late or not _is_of_tables(request.path):
            return super().ask(request)
        self.late, self._delayed = None, request
        return Answer(GATEWAY, (JSON,), b"")

    def deliver(self) -> int:
        """The status with which the server answers the late request."""
        assert self._delayed is not None
        answer = super().ask(self._delayed)
        assert answer is not None
        return answer.status

    def said(self, method: str, path: str, answer: Answer) -> Answer | None:
        if not answer.ok or not _is_of_tables(path):
            return answer
        lie = self._next() if method == "POST" else None
        if lie == SILENT:
            time.sleep(SILENCE_SECOND)
            return None
        if lie is not None:
            error = {"error": {"message": "it is committed", "type": NAMES[lie], "code": lie}}
            headers = (JSON, *([("Retry-After", "1")] if self.retry_after else []))
            return Answer(lie, headers, json.dumps(error).encode())
        if self.vends and answer.content:
            answer = replace(answer, content=self._with_credentials(answer.content))
        return self._of_then(path, answer) if method == "GET" and "/tables/" in path else answer

    def _next(self) -> int | None:
        """What to say of a commit that was accepted; None: the truth."""
        with self._lock:
            if not self._times:
                return None
            self._times, self.old = self._times - 1, self._old_after
            self.told.append(self._lie)
            return self._lie

    def _of_then(self, path: str, answer: Answer) -> Answer:
        """A load of a table, or what it was before the last changes that were loaded."""
        with self._lock:
            states = self._tables.setdefault(path, [])
            if not states or _place(states[-1]) != _place(answer):
                self._tables[path] = [*states[-MOST_AGO:], answer]
            if not self.old:
                return answer
            self.old -= 1
            return self._tables[path][-1 - self.ago :][0]

    def _with_credentials(self, answer: bytes) -> bytes:
        """What is a table, as a catalog that vends them sends it: in its settings, or by what lies below a prefix."""
        table = json.loads(answer)
        if "metadata" not in table:
            return answer
        if self.prefix is None:
            table["config"] = {**table.get("config", {}), **self.vends}
        else:
            table["storage-credentials"] = [{"prefix": self.prefix, "config": dict(self.vends)}]
        return json.dumps(table).encode()


def _place(answer: Answer) -> str:
    return str(json.loads(answer.content)["metadata-location"])


def _is_of_tables(path: str) -> bool:
    """Reports of metrics, which a client sends at any time, are not."""
    return "/tables" in path and not path.endswith("/metrics")
