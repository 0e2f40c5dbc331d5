"""What Status advises of the lake, of staging and of a run is typed, and the job is well again.

What another user does to a target is typed into a separate Spark.
"""

import itertools
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from syncmgr.errors import Code
from tests.acceptance.frontend import FrontendProcess
from tests.acceptance.test_advice import Patient
from tests.acceptance.test_bad_input import WITHOUT_JAVA
from tests.acceptance.test_faults import small_disk
from tests.acceptance.test_restores import metadata, rename, set_back, set_to
from tests.acceptance.test_shards import Shards
from tests.support.files import below
from tests.support.servers.mysql import MysqlServer
from tests.support.slow import some_slow
from tests.support.small_disk import SmallDisk
from tests.support.until import until

pytestmark = [pytest.mark.mysql, pytest.mark.spark]

Sql = Callable[[str], None]


def file_of(t: Patient) -> Path:
    """The newest metadata of its table."""
    return Path(metadata(t.catalog, t.name, "t").removeprefix("file:"))


def facts_of(t: Patient) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(file_of(t).read_text())
    return found


def edit(t: Patient, change: Callable[[dict[str, Any]], None]) -> None:
    """Metadata as left by an engine whose checks or clock differ from those of Spark here."""
    file, facts = file_of(t), facts_of(t)
    change(facts)
    number, _, rest = file.name.partition("-")
    edited = file.with_name(f"{int(number) + 1:05}-{rest}")
    edited.write_text(json.dumps(facts))
    set_to(t.catalog, t.name, "t", str(edited))


def committed_ahead(facts: dict[str, Any], second: int) -> None:
    """As by a clock that was so many seconds ahead."""
    later = facts["last-updated-ms"] + second * 1000
    (snapshot,) = (each for each in facts["snapshots"] if each["snapshot-id"] == facts["current-snapshot-id"])
    facts["last-updated-ms"] = snapshot["timestamp-ms"] = facts["snapshot-log"][-1]["timestamp-ms"] = later


def require(facts: dict[str, Any], name: str) -> None:
    """NOT NULL, of a column."""
    for field in (field for schema in facts["schemas"] for field in schema["fields"]):
        field["required"] |= field["name"] == name


