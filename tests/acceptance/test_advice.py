"""What Status advises is typed, and the job is well again: each error is provoked on real servers.

tests/unit/job/test_advice_held.py says which test holds which row of the table of errors.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pymysql
import pytest

from syncmgr.errors import Code
from tests.acceptance.altered import BINLOG, COLUMNS, Altered
from tests.acceptance.frontend import FrontendProcess
from tests.acceptance.test_restores import rename
from tests.support.servers.mysql import PASSWORD, MysqlServer
from tests.support.until import until

pytestmark = [pytest.mark.mysql, pytest.mark.spark]


class Patient(Altered):
    """A job that is provoked, and cured as it is advised."""

    @property
    def job(self) -> dict[str, Any]:
        return self.fe.job(self.name)

    def until_paused(self, code: Code) -> str:
        """The advice, of the same row: a job may resume by itself."""
        advice: list[str] = []

        def paused() -> bool:
            job = self.job
            if job["State"] == "PAUSED" and f"(error {code.number})" in job["Msg"]:
                advice.append(str(job["Status"]["advice"]))
            return bool(advice)

        until(paused, why=f"a pause by {code}")
        return advice[0]

    def until_told(self, code: Code, provoke: Callable[[], object] = lambda: None) -> str:
        """The advice, of a job that goes on by itself: it may look fine for a moment, until it is retried."""
        advice: list[str] = []

        def told() -> bool:
            provoke()
            job = self.job
            if job["Status"]["error"] == code.number and job["State"] == "RUNNING":
                advice.append(str(job["Status"]["advice"]))
            return bool(advice)

        until(told, why=f"{code} in Msg")
        return advice[0]

    def alter(self, what: str) -> None:
        self.fe.sql(f"ALTER SYNC JOB {self.name}.job1 {what}")

    def pause(self) -> None:
        """Until it is no longer read."""
        self.fe.sql(f"PAUSE SYNC JOB {self.name}.job1")
        until(lambda: self.job["Status"]["server"] is None, why="the pause")

    def resume(self) -> None:
        self.fe.sql(f"RESUME SYNC JOB {self.name}.job1")

    def resync(self) -> None:
        self.alter(f"RESYNC TABLE {self.name}.t")
        self.resume()

    def make(self, channels: str, start: str = "snapshot", properties: str = "") -> None:
        """The job, once more."""
        binlog = BINLOG.format(port=self.mysql.port, start=start)
        self.fe.sql(f"CREATE SYNC {self.name}.job1 {channels} {binlog} {properties}")

    def again(self) -> None:
        """Job and target, as most advice ends that has lost rows."""
        self.fe.sql(f"STOP SYNC JOB {self.name}.job1")
        self.fe.sql(f"DROP TABLE {self.name}.t")
        self.make(f"(FROM {self.name}.t INTO {self.name}.*)")

    @property
    def place(self) -> str:
        """The position of Status, as "start" has it."""
        at = self.job["Status"]["position"]
        return str(at["gtid"] or f"{at['file']}:{at['offset']}")

    @property
    def catalog(self) -> Path:
        return self.fe.folder / "var" / "lake" / "catalog.db"

    @property
    def staging(self) -> Path:
        return self.fe.folder / "var" / "staging" / f"job-{self.job['JobId']}"

    def until_resumed(self) -> None:
        """By itself."""
        until(lambda: self.job["State"] == "RUNNING", why="a job that resumes by itself")

    def until_well(self) -> None:
        """A change of now arrives, and nothing is left to say."""
        self.run(f"REPLACE INTO {self.name}.t (id, a) VALUES (4711, 1)")
        self.wait_until_equal()
        until(lambda: self.job["State"] == "RUNNING" and self.job["Msg"] is None, why="a job that is well")


def test_a_value_is_kept_out_by_a_property(mysql_server: MysqlServer, frontend: FrontendProcess) -> None:
    """20113: SET on_value_error and RESUME; the row is reported as a dead letter."""
    t = Patient("advised_value", mysql_server, frontend)
    mysql_server.run("ALTER TABLE advised_value.t ADD day DATE")
    t.run("INSERT INTO advised_value.t VALUES (1, 1, 'good', 1, '2024-02-29')")
    t.wait_until_equal()
    mysql_server.run("SET sql_mode = ''", "INSERT INTO advised_value.t VALUES (2, 2, 'bad', 2, '0000-00-00')")
    assert '"on_value_error" = "dead-letter"' in t.until_paused(Code.SOURCE_VALUE)
    t.alter('SET ("on_value_error" = "dead-letter")')
    t.resume()
    until(lambda: t.job["Status"]["dead_letters"] == 1, why="a dead letter")
    mysql_server.run("DELETE FROM advised_value.t WHERE id = 2")
    t.until_well()


@pytest.mark.slow
def test_a_value_that_was_mended_is_read_again(mysql_server: MysqlServer, frontend: FrontendProcess) -> None:
    """20113: fixing the row at the source helps together with RESYNC TABLE, since the binlog has the old one."""
    t = Patient("advised_mend", mysql_server, frontend)
    mysql_server.run("ALTER TABLE advised_mend.t ADD day DATE")
    mysql_server.run("SET sql_mode = ''", "INSERT INTO advised_mend.t VALUES (2, 2, 'bad', 2, '0000-00-00')")
    assert "RESYNC TABLE" in t.until_paused(Code.SOURCE_VALUE)
    t.run("UPDATE advised_mend.t SET day = '2024-02-29'")
    t.resync()
    t.until_well()


def test_more_dead_letters_are_let_be(mysql_server: MysqlServer, frontend: FrontendProcess) -> None:
    """20136: SET max_dead_letters and RESUME."""
    properties = 'PROPERTIES ("on_value_error" = "dead-letter", "max_dead_letters" = "1")'
    t = Patient("advised_letters", mysql_server, frontend, properties=properties)
    mysql_server.run("ALTER TABLE advised_letters.t ADD day DATE")
    for n in (1, 2):
        mysql_server.run("SET sql_mode = ''", f"INSERT INTO advised_letters.t VALUES ({n}, 1, 'x', 1, '0000-00-00')")
    advice = t.until_paused(Code.DEAD_LETTERS_FULL)
    assert "Only then information_schema.sync_dead_letters has the rows that were too many" in advice
    t.alter('SET ("max_dead_letters" = "10")')
    t.resume()
    until(lambda: t.job["Status"]["dead_letters"] == 2, why="both dead letters")
    mysql_server.run("DELETE FROM advised_letters.t")
    t.until_well()


def test_an_update_of_a_target_without_a_key_is_settled(mysql_server: MysqlServer, frontend: FrontendProcess) -> None:
    """20210: SET append_on_change and RESUME: the update appends its new row, or is left out; or a target with a key,
    whose new job brings all rows.
    """
    name = "advised_append"
    t = Patient(name, mysql_server, frontend)
    t.create("log", 0, key="")
    binlog = BINLOG.format(port=mysql_server.port, start="latest")
    for how, there in (("append", [1, 2]), ("ignore", [3])):
        frontend.sql(f"STOP SYNC JOB {name}.job1")
        frontend.sql(f"DROP TABLE {name}.log")
        frontend.sql(f"CREATE TABLE {name}.log (id BIGINT NOT NULL, {COLUMNS})")
        frontend.sql(f"CREATE SYNC {name}.job1 (FROM {name}.log INTO log) {binlog}")
        t.run(f"INSERT INTO {name}.log VALUES ({there[0]}, {there[0]}, 'a', 1)", f"UPDATE {name}.log SET a = a + 1")
        assert 'SET ("append_on_change" = "append") or "ignore", then RESUME' in t.until_paused(Code.APPEND_CHANGE)
        t.alter(f'SET ("append_on_change" = "{how}")')
        t.resume()
        until(lambda there=there: sorted(row[1] for row in t.lake("log")[1:]) == there, why=f"what {how} leaves")
        until(lambda: t.job["Msg"] is None, why="no Msg")
        t.run(f"DELETE FROM {name}.log")
        t.pause()
    t.run(f"INSERT INTO {name}.log VALUES (4, 4, 'a', 1)")
    frontend.sql(f"STOP SYNC JOB {name}.job1")
    frontend.sql(f"DROP TABLE {name}.log")
    frontend.sql(f"CREATE TABLE {name}.log (id BIGINT NOT NULL, {COLUMNS}) UNIQUE KEY(id)")
    t.make(f"(FROM {name}.log INTO log)")
    t.run(f"UPDATE {name}.log SET a = a + 1", f"INSERT INTO {name}.log VALUES (5, 5, 'b', 1)")
    t.wait_until_equal("log", "log")


@pytest.mark.parametrize(
    ("name", "variable", "change", "code"),
    [
        ("advised_image", "binlog_row_image = MINIMAL", "SET b = 'cut' WHERE id = 1", Code.SOURCE_ROW_IMAGE),
        pytest.param(
            "advised_json",
            "binlog_row_value_options = PARTIAL_JSON",
            "SET doc = JSON_SET(doc, '$.a', 2)",
            Code.SOURCE_UNSUPPORTED,
            marks=pytest.mark.slow,
        ),
    ],
)
def test_rows_that_were_written_in_part_are_read_again(
    mysql_server: MysqlServer, frontend: FrontendProcess, name: str, variable: str, change: str, code: Code
) -> None:
    """20106 and 20115 of a lone table: RESUME alone meets the same event again, RESYNC TABLE and RESUME do not."""
    t = Patient(name, mysql_server, frontend)
    t.run(f"ALTER TABLE {name}.t ADD doc JSON", f"INSERT INTO {name}.t VALUES (1, 1, 'x', 1, '{{\"a\": 1, \"b\": 2}}')")
    t.fe.await_rows(lambda: len(t.lake()) == 2, why="the row")
    t.run(f"SET SESSION {variable}", f"UPDATE {name}.t {change}")
    assert ", and in the session that wrote the event. " in t.until_paused(code)
    t.resume()
    assert "RESYNC TABLE" in t.until_paused(code)
    t.run(f"UPDATE {name}.t SET doc = NULL")
    t.resync()
    t.until_well()


@pytest.mark.slow
def test_a_statement_that_cannot_be_followed_is_settled_by_resync(
    mysql_server: MysqlServer, frontend: FrontendProcess
) -> None:
    """20112 of a lone table: RESYNC TABLE brings the columns as they are now; SKIP DDL of a job that runs is refused
    with what helps.
    """
    t = Patient("advised_ddl", mysql_server, frontend)
    t.run("INSERT INTO advised_ddl.t VALUES (1, 1, '5', 1)", "ALTER TABLE advised_ddl.t MODIFY b INT")
    assert "RESYNC TABLE" in t.until_paused(Code.SOURCE_DDL)
    t.run("UPDATE advised_ddl.t SET b = NULL")  # the target's text holds numbers as they are written
    t.resync()
    t.until_well()
    with pytest.raises(pymysql.err.MySQLError) as refused:
        t.alter("SKIP DDL")
    assert refused.value.args[0] == Code.NO_DDL_TO_SETTLE.number


@pytest.fixture
def reader(mysql_server: MysqlServer) -> Iterator[str]:
    """An account that may do what a job needs."""
    mysql_server.run(
        f"CREATE USER advised IDENTIFIED BY '{PASSWORD}'",
        "GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO advised",
        "GRANT SELECT ON *.* TO advised",
    )
    yield "advised"
    mysql_server.run("DROP USER advised")


def read_by(t: Patient, reader: str) -> None:
    """By a job of that account, which has committed a row."""
    name, mysql = t.name, t.mysql
    t.fe.sql(f"STOP SYNC JOB {name}.job1")
    binlog = f'"mysql.host" = "127.0.0.1", "mysql.port" = "{mysql.port}", "mysql.user" = "{reader}"'
    source = f'FROM BINLOG ("type" = "mysql", "start" = "latest", {binlog}, "mysql.password" = "{PASSWORD}")'
    t.fe.sql(f"CREATE SYNC {name}.job1 (FROM {name}.t INTO t) {source}")
    t.run(f"INSERT INTO {name}.t VALUES (1, 1, 'x', 1)")
    t.wait_until_equal()


@pytest.mark.slow
def test_who_is_let_in_again_goes_on(mysql_server: MysqlServer, frontend: FrontendProcess, reader: str) -> None:
    """20102: fixed on the server, then RESUME; nothing is lost meanwhile."""
    t = Patient("advised_account", mysql_server, frontend)
    read_by(t, reader)
    mysql_server.run("ALTER USER advised IDENTIFIED BY 'another'")
    mysql_server.end_sessions(f"user = '{reader}'")
    t.run("INSERT INTO advised_account.t VALUES (2, 2, 'meanwhile', 1)")
    assert "RESUME" in t.until_paused(Code.SOURCE_ACCESS_DENIED)
    mysql_server.run(f"ALTER USER advised IDENTIFIED BY '{PASSWORD}'")
    t.resume()
    t.until_well()


def test_who_is_granted_again_goes_on_by_itself(
    mysql_server: MysqlServer, frontend: FrontendProcess, reader: str
) -> None:
    """20103: once the GRANT of the message is run the job resumes by itself, within a minute of a harm that was short;
    it needs an operator for as long as that is not done, whether it is tried again at that moment or not.
    """
    t = Patient("advised_grant", mysql_server, frontend)
    read_by(t, reader)
    mysql_server.run("REVOKE REPLICATION SLAVE ON *.* FROM advised")
    mysql_server.end_sessions(f"user = '{reader}'")
    t.run("INSERT INTO advised_grant.t VALUES (2, 2, 'meanwhile', 1)")
    assert t.until_paused(Code.SOURCE_GRANT_MISSING).endswith("the job resumes by itself.")
    first = t.job["Status"]["error_at"]

    def tried_again() -> bool:
        status = t.job["Status"]
        assert status["needs_operator"] is True
        assert status["error"] == Code.SOURCE_GRANT_MISSING.number
        return bool(status["error_at"] > first)

    until(tried_again, why="another attempt")
    cure = "GRANT REPLICATION SLAVE ON *.* TO 'advised'@'%'"
    assert cure in t.job["Msg"]
    mysql_server.run(cure)
    t.run("INSERT INTO advised_grant.t VALUES (3, 3, 'granted', 1)")
    until(lambda: t.job["State"] == "RUNNING" and t.job["Msg"] is None, deadline=60, why="the job, within a minute")
    assert t.job["Status"]["needs_operator"] is False
    t.until_well()


def test_a_password_that_was_changed_is_given_to_the_job(
    mysql_server: MysqlServer, frontend: FrontendProcess, reader: str
) -> None:
    """20102: SET SOURCE with the new one, then RESUME; nothing is lost meanwhile."""
    name = "advised_rotated"
    t = Patient(name, mysql_server, frontend)
    read_by(t, reader)
    mysql_server.run(f"ALTER USER '{reader}'@'%' IDENTIFIED BY 'another'")
    mysql_server.end_sessions(f"user = '{reader}'")
    t.run(f"INSERT INTO {name}.t VALUES (2, 2, 'meanwhile', 1)")
    assert 'SET SOURCE ("mysql.password" = "the new one"), then RESUME' in t.until_paused(Code.SOURCE_ACCESS_DENIED)
    t.alter('SET SOURCE ("mysql.password" = "another")')
    t.resume()
    t.wait_until_equal()
    t.until_well()


@pytest.mark.slow
def test_a_whole_database_is_created_again_as_it_is_printed(
    mysql_server: MysqlServer, frontend: FrontendProcess, reader: str
) -> None:
    """STOP, and the text of SHOW CREATE SYNC JOB with the position of Status, of a job that 20102 has paused: tables
    that were renamed go on in their own targets, and one that could not join is named until it is settled.
    """
    db = "advised_whole"
    mysql_server.run(f"CREATE DATABASE {db}", "CREATE DATABASE advised_aside")
    frontend.sql(f"CREATE DATABASE {db}")
    for table in "abcd":
        mysql_server.run(f"CREATE TABLE {db}.{table} (id INT PRIMARY KEY)", f"INSERT INTO {db}.{table} VALUES (1)")
    binlog = f'"mysql.host" = "127.0.0.1", "mysql.port" = "{mysql_server.port}", "mysql.user" = "{reader}"'
    source = f'FROM BINLOG ("type" = "mysql", {binlog}, "mysql.password" = "{PASSWORD}")'
    frontend.sql(f"CREATE SYNC {db}.job1 (FROM {db}.* INTO {db}.*) {source}")

    def lake(table: str) -> list[int]:
        return [row["id"] for row in frontend.sql(f"SELECT id FROM {db}.{table} ORDER BY id")]

    def status() -> dict[str, Any]:
        found: dict[str, Any] = frontend.job(db)["Status"]
        return found

    until(lambda: status()["synced_until"] is not None, why="the first rows")
    names = f"{db}.a TO {db}.a2, {db}.b TO advised_aside.b, {db}.c TO {db}.x, {db}.d TO {db}.c, {db}.x TO {db}.d"
    mysql_server.run(f"RENAME TABLE {names}", f"CREATE TABLE {db}.log (id INT)", f"INSERT INTO {db}.log VALUES (1)")
    until(lambda: status()["refused"].keys() == {f"{db}.log"}, why="a table that cannot join")
    mysql_server.run(f"INSERT INTO {db}.a2 VALUES (2)", "INSERT INTO advised_aside.b VALUES (2)")
    frontend.await_caught_up(db)
    mysql_server.run(f"ALTER USER '{reader}'@'%' IDENTIFIED BY 'another'")
    mysql_server.end_sessions(f"user = '{reader}'")
    mysql_server.run(f"INSERT INTO {db}.a2 VALUES (3)", "INSERT INTO advised_aside.b VALUES (3)")
    mysql_server.run(f"INSERT INTO {db}.c VALUES (3)", f"INSERT INTO {db}.d VALUES (4)")
    until(lambda: status()["error"] == Code.SOURCE_ACCESS_DENIED.number, why="the refusal")
    assert list(status()["refused"]) == [f"{db}.log"]
    frontend.sql(f"ALTER SYNC JOB {db}.job1 DROP TABLE {db}.log")
    text = str(frontend.sql(f"SHOW CREATE SYNC JOB {db}.job1")[0]["Create Sync Job"])
    gtid = status()["position"]["gtid"]
    text = text.replace('"******"', '"another"').replace('"type" = "mysql"', f'"type" = "mysql", "start" = "{gtid}"')
    frontend.sql(f"STOP SYNC JOB {db}.job1")
    explained = frontend.sql(f"EXPLAIN {text.removeprefix('CREATE ')}")
    assert [row["Outcome"] for row in explained if row["Outcome"] != "ok"] == []
    assert {row["Value"] for row in explained if row["Item"] == "target"} == {"exists"}
    frontend.sql(text)
    wanted = {"a": [1, 2, 3], "b": [1, 2, 3], "c": [1, 4], "d": [1, 3]}
    frontend.await_rows(lambda: {table: lake(table) for table in wanted} == wanted, why="every row of every table")
    assert frontend.sql(f"SHOW TABLES FROM {db} LIKE 'a2'") == []
    frontend.sql(f"STOP SYNC JOB {db}.job1")


def test_a_lost_position_is_left_behind_by_a_new_job(frontend: FrontendProcess, tmp_path: Path) -> None:
    """20107: STOP, DROP the target, and CREATE SYNC, which makes it and brings all rows."""
    own = MysqlServer(tmp_path / "own").start()
    try:
        t = Patient("advised_lost", own, frontend)
        t.run("INSERT INTO advised_lost.t VALUES (1, 1, 'x', 1)")
        t.wait_until_equal()
        frontend.sql("PAUSE SYNC JOB advised_lost.job1")
        dumps = "SELECT id FROM information_schema.processlist WHERE command LIKE 'Binlog Dump%'"
        until(lambda: not own.run(dumps), why="the end of the reading")
        t.run("INSERT INTO advised_lost.t VALUES (2, 2, 'lost', 1)", "FLUSH BINARY LOGS")
        own.run(f"PURGE BINARY LOGS TO '{own.run('SHOW BINARY LOGS')[-1][0]}'")
        t.resume()
        advice = t.until_paused(Code.SOURCE_POSITION_LOST)
        assert "STOP the job, DROP its targets and create them again (INTO db.* does it by itself)" in advice
        with pytest.raises(pymysql.err.MySQLError, match="RESUME once it has caught up"):
            frontend.sql("ALTER SYNC JOB advised_lost.job1 RESYNC TABLE advised_lost.t")
        t.run("CREATE TABLE advised_lost.u (id INT PRIMARY KEY)")
        with pytest.raises(pymysql.err.MySQLError, match="ADD TABLE would not let the job continue"):
            frontend.sql("ALTER SYNC JOB advised_lost.job1 ADD TABLE FROM advised_lost.u INTO advised_lost.*")
        statement = frontend.sql("SHOW CREATE SYNC JOB advised_lost.job1")[0]["Create Sync Job"]
        assert "advised_lost" in statement
        frontend.sql("STOP SYNC JOB advised_lost.job1")
        listed = "SELECT state FROM information_schema.sync_channels WHERE target_schema = 'advised_lost'"
        assert frontend.sql(listed) == [{"state": None}], "as 20209 says of a target that may be dropped"
        frontend.sql("DROP TABLE advised_lost.t")
        binlog = f'"mysql.host" = "127.0.0.1", "mysql.port" = "{own.port}", "mysql.user" = "root"'
        source = f'FROM BINLOG ("type" = "mysql", {binlog}, "mysql.password" = "")'
        frontend.sql(f"CREATE SYNC advised_lost.job1 (FROM advised_lost.t INTO advised_lost.*) {source}")
        t.fe.await_rows(lambda: t.lake() == t.source(), why="all rows")
        t.until_well()
        frontend.sql("STOP SYNC JOB advised_lost.job1")
    finally:
        own.stop()


def test_a_table_whose_target_is_gone_may_leave_its_job(mysql_server: MysqlServer, frontend: FrontendProcess) -> None:
    """1146 of one of two tables: DROP TABLE leaves it out, and the job is well; the other one went on meanwhile."""
    t = Patient("advised_away", mysql_server, frontend, tables=("t", "u"))
    t.run("INSERT INTO advised_away.t VALUES (1, 1, 'x', 1)", "INSERT INTO advised_away.u VALUES (1, 1, 'x', 1)")
    t.wait_until_equal()
    t.wait_until_equal("u", "u")
    rename(frontend.folder / "var" / "lake" / "catalog.db", "advised_away", "u", "away")
    t.run("INSERT INTO advised_away.u VALUES (2, 2, 'waits', 1)")
    behind: list[dict[str, Any]] = []  # a moment later it may catch up, until it is tried again
    until(lambda: behind.extend(t.job["Status"]["behind"].values()) or behind, why="a table that is behind")
    advice = behind[0]["advice"]
    assert "ALTER SYNC JOB ... DROP TABLE leaves the table out" in advice
    assert "RESUME" not in advice, "the job runs"
    t.alter("DROP TABLE advised_away.u")
    t.until_well()
    until(lambda: t.job["Status"]["behind"] == {}, why="nothing that is behind")
