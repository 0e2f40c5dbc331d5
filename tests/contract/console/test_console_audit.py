"""The audit where its disk is full, and where somebody would rather not be in it: a real disk, real files."""

import json
import logging
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pymysql
import pytest

from syncmgr.console.authorization.authorized import OF_ADMINISTRATORS
from syncmgr.errors import Code
from syncmgr.host import log_files
from tests.support.small_disk import NoMountError, SmallDisk
from tests.unit.console.frontend import FakeConfig
from tests.unit.console.running import PASSWORD, Running, id_of, running

REFUSED = Code.AUDIT_FAILED.number


class Audited:
    """A console whose audit is written to a small disk; `mode` as in fe.conf."""

    def __init__(self, console: Running, disk: SmallDisk) -> None:
        self.console, self.disk = console, disk
        self.mode = "ON"

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.disk.folder / "audit.log").read_text().splitlines()]

    def fill(self) -> None:
        """What is left holds no line; a file may have part of a page."""
        self.disk.fill()
        log = logging.getLogger("syncmgr.audit")
        before = self.state.lost
        while self.state.lost == before:
            log.info(json.dumps({"event": "padding", "text": "x" * 100}))

    @property
    def state(self) -> log_files.AuditState:
        state = self.console.frontend.audit
        assert isinstance(state, log_files.AuditState)
        return state

    def status(self) -> dict[str, str]:
        return dict(self.console.ask("SHOW STATUS LIKE 'Audit%'"))  # type: ignore[arg-type]


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


@pytest.fixture
def audited(tmp_path: Path) -> Iterator[Audited]:
    try:
        disk = SmallDisk(tmp_path / "log", 1)
    except NoMountError as error:
        pytest.skip(f"no small disk: {error}")
    try:
        log_files.log_to(disk.folder, "INFO")
        log_files.set_audit(on=True)
        with running(tmp_path / "tls", password=PASSWORD) as it:
            found = Audited(it, disk)
            it.frontend.audit = log_files.AuditState(lambda: found.mode == "STRICT")
            it.ask("CREATE USER norma IDENTIFIED BY 'wonder'")
            it.ask("GRANT NODE_PRIV ON *.* TO norma")
            yield found
    finally:
        disk.unmount()


def code(attempt: Callable[[], object]) -> int:
    with pytest.raises(pymysql.err.MySQLError) as caught:
        attempt()
    return int(caught.value.args[0])


def test_a_full_disk_is_told(audited: Audited, capfd: pytest.CaptureFixture[str]) -> None:
    """Statements go on; who asks sees that lines are lost, and the file says how many as soon as it has room. No line
    is torn, and nothing is printed for each.
    """
    assert audited.status() == {"Audit_error": "", "Audit_lines_lost": "0", "Audit_state": "OK"}
    audited.fill()
    audited.console.ask("CREATE USER backdoor IDENTIFIED BY 'x'")
    status = audited.status()
    assert (status["Audit_state"], status["Audit_error"]) == ("FAILING", "No space left on device")
    assert int(status["Audit_lines_lost"]) >= 3
    audited.disk.free()
    audited.console.ask("SELECT 42")
    [lost] = [line for line in audited.lines() if line.get("event") == "lost"]
    assert lost["lines"] >= 3
    assert lost["reason"] == "No space left on device"
    assert audited.status()["Audit_state"] == "OK"
    assert int(audited.status()["Audit_lines_lost"]) >= lost["lines"]
    assert "Traceback" not in capfd.readouterr().err