def mount(disk: SmallDisk, how: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{how}", str(disk.folder)], check=True)


def test_a_lost_column_is_added_again(mysql_server: MysqlServer, frontend: FrontendProcess, spark: Sql) -> None:
    """1054: by ALTER TABLE; existing rows get their values by RESYNC TABLE, as the advice also says."""
    t = Patient("advised_column", mysql_server, frontend, rows=3)
    t.wait_until_equal()
    spark("ALTER TABLE lake.advised_column.t DROP COLUMN d")
    t.run("INSERT INTO advised_column.t VALUES (11, 1, 'new', 1)")
    advice = t.until_paused(Code.UNKNOWN_COLUMN)
    assert "add it again; ALTER SYNC JOB ... RESYNC TABLE brings the values" in advice
    spark("ALTER TABLE lake.advised_column.t ADD COLUMN d DECIMAL(8, 2)")
    t.resync()
    t.until_well()


@pytest.mark.slow
def test_a_column_that_was_replaced_is_read_anew(
    mysql_server: MysqlServer, frontend: FrontendProcess, spark: Sql
) -> None:
    """20237: by RESYNC TABLE and RESUME."""
    t = Patient("advised_replaced", mysql_server, frontend, rows=3)
    t.wait_until_equal()
    spark("ALTER TABLE lake.advised_replaced.t DROP COLUMN d")
    spark("ALTER TABLE lake.advised_replaced.t ADD COLUMN d DECIMAL(8, 2)")
    t.run("INSERT INTO advised_replaced.t VALUES (11, 1, 'new', 1)", "DELETE FROM advised_replaced.t WHERE id = 1")
    advice = t.until_paused(Code.COLUMN_REPLACED)
    assert advice.endswith("ALTER SYNC JOB ... RESYNC TABLE brings their values; then RESUME.")
    t.resync()
    t.until_well()


@pytest.mark.slow
@pytest.mark.parametrize("how", some_slow(["column", "same type", "table", "rows kept"], always=["column"]))
def test_a_target_that_was_changed_is_read_anew_before_that_is_noticed(
    mysql_server: MysqlServer, frontend: FrontendProcess, spark: Sql, how: str
) -> None:
    """By RESYNC TABLE alone, while the job runs: nothing is rounded into the type that a column has by then, and no
    change that comes before the rows pauses the job.
    """
    t = Patient(f"advised_early_{how.replace(' ', '_')}", mysql_server, frontend, rows=3)
    t.wait_until_equal()
    t.run(f"INSERT INTO {t.name}.t VALUES (11, 1, 'new', 2.75)")
    t.wait_until_equal()
    if how in {"column", "same type"}:
        spark(f"ALTER TABLE lake.{t.name}.t DROP COLUMN d")
        spark(f"ALTER TABLE lake.{t.name}.t ADD COLUMN d {'INT' if how == 'column' else 'DECIMAL(8, 2)'}")
    elif how == "rows kept":
        spark(f"CREATE OR REPLACE TABLE lake.{t.name}.t USING iceberg AS SELECT * FROM lake.{t.name}.t")
    else:
        spark(f"DROP TABLE lake.{t.name}.t")
        spark(f"CREATE TABLE lake.{t.name}.t (id BIGINT NOT NULL, a INT, b STRING, d INT) USING iceberg")
    t.alter(f"RESYNC TABLE {t.name}.t")
    t.run(f"INSERT INTO {t.name}.t VALUES (12, 1, 'new', 3.25)", f"DELETE FROM {t.name}.t WHERE id = 1")
    t.until_well()


@pytest.mark.slow
def test_what_depends_on_a_dropped_column_is_removed(
    mysql_server: MysqlServer, frontend: FrontendProcess, spark: Sql
) -> None:
    """20238: by the statements of the message, and RESUME."""
    t = Patient("advised_drop", mysql_server, frontend, rows=3)
    t.wait_until_equal()
    spark("ALTER TABLE lake.advised_drop.t ADD PARTITION FIELD b")
    t.run("INSERT INTO advised_drop.t VALUES (11, 1, 'new', 1)", "INSERT INTO advised_drop.t (id, a) VALUES (12, 1)")
    t.wait_until_equal()
    t.run("ALTER TABLE advised_drop.t DROP COLUMN b")
    assert t.until_paused(Code.FOREIGN_CHANGE) == "Do what the reason says, then RESUME."
    for statement in t.job["Msg"].partition("type in Spark: ")[2].partition(" (error ")[0].split("; "):
        spark(statement)
    t.resume()
    t.until_well()


@pytest.mark.slow
def test_a_renamed_column_is_renamed_back(mysql_server: MysqlServer, frontend: FrontendProcess, spark: Sql) -> None:
    """1054: its values are still there, so that RESUME is enough."""
    t = Patient("advised_rename", mysql_server, frontend, rows=3)
    t.wait_until_equal()
    spark("ALTER TABLE lake.advised_rename.t RENAME COLUMN d TO dd")
    t.run("INSERT INTO advised_rename.t VALUES (11, 1, 'new', 1)", "DELETE FROM advised_rename.t WHERE id = 1")
    assert "If it was renamed, rename it back, by ALTER TABLE, then RESUME." in t.until_paused(Code.UNKNOWN_COLUMN)
    frontend.sql("ALTER TABLE advised_rename.t RENAME COLUMN dd TO d")
    t.resume()
    t.until_well()


def test_a_target_that_was_rolled_back_is_read_anew(
    mysql_server: MysqlServer, frontend: FrontendProcess, spark: Sql
) -> None:
    """20203: by RESYNC TABLE and RESUME."""
    t = Patient("advised_rollback", mysql_server, frontend, rows=3)
    t.wait_until_equal()
    first = facts_of(t)["current-snapshot-id"]
    t.run("INSERT INTO advised_rollback.t VALUES (11, 1, 'new', 1)")
    t.wait_until_equal()
    spark(f"CALL lake.system.rollback_to_snapshot('advised_rollback.t', {first})")
    t.run("INSERT INTO advised_rollback.t VALUES (12, 1, 'new', 1)")
    assert "ALTER SYNC JOB ... RESYNC TABLE replaces all of its rows; then RESUME." in t.until_paused(
        Code.TARGET_REPLACED
    )
    t.resync()
    t.until_well()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("prefix", "code"),
    [
        ("rolled", Code.TARGET_REPLACED),
        pytest.param("renewed", Code.COLUMN_REPLACED, marks=pytest.mark.slow),
        pytest.param("older", Code.TARGET_SET_BACK, marks=pytest.mark.long),
    ],
)
def test_shards_that_were_changed_come_with_a_new_job(
    mysql_server: MysqlServer, frontend: FrontendProcess, spark: Sql, prefix: str, code: Code
) -> None:
    """RESYNC TABLE replaces the rows of one database, while those of the others are missing, too: it is not advised."""
    shards = Shards(prefix, mysql_server, frontend)
    statement = shards.statement(rf"FROM TABLES LIKE '{prefix}\_%.orders' INTO orders")
    frontend.sql(statement)
    shards.wait_until_equal()
    catalog = frontend.folder / "var" / "lake" / "catalog.db"
    older = metadata(catalog, prefix, "orders")
    for db in shards.databases:
        mysql_server.run(f"INSERT INTO {db}.orders VALUES (-1, 'is gone', 1)")
    shards.wait_until_equal()
    if code is Code.TARGET_REPLACED:
        first = json.loads(Path(older.removeprefix("file:")).read_text())["current-snapshot-id"]
        spark(f"CALL lake.system.rollback_to_snapshot('{prefix}.orders', {first})")
    elif code is Code.COLUMN_REPLACED:
        spark(f"ALTER TABLE lake.{prefix}.orders DROP COLUMN total")
        spark(f"ALTER TABLE lake.{prefix}.orders ADD COLUMN total DECIMAL(8, 2)")
    else:
        set_to(catalog, prefix, "orders", older)
    mysql_server.run(f"INSERT INTO {prefix}_0.orders VALUES (-2, 'after that', 1)")

    def advice() -> str:
        status = frontend.job(prefix)["Status"]
        return next(
            (str(behind["advice"]) for behind in status["behind"].values() if behind["error"] == code.number), ""
        )

    told: list[str] = []  # a moment later it may be well, until it is tried again
    until(lambda: told.append(advice()) or told[-1], why=f"{code}")
    assert told[-1].endswith(
        "STOP the job, DROP its targets and create them again (INTO db.* does it by itself), and create the job again "
        'without "start", whose default brings all rows.'
    )
    frontend.sql(f"STOP SYNC JOB {prefix}.job1")
    frontend.sql(f"DROP TABLE {prefix}.orders")
    frontend.sql(statement)
    shards.wait_until_equal()
    frontend.sql(f"STOP SYNC JOB {prefix}.job1")


