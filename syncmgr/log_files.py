"""fe.log and audit.log.

Owns: their format, their sizes, which libraries may write there, how often what lasts is said.
Must not know: settings, what is logged.
"""

import logging
from collections.abc import Mapping
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Final

LOG_BYTES: Final = 64 * 1024 * 1024
LOG_FILES: Final = 5
AUDIT: Final = logging.getLogger("syncmgr.audit")
_RECORD_NAMES: Final = frozenset({*logging.makeLogRecord({}).__dict__, "message", "asctime", "taskName"})


class Facts(logging.Formatter):
    """The message, then what the caller gave as `extra`, as name=value."""

    def format(self, record: logging.LogRecord) -> str:
        given = sorted(name for name in record.__dict__ if name not in _RECORD_NAMES)
        facts = " ".join(f"{name}={record.__dict__[name]}" for name in given)
        return f"{super().format(record)} {facts}".rstrip()

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the library's name
        """One line, whatever a statement or a server had in it."""
        return " ".join(super().formatMessage(record).splitlines())


class Lasting:
    """Troubles that are met again and again: each is told once, until it has ended or become another."""

    def __init__(self, log: logging.Logger) -> None:
        self._log = log
        self._before: Mapping[str, str] = {}

    def tell(self, troubles: Mapping[str, str]) -> None:
        """All that there are now, by what has them."""
        for what, text in troubles.items():
            if self._before.get(what) != text:
                self._log.warning("%s: %s", what, text)
        self._before = troubles


def log_to(folder: Path, level: str) -> None:
    """Our own words at `level`, of the libraries only what is wrong; what was done by whom in a file of its own, whose
    lines come as they are.
    """
    handler = _rotating(folder / "fe.log")
    handler.setFormatter(Facts("%(asctime)s %(levelname)s [%(threadName)s] %(name)s: %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    set_level(level)
    AUDIT.handlers[:] = [_rotating(folder / "audit.log")]
    AUDIT.propagate = False


def set_level(level: str) -> None:
    logging.getLogger("syncmgr").setLevel(level)


def set_audit(*, on: bool) -> None:
    AUDIT.setLevel(logging.INFO if on else logging.CRITICAL)


def _rotating(file: Path) -> RotatingFileHandler:
    return RotatingFileHandler(file, maxBytes=LOG_BYTES, backupCount=LOG_FILES, encoding="utf-8")
