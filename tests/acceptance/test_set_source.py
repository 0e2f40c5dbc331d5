"""ALTER SYNC JOB ... SET SOURCE: passwords, hosts and logins of a source change under a job that goes on."""

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pymysql
import pytest

from syncmgr.crash import CrashPoint
from syncmgr.errors import Code
from tests.acceptance.altered import Altered
from tests.acceptance.frontend import FrontendProcess
from tests.support.alike import ALIKE
from tests.support.servers.mysql import PASSWORD, MysqlServer
from tests.support.until import until

pytestmark = [pytest.mark.mysql, pytest.mark.spark]

SHOWN = '"mysql.password" = "******"'


class Moving(Altered):
    """A job that reads as `mover`, a user of its own, and goes on whatever is set."""

    def __init__(self, name: str, mysql: MysqlServer, fe: FrontendProcess) -> None:
        self.user = f"u_{name}"
        mysql.run(
            f"CREATE USER {self.user} IDENTIFIED BY '{PASSWORD}'",
            f"GRANT REPLICATION SLAVE, REPLICATION CLIENT, SELECT ON *.* TO {self.user}",
        )
        super().__init__(name, mysql, fe)
        fe.sql(f"STOP SYNC JOB {name}.job1")
        binlog = f'"mysql.host" = "127.0.0.1", "mysql.port" = "{mysql.port}", "mysql.user" = "{self.user}"'
        source = f'FROM BINLOG ("type" = "mysql", "start" = "latest", {binlog}, "mysql.password" = "{PASSWORD}")'
        fe.sql(f"CREATE SYNC {name}.job1 (FROM {name}.t INTO t) {source}")

    def set(self, **properties: object) -> None:
        told = ", ".join(f'"{name.replace("__", ".")}" = "{value}"' for name, value in properties.items())
        self.fe.sql(f"ALTER SYNC JOB {self.name}.job1 SET SOURCE ({told})")

    def refused(self, code: Code, **properties: object) -> str:
        """What the refusal says; the job is what it was."""
        before = self.shown()
        with pytest.raises(pymysql.err.MySQLError) as caught:
            self.set(**properties)
        assert caught.value.args[0] == code.number, caught.value
        assert self.shown() == before
        return str(caught.value.args[1])

    def shown(self) -> str:
        return str(self.fe.sql(f"SHOW CREATE SYNC JOB {self.name}.job1")[0]["Create Sync Job"])

    def password(self, new: str) -> None:
        self.mysql.run(f"ALTER USER {self.user} IDENTIFIED BY '{new}'")

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Rows come and change for as long as it takes."""
        ended = threading.Event()

        def write() -> None:
            key = 0
            while not ended.wait(0.02):
                key += 1
                self.run(
                    f"INSERT INTO {self.name}.t VALUES ({key}, 1, 'new', 1)",
                    f"UPDATE {self.name}.t SET a = a + 1 WHERE id % 7 = {key % 7}",
                )

        writer = threading.Thread(target=write)
        writer.start()
        try:
            yield
        finally:
            ended.set()
            writer.join()


def _rotate(t: Moving, times: int) -> None:
    t.fe.await_caught_up(t.name)  # one that has not logged in yet would find the old password wrong
    with t.changing():
        for number in range(times):
            t.password(f"rotated {number}")
            t.set(mysql__password=f"rotated {number}")
            t.mysql.end_sessions(f"user = '{t.user}'")
            t.fe.await_caught_up(t.name)
            assert t.fe.job(t.name)["State"] == "RUNNING", t.fe.job(t.name)["Msg"]
    t.wait_until_equal()


@ALIKE
def test_a_password_is_rotated_under_load(any_server: MysqlServer, frontend: FrontendProcess) -> None:
    """On both sides, three times: the job never pauses, no row is lost or doubled, nothing is read again. A wrong one
    is refused, and the job goes on with the old one. No secret is in SHOW, the audit, the log or an error.
    """
    t = Moving(f"rotated_{any_server.flavour}", any_server, frontend)
    _rotate(t, 3)
    said = t.refused(Code.SOURCE_ACCESS_DENIED, mysql__password="a guess of mine")
    assert "guess" not in said
    any_server.end_sessions(f"user = '{t.user}'")
    t.run(f"INSERT INTO {t.name}.t VALUES (100000, 1, 'after', 1)")
    t.wait_until_equal()
    assert SHOWN in t.shown()
    for file in ("audit.log", "fe.log"):
        text = (frontend.folder / "log" / file).read_text()
        assert "SET SOURCE" in text
        assert "rotated 2" not in text
        assert "guess of mine" not in text
    assert frontend.job(t.name)["Status"]["snapshot"] == {}


@pytest.mark.long
def test_a_password_is_rotated_again_and_again(mysql_server: MysqlServer, frontend: FrontendProcess) -> None:
    """Fifty times under load: nothing is lost, and no snapshot is taken."""
    _rotate(Moving("rotating", mysql_server, frontend), 50)


def test_a_paused_job_gets_another_login(mysql_server: MysqlServer, frontend: FrontendProcess) -> None:
    """It is checked against the source, also while it is not read, and goes on with it after RESUME: a user without
    the grants is refused with the GRANT to type; a server id that is taken, a property that would make it another job,
    and another server without the password for it are refused by name.
    """
    t = Moving("paused_source", mysql_server, frontend)
    frontend.sql("PAUSE SYNC JOB paused_source.job1")
    mysql_server.run("CREATE USER poor_mover IDENTIFIED BY 'poor'")
    poor = {"mysql__user": "poor_mover", "mysql__password": "poor"}
    said = t.refused(Code.SOURCE_GRANT_MISSING, **poor)
    for grant in re.findall(r"GRANT [^;]* TO '[^']*'@'[^']*'", said):
        mysql_server.run(grant)
    assert "server id 1 is" in t.refused(Code.SOURCE_SERVER_ID, mysql__server_id=1)
    assert "'type'" in t.refused(Code.PROPERTY_WRONG, type="canal")
    assert "'start'" in t.refused(Code.PROPERTY_WRONG, start="latest")
    assert "did you mean" in t.refused(Code.PROPERTY_UNKNOWN, mysql__hots="db2").lower()
    for elsewhere in ({"mysql__host": "localhost"}, {"mysql__ssl": "required"}):
        assert "'mysql.password' is missing" in t.refused(Code.PROPERTY_MISSING, **elsewhere)
    t.set(**poor)
    assert '"mysql.user" = "poor_mover"' in t.shown()
    assert "user:poor_mover" in frontend.job(t.name)["JobConfig"]
    t.run("INSERT INTO paused_source.t VALUES (1, 1, 'meanwhile', 1)")
    frontend.sql("RESUME SYNC JOB paused_source.job1")
    t.wait_until_equal()
    frontend.sql("STOP SYNC JOB paused_source.job1")
    t.refused(Code.ILLEGAL_TRANSITION, mysql__password="new")


@pytest.mark.slow
def test_a_job_moves_to_a_server_of_its_history_alone(tmp_path: Path, frontend: FrontendProcess) -> None:
    """A replica takes the place of its source, and both are read in turn; a server that has never executed what the
    job has read is refused with the transactions of both, and the job goes on where it was.
    """
    source, replica, stranger = (
        MysqlServer(tmp_path / name, "mysql", {"server-id": str(number)})
        for number, name in enumerate(("source", "replica", "stranger"), 11)
    )
    try:
        for server in (source, replica, stranger):
            server.start()
        replica.follow(source)
        stranger.run("CREATE DATABASE of_its_own")
        t = Moving("moving", source, frontend)
        t.run("INSERT INTO moving.t VALUES (1, 1, 'first', 1)")
        t.wait_until_equal()
        login = {"mysql__user": "repl", "mysql__password": PASSWORD}
        said = t.refused(Code.SOURCE_POSITION_LOST, mysql__port=stranger.port, **login)
        for server in (source, stranger):
            assert str(server.run("SELECT @@server_uuid")[0][0]) in said
        assert frontend.job("moving")["State"] == "RUNNING"
        until(lambda: replica.run("SHOW DATABASES LIKE 'moving'"), why="the replica")
        hosts = f"127.0.0.1:{source.port},127.0.0.1:{replica.port}"
        t.set(mysql__host=hosts, **login)
        t.run("INSERT INTO moving.t VALUES (2, 2, 'second', 1)")
        t.wait_until_equal()
        until(lambda: len(replica.run("SELECT id FROM moving.t")) == 2, why="the replica")
        source.stop()
        t.set(mysql__host=f"127.0.0.1:{replica.port}", **login)
        t.mysql = replica
        replica.run("STOP REPLICA", "RESET REPLICA ALL")
        t.run("INSERT INTO moving.t VALUES (3, 3, 'third', 1)")
        t.wait_until_equal()
        frontend.sql("STOP SYNC JOB moving.job1")
    finally:
        for server in (source, replica, stranger):
            server.stop()


@pytest.mark.slow
def test_death_leaves_the_old_source_or_the_new_one(mysql_server: MysqlServer, frontend: FrontendProcess) -> None:
    """Killed after the check, and after it was stored; whichever it is, the job goes on with it and loses nothing."""
    t = Moving("dying_source", mysql_server, frontend)
    mysql_server.run(
        f"CREATE USER dying_mover IDENTIFIED BY '{PASSWORD}'",
        "GRANT REPLICATION SLAVE, REPLICATION CLIENT, SELECT ON *.* TO dying_mover",
    )
    for point, user in ((CrashPoint.SOURCE_CHECKED, t.user), (CrashPoint.SOURCE_STORED, "dying_mover")):
        key = len(t.source())
        frontend.arm(point)
        with pytest.raises(pymysql.err.OperationalError):
            t.set(mysql__user="dying_mover")
        frontend.await_death(point)
        t.run(f"INSERT INTO dying_source.t VALUES ({key}, 1, 'meanwhile', 1)")
        frontend.start()
        assert f'"mysql.user" = "{user}"' in t.shown()
        t.wait_until_equal()
        logins = "SELECT user FROM information_schema.processlist WHERE command LIKE 'Binlog Dump%'"
        assert user in {row[0] for row in mysql_server.run(logins)}
