"""What Status advises of a job on canal is typed, and the job is well again; canal has no rows to read again."""

import shutil
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from syncmgr.errors import Code
from tests.acceptance.frontend import FrontendProcess
from tests.acceptance.test_advice import Patient
from tests.acceptance.test_advice_lake import committed_ahead, edit, facts_of, file_of, require
from tests.acceptance.test_canal_job import has_cursor
from tests.acceptance.test_restores import rename, set_to
from tests.acceptance.test_xa import finish, prepare
from tests.support.files import below
from tests.support.servers.canal import CANAL_PASSWORD, CanalServer
from tests.support.servers.hostile import HostileServer
from tests.support.servers.mysql import MysqlServer
from tests.support.servers.proxy import Proxy
from tests.support.until import until

pytestmark = [pytest.mark.mysql, pytest.mark.spark, pytest.mark.long]

Start = Callable[..., CanalServer]
ZONE = ', "canal.time_zone" = "UTC"'


class CanalPatient(Patient):
    """Its job reads a canal server, which begins with it."""

    def __init__(self, name: str, mysql: MysqlServer, fe: FrontendProcess, canal: CanalServer) -> None:
        super().__init__(name, mysql, fe)
        self.canal = canal
        self.more = ""  # columns
        fe.sql(f"STOP SYNC JOB {name}.job1")

    def read(self, channels: str = "", more: str = "", port: int = 0) -> None:
        """Its job, once more. `port`: of what is between, 0: nothing."""
        place = f'"canal.server.ip" = "127.0.0.1", "canal.server.port" = "{port or self.canal.port}"'
        login = f'"canal.username" = "canal", "canal.password" = "{CANAL_PASSWORD}"'
        self.fe.sql(
            f"CREATE SYNC {self.name}.job1 ({channels or f'FROM {self.name}.t INTO t'}) FROM BINLOG "
            f'("type" = "canal", {place}, "canal.destination" = "{self.canal.destination}", {login}{more})'
        )

    def until_cursor(self) -> None:
        self.until_well()
        self.run(f"UPDATE {self.name}.t SET a = a + 1")
        until(lambda: has_cursor(self.canal), why="canal's first cursor")
        self.until_well()  # the loss of a cursor is noticed from its second batch on

    def stop(self) -> None:
        self.fe.sql(f"STOP SYNC JOB {self.name}.job1")

    def in_line(self) -> None:
        """STOP, and the target as the source is: empty, both."""
        self.stop()
        self.run(f"DELETE FROM {self.name}.t")
        self.empty()

    def empty(self) -> None:
        self.fe.sql(f"DROP TABLE {self.name}.t")
        self.fe.sql(
            f"CREATE TABLE {self.name}.t (id BIGINT NOT NULL, a INT NOT NULL, b VARCHAR(20), d DECIMAL(8,2)"
            f"{self.more}) UNIQUE KEY(id)"
        )

    def anew(self) -> None:
        """As the advice says, if canal would give the next job the same event."""
        self.in_line()
        self.canal.stop()
        shutil.rmtree(self.canal.folder / "data")
        self.canal.start()
        self.read()


def test_what_canal_lost_or_cannot_tell_comes_with_a_new_job(
    mysql_server: MysqlServer, frontend: FrontendProcess, canal: Start
) -> None:
    """20112, by a statement that changes values, 20127, by a transaction of two phases, and 20125, by a cursor that is
    gone.
    """
    t = CanalPatient("advised_canal", mysql_server, frontend, canal())
    t.read()
    t.until_cursor()
    t.run("ALTER TABLE advised_canal.t MODIFY d DECIMAL(4,1)")
    assert "delete the destination's cursor (its meta.dat, " in t.until_paused(Code.SOURCE_DDL)
    assert "the advice in Status says how to start again" in t.job["Msg"]
    t.anew()
    t.until_cursor()
    prepare(mysql_server, "canal", "INSERT INTO advised_canal.t VALUES (1, 1, 'xa', 1)")
    try:
        assert "delete the destination's cursor (its meta.dat, " in t.until_paused(Code.CANAL_UNSUPPORTED)
    finally:
        finish(mysql_server, "COMMIT", "canal")
    t.anew()
    t.until_cursor()
    t.canal.stop()
    shutil.rmtree(t.canal.folder / "data")
    t.run("INSERT INTO advised_canal.t VALUES (2, 2, 'lost', 2)")
    t.canal.start()
    t.run("INSERT INTO advised_canal.t VALUES (3, 3, 'told', 3)")
    assert "another client has read: rows are missing" in t.until_paused(Code.CANAL_POSITION_LOST)
    t.in_line()
    t.read()
    t.until_well()


