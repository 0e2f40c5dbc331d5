"""Rights that change while a statement runs: real clients against a console, its accounts in memory."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import pymysql
import pytest

from syncmgr.errors import Code
from tests.support.until import HANG_SECOND
from tests.unit.console.running import PASSWORD, Running, running

CREATE: Final = 'CREATE SYNC demo.{name} (FROM shop.orders INTO orders) FROM BINLOG ("type" = "mysql")'
ALICE: Final = {"user": "alice", "password": "wonder"}


@pytest.fixture
def console(tmp_path: Path) -> Iterator[Running]:
    """A console with a user alice who has no grants, and a job."""
    with running(tmp_path, password=PASSWORD, drain_timeout=0.2) as it:
        it.ask("CREATE USER alice IDENTIFIED BY 'wonder'")
        it.ask(CREATE.format(name="one"))
        yield it


def refusal(console: Running, sql: str) -> tuple[int, str]:
    with pytest.raises(pymysql.err.MySQLError) as caught:
        console.ask(sql, **ALICE)
    return caught.value.args


@pytest.mark.parametrize(
    ("sql", "number"),
    [
        (CREATE.format(name="late"), 1044),
        (CREATE.replace("CREATE", "EXPLAIN").format(name="late"), 1044),
        ("ALTER SYNC JOB demo.one ADD TABLE FROM shop.items INTO orders", Code.UNKNOWN_JOB.number),
        ("ALTER SYNC JOB demo.one RESYNC TABLE shop.orders", Code.UNKNOWN_JOB.number),
    ],
)
@pytest.mark.parametrize("end", ["REVOKE ALL ON demo.* FROM alice", "DROP USER alice"])
def test_a_right_counts_when_the_source_has_answered(console: Running, sql: str, number: int, end: str) -> None:
    """Whoever may make a source wait does nothing with a right that was revoked meanwhile, nor after the account was
    dropped.
    """
    waits, go_on = threading.Event(), threading.Event()

    def wait() -> None:
        waits.set()
        assert go_on.wait(HANG_SECOND)

    console.ask("GRANT LOAD_PRIV ON demo.* TO alice")
    before = [list(row) for row in console.frontend.jobs.rows.values()]
    console.frontend.jobs.wait = wait
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(refusal, console, sql)
        assert waits.wait(HANG_SECOND)
        console.ask(end)
        go_on.set()
        assert asked.result(HANG_SECOND)[0] == number
    assert list(console.frontend.jobs.rows.values()) == before
