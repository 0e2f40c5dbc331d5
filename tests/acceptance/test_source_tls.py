"""A job whose source has to prove its identity, on all its paths: queries, snapshot and binlog."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pymysql
import pytest

from syncmgr.errors import Code
from tests.acceptance.frontend import FrontendProcess
from tests.support.servers.certificates import Authority
from tests.support.servers.directory import DirectoryServer
from tests.support.servers.mysql import PASSWORD, MysqlServer
from tests.support.servers.proxy import Proxy
from tests.support.servers.rogue import RogueServer
from tests.support.until import until

pytestmark = [pytest.mark.mysql, pytest.mark.spark]


@dataclass(frozen=True, slots=True)
class Sealed:
    """A server with a certificate for localhost, a user that has to show one, and the files of a job."""

    server: MysqlServer
    files: Path
    authority: Authority

    def binlog(self, host: str = "localhost", **changes: str) -> str:
        ssl = {"ssl": "verify_identity", "ssl_ca": "ca.pem", "ssl_cert": "own.pem", "ssl_key": "own.key"}
        given = {"host": host, "port": str(self.server.port), "user": "sealed", "password": PASSWORD, **(ssl | changes)}
        paths = {
            name: self._path(value) if name in {"ssl_ca", "ssl_cert", "ssl_key"} else value
            for name, value in given.items()
        }
        properties = ", ".join(f'"mysql.{name}" = "{value}"' for name, value in paths.items() if value)
        return f'FROM BINLOG ("type" = "mysql", {properties})'

    def _path(self, name: str) -> str:
        return str(self.files / name) if name and not name.startswith("/") else name

    def trust(self, authority: Authority) -> None:
        shutil.copy(authority.own.certificate, self.files / "ca.pem")


@pytest.fixture(scope="module")
def sealed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sealed]:
    folder = tmp_path_factory.mktemp("sealed")
    authority = Authority(folder, "authority")
    server = authority.issue("server", "DNS:localhost")
    files = {"ssl-ca": authority.own.certificate, "ssl-cert": server.certificate, "ssl-key": server.key}
    mysql = MysqlServer(tmp_path_factory.mktemp("mysql"), "mysql", {name: str(file) for name, file in files.items()})
    mysql.start()
    mysql.run(
        f"CREATE USER sealed IDENTIFIED BY '{PASSWORD}' REQUIRE X509",
        "GRANT REPLICATION SLAVE, REPLICATION CLIENT, SELECT ON *.* TO sealed",
        "CREATE DATABASE sealed",
    )
    own = authority.issue("frontend")
    made = Sealed(server=mysql, files=tmp_path_factory.mktemp("files"), authority=authority)
    shutil.copy(own.certificate, made.files / "own.pem")
    shutil.copy(own.key, made.files / "own.key")
    made.trust(authority)
    yield made
    mysql.stop()


def synced(fe: FrontendProcess, name: str) -> list[dict[str, Any]]:
    return fe.sql(f"SELECT * FROM {name}.t ORDER BY id")


def paused_by(fe: FrontendProcess, name: str, code: Code) -> str:
    """Msg and advice."""

    def paused() -> bool:
        job = fe.job(name)
        return job["State"] == "PAUSED" and f"(error {code.number})" in job["Msg"]

    until(paused, why=f"a pause by {code}")
    job = fe.job(name)
    return f"{job['Msg']} {job['Status']['advice']}"


def test_a_source_proves_who_it_is_on_every_way(sealed: Sealed, frontend: FrontendProcess) -> None:
    """Rows by the snapshot, changes by the binlog, of a user who can log in only over TLS with a certificate; when the
    certificate of the server is another authority's the job pauses and says what to do, and goes on once it is trusted;
    so it does when the file is missing.
    """
    sealed.server.run("CREATE TABLE sealed.t (id INT PRIMARY KEY)", "INSERT INTO sealed.t VALUES (1)")
    frontend.sql("CREATE DATABASE sealed")
    frontend.sql(f"CREATE SYNC sealed.job1 (FROM sealed.t INTO sealed.*) {sealed.binlog()}")
    until(lambda: synced(frontend, "sealed") == [{"id": 1}], why="the snapshot")
    sealed.server.run("INSERT INTO sealed.t VALUES (2)")
    until(lambda: len(synced(frontend, "sealed")) == 2, why="the change")

    sealed.trust(Authority(sealed.files, "stranger"))
    sealed.server.end_sessions("user = 'sealed'")
    told = paused_by(frontend, "sealed", Code.SOURCE_TLS)
    assert '"mysql.ssl_ca"' in told
    assert "add its CA to the file of mysql.ssl_ca" in told
    (sealed.files / "ca.pem").unlink()
    frontend.sql("RESUME SYNC JOB sealed.job1")
    assert "Put a file there" in paused_by(frontend, "sealed", Code.PEM_FILE)
    sealed.trust(sealed.authority)
    sealed.server.run("INSERT INTO sealed.t VALUES (3)")
    frontend.sql("RESUME SYNC JOB sealed.job1")
    until(lambda: len(synced(frontend, "sealed")) == 3, why="the change after the trust")
    frontend.sql("STOP SYNC JOB sealed.job1")


def test_a_job_is_refused_where_the_source_proves_nothing(sealed: Sealed, frontend: FrontendProcess) -> None:
    """At CREATE SYNC, with the property to fix: another name, another authority, a missing file, and files
    that do not fit the mode.
    """
    other = Authority(sealed.files, "other").own.certificate
    frontend.sql("CREATE DATABASE unproved")
    sealed.server.run("CREATE DATABASE unproved", "CREATE TABLE unproved.t (id INT PRIMARY KEY)")
    for binlog, code, words in (
        (sealed.binlog("127.0.0.1"), Code.SOURCE_TLS, 'set "mysql.ssl" = "verify_ca"'),
        (sealed.binlog(ssl_ca=str(other)), Code.SOURCE_TLS, 'in "mysql.ssl_ca"'),
        (sealed.binlog(ssl_ca="/nowhere.pem"), Code.PEM_FILE, "Property 'mysql.ssl_ca'"),
        (sealed.binlog(ssl_ca=""), Code.PROPERTY_WRONG, 'it needs "mysql.ssl_ca"'),
        (sealed.binlog(ssl="required"), Code.PROPERTY_WRONG, "it is for"),
    ):
        with pytest.raises(pymysql.err.MySQLError, match=words) as caught:
            frontend.sql(f"CREATE SYNC unproved.job1 (FROM unproved.t INTO unproved.*) {binlog}")
        assert caught.value.args[0] == code.number
    frontend.sql(
        f"CREATE SYNC unproved.job1 (FROM unproved.t INTO unproved.*) {sealed.binlog('127.0.0.1', ssl='verify_ca')}"
    )
    frontend.sql("STOP SYNC JOB unproved.job1")


def test_who_comes_to_the_address_of_a_source_is_told_no_password(
    sealed: Sealed, mysql_server: MysqlServer, frontend: FrontendProcess
) -> None:
    """A job that verifies nothing reconnects to an impostor that requests the password itself: it pauses, and says so;
    once its source is back it goes on.
    """
    mysql_server.run("CREATE DATABASE robbed", "CREATE TABLE robbed.t (id INT PRIMARY KEY)")
    frontend.sql("CREATE DATABASE robbed")
    proxy = Proxy(mysql_server.port)
    source = f'"mysql.host" = "127.0.0.1", "mysql.port" = "{proxy.port}", "mysql.user" = "repl"'
    frontend.sql(
        "CREATE SYNC robbed.job1 (FROM robbed.t INTO robbed.*)"
        f' FROM BINLOG ("type" = "mysql", {source}, "mysql.password" = "{PASSWORD}")'
    )
    mysql_server.run("INSERT INTO robbed.t VALUES (1)")
    until(lambda: synced(frontend, "robbed") == [{"id": 1}], why="the first row")
    rogue = RogueServer("mysql_clear_password", sealed.authority.issue("rogue"))
    proxy.target = rogue.port
    proxy.cut()
    told = paused_by(frontend, "robbed", Code.SOURCE_CLEAR_PASSWORD)
    assert "another server may be answering" in told
    assert rogue.over_tls
    assert not any(PASSWORD.encode() in packet for packet in rogue.heard)
    proxy.target = mysql_server.port
    mysql_server.run("INSERT INTO robbed.t VALUES (2)")
    frontend.sql("RESUME SYNC JOB robbed.job1")
    until(lambda: len(synced(frontend, "robbed")) == 2, why="the row after the rogue")
    frontend.sql("STOP SYNC JOB robbed.job1")
    rogue.close()
    proxy.close()


@pytest.mark.slow
def test_a_user_of_a_directory_is_proved_the_server(
    sealed: Sealed, mysql_server: MysqlServer, frontend: FrontendProcess
) -> None:
    """20166 of a user that is moved to LDAP or PAM on purpose: SET SOURCE with "mysql.ssl" = "verify_identity" and the
    file of the CA, which the server has to prove; nothing that was written meanwhile is lost.
    """
    mysql_server.run("CREATE DATABASE moved", "CREATE TABLE moved.t (id INT PRIMARY KEY)")
    frontend.sql("CREATE DATABASE moved")
    proxy = Proxy(mysql_server.port)
    ours = {"host": "127.0.0.1", "port": str(proxy.port), "user": "repl", "ssl_cert": "", "ssl_key": ""}
    table = "(FROM moved.t INTO moved.*)"
    frontend.sql(f"CREATE SYNC moved.job1 {table} {sealed.binlog(**ours, ssl='preferred', ssl_ca='')}")
    mysql_server.run("INSERT INTO moved.t VALUES (1)")
    until(lambda: synced(frontend, "moved") == [{"id": 1}], why="the first row")
    directory = DirectoryServer(sealed.authority.issue("directory", "IP:127.0.0.1"), PASSWORD, mysql_server.port)
    proxy.target = directory.port
    proxy.cut()
    mysql_server.run("INSERT INTO moved.t VALUES (2)")
    told = paused_by(frontend, "moved", Code.SOURCE_CLEAR_PASSWORD)
    assert 'SET SOURCE ("mysql.ssl" = "verify_identity", "mysql.ssl_ca"' in told

    def set_source(authority: Authority) -> None:
        properties = f'"mysql.ssl" = "verify_identity", "mysql.ssl_ca" = "{authority.own.certificate}"'
        frontend.sql(f'ALTER SYNC JOB moved.job1 SET SOURCE ({properties}, "mysql.password" = "{PASSWORD}")')

    with pytest.raises(pymysql.err.MySQLError) as caught:
        set_source(Authority(sealed.files, "elsewhere"))
    assert caught.value.args[0] == Code.SOURCE_TLS.number
    set_source(sealed.authority)
    until(lambda: len(synced(frontend, "moved")) == 2, why="the row of meanwhile")
    mysql_server.run("INSERT INTO moved.t VALUES (3)")
    until(lambda: len(synced(frontend, "moved")) == 3, why="a change")
    until(lambda: frontend.job("moved")["Msg"] is None, why="no Msg")
    frontend.sql("STOP SYNC JOB moved.job1")
    directory.close()
    proxy.close()
