"""Each table of a job has exactly one state, which is correct whatever the job does."""

import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any, Final

import pytest

from syncmgr.errors import Code
from tests.acceptance.altered import BINLOG
from tests.acceptance.frontend import QUIET_LAG_SECOND, FrontendProcess
from tests.acceptance.test_restores import rename
from tests.support.servers.mysql import MysqlServer
from tests.support.until import until

pytestmark = [pytest.mark.mysql, pytest.mark.spark]

TABLES = ("one", "two", "slow")
STREAMING, SNAPSHOT, STOPPED = "STREAMING", "SNAPSHOT", "STOPPED"
EPSILON: Final = 0.5  # seconds, besides the longest statement: its row has the time at which it began
COLUMNS = "source_table, state, since, error, reason, advice"


class Job:
    """A job of its own database on both sides."""

    def __init__(self, name: str, server: MysqlServer, fe: FrontendProcess, start: str) -> None:
        self.name, self.server, self.fe = name, server, fe
        fe.sql(f"CREATE DATABASE {name}")
        server.run(f"CREATE DATABASE {name}")
        for table in TABLES:
            server.run(f"CREATE TABLE {name}.{table} (id BIGINT PRIMARY KEY, a INT)")
            server.run(f"INSERT INTO {name}.{table} VALUES {', '.join(f'({n}, {n})' for n in range(30))}")
        channels = ", ".join(f"FROM {name}.{table} INTO {name}.*" for table in TABLES)
        binlog = BINLOG.format(port=server.port, start=start)
        fe.sql(f"CREATE SYNC {name}.job1 ({channels}) {binlog}")

    def tables(self) -> dict[str, dict[str, Any]]:
        found = self.fe.sql(f"SELECT {COLUMNS} FROM information_schema.sync_channels WHERE job_schema = '{self.name}'")
        return {row["source_table"]: row for row in found}

    def states(self) -> dict[str, str]:
        return {name: row["state"] for name, row in self.tables().items()}

    def await_states(self, **states: str) -> None:
        wanted = dict.fromkeys(TABLES, STREAMING) | states
        try:
            until(lambda: self.states() == wanted, why=f"{wanted}")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.tables()}\n{self.job}") from error

    @property
    def job(self) -> dict[str, Any]:
        return self.fe.job(self.name)

    def alter(self, what: str) -> None:
        self.fe.sql(f"ALTER SYNC JOB {self.name}.job1 {what}")


@pytest.fixture(scope="module")
def fe(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FrontendProcess]:
    """A frontend that may be stopped and started."""
    process = FrontendProcess(tmp_path_factory.mktemp("states"))
    process.start()
    yield process
    process.kill_if_alive()


def test_each_table_says_how_it_stands(mysql_server: MysqlServer, fe: FrontendProcess) -> None:
    """All stopped tables are reported, with number, time and cure: while the job runs, while it is paused, after a
    restart, until RESYNC has brought their rows; the job is as old as the oldest of them. STOP says what is lost with
    it.
    """
    job = Job("standing", mysql_server, fe, "snapshot")
    job.await_states()
    fe.await_caught_up("standing")
    assert {row["since"] for row in job.tables().values()} == {None}
    for table in ("one", "two"):
        mysql_server.run(f"ALTER TABLE standing.{table} MODIFY a VARCHAR(20)")
    job.await_states(one=STOPPED, two=STOPPED)
    until(lambda: "2 tables are no longer read" in str(job.job["Msg"]), why="a Msg")  # told after the second one
    mysql_server.run("INSERT INTO standing.slow VALUES (100, 100)")
    before = job.tables()
    assert before["one"]["error"] == Code.SOURCE_DDL.number
    assert "RESYNC TABLE" in before["one"]["advice"]
    assert "MODIFY a VARCHAR(20)" in before["one"]["reason"]
    log, words = fe.folder / "log" / "fe.log", "a table is not read any more"
    for table in ("standing.one", "standing.two"):
        until(
            lambda table=table: any(words in line and table in line for line in log.read_text().splitlines()),
            why=f"the stop of {table} in the log",
        )

    def told() -> dict[str, Any]:
        status: dict[str, Any] = job.job["Status"]
        assert sorted(status["stopped"]) == ["standing.one", "standing.two"]
        assert status["stopped"]["standing.one"]["since"] == before["one"]["since"][:19]
        assert status["behind"].keys() == {"standing.one", "standing.two"}
        assert status["needs_operator"]
        assert status["synced_until"] <= before["one"]["since"]
        assert status["lag_second"] > 0
        assert job.tables() == before
        return status

    oldest = told()["synced_until"]
    fe.sql("PAUSE SYNC JOB standing.job1")
    until(lambda: job.job["Status"]["server"] is None, why="the pause")
    assert told()["synced_until"] == oldest
    assert fe.stop() == 0
    fe.start()
    assert told()["synced_until"] == oldest
    job.alter("RESYNC TABLE standing.one")
    assert job.states() == dict.fromkeys(TABLES, STREAMING) | {"one": SNAPSHOT, "two": STOPPED}
    assert job.job["Status"]["synced_until"] == oldest
    fe.sql("RESUME SYNC JOB standing.job1")
    job.await_states(two=STOPPED)
    job.alter("RESYNC TABLE standing.two")
    job.await_states()
    fe.await_caught_up("standing")
    assert not job.job["Status"]["needs_operator"]
    mysql_server.run("ALTER TABLE standing.two MODIFY a INT")
    job.await_states(two=STOPPED)
    left = job.job["Status"]["synced_until"]
    with closing(fe.connect()) as connection, connection.cursor() as cursor:
        cursor.execute("STOP SYNC JOB standing.job1")
        cursor.execute("SHOW WARNINGS")
        [warning] = cursor.fetchall()
    assert warning["Code"] == Code.LOST_BY_STOP.number
    assert "lacks rows of 'standing.two'; they are lost with the job: it was not read any more" in warning["Message"]
    ended = job.job
    assert (ended["State"], ended["Status"]["synced_until"]) == ("CANCELLED", left), "how its targets were left"
    assert ended["Status"]["lag_second"] > 0
    assert not ended["Status"]["needs_operator"]