def test_a_column_that_nobody_fills_is_made_nullable(
    mysql_server: MysqlServer, frontend: FrontendProcess, spark: Sql
) -> None:
    """20015: by ALTER TABLE, and RESUME."""
    t = Patient("advised_required", mysql_server, frontend)
    spark("ALTER TABLE lake.advised_required.t ADD COLUMN x INT")
    edit(t, partial(require, name="x"))
    t.run("INSERT INTO advised_required.t VALUES (11, 1, 'new', 1)")
    assert "Make the target's column nullable, by ALTER TABLE" in t.until_paused(Code.COLUMN_NOT_COVERED)
    frontend.sql("ALTER TABLE advised_required.t MODIFY COLUMN x INT NULL")
    t.resume()
    t.fe.await_rows(lambda: len(t.lake()) == 2, why="the row")
    frontend.sql("ALTER TABLE advised_required.t DROP COLUMN x")
    t.until_well()


def test_a_condition_that_fails_is_replaced(mysql_server: MysqlServer, frontend: FrontendProcess) -> None:
    """20013: by STOP and a new job at the position of Status; the target may have rows."""
    t = Patient("advised_where", mysql_server, frontend)
    frontend.sql("STOP SYNC JOB advised_where.job1")
    t.make("(FROM advised_where.t INTO t WHERE CAST(b AS INT) < 9)", start="latest")
    t.run("INSERT INTO advised_where.t VALUES (1, 1, '5', 1)")
    t.wait_until_equal()
    t.run("INSERT INTO advised_where.t VALUES (2, 1, 'no number', 1)")
    advice = t.until_paused(Code.BAD_EXPRESSION)
    assert 'create it with another expression or WHERE and the position of Status as "start"' in advice
    frontend.sql("STOP SYNC JOB advised_where.job1")
    t.make("(FROM advised_where.t INTO t WHERE a < 9)", start=t.place)
    t.until_well()


