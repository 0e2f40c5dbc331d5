"""The other ways that an advice names are typed, and the job is well again; in addition to the first one of each."""

import contextlib
import os
import signal
from functools import partial
from pathlib import Path

import psutil
import pytest

from syncmgr.errors import Code
from tests.acceptance.frontend import FrontendProcess
from tests.acceptance.test_advice import Patient
from tests.acceptance.test_advice_lake import Sql, edit, require
from tests.acceptance.test_advice_source import drop_readers
from tests.support.servers.mysql import MysqlServer
from tests.support.until import until

pytestmark = [pytest.mark.mysql, pytest.mark.spark]


def test_a_session_that_has_a_table_locked_is_ended(mysql_server: MysqlServer, frontend: FrontendProcess) -> None:
    """20180 of a table that is read anew: KILL of the session that SHOW PROCESSLIST names, and its rows are read."""
    t = Patient("advised_locked", mysql_server, frontend, rows=3)
    t.wait_until_equal()
    t.pause()
    t.alter("RESYNC TABLE advised_locked.t")
    with contextlib.closing(mysql_server.connect()) as holder, holder.cursor() as cursor:
        cursor.execute("LOCK TABLES advised_locked.t WRITE")
        t.resume()
        advice = t.until_told(Code.SOURCE_LOCKED)
        assert "else end the session that has the table locked, or alters it (SHOW PROCESSLIST at the source)" in advice
        shown = {row[0] for row in mysql_server.run("SHOW PROCESSLIST")}
        assert holder.thread_id() in shown
        mysql_server.run(f"KILL {holder.thread_id()}")
    t.until_well()


@pytest.mark.slow
def test_a_column_that_nobody_fills_is_filled_by_a_new_job(
    mysql_server: MysqlServer, frontend: FrontendProcess, spark: Sql
) -> None:
    """20015: STOP, and a job with that column and the position of Status; the row that had paused it is there."""
    name = "advised_filled"
    t = Patient(name, mysql_server, frontend)
    spark(f"ALTER TABLE lake.{name}.t ADD COLUMN x INT")
    edit(t, partial(require, name="x"))
    t.run(f"INSERT INTO {name}.t VALUES (11, 1, 'new', 1)")
    advice = t.until_paused(Code.COLUMN_NOT_COVERED)
    assert 'Otherwise STOP the job, and create it with that column and the position of Status as "start"' in advice
    frontend.sql(f"STOP SYNC JOB {name}.job1")
    t.make(f"(FROM {name}.t INTO t (id, a, b, d, x = a + 1))", start=t.place)
    t.run(f"INSERT INTO {name}.t VALUES (12, 2, 'newer', 1)")
    t.fe.await_rows(
        lambda: [(row[0], row[4]) for row in t.lake()[1:]] == [(11, 2), (12, 3)], why="both rows, with the column"
    )
    until(lambda: t.job["State"] == "RUNNING" and t.job["Msg"] is None, why="a job that is well")


@pytest.mark.slow
def test_files_of_two_partition_specs_are_rewritten(
    mysql_server: MysqlServer, frontend: FrontendProcess, spark: Sql
) -> None:
    """20232: by the CALL of the message, with a partition spec of columns of the key; the job goes on by itself, though
    the table has no identifier.
    """
    name = "advised_files"
    t = Patient(name, mysql_server, frontend, rows=3)
    t.wait_until_equal()
    spark(f"ALTER TABLE lake.{name}.t DROP IDENTIFIER FIELDS id")
    spark(f"ALTER TABLE lake.{name}.t ADD PARTITION FIELD bucket(2, a)")
    t.run(f"INSERT INTO {name}.t VALUES (11, 1, 'new', 1)", f"UPDATE {name}.t SET a = a + 10 WHERE id = 1")
    assert "or rewrite all files as the message says" in t.until_told(Code.SPEC_CHANGED)
    call = t.job["Msg"].partition("rewrite all files with CALL ")[2].partition(", and partition by")[0]
    spark(f"ALTER TABLE lake.{name}.t DROP PARTITION FIELD bucket(2, a)")
    spark(f"CALL lake.{call}")
    t.until_well()


@pytest.mark.long
def test_a_server_that_logs_again_is_read_on(frontend: FrontendProcess, tmp_path: Path) -> None:
    """20104, as operations.md has it: with log_bin again, RESYNC TABLE brings what was not logged, and RESUME."""
    own = MysqlServer(tmp_path / "own").start()
    try:
        t = Patient("advised_logs", own, frontend)
        t.until_well()
        own.restart({"skip-log-bin": "1"})
        t.run("INSERT INTO advised_logs.t VALUES (1, 1, 'unlogged', 1)")
        drop_readers(own)
        t.until_paused(Code.SOURCE_BINLOG_OFF)
        own._variables.pop("skip-log-bin")
        own.restart()
        t.resync()
        t.until_well()
        frontend.sql("STOP SYNC JOB advised_logs.job1")
    finally:
        own.stop()


@pytest.mark.long
def test_a_jvm_that_does_not_go_on_ends_with_its_frontend(mysql_server: MysqlServer, tmp_path: Path) -> None:
    """20230: the frontend is restarted, and its job commits what was on its way."""
    fe = FrontendProcess(tmp_path).start()
    try:
        t = Patient("advised_stands", mysql_server, fe)
        t.until_well()
        (java,) = fe.java()
        os.kill(java, signal.SIGSTOP)
        try:
            t.run("INSERT INTO advised_stands.t VALUES (1, 1, 'waits', 1)")
            assert "and restart the frontend" in t.until_told(Code.LAKE_SLOW)
            assert fe.stop() == 0
            until(lambda: not psutil.pid_exists(java), why="the end of the JVM")
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(java, signal.SIGKILL)
        fe.start()
        t.until_well()
        fe.sql("STOP SYNC JOB advised_stands.job1")
    finally:
        fe.kill_if_alive()