def test_strict_refuses_what_changes_anything(audited: Audited) -> None:
    """With its reason, before it is done; what only asks goes on, KILL too. With room again, all does."""
    audited.mode = "STRICT"
    audited.fill()
    console = audited.console
    for sql in (
        "CREATE USER backdoor IDENTIFIED BY 'x'",
        "GRANT ADMIN_PRIV ON *.* TO norma",
        "DROP TABLE demo.orders",
        'CREATE SYNC demo.j (FROM shop.orders INTO orders) FROM BINLOG ("type" = "mysql")',
        'ADMIN SET FRONTEND CONFIG ("audit_log" = "OFF")',
    ):
        assert code(lambda text=sql: console.ask(text)) == REFUSED  # type: ignore[misc]
    assert [row[0] for row in console.ask("SHOW ALL GRANTS")] == ["'root'@'%'", "'norma'@'%'"]
    assert console.ask("SELECT id FROM demo.orders")
    assert console.ask("SHOW SYNC JOB FROM demo") == ()
    assert code(lambda: console.ask("KILL 99999999")) == 1094
    audited.disk.free()
    console.ask("CREATE USER front IDENTIFIED BY 'hidden'")
    text = (audited.disk.folder / "audit.log").read_text()
    begins, ends = [line for line in audited.lines() if "front" in line.get("statement", "")]
    assert (begins["event"], begins["user"], ends.get("event"), ends["error"]) == ("begins", "'root'@'%'", None, None)
    assert "hidden" not in text


def test_who_is_audited_does_not_decide_on_it(audited: Audited) -> None:
    """The key needs ADMIN_PRIV; its change is written before it takes effect, and refused where it cannot be."""
    off = 'ADMIN SET FRONTEND CONFIG ("audit_log" = "OFF")'
    console = audited.console
    assert {"audit_log"} == OF_ADMINISTRATORS
    assert code(lambda: console.ask(off, user="norma", password="wonder")) == 1227
    console.ask('ADMIN SET FRONTEND CONFIG ("sync_commit_interval_second" = "7")', user="norma", password="wonder")
    audited.fill()
    assert code(lambda: console.ask(off)) == REFUSED
    audited.disk.free()

    class TurnsOff(FakeConfig):
        def set(self, values: Mapping[str, str]) -> None:
            super().set(values)
            log_files.set_audit(on=values["audit_log"] != "OFF")

    console.frontend.config = TurnsOff()
    console.ask(off)
    console.ask("SELECT 42")
    assert audited.lines()[-1]["event"] == "begins"
    assert "audit_log" in audited.lines()[-1]["statement"]
    assert audited.status()["Audit_state"] == "OFF"


def test_the_state_of_the_audit_is_for_operators(audited: Audited) -> None:
    """Others are not told when nobody looks."""
    audited.console.ask("CREATE USER alice IDENTIFIED BY 'wonder'")
    assert audited.console.ask("SHOW STATUS LIKE 'Audit%'", user="alice", password="wonder") == ()
    assert len(audited.console.ask("SHOW STATUS LIKE 'Audit%'", user="norma", password="wonder")) == 3


def test_whoever_had_the_right_password_is_in_it(tmp_path: Path) -> None:
    """Also if the login ended with an error about something else: a guesser would otherwise learn without a trace that
    a password is right.
    """
    log_files.log_to(tmp_path, "INFO")
    log_files.set_audit(on=True)
    with running(tmp_path / "tls", password=PASSWORD, max_connections=2, reserved_connections=1) as it:
        it.ask("CREATE USER alice IDENTIFIED BY 'wonder'")
        assert code(lambda: it.connect(user="alice", password="wonder", database="nowhere")) == 1049
        with it.connect(user="alice", password="wonder"):
            assert code(lambda: it.connect(user="alice", password="wonder")) == 1040
    found = [json.loads(line) for line in (tmp_path / "audit.log").read_text().splitlines()]
    errors = [line["error"] for line in found if line.get("event") == "login" and line["user"] == "'alice'@'%'"]
    assert errors == [1049, None, 1040]


def test_a_command_that_ends_a_connection_is_in_it(tmp_path: Path) -> None:
    """Like the statement KILL."""
    log_files.log_to(tmp_path, "INFO")
    log_files.set_audit(on=True)
    with running(tmp_path / "tls") as it, it.raw() as raw, it.connect() as victim:
        raw.log_in()
        number = id_of(victim)
        assert raw.command(b"\x0c" + number.to_bytes(4, "little"))[:1] == b"\0"
    found = [json.loads(line) for line in (tmp_path / "audit.log").read_text().splitlines()]
    [line] = [line for line in found if line.get("command") == "Kill"]
    assert (line["user"], line["statement"], line["error"]) == ("'root'@'%'", f"KILL {number}", None)
