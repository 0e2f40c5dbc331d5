"""DDL on a synced table: applied to the lake at its place, or refused with what to do."""

import random
import threading
from decimal import Decimal
from pathlib import Path

import pytest

from syncmgr.crash import CrashPoint
from tests.acceptance.altered import Altered, Changing
from tests.acceptance.frontend import FrontendProcess
from tests.support.alike import ALIKE
from tests.support.servers.mysql import MysqlServer
from tests.support.until import until

pytestmark = [pytest.mark.mysql, pytest.mark.spark]


def test_columns_come_and_go(mysql_server: MysqlServer, frontend: FrontendProcess) -> None:
    """Added, dropped, renamed, widened, moved: the target has the columns of the source, with MySQL's own values."""
    t = Altered("evolving", mysql_server, frontend)
    t.run(
        "INSERT INTO evolving.t VALUES (1, 1, 'one', 1.50), (2, 2, NULL, NULL)",
        "ALTER TABLE evolving.t ADD COLUMN c INT, ADD n VARCHAR(9) NOT NULL DEFAULT 'x' COMMENT 'new' AFTER a",
        "INSERT INTO evolving.t VALUES (3, 3, 'n', 'three', 3.25, 30)",
        "UPDATE evolving.t SET c = 7 WHERE id = 1",
    )
    t.wait_until_equal()
    t.run(
        "ALTER TABLE evolving.t MODIFY a BIGINT NOT NULL, MODIFY d DECIMAL(12,2), MODIFY b TEXT",
        "INSERT INTO evolving.t VALUES (4, 5000000000, 'n', REPEAT('long', 20), 1234567890.12, NULL)",
        "ALTER TABLE evolving.t RENAME COLUMN b TO c, RENAME COLUMN c TO b",
        "INSERT INTO evolving.t VALUES (5, 5, 'n', 'five', 5, 50)",
        "ALTER TABLE evolving.t DROP COLUMN n, ADD n DECIMAL(6,3) NOT NULL FIRST",
        "INSERT INTO evolving.t VALUES (6.125, 6, 6, 'six', 6, 60)",
    )
    t.wait_until_equal()
    t.run(
        "ALTER TABLE evolving.t ADD u BIGINT UNSIGNED NOT NULL, ADD w BIGINT UNSIGNED DEFAULT 18446744073709551615",
        "INSERT INTO evolving.t (n, id, a, u) VALUES (7, 7, 7, 7)",
    )
    t.wait_until_equal()


def test_whole_tables_are_emptied_and_renamed(mysql_server: MysqlServer, frontend: FrontendProcess) -> None:
    """TRUNCATE empties the target; a renamed table is read under its new name; DROP keeps the rows, and a table
    of that name is a new one. All is told.
    """
    t = Altered("whole", mysql_server, frontend)
    t.run("INSERT INTO whole.t VALUES (1, 1, 'one', 1)", "CREATE INDEX i ON whole.t (a)", "TRUNCATE TABLE whole.t")
    t.run("INSERT INTO whole.t VALUES (2, 2, 'two', 2)", "RENAME TABLE whole.t TO whole.u")
    t.run("INSERT INTO whole.u VALUES (3, 3, 'three', 3)", "UPDATE whole.u SET a = 20 WHERE id = 2")
    t.wait_until_equal("u")
    t.run("DROP TABLE whole.u", "CREATE TABLE whole.u (PRIMARY KEY (id)) SELECT 7 AS id, 5 AS a, 'x' AS z")
    t.run("INSERT INTO whole.u VALUES (8, 6, 'y')")
    t.wait_until_equal("u")
    before = t.lake()
    t.run("DROP TABLE whole.u")
    told = "SELECT table_name, state, outcome FROM information_schema.sync_ddl WHERE job_schema = 'whole'"
    until(lambda: len(frontend.sql(told)) == 6, why="the DROP in sync_ddl")
    assert [tuple(row.values()) for row in frontend.sql(told)] == [
        ("whole.t", "DONE", "nothing to do"),
        ("whole.t", "DONE", "emptied"),
        ("whole.t", "DONE", "read as whole.u from here on"),
        ("whole.u", "DONE", "dropped in the source; the target keeps its rows"),
        ("whole.u", "DONE", "emptied; dropped column 'b'; dropped column 'd'; added column 'z' VARCHAR(1)"),
        ("whole.u", "DONE", "dropped in the source; the target keeps its rows"),
    ]
    assert t.lake() == before
    assert frontend.job("whole")["State"] == "RUNNING"


