"""What Status advises of a job on canal is typed, and the job is well again; canal has no rows to read again."""

import shutil
from collections.abc import Callable
from typing import Any

import pytest

from syncmgr.errors import Code
from tests.acceptance.frontend import FrontendProcess
from tests.acceptance.test_advice import Patient
from tests.acceptance.test_canal_job import has_cursor
from tests.acceptance.test_xa import finish, prepare
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

    def in_line(self) -> None:
        """STOP, and the target as the source is: empty, both."""
        self.fe.sql(f"STOP SYNC JOB {self.name}.job1")
        self.run(f"DELETE FROM {self.name}.t")
        self.fe.sql(f"DROP TABLE {self.name}.t")
        self.fe.sql(
            f"CREATE TABLE {self.name}.t (id BIGINT NOT NULL, a INT NOT NULL, b VARCHAR(20), d DECIMAL(8,2)) "
            "UNIQUE KEY(id)"
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
    assert "somebody else has read: rows are missing" in t.until_paused(Code.CANAL_POSITION_LOST)
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
    assert t.until_paused(Code.CANAL_ACCESS_DENIED) == "Fix user and password on the canal server, then RESUME."
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
        assert t.until_paused(Code.CANAL_PROTOCOL) == "Nothing if it passes; else look at the version of canal."
        proxy.target = server.port
    t.until_resumed()
    t.until_well()
    frontend.sql("STOP SYNC JOB advised_stranger.job1")
    proxy.close()


@pytest.mark.parametrize(
    ("name", "code", "kind", "more", "said"),
    [
        ("advised_narrow", Code.TYPE_DOES_NOT_FIT, "SMALLINT", ZONE, "STOP the job, and create it with another column"),
        ("advised_zone", Code.CANAL_INEXACT, "INT", "", "STOP the job, and create it with `canal.time_zone`"),
    ],
)
def test_what_the_first_rows_refuse_is_made_otherwise(
    mysql_server: MysqlServer,
    frontend: FrontendProcess,
    canal: Start,
    name: str,
    code: Code,
    kind: str,
    more: str,
    said: str,
) -> None:
    """20012 and 20116: by STOP and another job; the rows arrive, since nothing was acknowledged to canal."""
    t = CanalPatient(name, mysql_server, frontend, canal())
    t.run(f"CREATE TABLE {name}.s (id BIGINT PRIMARY KEY, a INT, at TIMESTAMP NULL)")
    for target, of_a in (("narrow", kind), ("wide", "INT")):
        frontend.sql(f"CREATE TABLE {name}.{target} (id BIGINT NOT NULL, a {of_a}, at DATETIME) UNIQUE KEY(id)")
    t.read(f"FROM {name}.s INTO narrow (id, a, at)", more)
    t.run(f"INSERT INTO {name}.s VALUES (1, 1, '2024-02-29 01:02:03')")
    until(lambda: t.job["State"] == "PAUSED", why="a pause")
    assert t.job["Status"]["error"] == code.number, t.job["Msg"]
    assert said in t.job["Status"]["advice"]
    frontend.sql(f"STOP SYNC JOB {name}.job1")
    t.read(f"FROM {name}.s INTO wide (id, a, at)", ZONE)

    def rows() -> list[tuple[Any, ...]]:
        return [tuple(row.values()) for row in frontend.sql(f"SELECT id, a FROM {name}.wide")]

    until(lambda: rows() == [(1, 1)], why="the row")
    until(lambda: t.job["Msg"] is None, why="no Msg")