@pytest.mark.slow
def test_a_lost_identifier_is_set_again(mysql_server: MysqlServer, frontend: FrontendProcess, spark: Sql) -> None:
    """20232: by ALTER TABLE; the job goes on by itself."""
    t = Patient("advised_spec", mysql_server, frontend, rows=3)
    t.wait_until_equal()
    spark("ALTER TABLE lake.advised_spec.t DROP IDENTIFIER FIELDS id")
    spark("ALTER TABLE lake.advised_spec.t ADD PARTITION FIELD bucket(2, a)")
    t.run("INSERT INTO advised_spec.t VALUES (11, 1, 'new', 1)")
    assert "fix what it lacks (an identifier: ALTER TABLE ... SET IDENTIFIER FIELDS in Spark)" in t.until_told(
        Code.SPEC_CHANGED
    )
    spark("ALTER TABLE lake.advised_spec.t SET IDENTIFIER FIELDS id")
    t.until_well()


@pytest.mark.long
def test_a_clock_that_is_right_catches_up(mysql_server: MysqlServer, frontend: FrontendProcess) -> None:
    """20233 of a table that a clock that was ahead has committed: nothing is to be done but to wait until the time of
    the message.
    """
    t = Patient("advised_clock", mysql_server, frontend, rows=3)
    t.wait_until_equal()
    edit(t, partial(committed_ahead, second=70))  # Iceberg allows a minute
    t.run("INSERT INTO advised_clock.t VALUES (11, 1, 'new', 1)")
    assert "commits go on by themselves at the time of the message" in t.until_told(Code.LAKE_CLOCK)
    assert t.job["Status"]["needs_operator"]
    said = re.search(r"the next commit is possible at (\S+ \S+) UTC", t.job["Msg"])
    assert said is not None
    t.until_well()
    assert datetime.now(UTC).replace(tzinfo=None) > datetime.fromisoformat(said[1])


@pytest.mark.slow
def test_a_table_that_was_committed_by_a_clock_far_ahead_is_made_anew(
    mysql_server: MysqlServer, frontend: FrontendProcess
) -> None:
    """20233, where waiting is no answer: job and target are, and take what is written by the right clock."""
    t = Patient("advised_ahead", mysql_server, frontend, rows=3)
    t.wait_until_equal()
    edit(t, partial(committed_ahead, second=86_400))
    t.run("INSERT INTO advised_ahead.t VALUES (11, 1, 'new', 1)")
    assert "STOP the job, DROP its targets and create them again" in t.until_told(Code.LAKE_CLOCK)
    t.again()
    t.until_well()


