"""fe.log and audit.log as an operator's tools read them."""

import json
import logging
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from syncmgr import log_files
from syncmgr.console import audit


@pytest.fixture(autouse=True)
def _logging_as_before() -> Iterator[None]:
    root, audited, own = logging.getLogger(), log_files.AUDIT, logging.getLogger("syncmgr")
    before = root.handlers[:], audited.handlers[:], audited.propagate, audited.level, root.level, own.level
    yield
    for handler in {*root.handlers, *audited.handlers} - {*before[0], *before[1]}:
        handler.close()
    root.handlers[:], audited.handlers[:], audited.propagate = before[:3]
    for logger, level in zip((audited, root, own), before[3:], strict=True):
        logger.setLevel(level)


def test_a_line_of_the_audit_is_json_from_its_first_character(tmp_path: Path) -> None:
    """With the time in it; and nothing is written while it is off."""
    log_files.log_to(tmp_path, "INFO")
    log_files.set_audit(on=True)
    audit.login(user="alice", host="::1", error=1045)
    log_files.set_audit(on=False)
    audit.login(user="bob", host="::1", error=None)
    [line] = (tmp_path / "audit.log").read_text().splitlines()
    found = json.loads(line)
    assert (found["event"], found["user"], found["error"]) == ("login", "alice", 1045)
    assert datetime.fromisoformat(found["time"]).tzinfo == UTC
    assert "alice" not in (tmp_path / "fe.log").read_text()


def test_what_lasts_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    """Until it has ended, or is another trouble: then the next one is told again."""
    lasting = log_files.Lasting(logging.getLogger("syncmgr"))
    gone, full, away = {"upkeep of a.b": "it is gone"}, {"upkeep of a.b": "no room"}, {"upkeep of c.d": "away"}
    told = []
    for troubles in (gone, gone, gone | away, away, full | away, {}, full):
        caplog.clear()
        lasting.tell(troubles)
        told.append(caplog.messages[:])
    one = ["upkeep of a.b: it is gone"]
    other = ["upkeep of a.b: no room"]
    assert told == [one, [], ["upkeep of c.d: away"], [], other, [], other]
