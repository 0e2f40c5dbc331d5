"""fe.log and audit.log.

Owns: where they are, their sizes, which libraries may write there, how often persistent errors are logged, what is
logged about lines that could not be written.
Must not know: settings, what is logged, the format of a line.
"""

import errno
import logging
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Final

from syncmgr.host.log_lines import TEXT, FactsFormatter, JsonFormatter, json_line

LOG_BYTES: Final = 64 * 1024 * 1024
LOG_FILES: Final = 5
FRONTEND: Final = logging.getLogger("syncmgr.fe")  # what it announces is its own
AUDIT: Final = logging.getLogger("syncmgr.audit")


@dataclass(frozen=True, kw_only=True, slots=True)
class Lost:
    """Lines that could not be written, since when and why."""

    lines: int
    since: datetime
    reason: str

    def __str__(self) -> str:
        return (
            f"{self.lines} lines could not be written here since {self.since.isoformat(' ', 'seconds')}: {self.reason}"
        )

    def json(self) -> str:
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        since = self.since.isoformat(timespec="milliseconds")
        facts = {"time": now, "event": "lost", "lines": self.lines, "since": since, "reason": self.reason}
        return json_line(facts)


class LineFile(RotatingFileHandler):
    """Writes whole lines or none. Lost lines are counted; the next one that can be written says how many."""

    def __init__(self, file: Path, describe: Callable[[Lost], str], elsewhere: logging.Logger | None = None) -> None:
        """`describe`: the line about lost ones. `elsewhere`: where that is also reported when it begins and ends."""
        super().__init__(file, maxBytes=LOG_BYTES, backupCount=LOG_FILES, encoding="utf-8", errors="backslashreplace")
        self.lost: Lost | None = None
        self.lost_ever = 0
        self._describe = describe
        self._elsewhere = elsewhere
        self._end = 0  # of the last line, in bytes

    def emit(self, record: logging.LogRecord) -> None:
        try:
            line = self.format(record)
            self._look()
            if self.shouldRollover(record):
                self.doRollover()
                self._end = 0
            self._write(line if self.lost is None else f"{self._describe(self.lost)}\n{line}")
            if self.lost is not None:
                self._say("%s is written again: %s", self.lost)
                self.lost = None
        except OSError as error:
            self._lose(error.strerror or str(error))
        except Exception:  # noqa: BLE001 - as in logging itself: a caller must never fail because of it
            self.handleError(record)

    def _look(self) -> None:
        """Lines go to the file that has the name now: it may have been moved, removed or truncated."""
        if self.stream is None:
            return
        there, ours = self._stat(), os.fstat(self.stream.fileno())
        if there is None or (there.st_dev, there.st_ino) != (ours.st_dev, ours.st_ino):
            self._say("%s was %s: a new one begins", "removed or moved")
            self.stream.close()
            self.stream = self._open()
        elif ours.st_size < self._end:
            self._say("%s was cut %s", f"from {self._end} to {ours.st_size} bytes")
        self._end = os.fstat(self.stream.fileno()).st_size

    def _stat(self) -> os.stat_result | None:
        try:
            return os.stat(self.baseFilename)  # noqa: PTH116 - the library's path is a text
        except FileNotFoundError:
            return None

    def _lose(self, reason: str) -> None:
        self.lost_ever += 1
        if self.lost is None:
            self._say("%s cannot be written: %s", reason)
        before = self.lost or Lost(lines=0, since=datetime.now(UTC), reason=reason)
        self.lost = Lost(lines=before.lines + 1, since=before.since, reason=reason)

    def _say(self, words: str, what: object) -> None:
        if self._elsewhere is not None:
            self._elsewhere.error(words, Path(self.baseFilename).name, what)

    def _write(self, text: str) -> None:
        """A full disk may accept a part of a line: it is removed again."""
        if self.stream is None:
            self.stream = self._open()
        data, number = f"{text}\n".encode("utf-8", "backslashreplace"), self.stream.fileno()
        size = os.fstat(number).st_size
        if os.write(number, data) < len(data):
            os.ftruncate(number, size)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._end = size + len(data)


class AuditState:
    """Of audit.log, for callers that have to know whether it is complete."""

    def __init__(self, strict: Callable[[], bool]) -> None:
        self._strict = strict

    @property
    def strict(self) -> bool:
        return self._strict()

    @property
    def is_on(self) -> bool:
        return AUDIT.isEnabledFor(logging.INFO)

    @property
    def lost(self) -> int:
        """Lines that could not be written since the start."""
        return sum(each.lost_ever for each in AUDIT.handlers if isinstance(each, LineFile))

    @property
    def trouble(self) -> str:
        """Why the last line could not be written; empty: it was."""
        lost = [each.lost for each in AUDIT.handlers if isinstance(each, LineFile) and each.lost is not None]
        return lost[0].reason if lost else ""


class Lasting:
    """Recurring errors: each is logged once, until it has ended or changed."""

    def __init__(self, log: logging.Logger) -> None:
        self._log = log
        self._before: Mapping[str, str] = {}

    def report(self, troubles: Mapping[str, str]) -> None:
        """All present ones, by their subject."""
        for what, text in troubles.items():
            if self._before.get(what) != text:
                self._log.warning("%s: %s", what, text)
        self._before = troubles


def log_to(folder: Path, level: str, *, as_json: bool = False, on_stderr: bool = False) -> None:
    """Our own messages at `level`, of the libraries only errors; the audit in a separate file, with its lines
    unchanged. `on_stderr`: instead of fe.log; the audit stays in its file, which no reader of a pipe can lose.
    """
    lines = JsonFormatter() if as_json else FactsFormatter(TEXT)
    handler: logging.Handler = (
        logging.StreamHandler(sys.stderr)
        if on_stderr
        else LineFile(folder / "fe.log", lambda lost: lines.format(_record(str(lost))))
    )
    handler.setFormatter(lines)
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    set_level(level)
    logging.getLogger("sqlglot").setLevel(logging.ERROR)  # it warns of many words of a statement, a line for each
    AUDIT.handlers[:] = [LineFile(folder / "audit.log", Lost.json, logging.getLogger(__name__))]
    AUDIT.propagate = False


def _record(message: str) -> logging.LogRecord:
    return logging.makeLogRecord({"name": __name__, "levelname": "WARNING", "threadName": "log", "msg": message})


def announce(line: str, level: int = logging.INFO) -> None:
    """For the person who started the frontend, on standard error, and in the log; once if that is the same."""
    FRONTEND.log(level, line)
    handlers = logging.getLogger().handlers
    if not any(isinstance(each, logging.StreamHandler) and each.stream is sys.stderr for each in handlers):
        sys.stderr.write(f"WARNING: {line}\n" if level == logging.WARNING else f"{line}\n")
        sys.stderr.flush()


def set_level(level: str) -> None:
    logging.getLogger("syncmgr").setLevel(level)


def set_audit(*, on: bool) -> None:
    AUDIT.setLevel(logging.INFO if on else logging.CRITICAL)
