"""The lines of fe.log, as text or as JSON.

Owns: their formats, how long one may be, that nobody writes one that is not his.
Must not know: files, what is logged.
"""

import json
import logging
from collections.abc import Iterator
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Final, TypeAlias

LINE_CHARACTERS: Final = 16 * 1024  # of a message, and of each fact: a statement may have megabytes
INDENT: Final = "    "
TEXT: Final = "%(asctime)s %(levelname)s [%(threadName)s] %(name)s: %(message)s"
_Raised: TypeAlias = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
_CONTROLS: Final = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0))}
_COMMANDS: Final = {code: f"\\u{code:04x}" for code in range(0x7F, 0xA0)}  # those that JSON leaves as they are
_RECORD_NAMES: Final = frozenset({*logging.makeLogRecord({}).__dict__, "message", "asctime", "taskName"})


class FactsFormatter(logging.Formatter):
    """The message, then what the caller gave as `extra`, as name=value; then the lines of an exception, indented.

    Clients and servers choose parts of all of it: nothing of that looks like a line of its own, or is a command to a
    terminal.
    """

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the library's name
        """One line of a bounded length."""
        facts = (f"{name}={_clipped(str(value))}" for name, value in _given(record))
        return _visible(" ".join((_clipped(super().formatMessage(record)), *facts)))

    def formatException(self, ei: _Raised) -> str:  # noqa: N802 - the same
        return "\n".join(f"{INDENT}{_visible(line)}" for line in _clipped(super().formatException(ei)).splitlines())


def _visible(text: str) -> str:
    """In one line, and no command to a terminal."""
    return " ".join(text.splitlines()).translate(_CONTROLS)


def _clipped(text: str) -> str:
    rest = len(text) - LINE_CHARACTERS
    return text if rest <= 0 else f"{text[:LINE_CHARACTERS]}... ({rest} more characters)"


class JsonFormatter(logging.Formatter):
    """One object a line: time, level, logger, thread and msg; then what the caller gave as `extra`; then exc, the lines
    of an exception. Its time is UTC, as in audit.log.
    """

    def format(self, record: logging.LogRecord) -> str:
        facts: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "thread": record.threadName,
            "msg": _clipped(record.getMessage()),
        }
        facts |= {name: _clipped(str(value)) for name, value in _given(record) if name not in facts}
        if record.exc_info:
            facts["exc"] = _clipped(self.formatException(record.exc_info))
        return json_line(facts)


def json_line(facts: dict[str, Any]) -> str:
    """One line, and no command to a terminal."""
    return json.dumps(facts, ensure_ascii=False, default=str).translate(_COMMANDS)


def _given(record: logging.LogRecord) -> Iterator[tuple[str, Any]]:
    return ((name, record.__dict__[name]) for name in sorted(record.__dict__) if name not in _RECORD_NAMES)