@pytest.mark.slow
def test_one_table_that_was_committed_by_a_clock_far_ahead_is_made_anew(
    mysql_server: MysqlServer, frontend: FrontendProcess
) -> None:
    """20233 of one table of several: DROP TABLE, DROP its target, and ADD TABLE; the other one goes on meanwhile."""
    name = "advised_ahead_one"
    t = Patient(name, mysql_server, frontend, tables=("t", "u"), rows=3)
    t.wait_until_equal()
    edit(t, partial(committed_ahead, second=86_400))
    t.run(f"INSERT INTO {name}.t VALUES (11, 1, 'new', 1)", f"INSERT INTO {name}.u VALUES (11, 1, 'new', 1)")
    until(lambda: f"{name}.t" in t.job["Status"]["behind"], why="a table that is behind")
    behind = t.job["Status"]["behind"][f"{name}.t"]
    assert behind["error"] == Code.LAKE_CLOCK.number
    assert behind["advice"].endswith(
        "For one table alone: ALTER SYNC JOB ... DROP TABLE, DROP its target, and ADD TABLE with INTO db.*."
    )
    t.wait_until_equal("u", "u")
    t.alter(f"DROP TABLE {name}.t")
    states = f"SELECT state FROM information_schema.sync_channels WHERE target_schema = '{name}' AND target_table = 't'"
    until(lambda: not any(row["state"] for row in frontend.sql(states)), why="a target that may be dropped")
    frontend.sql(f"DROP TABLE {name}.t")
    t.alter(f"ADD TABLE FROM {name}.t INTO {name}.*")
    t.until_well()
    assert t.job["Status"]["behind"] == {}


def test_a_table_that_is_not_whole_is_set_back(mysql_server: MysqlServer, frontend: FrontendProcess) -> None:
    """20222: to the metadata of the message, and RESUME; where the commit had counted, that says 20231, whose RESYNC
    TABLE and RESUME bring all rows.
    """
    t = Patient("advised_broken", mysql_server, frontend)  # one file: a compaction would be the last commit
    t.run("INSERT INTO advised_broken.t VALUES (11, 1, 'new', 1)")
    t.wait_until_equal()
    t.pause()
    file_of(t).write_bytes(b"")
    t.run("INSERT INTO advised_broken.t VALUES (12, 1, 'new', 1)")
    t.resume()
    advice = t.until_paused(Code.TABLE_BROKEN)
    assert advice.startswith("Set the catalog back as the message says, or restore a backup, then RESUME.")
    assert str(file_of(t)) in t.job["Msg"]
    set_back(t.catalog, t.name, "t")
    assert str(file_of(t)) in t.job["Msg"]
    t.resume()
    assert "ALTER SYNC JOB ... RESYNC TABLE, which replaces all rows" in t.until_paused(Code.TARGET_SET_BACK)
    t.resync()
    t.until_well()


@pytest.mark.slow
def test_rows_whose_files_are_gone_are_replaced(mysql_server: MysqlServer, frontend: FrontendProcess) -> None:
    """20222 where no backup has them and every older state of the table names them, too: RESYNC TABLE, which the next
    run does not take for as harmed as what it has replaced.
    """
    t = Patient("advised_gone", mysql_server, frontend, rows=3)
    t.wait_until_equal()
    t.pause()
    for file in below(t.fe.folder / "var" / "lake" / t.name, "*.parquet"):
        file.unlink()
    t.run("INSERT INTO advised_gone.t VALUES (11, 1, 'new', 1)")
    t.resume()
    advice = t.until_paused(Code.TABLE_BROKEN)
    assert advice.endswith("docs/operations.md, Power failure, says how the rows are read again.")
    t.resync()
    until(lambda: t.job["Status"]["behind"] == {} and t.job["Msg"] is None, why="all rows")  # nothing can read before
    t.until_well()
    t.pause()
    t.resume()
    t.until_well()


@pytest.mark.slow
def test_a_table_whose_manifests_are_gone_is_made_anew(mysql_server: MysqlServer, frontend: FrontendProcess) -> None:
    """20222 where RESYNC TABLE does not help either, while the job runs: with its job, though nothing names the files
    of the old table.
    """
    t = Patient("advised_lists", mysql_server, frontend, rows=3)
    t.until_well()
    for file in below(t.fe.folder / "var" / "lake" / t.name, "snap-*.avro"):
        file.unlink()
    t.run("INSERT INTO advised_lists.t VALUES (11, 1, 'new', 1)")
    t.until_paused(Code.TABLE_BROKEN)
    t.again()
    t.until_well()