def test_a_reader_that_canal_refuses_is_let_in(
    mysql_server: MysqlServer, frontend: FrontendProcess, canal: Start
) -> None:
    """20122, by another password; 20121, while it is away; 20123, while it does not serve the destination."""
    t = CanalPatient("advised_login", mysql_server, frontend, canal())
    t.read()
    t.until_cursor()
    command: list[str] = t.canal._command
    place = command.index("--password") + 1
    t.canal.stop()
    assert t.until_told(Code.CANAL_UNREACHABLE).startswith("Nothing if the server comes back")
    command[place] = "another"
    t.canal.start()
    assert t.until_paused(Code.CANAL_ACCESS_DENIED).startswith(
        "Fix user and password on the canal server, then RESUME."
    )
    t.canal.stop()
    command[place] = CANAL_PASSWORD
    t.canal.start()
    t.resume()
    t.until_well()
    t.canal.stop()
    stand_in = CanalServer(t.canal.folder.with_name("stand-in"), mysql_server, destination="other")
    stand_in.use_port(t.canal.port)
    stand_in.start()
    try:
        assert t.until_told(Code.CANAL_REFUSED).startswith("Nothing while canal starts")
    finally:
        stand_in.stop()
    t.canal.start()
    t.until_well()


def test_somebody_else_at_the_address_of_canal_passes(
    mysql_server: MysqlServer, frontend: FrontendProcess, canal: Start
) -> None:
    """20126: the job resumes by itself once canal answers again, and lacks nothing written meanwhile."""
    server = canal()
    proxy = Proxy(server.port)
    t = CanalPatient("advised_stranger", mysql_server, frontend, server)
    t.read(port=proxy.port)
    t.until_cursor()
    with HostileServer(lambda talk: talk.raw(b"HTTP/1.1 400 Bad Request\r\n\r\n")) as stranger:
        proxy.target = stranger.port
        proxy.cut()
        t.run("INSERT INTO advised_stranger.t VALUES (2, 2, 'meanwhile', 1)")
        assert t.until_paused(Code.CANAL_PROTOCOL) == "Nothing if it passes; else check the version of canal."
        proxy.target = server.port
    t.until_resumed()
    t.until_well()
    frontend.sql("STOP SYNC JOB advised_stranger.job1")
    proxy.close()


