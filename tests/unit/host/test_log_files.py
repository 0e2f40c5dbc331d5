"""fe.log and audit.log as an operator's tools read them."""

import json
import logging
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest

from syncmgr.console.audit import audit
from syncmgr.host import log_files, log_lines
from syncsql import SqlSyntaxError, parse


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


def test_a_line_is_bounded(tmp_path: Path) -> None:
    """However long a statement is that it tells of, or an error that comes with it: it fills no log."""
    log_files.log_to(tmp_path, "INFO")
    statement = "x" * (1 << 20)
    logging.getLogger("syncmgr").info("added column 'c' (%s)", statement, extra={"error": statement})
    [line] = (tmp_path / "fe.log").read_text().splitlines()
    assert "added column 'c' (xxx" in line
    assert line.count(" more characters)") == 2
    assert len(line) < 3 * log_lines.LINE_CHARACTERS


def test_nobody_writes_a_line_that_is_not_his(tmp_path: Path) -> None:
    """Neither a statement nor a server that reports an error can make a line look like another one of the log, or send
    a command to the terminal that shows it.
    """
    log_files.log_to(tmp_path, "INFO")
    forged = "no\r\n2026-11-28 03:00:00,000 WARNING [console] syncmgr.console: login of 'root' failed\x1b[2K\x9b2K"
    log = logging.getLogger("syncmgr.pipeline")
    log.warning("retrying %s", forged, extra={"job": "shop.j", "error": forged})
    log.error("a statement failed", exc_info=ValueError(forged), extra={"job": "shop.j"})
    text = (tmp_path / "fe.log").read_bytes().decode()
    own = [line for line in text.split("\n") if line and not line.startswith(log_lines.INDENT)]
    assert [line.split("syncmgr.pipeline: ")[1].split(" ")[0] for line in own] == ["retrying", "a"]
    assert own[0].endswith("job=shop.j")
    assert own[1].endswith("a statement failed job=shop.j")
    assert "ValueError: no" in text
    assert not set(text) & {"\r", "\x1b", "\x9b"}


def test_statements_write_no_lines(tmp_path: Path) -> None:
    """What the library that parses them remarks about each of their words would drive out what an operator needs."""
    log_files.log_to(tmp_path, "INFO")
    text = "SHOW SYNC JOB WHERE " + "[" * 20 + "1" + "]" * 20
    with suppress(SqlSyntaxError):
        parse(text)
    assert (tmp_path / "fe.log").read_text() == ""


def test_a_name_in_the_audit_is_no_command_to_a_terminal(tmp_path: Path) -> None:
    """Anyone who reaches the port chooses one; the line is JSON with that name in it all the same."""
    log_files.log_to(tmp_path, "INFO")
    log_files.set_audit(on=True)
    name = "\x9b2Kroot\x1b[2K\x7f\n{}"
    audit.login(user=name, host="::1", error=1045)
    line = (tmp_path / "audit.log").read_bytes().decode()
    assert json.loads(line)["user"] == name
    assert line.rstrip("\n").isprintable()


def test_what_lasts_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    """Until it has ended, or is another trouble: then the next one is told again."""
    lasting = log_files.Lasting(logging.getLogger("syncmgr"))
    gone, full, away = {"upkeep of a.b": "it is gone"}, {"upkeep of a.b": "no room"}, {"upkeep of c.d": "away"}
    told = []
    for troubles in (gone, gone, gone | away, away, full | away, {}, full):
        caplog.clear()
        lasting.report(troubles)
        told.append(caplog.messages[:])
    one = ["upkeep of a.b: it is gone"]
    other = ["upkeep of a.b: no room"]
    assert told == [one, [], ["upkeep of c.d: away"], [], other, [], other]


def test_an_audit_that_somebody_cuts_or_takes_away_is_told(tmp_path: Path) -> None:
    """In fe.log, once each; the next line is in the file that has the name."""
    log_files.log_to(tmp_path, "INFO")
    log_files.set_audit(on=True)
    file, log = tmp_path / "audit.log", tmp_path / "fe.log"
    audit.login(user="alice", host="::1", error=None)
    audit.login(user="bob", host="::1", error=None)
    assert log.read_text() == ""
    file.write_text("")
    audit.login(user="carol", host="::1", error=None)
    assert "audit.log was cut from" in log.read_text()
    file.rename(tmp_path / "taken")
    audit.login(user="dora", host="::1", error=None)
    audit.login(user="erik", host="::1", error=None)
    assert log.read_text().count("audit.log was removed or moved: a new one begins") == 1
    assert len(log.read_text().splitlines()) == 2
    assert [json.loads(line)["user"] for line in file.read_text().splitlines()] == ["dora", "erik"]


def test_a_file_that_has_grown_too_long_is_put_aside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By ourselves, which is nothing to tell."""
    monkeypatch.setattr(log_files, "LOG_BYTES", 300)
    log_files.log_to(tmp_path, "INFO")
    log_files.set_audit(on=True)
    for number in range(9):
        audit.login(user=f"u{number}", host="::1", error=None)
    assert (tmp_path / "audit.log.1").exists()
    assert (tmp_path / "fe.log").read_text() == ""


def test_a_log_on_standard_error_has_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As containers want it; what is announced to a person is there once, and the audit keeps its file."""
    log_files.log_to(tmp_path, "INFO", as_json=True, on_stderr=True)
    log_files.announce("The console is open")
    log_files.set_audit(on=True)
    audit.login(user="alice", host="::1", error=None)
    [line] = capsys.readouterr().err.splitlines()
    assert json.loads(line)["msg"] == "The console is open"
    assert not (tmp_path / "fe.log").exists()
    assert (tmp_path / "audit.log").exists()


def test_an_announcement_is_printed_beside_the_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With its level, if somebody should act."""
    log_files.log_to(tmp_path, "INFO")
    log_files.announce("The console is open")
    log_files.announce("others can read fe.conf", logging.WARNING)
    assert capsys.readouterr().err == "The console is open\nWARNING: others can read fe.conf\n"
    assert len((tmp_path / "fe.log").read_text().splitlines()) == 2