@pytest.mark.slow
def test_a_table_that_is_newer_than_the_metadata_is_made_anew(
    mysql_server: MysqlServer, frontend: FrontendProcess, spark: Sql
) -> None:
    """20221: with its job."""
    t = Patient("advised_newer", mysql_server, frontend)
    t.until_well()
    ((token, epoch),) = ((n, v) for n, v in facts_of(t)["properties"].items() if n.startswith("syncmgr.token."))
    spark(f"ALTER TABLE lake.advised_newer.t SET TBLPROPERTIES ('{token}' = '{int(epoch) + 100}')")
    t.run("INSERT INTO advised_newer.t VALUES (12, 1, 'new', 1)")
    assert "Otherwise STOP the job, DROP its targets and create them again" in t.until_paused(Code.OTHER_HISTORY)
    t.again()
    t.until_well()


@pytest.mark.slow
def test_rows_that_were_staged_and_are_gone_come_with_a_new_job(
    mysql_server: MysqlServer, frontend: FrontendProcess
) -> None:
    """20226."""
    t = Patient("advised_staged", mysql_server, frontend)
    t.until_well()
    rename(t.catalog, t.name, "t", "away")
    t.run("INSERT INTO advised_staged.t VALUES (13, 1, 'new', 1)")
    t.until_paused(Code.NO_SUCH_TABLE)
    staged = list(below(t.staging, "*.parquet"))
    assert staged
    for file in staged:
        file.unlink(missing_ok=True)
    rename(t.catalog, t.name, "away", "t")
    t.resume()
    assert "STOP the job, DROP its targets and create them again" in t.until_paused(Code.STAGED_LOST)
    t.again()
    t.until_well()


def test_staging_that_takes_no_rows_stops_nothing(mysql_server: MysqlServer, frontend: FrontendProcess) -> None:
    """20206 and 20205: with room, or as it may be written again, the job goes on by itself."""
    t, numbers = Patient("advised_disk", mysql_server, frontend), itertools.count(1)
    t.until_well()
    t.pause()
    disk = small_disk(t.staging, 4)
    try:
        t.resume()
        t.until_well()

        def fill() -> None:  # again and again: what an earlier run has left may still make room
            disk.fill()
            t.run(f"INSERT INTO advised_disk.t VALUES ({next(numbers)}, 1, 'full', 1)")

        told = t.until_told(Code.DISK_FULL, fill)
        assert told == "Make room in staging_dir; the job goes on by itself."
        disk.free()
        t.until_well()
        mount(disk, "ro")
        t.run(f"INSERT INTO advised_disk.t VALUES ({next(numbers)}, 1, 'ro', 1)")
        assert t.until_told(Code.NOT_WRITABLE) == "Fix rights or disk of the folder; the job goes on by itself."
        mount(disk, "rw")
        t.until_well()
        frontend.sql("STOP SYNC JOB advised_disk.job1")
    finally:
        disk.unmount()


def test_a_lake_that_may_not_be_written_pauses_the_job(mysql_server: MysqlServer, frontend: FrontendProcess) -> None:
    """20224: once it may, RESUME brings what was staged."""
    t = Patient("advised_denied", mysql_server, frontend)
    disk = small_disk(file_of(t).parents[1] / "data", 4)
    try:
        t.until_well()
        mount(disk, "ro")
        t.run("INSERT INTO advised_denied.t VALUES (2, 1, 'ro', 1)")
        assert t.until_paused(Code.LAKE_DENIED) == "Fix the rights of the frontend on the lake's storage, then RESUME."
        mount(disk, "rw")
        t.resume()
        t.until_well()
        frontend.sql("STOP SYNC JOB advised_denied.job1")
        frontend.sql("DROP TABLE advised_denied.t")
    finally:
        disk.unmount()