def test_what_the_first_rows_refuse_is_made_otherwise(
    mysql_server: MysqlServer, frontend: FrontendProcess, canal: Start, spark: Callable[[str], None]
) -> None:
    """20007, 20012 and 20116: by STOP and another job; the row arrives, since nothing was acknowledged to canal."""
    name = "advised_first"
    t = CanalPatient(name, mysql_server, frontend, canal())
    t.run(f"CREATE TABLE {name}.s (id BIGINT PRIMARY KEY, a INT, b VARCHAR(20), d DECIMAL(8,2), at TIMESTAMP NULL)")
    columns = "id BIGINT NOT NULL, a SMALLINT NOT NULL, b VARCHAR(5), d DECIMAL(4,2), at DATETIME"
    frontend.sql(f"CREATE TABLE {name}.s ({columns}) UNIQUE KEY(a)")

    told: list[str] = []

    def refused(code: Code, names: str, more: str = ZONE) -> str:
        """The advice."""
        t.read(f"FROM {name}.s INTO s {names}", more)
        advice = t.until_paused(code)
        assert t.job["Status"]["needs_operator"]
        told.append(t.job["Msg"])
        t.stop()
        return advice

    t.run(f"INSERT INTO {name}.s VALUES (1, 1, 'ten letters', 1234.5, '2024-02-29 01:02:03')")
    assert "create its target again with a UNIQUE KEY as the message says" in refused(
        Code.NO_CHANNEL_KEY, "(id, a, skipped, d, at)"
    )
    assert [f"'{name}.s.{column}'" in told[0] for column in "ad"] == [True, True], "all misfits at once"
    frontend.sql(f"DROP TABLE {name}.s")
    frontend.sql(f"CREATE TABLE {name}.s ({columns.replace('SMALLINT NOT NULL', 'SMALLINT')}) UNIQUE KEY(id)")
    assert "make the target column wider (an integer BIGINT, a DECIMAL with more digits)" in refused(
        Code.TYPE_DOES_NOT_FIT, "(id, a, skipped, d, at)"
    )
    for column, kind in (("a", "BIGINT"), ("d", "DECIMAL(8, 2)")):
        spark(f"ALTER TABLE lake.{name}.s ALTER COLUMN {column} TYPE {kind}")
    assert "or add another one, by ALTER TABLE" in refused(Code.TYPE_DOES_NOT_FIT, "(id, a, b, d, at)")
    spark(f"ALTER TABLE lake.{name}.s ADD COLUMN longer STRING")
    assert "STOP the job, and create it with `canal.time_zone`, or with a column list" in refused(
        Code.CANAL_INEXACT, "(id, a, longer, d, at)", ""
    )

    def rows() -> list[tuple[Any, ...]]:
        return [tuple(map(str, row.values())) for row in frontend.sql(f"SELECT a, longer, d, at FROM {name}.s")]

    listed = (("(id, a, longer, d, skipped)", "", "None", "1234.50"), ("(id, a, longer, d, at)", ZONE, "2024-", "1.00"))
    for names, more, at, d in listed:
        t.run(f"UPDATE {name}.s SET d = {d}")  # canal's very first batch does not come again
        t.read(f"FROM {name}.s INTO s {names}", more)
        until(lambda at=at: rows()[0][3].startswith(at) if rows() else False, why="the row")
        assert rows()[0][:3] == ("1", "ten letters", d)
        until(lambda: t.job["Msg"] is None, why="no Msg")
        t.stop()


UNLOGGED = "SET sql_log_bin = 0"
# what is written, what mends it at the source, and what is advised besides the way past an event
EVENTS: list[tuple[Code, list[str], list[str], str]] = [
    (
        Code.SOURCE_NOT_ROW,
        ["SET SESSION binlog_format = STATEMENT", "INSERT INTO {t} (id, a) VALUES (1, 1)"],
        [],
        "Set binlog_format to ROW for that session. ",
    ),
    (
        Code.SOURCE_SCHEMA,
        ["SET SESSION binlog_row_image = MINIMAL", "UPDATE {t} SET b = 'cut'"],
        [],
        "If it is binlog_row_image: Set binlog_row_image to FULL on the server, and in the session that wrote ",
    ),
    (
        Code.SOURCE_SCHEMA,
        [UNLOGGED, "ALTER TABLE {t} DROP COLUMN b", "SET sql_log_bin = 1", "INSERT INTO {t} (id, a) VALUES (1, 1)"],
        [UNLOGGED, "ALTER TABLE {t} ADD COLUMN b VARCHAR(20) AFTER a"],
        "Set right at the source what the message says. ",
    ),
    (
        Code.SOURCE_VALUE,
        ["SET sql_mode = ''", "INSERT INTO {t} VALUES (1, 1, 'bad', 1, '0000-00-00')"],
        ["UPDATE {t} SET day = '2024-02-29' WHERE id = 1"],
        "Fix the row at the source. ",
    ),
]


