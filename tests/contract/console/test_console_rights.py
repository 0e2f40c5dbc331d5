"""Rights that change while a statement runs, and what errors and rows say of what may not be seen: real clients against
a console, its accounts in memory.
"""

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import pymysql
import pytest

from syncmgr.console.redaction import HIDDEN_JOB, HIDDEN_VALUE
from syncmgr.errors import Code, SyncError
from syncsql import DropTable
from tests.support.until import HANG_SECOND
from tests.unit.console.frontend import FakeCatalog
from tests.unit.console.running import PASSWORD, Running, running

pytestmark = pytest.mark.usefixtures("cheap_passwords")

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
        ('ALTER SYNC JOB demo.one SET SOURCE ("mysql.user" = "repl")', Code.UNKNOWN_JOB.number),
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
        assert asked.result(HANG_SECOND)[0] == (Code.INTERRUPTED.number if end.startswith("DROP") else number)
    assert list(console.frontend.jobs.rows.values()) == before


def test_a_source_is_set_by_who_may_create_the_job(console: Running) -> None:
    """Its targets hold what the new server says: LOAD_PRIV on the job, which is enough to pause it, is not enough."""
    sql = 'ALTER SYNC JOB demo.one SET SOURCE ("mysql.password" = "tell no one")'
    assert refusal(console, sql)[0] == Code.UNKNOWN_JOB.number
    console.ask("GRANT LOAD_PRIV ON JOB demo.one TO alice")
    console.ask("PAUSE SYNC JOB demo.one", **ALICE)
    assert refusal(console, sql)[0] == Code.DATABASE_DENIED.number
    console.ask("GRANT LOAD_PRIV ON demo.* TO alice")
    console.ask(sql, **ALICE)
    assert console.frontend.jobs.rows["demo", "one"][6].endswith('("mysql.password" = "******")')


@pytest.mark.parametrize(("grant", "named"), [("LOAD_PRIV ON JOB other.secret", True), ("LOAD_PRIV ON other.t", False)])
@pytest.mark.parametrize("code", [Code.TARGET_IN_USE, Code.CANAL_IN_USE])
def test_an_error_names_no_job_that_is_not_seen(console: Running, code: Code, grant: str, *, named: bool) -> None:
    """That a table or a canal destination is taken is said, and by which job only to who may see it."""
    console.ask(CREATE.replace("demo.", "other.").format(name="secret"))
    console.ask("GRANT LOAD_PRIV ON demo.* TO alice")
    console.ask(f"GRANT {grant} TO alice")
    reader = {"reader": "sync job 'other.secret'", "destination": "d", "address": "a"}

    def wait() -> None:
        facts = reader if code is Code.CANAL_IN_USE else {"table": "demo.orders", "job": "other.secret"}
        raise SyncError(code, **facts)

    console.frontend.jobs.wait = wait
    number, text = refusal(console, CREATE.format(name="late"))
    assert number == code.number
    assert ("other.secret" in text, HIDDEN_JOB in text) == (named, not named)


class BusyCatalog(FakeCatalog):
    """Each of its tables is the target of a job."""

    def drop_table(self, node: DropTable, db: str | None) -> tuple[()]:
        raise SyncError(Code.TABLE_BUSY, table=f"{db}.{node.table.name}", job="other.secret")


def test_a_busy_table_names_no_job_that_is_not_seen(console: Running) -> None:
    """DROP TABLE is refused; to an administrator with the name of the job."""
    console.ask(CREATE.replace("demo.", "other.").format(name="secret"))
    console.ask("GRANT DROP_PRIV ON demo.* TO alice")
    console.frontend.catalog = BusyCatalog()
    assert HIDDEN_JOB in refusal(console, "DROP TABLE demo.orders")[1]
    with pytest.raises(pymysql.err.MySQLError, match=r"other\.secret"):
        console.ask("DROP TABLE demo.orders")


VALUE: Final = str(
    SyncError(
        Code.SOURCE_VALUE,
        column="iban",
        table="shop.orders",
        value="DE12, which the target cannot hold: 34",
        reason="row id=4711",
    )
)


@pytest.mark.parametrize(("grant", "shown"), [("DROP ON demo.orders", False), ("SELECT ON demo.orders", True)])
def test_a_value_of_a_row_is_shown_to_who_may_read_it(console: Running, grant: str, *, shown: bool) -> None:
    """Msg and Status quote a value that a target cannot hold only to users with SELECT_PRIV on the targets."""
    row = console.frontend.jobs.rows["demo", "one"]
    row[5], row[11] = json.dumps({"last_error": VALUE, "behind": {"demo.orders": {"reason": VALUE}}}), VALUE
    console.ask("GRANT LOAD_PRIV ON JOB demo.one TO alice")
    console.ask(f"GRANT {grant} TO alice")
    (told,) = console.ask("SHOW SYNC JOB FROM demo", **ALICE)
    facts = json.loads(told[5])
    texts = [told[11], facts["last_error"], facts["behind"]["demo.orders"]["reason"]]
    for text in texts:
        assert text.startswith("Column 'iban' of table 'shop.orders' holds ")
        assert ("DE12" in text, "34" in text, "4711" in text, HIDDEN_VALUE in text) == (shown, shown, shown, not shown)


def test_a_value_of_a_job_that_was_just_forgotten_is_shown_to_nobody_else(console: Running) -> None:
    """Between its row and its targets: then nobody knows what one would have to be allowed to read."""
    row = console.frontend.jobs.rows["demo", "one"]
    row[11] = VALUE
    console.frontend.jobs.targets = lambda _: {}  # type: ignore[method-assign]
    console.ask("GRANT SELECT_PRIV ON demo.* TO alice")
    (told,) = console.ask("SHOW SYNC JOB FROM demo", **ALICE)
    assert HIDDEN_VALUE in told[11]
    assert "DE12" not in told[11]