def test_a_failure_of_the_lake_is_read_in_the_log(mysql_server: MysqlServer, frontend: FrontendProcess) -> None:
    """20202: the reason is in Msg and in log/fe.log; once fixed, the job goes on by itself."""
    t = Patient("advised_failed", mysql_server, frontend)
    t.until_well()
    data = file_of(t).parents[1] / "data"
    away = data.rename(data.with_name("away"))
    data.write_text("no folder")
    t.run("INSERT INTO advised_failed.t VALUES (2, 1, 'x', 1)")
    assert t.until_told(Code.LAKE_FAILED) == "Nothing if it passes; else read the reason and log/fe.log."
    assert "Not a directory" in t.job["Msg"]
    log = (frontend.folder / "log" / "fe.log").read_text()
    assert any("advised_failed" in line and "Not a directory" in line for line in log.splitlines())
    data.unlink()
    away.rename(data)
    t.until_well()


@pytest.mark.long
def test_a_damaged_catalog_is_restored(mysql_server: MysqlServer, frontend: FrontendProcess) -> None:
    """20225: from a copy of the same moment, while the frontend is down: one that runs believes what it has read."""
    t = Patient("advised_damaged", mysql_server, frontend)
    t.until_well()
    with closing(sqlite3.connect(t.catalog, timeout=30)) as connection:
        assert connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0
    kept = t.catalog.read_bytes()
    try:
        with t.catalog.open("r+b") as file:
            file.write(b"damaged" * 100)
        t.run("INSERT INTO advised_damaged.t VALUES (2, 1, 'x', 1)")
        advice = t.until_paused(Code.LAKE_DAMAGED)
    finally:
        frontend.stop()
        for file_beside in t.catalog.parent.glob("catalog.db-*"):
            file_beside.unlink()
        t.catalog.write_bytes(kept)
        frontend.start()
    assert advice == (
        "Stop the frontend, restore the catalog from a backup, together with the metadata, start it, then RESUME."
    )
    t.resume()
    t.until_well()


def test_a_worker_that_dies_is_replaced(mysql_server: MysqlServer, frontend: FrontendProcess) -> None:
    """20306: nothing is to be done."""
    t = Patient("advised_killed", mysql_server, frontend)

    # again and again: a worker that lives long enough takes the error away before it is seen
    assert "Nothing: a new worker starts." in t.until_told(Code.WORKER_DIED, frontend.kill_workers)
    t.until_well()


@pytest.mark.long
def test_a_jvm_that_stands_still_is_told(mysql_server: MysqlServer, frontend: FrontendProcess) -> None:
    """20230: nothing is to be done where it ends; nor where the JVM dies in the middle of a commit, as 20201 says."""
    t = Patient("advised_jvm", mysql_server, frontend)
    t.until_well()
    (java,) = frontend.java()
    for how in (signal.SIGCONT, signal.SIGKILL):
        os.kill(java, signal.SIGSTOP)
        try:
            t.run("UPDATE advised_jvm.t SET a = a + 1")
            assert "Nothing if it ends; else check the load and log/fe.log" in t.until_told(Code.LAKE_SLOW)
        finally:
            os.kill(java, how)
        if how is signal.SIGKILL:
            assert t.until_told(Code.LAKE_STARTING) == "Nothing: Spark starts by itself."
        t.until_well()


@pytest.mark.slow
def test_a_table_that_waits_with_too_much_may_leave(mysql_server: MysqlServer, frontend: FrontendProcess) -> None:
    """20229: fixed and RESUMED, or left out; none of its rows is lost, and the other table goes on."""
    t = Patient("advised_stuck", mysql_server, frontend, tables=("t", "u"))
    t.until_well()
    t.alter('SET ("max_channel_backlog_bytes" = "1")')
    for mended in (True, False):
        rename(t.catalog, t.name, "u", "away")
        t.run(f"INSERT INTO advised_stuck.u VALUES ({int(mended)}, 1, 'x', 1)")
        advice = t.until_paused(Code.BACKLOG_STUCK)
        assert advice == (
            "Fix what the reason says, then RESUME. ALTER SYNC JOB ... DROP TABLE leaves the table out; then RESUME."
        )
        assert "Restore the target under its name, then RESUME" in t.job["Msg"]
        if mended:
            rename(t.catalog, t.name, "away", "u")
        else:
            t.alter("DROP TABLE advised_stuck.u")
        t.resume()
        if mended:
            t.wait_until_equal("u", "u")
        t.until_well()


