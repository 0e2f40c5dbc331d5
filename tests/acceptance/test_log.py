"""fe.log, as it is read the morning after."""

import json
from collections.abc import Sequence
from pathlib import Path

import pymysql
import pytest

from syncmgr.errors import Code
from tests.acceptance.frontend import FrontendProcess
from tests.acceptance.test_faults import BINLOG
from tests.acceptance.test_restores import metadata
from tests.support.servers.mysql import MysqlServer
from tests.support.servers.proxy import Proxy
from tests.support.until import until

pytestmark = [pytest.mark.mysql, pytest.mark.spark]

STORY = (
    "job told.job1: created, with 1 tables",
    "job told.job1: started",
    "job told.job1: reads some 1 rows of told.t in 1 chunks",
    "job told.job1: the rows of told.t are there",
    "job told.job1: 1 changes kept out, the first of told.t: column 'v': TINYINT does not hold it",
    "(ALTER TABLE told.t ADD w INT)",
    "WARNING [",
    "Cannot reach the MySQL server",
    "job told.job1: resumed after: Cannot reach the MySQL server",
    'job told.job1: ALTER SYNC JOB `told`.`job1` SET ("max_retry" = "7")',
    "job told.job1: ALTER SYNC JOB `told`.`job1` RESYNC TABLE `told`.`t`",
    "job told.job1: reads some 3 rows of told.t in 1 chunks",
    "job told.job1: the rows of told.t are there",
    "WARNING [",
    "Not a directory",
    "job told.job1: resumed after: ",
    "job told.job1: PAUSED_BY_USER",
    "job told.job1: RESUMED",
    "job told.job1: started",
    "job told.job1: STOPPED",
)


def test_the_log_tells_what_happened_to_a_job(mysql_server: MysqlServer, frontend: FrontendProcess) -> None:
    """Statements, snapshots, outages of source and lake and recoveries, DDL and dead letters, in their order, a line
    each.
    """
    mysql_server.run(
        "CREATE DATABASE told", "CREATE TABLE told.t (id BIGINT PRIMARY KEY, v INT)", "INSERT INTO told.t VALUES (1, 1)"
    )
    frontend.sql("CREATE DATABASE told")
    frontend.sql("CREATE TABLE told.t (id BIGINT NOT NULL, v TINYINT) UNIQUE KEY(id)")
    proxy = Proxy(mysql_server.port)
    source = BINLOG.format(port=proxy.port)
    frontend.sql(f'CREATE SYNC told.job1 (FROM told.t INTO t) {source} PROPERTIES ("on_value_error" = "dead-letter")')

    def has(**row: int | None) -> bool:
        try:
            return frontend.sql(f"SELECT * FROM told.t WHERE id = {row['id']}") == [row]
        except pymysql.err.MySQLError as error:
            if error.args[0] != Code.TABLE_CHANGED.number:
                raise
            return False  # it was planned before the change of schema

    log = frontend.folder / "log" / "fe.log"
    until(lambda: _in_order(log, STORY[:4]), why="the row that was there")
    mysql_server.run(
        "INSERT INTO told.t VALUES (2, 300)", "ALTER TABLE told.t ADD w INT", "INSERT told.t VALUES (3,3,3)"
    )
    frontend.await_rows(lambda: has(id=3, v=3, w=3), why="the row after the DDL")
    proxy.refuses = True
    proxy.cut()
    until(lambda: "Cannot reach" in str(frontend.job("told")["Msg"]), why="the outage")
    proxy.refuses = False
    until(lambda: not frontend.job("told")["Msg"], why="its end")
    frontend.sql('ALTER SYNC JOB told.job1 SET ("max_retry" = "7")')
    frontend.sql("ALTER SYNC JOB told.job1 RESYNC TABLE told.t")
    until(lambda: _in_order(log, STORY[:13]), why="the rows that were read again")
    catalog = frontend.folder / "var" / "lake" / "catalog.db"
    data = Path(metadata(catalog, "told", "t").removeprefix("file:")).parents[1] / "data"
    away = data.rename(data.with_name("away"))
    data.write_text("no folder")
    mysql_server.run("INSERT told.t VALUES (4, 4, 4)")
    until(lambda: "Not a directory" in str(frontend.job("told")["Msg"]), why="the outage of the lake")
    data.unlink()
    away.rename(data)
    until(lambda: not frontend.job("told")["Msg"] and has(id=4, v=4, w=4), why="its end")
    frontend.sql("PAUSE SYNC JOB told.job1")
    frontend.sql("RESUME SYNC JOB told.job1")
    until(lambda: frontend.job("told")["State"] == "RUNNING", why="the next run")
    frontend.sql("STOP SYNC JOB told.job1")
    until(lambda: _in_order(log, STORY), why="the story of the job")
    proxy.close()
    lines = log.read_text().splitlines()
    assert "syncmgr.fe: syncmgr " in lines[0]
    assert "set: " in lines[0]
    told = [line for line in lines if " INFO " in line and "syncmgr.console." in line]
    assert not [line for line in told if "connection" in line]


def test_the_audit_is_json_whatever_it_is_set_to(frontend: FrontendProcess) -> None:
    """From the first character of each line on; OFF is recorded before it applies, and STRICT writes first what is to
    be changed.
    """
    audit = frontend.folder / "log" / "audit.log"
    try:
        frontend.sql(_audit("OFF"))
        frontend.sql("SELECT 'not recorded'")
        frontend.sql(_audit("STRICT"))
        frontend.sql("CREATE DATABASE audited")
    finally:
        frontend.sql(_audit("ON"))
    frontend.sql("SELECT 'recorded'")
    text = audit.read_text()
    assert not [line for line in text.splitlines() if not line.startswith("{")]
    lines = [json.loads(line) for line in text.splitlines()]
    assert not [line for line in lines if "not recorded" in line.get("statement", "")]
    assert [line for line in lines if line.get("statement") == "SELECT 'recorded'"]
    begun = [line["statement"] for line in lines if line.get("event") == "begins"]
    done = [line["statement"] for line in lines if line.get("event") is None and line["error"] is None]
    assert _audit("OFF") in begun
    assert _audit("OFF") not in done
    assert "CREATE DATABASE audited" in begun
    both = [line.get("event") for line in lines if line.get("statement") == "CREATE DATABASE audited"]
    assert both == ["begins", None]


def _audit(value: str) -> str:
    return f'ADMIN SET FRONTEND CONFIG ("audit_log" = "{value}")'


def _in_order(log: Path, story: Sequence[str]) -> bool:
    text = log.read_text()
    at = 0
    for line in story:
        at = text.find(line, at)
        if at < 0:
            return False
    return True