def test_a_type_that_changes_values_has_a_column_of_its_own(
    mysql_server: MysqlServer, frontend: FrontendProcess
) -> None:
    """By policy: older rows keep their values in the old column, whatever is written after it is in the new one."""
    name = "retyping"
    t = Altered(name, mysql_server, frontend, properties='PROPERTIES ("on_type_change" = "new_column")')
    t.run(
        f"INSERT INTO {name}.t VALUES (1, 1, '5', 1), (2, 2, '6', 2), (3, 3, '7', 3), (4, 4, NULL, 4)",
        f"ALTER TABLE {name}.t MODIFY b INT",
        f"UPDATE {name}.t SET a = 20 WHERE id = 2",
        f"INSERT INTO {name}.t VALUES (5, 5, 50, 5)",
        f"DELETE FROM {name}.t WHERE id = 3",
        f"ALTER TABLE {name}.t MODIFY b DECIMAL(4,1), MODIFY d FLOAT",
        f"UPDATE {name}.t SET b = 0.5 WHERE id = 1",
        f"INSERT INTO {name}.t VALUES (6, 6, 6.5, 6.5)",
    )
    expected: list[tuple[object, ...]] = [
        ("id", "a", "b", "d", "b__2", "b__3", "d__2"),
        (1, 1, None, None, None, Decimal("0.5"), 1.0),
        (2, 20, None, Decimal(2), 6, None, None),
        (4, 4, None, Decimal(4), None, None, None),
        (5, 5, None, Decimal(5), 50, None, None),
        (6, 6, None, None, None, Decimal("6.5"), 6.5),
    ]
    t.fe.await_rows(lambda: t.lake() == expected, why="the new columns")
    assert frontend.job(name)["State"] == "RUNNING"


def test_a_target_is_dropped_with_its_source(mysql_server: MysqlServer, frontend: FrontendProcess) -> None:
    """By policy and once, although the frontend dies right after it: the others go on, the job forgets the table, and
    ends with the last one.
    """
    t = Altered(
        "dropping",
        mysql_server,
        frontend,
        tables=("t", "u"),
        rows=5,
        properties='PROPERTIES ("on_drop_table" = "drop")',
    )
    t.wait_until_equal()
    t.wait_until_equal("u", "u")
    frontend.arm(CrashPoint.TABLE_ALTERED)
    t.run("INSERT INTO dropping.t VALUES (100, 1, 'x', 1)", "DROP TABLE dropping.t")
    t.run("INSERT INTO dropping.u VALUES (100, 1, 'x', 1)")
    frontend.await_death(CrashPoint.TABLE_ALTERED)
    frontend.start()
    t.wait_until_equal("u", "u")
    channels = "SELECT target_table FROM information_schema.sync_channels WHERE job_schema = 'dropping'"
    until(lambda: frontend.sql(channels) == [{"target_table": "u"}], why="the end of the channel")
    assert frontend.sql("SHOW TABLES FROM dropping") == [{"Tables_in_dropping": "u"}]
    assert "INTO `t`" not in str(frontend.sql("SHOW CREATE SYNC JOB dropping.job1"))
    told = frontend.sql("SELECT outcome FROM information_schema.sync_ddl WHERE job_schema = 'dropping'")
    assert told == [{"outcome": "dropped in the source; the target is dropped, too"}]
    t.run("DROP DATABASE dropping")
    until(lambda: frontend.job("dropping")["State"] == "CANCELLED", why="the end of the job")
    assert frontend.sql("SHOW TABLES FROM dropping") == []


