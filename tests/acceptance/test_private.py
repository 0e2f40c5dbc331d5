"""What other users of the machine see of a frontend: its files, its processes, its warnings."""

import contextlib
import os
import stat
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import psutil
import pymysql
import pytest

from tests.acceptance.frontend import FrontendProcess
from tests.acceptance.test_faults import BINLOG
from tests.support import files as files_of
from tests.support import jvm
from tests.support.servers.mysql import MysqlServer

pytestmark = [pytest.mark.mysql, pytest.mark.spark]

OF_THE_STORE: Final = "S3SECRETVALUE"
OF_JAVA: Final = "TRUSTSECRETVALUE"
OF_THE_SHELL: Final = "ENVSECRETVALUE"
OF_THE_SOURCE: Final = "SOURCESECRETVALUE"


@dataclass
class Seen:
    """What /proc shows of a frontend and all below it, from its first moment on."""

    arguments: set[str] = field(default_factory=set)
    environments: dict[str, set[str]] = field(default_factory=dict)  # by the name of the program
    ended: threading.Event = field(default_factory=threading.Event)

    def watch(self, frontend: FrontendProcess) -> None:
        while not self.ended.wait(0.01):
            if frontend.process is not None:
                self.look(frontend.process.pid)

    def look(self, pid: int) -> None:
        with contextlib.suppress(psutil.Error):
            frontend = psutil.Process(pid)
            itself = frontend.cmdline()
            for process in frontend.children(recursive=True):
                with contextlib.suppress(psutil.Error):
                    self.see(process, itself)

    def see(self, process: psutil.Process, itself: list[str]) -> None:
        """Between fork and exec a child is the frontend, with the arguments and the environment that it was given."""
        arguments = process.cmdline()
        if arguments and arguments != itself:
            self.arguments.add(" ".join(arguments))
            self.environments.setdefault(process.name(), set()).update(process.environ().values())


@pytest.fixture(scope="module")
def seen() -> Seen:
    return Seen()


@pytest.fixture(scope="module")
def open_frontend(tmp_path_factory: pytest.TempPathFactory, seen: Seen) -> Iterator[FrontendProcess]:
    """One that was started under an open umask, with secrets in a fe.conf that everybody can read."""
    folder = tmp_path_factory.mktemp("open")
    flags = jvm.flags().get("spark.driver.extraJavaOptions", "")
    java = f'{flags} -Djavax.net.ssl.trustStorePassword="{OF_JAVA} #"'
    keys = {"spark.hadoop.fs.s3a.secret.key": OF_THE_STORE, "spark.driver.extraJavaOptions": java, "log_level": "DEBUG"}
    process = FrontendProcess(folder, keys)
    process.conf.chmod(0o644)
    (folder / "tmp").mkdir()
    watcher = threading.Thread(target=seen.watch, args=(process,))
    watcher.start()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_SECRET_ACCESS_KEY", OF_THE_SHELL)
        patch.setenv("TMPDIR", str(folder / "tmp"))
        before = os.umask(0o022)
        try:
            yield process.start()
        finally:
            os.umask(before)
            seen.ended.set()
            watcher.join()
            assert process.stop() == 0


@pytest.fixture(scope="module")
def synced(open_frontend: FrontendProcess, mysql_server: MysqlServer) -> FrontendProcess:
    """It has read rows by Spark, and changes by a worker."""
    mysql_server.run(
        "CREATE DATABASE hidden", "CREATE TABLE hidden.t (id INT PRIMARY KEY, v INT)", "INSERT hidden.t VALUES (1, 1)"
    )
    mysql_server.run(
        f"CREATE USER hidden IDENTIFIED BY '{OF_THE_SOURCE}'",
        "GRANT SELECT, REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO hidden",
    )
    open_frontend.sql("CREATE DATABASE hidden")
    open_frontend.sql("CREATE TABLE hidden.t (id INT NOT NULL, v INT) UNIQUE KEY(id)")
    open_frontend.sql(f"CREATE SYNC hidden.job1 (FROM hidden.t INTO t) {_source(mysql_server)}")
    rows = [{"id": 1, "v": 1}]
    open_frontend.await_rows(lambda: open_frontend.sql("SELECT * FROM hidden.t") == rows, why="the snapshot")
    mysql_server.run("UPDATE hidden.t SET v = 2", "INSERT INTO hidden.t VALUES (2, 2)")
    open_frontend.await_rows(
        lambda: len(open_frontend.sql("SELECT * FROM hidden.t WHERE v = 2")) == 2, why="the changes"
    )
    return open_frontend


def test_files_are_private_whatever_the_umask(synced: FrontendProcess) -> None:
    """Metadata, lake, staging, logs: no folder and no file has a permission bit for other users, including those of
    Spark and a worker; the console's certificate alone is for clients, without its key.
    """
    made = {path: bits for part in ("var", "log") for path, bits in _bits_below(synced.folder / part)}
    assert {".db", ".parquet", ".avro", ".log", ".key"} <= {path.suffix for path in made}
    assert any(path.parent.name == "staging" for path in made)
    assert [path for path, bits in sorted(made.items()) if bits & 0o077] == []
    certificate = synced.conf.parent / "console.crt"
    assert _bits(certificate) == 0o644
    assert "CERTIFICATE" in certificate.read_text()
    assert "PRIVATE" not in certificate.read_text()