@pytest.mark.slow
def test_a_table_without_a_key_that_cannot_be_read_again_is_as_old_as_its_rows(
    mysql_server: MysqlServer, fe: FrontendProcess
) -> None:
    """Its changes wait for the read, which waits for a lock, while the other tables go on: the job is as old as it."""
    job = Job("unread", mysql_server, fe, "snapshot")
    mysql_server.run("CREATE TABLE unread.log (line INT)", "INSERT INTO unread.log VALUES (1)")
    fe.sql("CREATE TABLE unread.log (line INT) DUPLICATE KEY(line)")
    job.alter("ADD TABLE FROM unread.log INTO log")
    job.await_states(log=STREAMING)
    fe.await_caught_up("unread")
    with closing(mysql_server.connect()) as writer, writer.cursor() as cursor:
        cursor.execute("LOCK TABLES unread.log WRITE")
        job.alter("RESYNC TABLE unread.log")
        job.await_states(log=SNAPSHOT)
        cursor.execute("INSERT INTO unread.log VALUES (2)")
        cursor.execute("SELECT UTC_TIMESTAMP(6)")
        [(written,)] = cursor.fetchall()
        before = fe.sql("SELECT count(*) AS n FROM unread.one")[0]["n"]
        until(lambda: datetime.now(UTC).replace(tzinfo=None) > written + timedelta(seconds=2), why="a later second")
        mysql_server.run("INSERT INTO unread.one VALUES (101, 1)")
        until(lambda: fe.sql("SELECT count(*) AS n FROM unread.one")[0]["n"] > before, why="a row of another table")
        assert fe.sql("SELECT line FROM unread.log") == [{"line": 1}]
        status = job.job["Status"]
        assert status["synced_until"] is not None
        assert status["synced_until"] < str(written), (status["synced_until"], written)
        assert status["lag_second"] > 2
    until(lambda: len(fe.sql("SELECT line FROM unread.log")) == 2, why="the row that waited")
    fe.await_caught_up("unread")
    fe.sql("STOP SYNC JOB unread.job1")


@pytest.mark.long
def test_a_table_that_is_read_says_so(mysql_server: MysqlServer, fe: FrontendProcess) -> None:
    """Nobody knows how old a job is while the first rows of a table are missing, also while it is paused."""
    job = Job("moving", mysql_server, fe, "snapshot")
    job.await_states()
    slow = 'SET ("snapshot_chunk_rows" = "1", "snapshot_max_rows_per_second" = "{}")'
    job.alter(slow.format(1))
    mysql_server.run("CREATE TABLE moving.late (id BIGINT PRIMARY KEY, a INT)")
    mysql_server.run(f"INSERT INTO moving.late VALUES {', '.join(f'({n}, {n})' for n in range(60))}")
    job.alter("ADD TABLE FROM moving.late INTO moving.*")
    job.await_states(late=SNAPSHOT)
    status = job.job["Status"]
    assert (status["synced_until"], status["lag_second"], status["needs_operator"]) == (None, None, False)
    assert status["behind"]["moving.late"]["state"] == SNAPSHOT
    fe.sql("PAUSE SYNC JOB moving.job1")
    until(lambda: job.job["Status"]["server"] is None, why="the pause")
    assert job.states()["late"] == SNAPSHOT
    job.alter(slow.format(0))
    fe.sql("RESUME SYNC JOB moving.job1")
    job.await_states(late=STREAMING)