@pytest.mark.slow
def test_a_table_that_is_promoted_to_a_dropped_ones_name(mysql_server: MysqlServer, frontend: FrontendProcess) -> None:
    """Both stop and the third goes on; rows of the one went into the target of the other. RESYNC brings back the one
    whose name is in use.
    """
    t = Altered("promoted", mysql_server, frontend, tables=("fresh", "old", "other"), rows=3)
    t.wait_until_equal("other", "other")
    t.wait_until_equal("fresh", "fresh")
    t.wait_until_equal("old", "old")
    t.run(
        "INSERT INTO promoted.fresh VALUES (8, 8, 'eight', 8)",
        "DROP TABLE promoted.old",
        "RENAME TABLE promoted.fresh TO promoted.old",
        "INSERT INTO promoted.old VALUES (9, 9, 'nine', 9)",
        "INSERT INTO promoted.other VALUES (9, 9, 'nine', 9)",
    )
    t.wait_until_equal("other", "other")
    assert [row[0] for row in t.lake("fresh")] == ["id", 0, 1, 2, 8]
    assert [row[0] for row in t.lake("old")] == ["id", 0, 1, 2]
    states = "SELECT target_table, state, reason FROM information_schema.sync_channels WHERE job_schema = 'promoted'"
    fresh, old, other = (frontend.sql(f"{states} AND target_table = '{each}'")[0] for each in ("fresh", "old", "other"))
    assert (fresh["state"], old["state"], other["state"]) == ("STOPPED", "STOPPED", "STREAMING")
    assert "table promoted.fresh takes its name" in str(old["reason"])
    assert "renames the table to promoted.old" in str(fresh["reason"])
    frontend.sql("ALTER SYNC JOB promoted.job1 RESYNC TABLE promoted.old")
    t.run("INSERT INTO promoted.old VALUES (10, 10, 'ten', 10)")
    t.wait_until_equal("old", "old")


def test_what_cannot_be_followed_pauses_and_is_told(mysql_server: MysqlServer, frontend: FrontendProcess) -> None:
    """The rows before it are there, the message says why and what to do, and sync_ddl has it once, however often it
    was tried.
    """
    t = Altered("refusing", mysql_server, frontend)
    t.run("INSERT INTO refusing.t VALUES (1, 1, '5', 1)", "ALTER TABLE refusing.t MODIFY b INT")
    for _ in range(2):
        until(lambda: frontend.job("refusing")["State"] == "PAUSED", why="the pause")
        assert "may change its values" in frontend.job("refusing")["Msg"]
        assert "APPLY DDL" in frontend.job("refusing")["Msg"]
        assert t.lake()[1:] == [(1, 1, "5", 1)]
        told = frontend.sql("SELECT * FROM information_schema.sync_ddl WHERE job_schema = 'refusing'")
        assert [(row["STATE"], row["STATEMENT"]) for row in told] == [("PAUSED", "ALTER TABLE refusing.t MODIFY b INT")]
        frontend.sql("RESUME SYNC JOB refusing.job1")