@pytest.mark.long
def test_a_table_that_waits_for_room_with_too_much_goes_on(
    mysql_server: MysqlServer, frontend: FrontendProcess
) -> None:
    """20228: the job resumes by itself once there is room."""
    t = Patient("advised_waits", mysql_server, frontend, tables=("t", "u"))
    disk = small_disk(file_of(t).parents[1] / "data", 4)
    try:
        t.until_well()
        t.alter('SET ("max_channel_backlog_bytes" = "1")')
        disk.fill()
        t.run("INSERT INTO advised_waits.t VALUES (2, 1, 'x', 1)")
        advice = t.until_paused(Code.BACKLOG_WAITS)
        assert advice == "Fix what the reason says; the job resumes by itself and the table catches up."
        disk.free()
        t.until_resumed()
        t.until_well()
        frontend.sql("STOP SYNC JOB advised_waits.job1")
        frontend.sql("DROP TABLE advised_waits.t")
    finally:
        disk.unmount()


FAULTY = """
import sys
from pathlib import Path
from syncmgr.pipeline.known_history import KnownHistory
commit = KnownHistory.commit
def faulty(self, epoch):
    if Path("faulty").exists():
        raise ZeroDivisionError("a fault of ours")
    return commit(self, epoch)
KnownHistory.commit = faulty
from syncmgr.__main__ import main
sys.exit(main(["--conf", "conf/fe.conf"]))
"""


@contextmanager
def started_by(fe: FrontendProcess, program: str, environment: Mapping[str, str] = os.environ) -> Iterator[None]:
    """In the place of one that was stopped, as that program starts it; stopped at the end."""
    fe.process = subprocess.Popen([sys.executable, "-c", program], cwd=fe.folder, env=environment)
    try:
        until(fe._answers, why="the console's port")
        yield
    finally:
        assert fe.stop() == 0


@pytest.mark.long
def test_a_job_waits_for_java(mysql_server: MysqlServer, tmp_path: Path) -> None:
    """20207: once the frontend is restarted with a Java, the job goes on by itself."""
    fe = FrontendProcess(tmp_path).start()
    try:
        t = Patient("advised_java", mysql_server, fe)
        t.until_well()
        assert fe.stop() == 0
        nowhere = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"} | {"PATH": "/nothing"}
        with started_by(fe, WITHOUT_JAVA, nowhere):
            t.run("INSERT INTO advised_java.t VALUES (1, 1, 'waits', 1)")
            advice = t.until_paused(Code.JAVA_MISSING)
            assert advice == "Install Java 17 or 21 and start the frontend again; the job resumes by itself."
            assert "Java 17 or 21 is needed and was not found" in t.job["Msg"]
            assert t.job["Status"]["needs_operator"]
        fe.start()
        t.until_resumed()
        t.until_well()
        fe.sql("STOP SYNC JOB advised_java.job1")
    finally:
        fe.kill_if_alive()


@pytest.mark.long
def test_a_fault_is_reported_and_skips_nothing(mysql_server: MysqlServer, tmp_path: Path) -> None:
    """1105: log/fe.log has what a report needs; the job retries by itself, and recovers once the fault is gone."""
    fe = FrontendProcess(tmp_path)
    try:
        with started_by(fe, FAULTY):
            t = Patient("advised_fault", mysql_server, fe)
            t.until_well()
            (tmp_path / "faulty").touch()
            t.run("INSERT INTO advised_fault.t VALUES (1, 1, 'waits', 1)")
            assert t.until_paused(Code.INTERNAL).startswith("A bug in syncmgr: report it with log/fe.log")
            log = (tmp_path / "log" / "fe.log").read_text()
            assert "Traceback" in log
            assert "ZeroDivisionError: a fault of ours" in log
            (tmp_path / "faulty").unlink()
            t.until_resumed()
            t.until_well()
            fe.sql("STOP SYNC JOB advised_fault.job1")
    finally:
        fe.kill_if_alive()
