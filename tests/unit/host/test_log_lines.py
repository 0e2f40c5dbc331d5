import json
import logging
from datetime import UTC, datetime
from typing import Any

import pytest

from syncmgr.host.log_lines import LINE_CHARACTERS, JsonFormatter

FORGED = 'no\r\n{"level": "INFO"}\x1b[2K\x9b2K'


def line(message: str, **facts: Any) -> str:
    exc_info = facts.pop("exc_info", None)
    record = logging.LogRecord("syncmgr.fe", logging.WARNING, "file.py", 1, message, None, exc_info)
    record.__dict__.update(facts)
    return JsonFormatter().format(record)


def test_a_line_is_one_object() -> None:
    """With what the caller gave, and a time in UTC."""
    found = json.loads(line("retrying", job="shop.j", error=20101))
    assert datetime.fromisoformat(found.pop("time")).tzinfo == UTC
    thread = found.pop("thread")
    assert thread
    assert found == {"level": "WARNING", "logger": "syncmgr.fe", "msg": "retrying", "job": "shop.j", "error": "20101"}


def test_an_exception_is_one_text() -> None:
    """In the same line."""
    error = ValueError(FORGED)
    text = line("a statement failed", exc_info=(ValueError, error, None))
    assert "\n" not in text
    assert json.loads(text)["exc"].startswith("ValueError: no")


@pytest.mark.parametrize("facts", [{}, {"job": FORGED}, {"level": "forged", "time": "never"}])
def test_nobody_writes_a_line_that_is_not_his(facts: dict[str, Any]) -> None:
    """Neither by what a client or a server says nor by the name of a fact; and nothing commands a terminal."""
    text = line(FORGED, **facts)
    assert not set(text) & {"\n", "\r", "\x1b", "\x9b"}
    found = json.loads(text)
    assert (found["level"], found["msg"]) == ("WARNING", FORGED)
    assert found["time"] != "never"


def test_a_line_is_bounded() -> None:
    """However long what it says."""
    assert len(line("x" * (1 << 20), statement="y" * (1 << 20))) < 3 * LINE_CHARACTERS