def test_an_operator_settles_what_cannot_be_followed(mysql_server: MysqlServer, frontend: FrontendProcess) -> None:
    """APPLY DDL changes the target as another statement says, SKIP DDL leaves it; rows continue after either."""
    t = Altered("settling", mysql_server, frontend)
    t.run("INSERT INTO settling.t VALUES (1, 1, '5', 1)", "ALTER TABLE settling.t MODIFY b INT")
    t.run("INSERT INTO settling.t VALUES (2, 2, 6, 2)", "ALTER TABLE settling.t ADD e INT AS (a + 1) STORED")
    t.run("INSERT INTO settling.t (id, a, b, d) VALUES (3, 3, 7, 3)")

    def settle(how: str) -> None:
        until(lambda: frontend.job("settling")["State"] == "PAUSED", why="the pause")
        frontend.sql(f"ALTER SYNC JOB settling.job1 {how}")
        frontend.sql("RESUME SYNC JOB settling.job1")

    settle("APPLY DDL 'ALTER TABLE t2 ADD c INT'")
    until(lambda: "about no table" in str(frontend.job("settling")["Msg"]), why="the refusal")
    settle("APPLY DDL 'ALTER TABLE settling.t DROP COLUMN b, ADD COLUMN b INT AFTER a'")
    until(lambda: "computed" in str(frontend.job("settling")["Msg"]), why="the next statement")
    settle("SKIP DDL")
    rows = [("id", "a", "b", "d"), (1, 1, None, 1), (2, 2, 6, 2), (3, 3, 7, 3)]
    t.fe.await_rows(lambda: t.lake() == rows, why="the rows behind it")
    told = frontend.sql("SELECT state, outcome FROM information_schema.sync_ddl WHERE job_schema = 'settling'")
    assert [row["state"] for row in told] == ["DONE", "DONE"]
    assert "was applied instead: dropped column 'b'; added column 'b' INT" in told[0]["outcome"]
    assert told[1]["outcome"] == "skipped"
    frontend.sql('ALTER SYNC JOB settling.job1 SET ("on_ddl" = "ignore")')
    shown = frontend.sql("SHOW CREATE SYNC JOB settling.job1")[0].values()
    t.run("ALTER TABLE settling.t ADD f INT", "INSERT INTO settling.t (id, a, b, d, f) VALUES (4, 4, 8, 4, 9)")
    t.fe.await_rows(lambda: t.lake() == [*rows, (4, 4, 8, 4)], why="a row behind ignored DDL")
    told = frontend.sql("SELECT outcome FROM information_schema.sync_ddl WHERE job_schema = 'settling'")
    assert told[-1]["outcome"] == "column 'f' is not synced"
    assert '"on_ddl" = "ignore"' in str(shown)


@pytest.mark.parametrize("seed", [1])
@ALIKE
def test_random_ddl_and_dml_leave_both_sides_equal(
    any_server: MysqlServer, frontend: FrontendProcess, seed: int
) -> None:
    """On either server, whatever the sequence: every column and row of the source is in the lake, in its order."""
    name = f"random_{any_server.flavour}_{seed}"
    t = Altered(name, any_server, frontend)
    changing = Changing(f"{name}.t", t.run, random.Random(seed))
    for _ in range(2):
        for _ in range(30):
            changing.step()
        t.wait_until_equal()


def test_death_around_ddl_loses_and_doubles_nothing(mysql_server: MysqlServer, tmp_path: Path) -> None:
    """Worker and frontend die at each step of following while columns come and go; in the end both sides are equal."""
    fe = FrontendProcess(tmp_path).start()
    t = Altered("dying_ddl", mysql_server, fe)
    changing, ended = Changing("dying_ddl.t", t.run, random.Random(3)), threading.Event()

    def write() -> None:
        while not ended.wait(0.4):
            changing.step()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        until(lambda: fe.job("dying_ddl")["Status"]["commits"] > 1, why="the first commits")
        for point in (CrashPoint.DDL_SENT, CrashPoint.DDL_ANSWERED):
            fe.arm(point)
            until(lambda point=point: not fe.is_armed(point), why=f"the worker's death at {point}")
        fe.arm(CrashPoint.DDL_DECIDED)
        fe.await_death(CrashPoint.DDL_DECIDED)
        for point in (CrashPoint.TABLE_ALTERED, CrashPoint.DDL_STORED):
            fe.die_at(point)
        ended.set()
        writer.join()
        fe.start()
        t.wait_until_equal()
    finally:
        ended.set()
        writer.join()
        fe.stop()
