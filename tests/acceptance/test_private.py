"""What other users of the machine see of a frontend: its files, its processes, its warnings."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.acceptance.frontend import FrontendProcess
from tests.acceptance.test_faults import BINLOG
from tests.servers import MysqlServer
from tests.until import until

pytestmark = [pytest.mark.mysql, pytest.mark.spark]

OF_THE_STORE: Final = "S3SECRETVALUE"
OF_JAVA: Final = "TRUSTSECRETVALUE"
OF_THE_SHELL: Final = "ENVSECRETVALUE"


@pytest.fixture(scope="module")
def open_frontend(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FrontendProcess]:
    """One that was started under an open umask, with secrets in a fe.conf that everybody can read."""
    process = FrontendProcess(tmp_path_factory.mktemp("open"), {"spark.hadoop.fs.s3a.secret.key": OF_THE_STORE})
    process.conf.chmod(0o644)
    before = os.umask(0o022)
    try:
        yield process.start()
    finally:
        os.umask(before)
        assert process.stop() == 0


def test_files_are_private_whatever_the_umask(open_frontend: FrontendProcess, mysql_server: MysqlServer) -> None:
    """Metadata, lake, staging, logs: no folder and no file has a bit for anybody else, Spark's and a worker's too; the
    console's certificate alone is for clients, without its key.
    """
    mysql_server.run(
        "CREATE DATABASE hidden",
        "CREATE TABLE hidden.t (id INT PRIMARY KEY, v INT)",
        "INSERT INTO hidden.t VALUES (1, 1)",
    )
    open_frontend.sql("CREATE DATABASE hidden")
    open_frontend.sql("CREATE TABLE hidden.t (id INT NOT NULL, v INT) UNIQUE KEY(id)")
    source = BINLOG.format(port=mysql_server.port)
    open_frontend.sql(f"CREATE SYNC hidden.job1 (FROM hidden.t INTO t) {source}")
    rows = [{"id": 1, "v": 1}]
    until(lambda: open_frontend.sql("SELECT * FROM hidden.t") == rows, why="the snapshot")
    mysql_server.run("UPDATE hidden.t SET v = 2", "INSERT INTO hidden.t VALUES (2, 2)")
    until(lambda: len(open_frontend.sql("SELECT * FROM hidden.t WHERE v = 2")) == 2, why="the changes")
    made = {*open_frontend.folder.glob("var/**/*"), *open_frontend.folder.glob("log/**/*")}
    lake = open_frontend.folder / "var" / "lake"
    made -= {lake, *lake.glob("jars/**/*"), lake / "jars"}  # the test's own
    assert {".db", ".parquet", ".avro", ".log", ".key"} <= {path.suffix for path in made}
    assert any(path.parent.name == "staging" for path in made)
    assert [path for path in sorted(made) if _bits(path) & 0o077] == []
    certificate = open_frontend.conf.parent / "console.crt"
    assert _bits(certificate) == 0o644
    assert "CERTIFICATE" in certificate.read_text()
    assert "PRIVATE" not in certificate.read_text()
    open_frontend.sql("STOP SYNC JOB hidden.job1")


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


def _bits(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)
