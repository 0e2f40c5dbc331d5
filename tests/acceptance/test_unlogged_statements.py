"""What an operator does about a job that a statement in place of rows has paused."""

from collections.abc import Callable, Iterator

import pymysql
import pytest

from syncmgr.errors import Code
from tests.acceptance.altered import Altered
from tests.acceptance.frontend import FrontendProcess
from tests.support.servers.mysql import MysqlServer
from tests.support.until import until

pytestmark = [pytest.mark.mysql, pytest.mark.spark]

STATEMENT = "SET SESSION binlog_format = STATEMENT"


@pytest.fixture
def make(mysql_server: MysqlServer, frontend: FrontendProcess) -> Iterator[Callable[[str], Altered]]:
    """A job of the table t, besides which there is a table o."""
    names: list[str] = []

    def made(name: str) -> Altered:
        names.append(name)
        t = Altered(name, mysql_server, frontend, rows=5)
        # The row commits a position past the CREATE TABLE: read again, all its queries would come too late.
        t.run(f"CREATE TABLE {name}.o (id INT PRIMARY KEY)", f"UPDATE {name}.t SET b = 'before' WHERE id = 3")
        t.wait_until_equal()
        return t

    yield made
    for name in names:
        frontend.sql(f"STOP SYNC JOB {name}.job1")


def wait_for_pause(t: Altered, code: Code) -> None:
    def paused() -> bool:
        job = t.fe.job(t.name)
        return job["State"] == "PAUSED" and f"(error {code.number})" in str(job["Msg"])

    until(paused, why=f"a pause by {code}")


def change_unseen(t: Altered) -> None:
    """By a trigger that no longer exists when the job reaches what fired it."""
    t.fe.sql(f"PAUSE SYNC JOB {t.name}.job1")
    until(lambda: t.fe.job(t.name)["Status"]["server"] is None, why="the end of the reading")
    t.run(f"CREATE TRIGGER {t.name}.r AFTER INSERT ON {t.name}.o FOR EACH ROW UPDATE t SET b = 'unseen' WHERE id = 1")
    t.run(STATEMENT, f"INSERT INTO {t.name}.o VALUES (1)")
    t.run(f"DROP TRIGGER {t.name}.r")
    t.run(f"INSERT INTO {t.name}.t VALUES (100, 1, 'after', 1)")
    t.fe.sql(f"RESUME SYNC JOB {t.name}.job1")
    wait_for_pause(t, Code.SOURCE_LATE)


def test_resume_passes_what_was_asked_too_late(make: Callable[[str], Altered]) -> None:
    """Once the operator has brought the tables in line: the statement that took the trigger away stops nothing more."""
    t = make("late")
    change_unseen(t)
    t.fe.sql("ALTER SYNC JOB late.job1 RESYNC TABLE late.t WHERE id = 1")
    t.fe.sql("RESUME SYNC JOB late.job1")
    t.wait_until_equal()
    assert t.fe.job("late")["State"] == "RUNNING"


@pytest.mark.slow
def test_only_the_word_of_an_operator_settles_it(make: Callable[[str], Altered]) -> None:
    """A job that he pauses, and a worker that begins anew, stop at the same statement, though nothing is known of what
    was asked.
    """
    t = make("latest")
    change_unseen(t)
    for statement in ("PAUSE", "RESUME"):
        t.fe.sql(f"{statement} SYNC JOB latest.job1")
    wait_for_pause(t, Code.SOURCE_LATE)
    assert "objects that are not known any more" in t.fe.job("latest")["Msg"]
    t.fe.sql("RESUME SYNC JOB latest.job1")
    t.fe.await_rows(lambda: len(t.lake()) == 7, why="the row after the statement")
    assert t.lake() != t.source()
    t.fe.sql("ALTER SYNC JOB latest.job1 RESYNC TABLE latest.t")
    t.wait_until_equal()


@pytest.mark.slow
def test_a_part_of_a_table_does_not_pass_a_statement(make: Callable[[str], Altered]) -> None:
    """RESYNC TABLE ... WHERE is refused at once, and names what brings the job on; it does."""
    t = make("partly")
    t.run(STATEMENT, "UPDATE partly.t SET b = 'unlogged' WHERE id = 1")
    wait_for_pause(t, Code.SOURCE_NOT_ROW)
    with pytest.raises(pymysql.err.MySQLError, match="leave WHERE out") as raised:
        t.fe.sql("ALTER SYNC JOB partly.job1 RESYNC TABLE partly.t WHERE id = 1")
    assert raised.value.args[0] == Code.RESYNC_WHERE.number
    t.fe.sql("ALTER SYNC JOB partly.job1 RESYNC TABLE partly.t")
    t.fe.sql("RESUME SYNC JOB partly.job1")
    t.run("UPDATE partly.t SET b = 'logged' WHERE id = 2")
    t.wait_until_equal()
    assert t.fe.job("partly")["State"] == "RUNNING"
