"""What Status advises for a source is typed, and the job recovers; in addition to test_advice.py."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from syncmgr.errors import Code, SyncError
from tests.acceptance.altered import BINLOG
from tests.acceptance.frontend import FrontendProcess
from tests.acceptance.test_advice import Patient
from tests.acceptance.test_xa import finish, prepare
from tests.contract.mysql_reader import reading
from tests.support.servers.hostile import HostileServer, Talk, Thief
from tests.support.servers.mysql import PASSWORD, MysqlServer
from tests.support.servers.proxy import Proxy
from tests.support.until import until

pytestmark = [pytest.mark.mysql, pytest.mark.spark]

STATEMENT = "SET SESSION binlog_format = STATEMENT"
ANEW = "STOP the job, DROP its targets and create them again (INTO db.* does it by itself), and create the job again"


def drop_readers(server: MysqlServer) -> None:
    """Whoever reads the binlog connects again."""
    server.end_sessions("command LIKE 'Binlog Dump%'")


@pytest.fixture
def limited(mysql_server: MysqlServer) -> Iterator[str]:
    """An account that may read, and nothing else."""
    mysql_server.run(
        f"CREATE USER limited IDENTIFIED BY '{PASSWORD}'",
        "GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO limited",
    )
    yield "limited"
    mysql_server.run("DROP USER limited")


def make_as(t: Patient, user: str, channels: str, rest: str = "") -> None:
    """The job, read by that account."""
    binlog = f'"mysql.host" = "127.0.0.1", "mysql.port" = "{t.mysql.port}", "mysql.user" = "{user}"'
    t.fe.sql(
        f'CREATE SYNC {t.name}.job1 {channels} FROM BINLOG ("type" = "mysql", {binlog}, "mysql.password" = '
        f'"{PASSWORD}", "start" = "latest") {rest}'
    )


@pytest.mark.slow
def test_a_statement_is_judged_again(mysql_server: MysqlServer, frontend: FrontendProcess, limited: str) -> None:
    """20170: with the GRANT of the message, and RESUME."""
    t = Patient("advised_unseen", mysql_server, frontend)
    frontend.sql("STOP SYNC JOB advised_unseen.job1")
    t.run(
        "GRANT SELECT, SHOW VIEW, TRIGGER ON advised_unseen.* TO limited",
        "CREATE DATABASE advised_hidden",
        "CREATE TABLE advised_hidden.o (id INT PRIMARY KEY)",
    )
    make_as(t, limited, "(FROM advised_unseen.t INTO t)")
    t.until_well()
    t.run(STATEMENT, "INSERT INTO advised_hidden.o VALUES (1)")
    advice = t.until_paused(Code.SOURCE_UNSEEN)
    assert advice == "Do on the server what the message says, then RESUME: the statement is checked again."
    grant = "GRANT SELECT, SHOW VIEW, TRIGGER ON `advised_hidden`.* TO 'limited'@'%'"
    assert grant in t.job["Msg"]
    t.run(grant)
    t.resume()
    t.until_well()


def test_a_statement_in_place_of_rows_is_made_good(mysql_server: MysqlServer, frontend: FrontendProcess) -> None:
    """20105: by RESYNC TABLE for the table that it may have changed, and RESUME."""
    t = Patient("advised_rows", mysql_server, frontend, rows=3)
    t.wait_until_equal()
    t.run(STATEMENT, "UPDATE advised_rows.t SET b = 'unlogged' WHERE id = 1")
    assert "ALTER SYNC JOB ... RESYNC TABLE for each table that the statement may have changed" in t.until_paused(
        Code.SOURCE_NOT_ROW
    )
    t.resync()
    t.until_well()


@pytest.mark.slow
def test_what_was_asked_too_late_is_compared(mysql_server: MysqlServer, frontend: FrontendProcess) -> None:
    """20164: RESYNC TABLE for what differs, and RESUME passes the statement."""
    t = Patient("advised_late", mysql_server, frontend, rows=3)
    # The row after it commits a position past the CREATE TABLE: read again, all its queries would come too late.
    t.run("CREATE TABLE advised_late.o (id INT PRIMARY KEY)", "INSERT INTO advised_late.t VALUES (12, 1, 'after', 1)")
    t.wait_until_equal()
    t.pause()
    t.run("CREATE TRIGGER advised_late.r AFTER INSERT ON advised_late.o FOR EACH ROW UPDATE t SET b = 'x' WHERE id = 1")
    t.run(STATEMENT, "INSERT INTO advised_late.o VALUES (1)")
    t.run("DROP TRIGGER advised_late.r")
    t.resume()
    assert "RESYNC TABLE those that differ, and RESUME" in t.until_paused(Code.SOURCE_LATE)
    t.resync()
    t.until_well()


@pytest.mark.slow
def test_columns_that_were_altered_unseen_are_read_anew(mysql_server: MysqlServer, frontend: FrontendProcess) -> None:
    """20111 of a lone table: RESYNC TABLE brings columns and rows."""
    t = Patient("advised_schema", mysql_server, frontend, rows=3)
    t.wait_until_equal()
    t.run("SET sql_log_bin = 0", "ALTER TABLE advised_schema.t ADD COLUMN c INT DEFAULT 7")
    t.run("INSERT INTO advised_schema.t VALUES (11, 1, 'new', 1, 8)")
    assert t.until_paused(Code.SOURCE_SCHEMA) == "ALTER SYNC JOB ... RESYNC TABLE, then RESUME."
    t.resync()
    t.until_well()


def test_rows_of_an_xa_transaction_that_are_unknown_come_with_a_new_job(
    mysql_server: MysqlServer, frontend: FrontendProcess
) -> None:
    """20131, prepared before the job began, and 20133, whose staged rows are gone."""
    t = Patient("advised_xa", mysql_server, frontend)
    frontend.sql("STOP SYNC JOB advised_xa.job1")
    prepare(mysql_server, "before", "INSERT INTO advised_xa.t VALUES (1, 1, 'before', 1)")
    t.make("(FROM advised_xa.t INTO t)", start=":".join(map(str, mysql_server.run("SHOW BINARY LOG STATUS")[0][:2])))
    finish(mysql_server, "COMMIT", "before")
    assert ANEW in t.until_paused(Code.SOURCE_XA)
    t.again()
    t.until_well()
    prepare(mysql_server, "lost", "INSERT INTO advised_xa.t VALUES (2, 2, 'lost', 2)")
    until(lambda: t.job["Status"]["prepared_xa"] == 1, why="a prepared transaction")
    t.pause()
    for file in t.staging.rglob("xa-*"):
        file.unlink()
    finish(mysql_server, "COMMIT", "lost")
    t.resume()
    assert ANEW in t.until_paused(Code.PREPARED_LOST)
    t.again()
    t.until_well()


@pytest.mark.long
def test_a_table_without_a_key_is_read_once_it_may_be_locked(
    mysql_server: MysqlServer, frontend: FrontendProcess, limited: str
) -> None:
    """20141: with the GRANT that is missing, or by a job that begins with "latest", or without the table; 20144: when
    the transaction ends that has written the table.
    """
    t = Patient("advised_locks", mysql_server, frontend)
    frontend.sql("STOP SYNC JOB advised_locks.job1")
    t.run("CREATE TABLE advised_locks.k (id INT NOT NULL)", "INSERT INTO advised_locks.k VALUES (1)")
    rights = "SELECT, SHOW VIEW, TRIGGER, LOCK TABLES"
    t.run(f"GRANT {rights} ON advised_locks.* TO limited")
    append = 'PROPERTIES ("tables_without_key" = "append")'
    make_as(t, limited, "(FROM advised_locks.k INTO advised_locks.*)", append)

    def lake() -> list[int]:
        return sorted(row["id"] for row in frontend.sql("SELECT id FROM advised_locks.k"))

    def resync_without(right: str) -> None:
        t.pause()
        t.alter("RESYNC TABLE advised_locks.k")
        t.run(f"REVOKE {right} ON advised_locks.* FROM limited")
        t.resume()

    resync_without("LOCK TABLES")
    assert "Do what the message says" in t.until_told(Code.SNAPSHOT_REFUSED)
    assert "LOCK TABLES" in t.job["Msg"]
    t.run("GRANT LOCK TABLES ON advised_locks.* TO limited")
    until(lambda: lake() == [1] and t.job["Msg"] is None, why="the row")
    with contextlib.closing(mysql_server.connect(autocommit=False)) as other, other.cursor() as cursor:
        cursor.execute("INSERT INTO advised_locks.k VALUES (2)")
        t.alter("RESYNC TABLE advised_locks.k")
        assert "end the transactions that have written to the table" in t.until_told(Code.SNAPSHOT_WAITS)
        other.commit()
    until(lambda: lake() == [1, 2] and t.job["Msg"] is None, why="both rows")
    resync_without("LOCK TABLES")
    assert 'Otherwise STOP the job, and create it with "start" = "latest".' in t.until_told(Code.SNAPSHOT_REFUSED)
    frontend.sql("STOP SYNC JOB advised_locks.job1")
    make_as(t, limited, "(FROM advised_locks.k INTO k, FROM advised_locks.t INTO t)", append)
    t.run("INSERT INTO advised_locks.k VALUES (3)")
    until(lambda: lake() == [1, 2, 3] and t.job["Msg"] is None, why="the rows of before, and the new one")
    t.run("GRANT LOCK TABLES ON advised_locks.* TO limited")
    resync_without("LOCK TABLES")
    told = t.until_told(Code.SNAPSHOT_REFUSED)
    assert told.endswith("ALTER SYNC JOB ... DROP TABLE leaves the table out.")
    t.alter("DROP TABLE advised_locks.k")
    t.until_well()


def test_rows_that_may_be_read_again_are_read(
    mysql_server: MysqlServer, frontend: FrontendProcess, limited: str
) -> None:
    """20142: with the GRANT that the advice names."""
    t = Patient("advised_select", mysql_server, frontend)
    frontend.sql("STOP SYNC JOB advised_select.job1")
    t.run("GRANT SELECT, SHOW VIEW, TRIGGER ON advised_select.* TO limited")
    make_as(t, limited, "(FROM advised_select.t INTO t)")
    t.until_well()
    t.pause()
    t.alter("RESYNC TABLE advised_select.t")
    t.run("REVOKE SELECT ON advised_select.* FROM limited")
    t.resume()
    assert "SELECT on it is missing: GRANT it." in t.until_told(Code.SNAPSHOT_BROKEN)
    t.run("GRANT SELECT ON advised_select.* TO limited")
    t.until_well()


def use_id(t: Patient, server_id: int) -> None:
    """Another replica of that id reads until the job has given way."""
    while t.job["State"] == "RUNNING":
        with reading(t.mysql, {}, server_id=server_id) as reader, contextlib.suppress(SyncError):
            while t.job["State"] == "RUNNING":
                reader.get()


@pytest.mark.long
def test_another_replica_of_the_same_id_is_ended(mysql_server: MysqlServer, frontend: FrontendProcess) -> None:
    """20110: the job resumes by itself; or it gets another id."""
    t = Patient("advised_id", mysql_server, frontend)
    frontend.sql("STOP SYNC JOB advised_id.job1")
    t.make("(FROM advised_id.t INTO t)", start='latest", "mysql.server_id" = "471100')
    t.until_well()
    use_id(t, 471100)
    assert "Stop the other replica that uses this server id" in t.until_paused(Code.SOURCE_SERVER_ID)
    t.until_resumed()
    t.until_well()
    use_id(t, 471100)
    assert 'SET SOURCE ("mysql.server_id" = "0")' in t.until_paused(Code.SOURCE_SERVER_ID)
    t.alter('SET SOURCE ("mysql.server_id" = "471101")')
    t.until_resumed()
    t.until_well()


@pytest.mark.long
def test_bytes_that_something_changes_pause_the_job(mysql_server: MysqlServer, frontend: FrontendProcess) -> None:
    """20114: the job resumes by itself once they come as they are."""
    t = Patient("advised_bytes", mysql_server, frontend)
    frontend.sql("STOP SYNC JOB advised_bytes.job1")
    proxy = Proxy(mysql_server.port)
    binlog = BINLOG.format(port=proxy.port, start="latest")
    frontend.sql(f"CREATE SYNC advised_bytes.job1 (FROM advised_bytes.t INTO t) {binlog}")
    t.until_well()
    proxy.changes = lambda data: data.replace(b"as it is", b"as it IS")
    t.run("INSERT INTO advised_bytes.t VALUES (1, 1, 'as it is', 1)")
    advice = t.until_paused(Code.SOURCE_PROTOCOL)
    assert advice == "Nothing if it passes; else the binlog is damaged, or something on the network path alters bytes."
    proxy.changes = lambda data: data
    t.until_resumed()
    t.until_well()
    frontend.sql("STOP SYNC JOB advised_bytes.job1")
    proxy.close()


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "script", "code", "said"),
    [
        (
            "advised_file",
            Thief(Path("/etc/hostname"), after=b"").script,
            Code.SOURCE_ASKS_FILE,
            "Another program answers at the server's address",
        ),
        (
            "advised_answer",
            lambda talk: talk.raw(b"HTTP/1.1 400 Bad Request\r\n\r\n"),
            Code.SOURCE_ANSWER,
            "Nothing if it passes; else no MySQL server answers at the address",
        ),
    ],
    ids=["a thief", "a web server"],
)
def test_somebody_else_at_the_address_passes(
    mysql_server: MysqlServer,
    frontend: FrontendProcess,
    name: str,
    script: Callable[[Talk], None],
    code: Code,
    said: str,
) -> None:
    """20172 and 20173: the job resumes by itself once the server answers again, and lacks nothing written meanwhile."""
    t = Patient(name, mysql_server, frontend)
    frontend.sql(f"STOP SYNC JOB {name}.job1")
    proxy = Proxy(mysql_server.port)
    frontend.sql(f"CREATE SYNC {name}.job1 (FROM {name}.t INTO t) {BINLOG.format(port=proxy.port, start='latest')}")
    t.until_well()
    with HostileServer(script) as stranger:
        proxy.target = stranger.port
        proxy.cut()
        t.run(f"INSERT INTO {name}.t VALUES (2, 2, 'meanwhile', 1)")
        assert t.until_paused(code).startswith(said)
        assert t.job["Status"]["resume_at"]
        proxy.target = mysql_server.port
    t.until_resumed()
    t.until_well()
    frontend.sql(f"STOP SYNC JOB {name}.job1")
    proxy.close()


@pytest.mark.long
def test_a_server_that_leaves_changes_out_is_set_right(frontend: FrontendProcess, tmp_path: Path) -> None:
    """20104, 20160 and 20161: by its settings; the rows that are missing come with a new job."""
    own = MysqlServer(tmp_path / "own", variables={"log-replica-updates": "OFF"}).start()
    try:
        t = Patient("advised_settings", own, frontend)
        t.until_well()
        own.run("CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = 1")
        drop_readers(own)
        advice = t.until_paused(Code.SOURCE_UNLOGGED)
        assert f"let it log. Rows are missing: {ANEW}" in advice
        own.restart({"log-replica-updates": "ON"})
        t.again()
        t.until_well()
        own.run("STOP REPLICA", "RESET REPLICA ALL")
        own.restart({"binlog-do-db": "another"})
        advice = t.until_paused(Code.SOURCE_FILTERED)
        assert advice.startswith("Start the server without the filter. Rows of filtered databases are missing")
        own._variables.pop("binlog-do-db")
        own.restart()
        t.again()
        t.until_well()
        own.restart({"skip-log-bin": "1"})
        advice = t.until_paused(Code.SOURCE_BINLOG_OFF)
        assert advice.startswith(f"Start the server with log_bin. {ANEW}")
        own._variables.pop("skip-log-bin")
        own.restart()
        t.again()
        t.until_well()
        frontend.sql("STOP SYNC JOB advised_settings.job1")
    finally:
        own.stop()


@pytest.mark.long
def test_changes_wait_for_the_rows_of_their_table(mysql_server: MysqlServer, frontend: FrontendProcess) -> None:
    """20143: nothing is to be done."""
    t = Patient("advised_open", mysql_server, frontend)
    t.alter('SET ("snapshot_chunk_rows" = "10", "snapshot_max_rows_per_second" = "10")')
    t.create("late", 100)
    frontend.sql("DROP TABLE advised_open.late")
    t.alter("ADD TABLE FROM advised_open.late INTO advised_open.*")
    until(lambda: t.job["Status"]["snapshot"].get("late", {}).get("chunks_done"), why="a chunk")
    t.run("INSERT INTO advised_open.late VALUES (1000, 1, 'x', 1)")
    advice = t.until_told(Code.SNAPSHOT_OPEN)
    assert advice == "Nothing: its changes are applied after its existing rows have been copied."
    t.alter('SET ("snapshot_max_rows_per_second" = "0")')
    t.wait_until_equal("late", "late")
    t.until_well()


@pytest.mark.long
def test_a_transaction_that_is_too_large_comes_by_a_setting(mysql_server: MysqlServer, tmp_path: Path) -> None:
    """20171: the setting that the message names is raised, the frontend restarted, and RESUME brings the rows."""
    fe = FrontendProcess(tmp_path, {"max_source_transaction_bytes": 1 << 20}).start()
    try:
        t = Patient("advised_large", mysql_server, fe)
        t.run("ALTER TABLE advised_large.t ADD large LONGTEXT")
        t.until_well()
        t.run(
            "SET SESSION binlog_transaction_compression = ON",
            "INSERT INTO advised_large.t (id, a, large) VALUES (1, 1, REPEAT('x', 3 << 20))",
        )
        assert "raise it, restart the frontend, then RESUME" in t.until_paused(Code.SOURCE_TOO_LARGE)
        assert "max_source_transaction_bytes is 1048576" in t.job["Msg"]
        fe.stop()
        fe.conf.write_text(fe.conf.read_text().replace(f"= {1 << 20}\n", f"= {64 << 20}\n"))
        fe.start()
        t.resume()
        t.until_well()
        fe.sql("STOP SYNC JOB advised_large.job1")
    finally:
        fe.kill_if_alive()


@pytest.mark.long
def test_a_replica_that_leaves_rows_out_is_left_alone(frontend: FrontendProcess, tmp_path: Path) -> None:
    """20174: the job reads on by itself once the replica has no filter; or another job reads all rows where the first
    lacked some, without that replica.
    """
    source, replica = (MysqlServer(tmp_path / n, variables={"server-id": n}).start() for n in ("1", "2"))
    try:
        t = Patient("advised_replica", source, frontend)
        frontend.sql("STOP SYNC JOB advised_replica.job1")
        t.run("INSERT INTO advised_replica.t VALUES (1, 1, 'x', 1)")
        replica.follow(source)
        frontend.sql("DROP TABLE advised_replica.t")
        spared = f'snapshot", "snapshot.host" = "127.0.0.1:{replica.port}'
        t.make("(FROM advised_replica.t INTO advised_replica.*)", start=spared)
        t.until_well()
        for advised in (
            "rebuild it without a filter",
            "create the job again, without it in snapshot.host",
        ):
            t.pause()
            t.alter("RESYNC TABLE advised_replica.t")
            filtering(replica, "(advised_replica)")
            t.run("INSERT INTO advised_replica.t (id, a) VALUES (7, 7)", "DELETE FROM advised_replica.t WHERE id = 7")
            t.resume()
            assert advised in t.until_told(Code.REPLICA_FILTERED)
            if advised.startswith("rebuild"):
                filtering(replica, "()")  # nothing that it left out exists any more: it is as if recreated
            else:
                t.again()
            t.until_well()
        frontend.sql("STOP SYNC JOB advised_replica.job1")
    finally:
        replica.stop()
        source.stop()


def filtering(replica: MysqlServer, ignored: str) -> None:
    replica.run(
        "STOP REPLICA SQL_THREAD", f"CHANGE REPLICATION FILTER REPLICATE_IGNORE_DB = {ignored}", "START REPLICA"
    )