def test_an_event_that_cannot_be_followed_is_left_behind(
    mysql_server: MysqlServer, frontend: FrontendProcess, canal: Start
) -> None:
    """SOURCE_NOT_ROW, SOURCE_SCHEMA and SOURCE_VALUE: set right at the source, and behind canal's cursor; a new
    job alone meets the same event.
    """
    t = CanalPatient("advised_event", mysql_server, frontend, canal())
    t.run("ALTER TABLE advised_event.t ADD day DATE")
    t.more = ", day DATE"
    t.empty()
    t.read()
    t.until_cursor()
    for code, harm, mended, said in EVENTS:
        t.run(*(statement.format(t="advised_event.t") for statement in harm))
        advice = t.until_paused(code)
        assert said in advice
        assert "Stop canal, delete the destination's cursor (its meta.dat, " in advice
        t.run(*(statement.format(t="advised_event.t") for statement in mended))
        t.stop()
        t.read()
        t.until_paused(code)
        t.anew()
        t.until_cursor()


def test_a_value_that_does_not_matter_is_left_out(
    mysql_server: MysqlServer, frontend: FrontendProcess, canal: Start
) -> None:
    """20113, the other way: a job without the column; nothing that canal has yet to give is lost, and no older row."""
    t = CanalPatient("advised_left", mysql_server, frontend, canal())
    t.run("ALTER TABLE advised_left.t ADD day DATE")
    t.more = ", day DATE"
    t.empty()
    t.read()
    t.until_cursor()
    t.run("INSERT INTO advised_left.t VALUES (1, 1, 'good', 1, '2024-02-29')")
    t.wait_until_equal()
    for a in (2, 3):  # the last batch comes again
        t.run(f"UPDATE advised_left.t SET a = {a} WHERE id = 4711")
        t.wait_until_equal()
    t.mysql.run("SET sql_mode = ''", "INSERT INTO advised_left.t VALUES (2, 2, 'bad', 2, '0000-00-00')")
    assert "a column list that has, in place of the column, a name that is none of the target's;" in t.until_paused(
        Code.SOURCE_VALUE
    )
    t.stop()
    t.read("FROM advised_left.t INTO t (id, a, b, d, skipped)")
    rows = [row[:2] for row in t.source()[1:]]

    def equal() -> bool:
        assert t.job["State"] != "PAUSED", t.job["Msg"]
        return [row[:2] for row in t.lake()[1:]] == rows

    until(equal, why="the rows")
    until(lambda: t.job["Msg"] is None, why="no Msg")
    assert {row[0]: str(row[4]) for row in t.lake()[1:]}[1] == "2024-02-29"
    assert {row[0]: row[4] for row in t.lake()[1:]}[2] is None