def test_secrets_are_in_no_process_but_the_one_that_needs_them(synced: FrontendProcess, seen: Seen) -> None:
    """No argument of any process holds a secret at any time; those of the environment go to the JVM alone, which has
    them; no file is left, and no log, answer or error says one.
    """
    assert any("SparkSubmit" in arguments for arguments in seen.arguments)
    assert any("multiprocessing.forkserver" in arguments for arguments in seen.arguments)
    secrets = (OF_THE_STORE, OF_JAVA, OF_THE_SHELL)
    assert [arguments for arguments in seen.arguments if any(secret in arguments for secret in secrets)] == []
    having = {name for name, values in seen.environments.items() if OF_THE_SHELL in values}
    assert "java" in having
    assert not any(name.startswith("python") for name in having)
    assert not any(
        secret in value for values in seen.environments.values() for value in values for secret in secrets[:2]
    )
    files = [
        synced.folder / "fe.out",
        *files_of.below(synced.folder / "log"),
        *files_of.below(synced.folder / "tmp"),
    ]
    told = "".join(map(_text, files))
    told += str(synced.sql("SHOW FRONTEND CONFIG")) + str(synced.sql("SHOW VARIABLES"))
    assert [secret for secret in secrets if secret in told] == []


def test_the_password_of_a_source_is_nowhere(synced: FrontendProcess, seen: Seen, mysql_server: MysqlServer) -> None:
    """In no file at all, whatever is typed wrong around it, and at DEBUG; in no answer, plan, error or process."""
    source = _source(mysql_server)
    stranger = source.replace('= "hidden"', '= "nobody"')
    told = [
        _answer(synced, statement)
        for statement in (
            f"EXPLAIN SYNC hidden.job2 (FROM hidden.t INTO hidden.*) {source}",
            f"CREATE SYNC hidden.job2 (FROM hidden.none INTO hidden.*) {source}",
            f"CREATE SYNC hidden.job2 (FROM hidden.t INTO hidden.*) {stranger}",
            "SHOW CREATE SYNC JOB hidden.job1",
            "SHOW SYNC JOB FROM hidden",
            "SHOW FULL PROCESSLIST",
            "SELECT * FROM information_schema.sync_jobs",
            "EXPLAIN SELECT * FROM hidden.t",
            "EXPLAIN EXTENDED SELECT * FROM hidden.t",
            "SELECT CAST(concat('x', v) AS INT), nothing FROM hidden.t",
        )
    ]
    assert "Unknown column 'nothing'" in told[-1]
    assert any("Access denied" in answer for answer in told)
    assert [answer for answer in told if OF_THE_SOURCE in answer] == []
    for mistyped in (source.replace('password" =', 'password"'), f"{source} PROPERTIES", source.replace('"type"', "")):
        _answer(synced, f"CREATE SYNC hidden.job2 (FROM hidden.t INTO t) {mistyped}")  # says what was typed
    mysql_server.run("INSERT INTO hidden.t VALUES (3, 3)")
    synced.await_rows(lambda: len(synced.sql("SELECT * FROM hidden.t")) == 3, why="a change after all that")
    found = [path for path in files_of.below(synced.folder) if OF_THE_SOURCE.encode() in _bytes(path)]
    assert found == []
    assert "DEBUG" in (synced.folder / "log" / "fe.log").read_text()
    assert [arguments for arguments in seen.arguments if OF_THE_SOURCE in arguments] == []
    assert not any(OF_THE_SOURCE in value for values in seen.environments.values() for value in values)


def _source(mysql: MysqlServer) -> str:
    text = BINLOG.format(port=mysql.port).replace('"root"', '"hidden"')
    return text.replace('"mysql.password" = ""', f'"mysql.password" = "{OF_THE_SOURCE}"')


def _answer(frontend: FrontendProcess, statement: str) -> str:
    """Or its error."""
    try:
        return str(frontend.sql(statement))
    except pymysql.err.MySQLError as error:
        return str(error)


def test_the_certificate_beside_fe_conf_proves_the_console(open_frontend: FrontendProcess) -> None:
    """A client that verifies the server by it comes in."""
    certificate = str(open_frontend.conf.parent / "console.crt")
    with open_frontend.connect(ssl={"ca": certificate, "check_hostname": False}) as connection:
        assert connection.open


def test_a_fe_conf_with_secrets_that_others_read_is_told(open_frontend: FrontendProcess) -> None:
    """With the names of the secrets, never a value, and with what to type."""
    conf = open_frontend.conf.resolve()
    told = f"{conf} holds spark.hadoop.fs.s3a.secret.key, and others can read it (mode 0644); type: chmod 600 {conf}"
    log = (open_frontend.folder / "log" / "fe.log").read_text()
    assert f"WARNING [MainThread] syncmgr.fe: {told}\n" in log
    assert f"WARNING: {told}\n" in (open_frontend.folder / "fe.out").read_text()
    assert OF_THE_STORE not in log


def _bits_below(folder: Path) -> Iterator[tuple[Path, int]]:
    """Of files that exist throughout the check: staged files and those of a compaction are deleted meanwhile."""
    for path in files_of.below(folder):
        with contextlib.suppress(FileNotFoundError):
            yield path, _bits(path)


def _text(file: Path) -> str:
    """Empty if it is none, or gone."""
    with contextlib.suppress(FileNotFoundError, IsADirectoryError):
        return file.read_text(errors="replace") if file.is_file() else ""
    return ""


def _bytes(file: Path) -> bytes:
    """Empty if it is none, or gone."""
    with contextlib.suppress(OSError):
        return file.read_bytes() if file.is_file() else b""
    return b""


def _bits(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)