def test_whatever_is_claimed_is_there(mysql_server: MysqlServer, fe: FrontendProcess) -> None:
    """While changes come and pause, in a pause of the job and after it: every change of before `synced_until` is in the
    lake, and it never falls.
    """
    job = Job("claimed", mysql_server, fe, "snapshot")
    job.await_states()
    rows, base, claims, took = count(100), int(time.time()) - 3600, [0.0], [0.0]
    insert = f"INSERT INTO claimed.one VALUES ({{}}, 1000 * (UNIX_TIMESTAMP(NOW(6)) - {base}))"

    def claimed() -> None:
        told = job.job["Status"]["synced_until"]
        claims.append(datetime.fromisoformat(told).replace(tzinfo=UTC).timestamp() - base)
        before = f"SELECT count(*) AS n FROM claimed.one WHERE a < {1000 * (claims[-1] - EPSILON - max(took))}"
        assert fe.sql(before)[0]["n"] == mysql_server.run(before)[0][0]
        assert claims[-1] >= claims[-2]

    def write() -> None:
        begun = time.monotonic()
        mysql_server.run(insert.format(next(rows)))
        took.append(time.monotonic() - begun)

    for pause in (0.0, 0.3, 0.0, 1.5, 0.0, 3.0):
        for _ in range(3):
            write()
            claimed()
        time.sleep(pause)  # no condition: it is the quiet of the source that is played
        claimed()
    write()
    fe.sql("PAUSE SYNC JOB claimed.job1")
    write()
    claimed()
    until(lambda: job.job["Status"]["server"] is None, why="the pause")
    claimed()
    fe.sql("RESUME SYNC JOB claimed.job1")
    claimed()
    fe.await_caught_up("claimed")
    claimed()
    assert claims[-1] > claims[1] > 0.0


@pytest.mark.slow
def test_a_job_that_was_paused_is_as_old_as_its_pause(mysql_server: MysqlServer, fe: FrontendProcess) -> None:
    """Not as its last change: a source that was quiet for an hour had nothing more to give."""
    job = Job("quiet", mysql_server, fe, "snapshot")
    job.await_states()
    mysql_server.run("SET timestamp = UNIX_TIMESTAMP() - 3600", "INSERT INTO quiet.one VALUES (100, 100)")
    until(lambda: fe.sql("SELECT count(*) AS n FROM quiet.one WHERE id = 100")[0]["n"] == 1, why="the change")
    fe.await_caught_up("quiet")
    fe.sql("PAUSE SYNC JOB quiet.job1")
    until(lambda: job.job["Status"]["server"] is None, why="the pause")
    assert 0 < job.job["Status"]["lag_second"] < 600
    fe.kill()
    fe.start()
    assert 0 < job.job["Status"]["lag_second"] < 600
    before = job.job["Status"]["synced_until"]
    fe.sql("STOP SYNC JOB quiet.job1")
    assert job.job["Status"]["synced_until"] == before


@pytest.mark.parametrize(
    "ahead",
    [
        pytest.param(-86400, id="yesterday", marks=pytest.mark.long),
        pytest.param(86_400, id="tomorrow", marks=pytest.mark.slow),
    ],
)
def test_a_session_that_sets_its_time_moves_nothing_by_a_day(
    mariadb_server: MysqlServer, fe: FrontendProcess, ahead: int
) -> None:
    """MariaDB's binlog has no time but that of sessions: whatever they say, `synced_until` is never later than now and
    never falls, also while a table has to wait with such a row; and a table that waits shows as late.
    """
    name = f"dated{ahead > 0:d}"
    job = Job(name, mariadb_server, fe, "snapshot")
    job.await_states()
    fe.await_caught_up(name)
    claims = [0.0]

    def claimed() -> dict[str, Any]:
        before = time.time()
        status: dict[str, Any] = job.job["Status"]
        claims.append(datetime.fromisoformat(status["synced_until"]).replace(tzinfo=UTC).timestamp())
        assert claims[-2] <= claims[-1] <= time.time()
        assert before - 1 <= claims[-1] + status["lag_second"] <= time.time(), "the lag is the time since then"
        assert status["lag_second"] < 3600
        return status

    def write(table: str, row: int) -> None:
        mariadb_server.run(
            f"SET timestamp = UNIX_TIMESTAMP() + {ahead}", f"INSERT INTO {name}.{table} VALUES ({row}, 1)"
        )

    def has(table: str, row: int) -> bool:
        claimed()
        return fe.sql(f"SELECT count(*) AS n FROM {name}.{table} WHERE id = {row}")[0]["n"] == 1

    claimed()
    write("one", 100)
    until(lambda: has("one", 100), why="the row")
    catalog = fe.folder / "var" / "lake" / "catalog.db"
    rename(catalog, name, "two", "away")
    write("two", 101)
    until(lambda: job.states()["two"] == "BEHIND", why="a table that is behind")
    write("one", 102)
    until(lambda: has("one", 102), why="the row of the other table")
    until(lambda: claimed()["lag_second"] > QUIET_LAG_SECOND, why="the lag of the table that waits")
    rename(catalog, name, "away", "two")
    until(lambda: has("two", 101), why="the row that waited")
    begun = time.time()
    until(lambda: claimed() and claims[-1] > begun, why="a heartbeat of the server's own clock, which moves it on")