def test_a_target_that_somebody_changed_is_brought_in_line(
    mysql_server: MysqlServer, frontend: FrontendProcess, canal: Start, spark: Callable[[str], None]
) -> None:
    """UNKNOWN_COLUMN, COLUMN_REPLACED, TARGET_REPLACED, TARGET_SET_BACK, OTHER_HISTORY, STAGED_LOST and
    LAKE_CLOCK, on one canal, whose cursor stays: STOP, the target as the source is, and another job.
    """
    name = "advised_target"
    t = CanalPatient(name, mysql_server, frontend, canal())

    def dropped() -> None:
        spark(f"ALTER TABLE lake.{name}.t DROP COLUMN d")

    def replaced() -> None:
        dropped()
        spark(f"ALTER TABLE lake.{name}.t ADD COLUMN d DECIMAL(8, 2)")

    def rolled_back() -> None:
        first = facts_of(t)["current-snapshot-id"]
        t.run(f"INSERT INTO {name}.t (id, a) VALUES (12, 1)")
        t.wait_until_equal()
        spark(f"CALL lake.system.rollback_to_snapshot('{name}.t', {first})")

    def older() -> None:
        file = str(file_of(t))
        t.run(f"INSERT INTO {name}.t (id, a) VALUES (12, 1)")
        t.wait_until_equal()
        t.pause()
        set_to(t.catalog, name, "t", file)
        t.resume()

    def newer() -> None:
        ((token, epoch),) = ((n, v) for n, v in facts_of(t)["properties"].items() if n.startswith("syncmgr.token."))
        spark(f"ALTER TABLE lake.{name}.t SET TBLPROPERTIES ('{token}' = '{int(epoch) + 100}')")

    def ahead() -> None:
        edit(t, partial(committed_ahead, second=86_400))

    def unstaged() -> None:
        rename(t.catalog, name, "t", "away")
        t.run(f"REPLACE INTO {name}.t (id, a) VALUES (13, 1)")
        t.until_paused(Code.NO_SUCH_TABLE)
        for file in below(t.staging, "*.parquet"):
            file.unlink(missing_ok=True)
        rename(t.catalog, name, "away", "t")
        t.resume()

    harms = [
        (Code.UNKNOWN_COLUMN, dropped),
        (Code.COLUMN_REPLACED, replaced),
        (Code.TARGET_REPLACED, rolled_back),
        (Code.TARGET_SET_BACK, older),
        (Code.OTHER_HISTORY, newer),
        (Code.STAGED_LOST, unstaged),
        (Code.LAKE_CLOCK, ahead),
    ]
    t.read()
    t.until_cursor()
    for code, harm in harms:
        harm()
        t.run(f"REPLACE INTO {name}.t (id, a) VALUES (11, 1)", f"DELETE FROM {name}.t WHERE id = 4711")
        told = t.until_told if code is Code.LAKE_CLOCK else t.until_paused
        advice = told(code)
        assert advice.endswith("STOP the job, bring its targets in line with the source, and create it again."), code
        t.in_line()
        t.read()
        t.until_well()


def test_what_is_set_right_at_the_target_goes_on(
    mysql_server: MysqlServer, frontend: FrontendProcess, canal: Start, spark: Callable[[str], None]
) -> None:
    """1054 of a column that was renamed, and 20015: RESUME. 20013: a new job, with another WHERE, on the same rows."""
    name = "advised_right"
    t = CanalPatient(name, mysql_server, frontend, canal())
    t.read()
    t.until_cursor()
    spark(f"ALTER TABLE lake.{name}.t RENAME COLUMN d TO dd")
    t.run(f"INSERT INTO {name}.t VALUES (11, 1, 'new', 1)")
    assert "If it was renamed, rename it back, by ALTER TABLE" in t.until_paused(Code.UNKNOWN_COLUMN)
    spark(f"ALTER TABLE lake.{name}.t RENAME COLUMN dd TO d")
    t.resume()
    t.until_well()
    spark(f"ALTER TABLE lake.{name}.t ADD COLUMN x INT")
    edit(t, partial(require, name="x"))
    t.run(f"INSERT INTO {name}.t VALUES (12, 1, 'new', 1)")
    assert "Make the target's column nullable, by ALTER TABLE" in t.until_paused(Code.COLUMN_NOT_COVERED)
    spark(f"ALTER TABLE lake.{name}.t DROP COLUMN x")
    t.resume()
    t.until_well()
    t.stop()
    t.run(f"UPDATE {name}.t SET b = '5'")
    t.read(f"FROM {name}.t INTO t WHERE CAST(b AS INT) < 9")
    t.run(f"INSERT INTO {name}.t VALUES (13, 1, 'no number', 1)")
    assert t.until_paused(Code.BAD_EXPRESSION).endswith(
        "Otherwise STOP the job, and create it with another expression or WHERE."
    )
    t.stop()
    t.read(f"FROM {name}.t INTO t WHERE a < 9")
    t.until_well()
