"""What SHOW says of the binlog that a job has yet to read."""

from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.altered import Altered
from tests.acceptance.frontend import FrontendProcess
from tests.support.servers.mysql import MysqlServer
from tests.support.until import until

pytestmark = [pytest.mark.mysql, pytest.mark.spark]

KEPT = 50_000


def test_what_is_left_of_the_binlog_is_told(tmp_path: Path, frontend: FrontendProcess) -> None:
    """In Status and in a column of its own, of a running job and of a paused one; Msg warns while it is less than
    binlog_warn_second, whether the job runs or not, and no more once the server keeps more, or nothing is purged. So
    are the bytes that the source has written since.
    """
    frontend.sql('ADMIN SET FRONTEND CONFIG ("binlog_check_second" = "1")')
    server = MysqlServer(tmp_path, "mysql", {"binlog-expire-logs-seconds": str(KEPT)}).start()
    try:
        t = Altered("retained", server, frontend)
        t.run("INSERT INTO retained.t VALUES (1, 1, 'first', 1)")
        t.wait_until_equal()
        until(lambda: left(t) == KEPT, why="the age of the newest file")
        assert "may be purged from the binlog of" in str(t.fe.job(t.name)["Msg"])
        assert "13.9 hours" in str(t.fe.job(t.name)["Msg"])
        assert t.fe.job(t.name)["Status"]["needs_operator"] is False
        columns = "SELECT BINLOG_LEFT_SECOND AS told FROM information_schema.sync_jobs WHERE JOB_SCHEMA = 'retained'"
        told = frontend.sql(columns)[0]["told"]
        assert KEPT - 3600 < told <= KEPT
        frontend.sql('ADMIN SET FRONTEND CONFIG ("binlog_warn_second" = "3600")')
        assert t.fe.job(t.name)["Msg"] is None
        frontend.sql('ADMIN SET FRONTEND CONFIG ("binlog_warn_second" = "86400")')
        until(lambda: lag(t) == 0, why="nothing ahead of a job that has read everything")
        frontend.sql("PAUSE SYNC JOB retained.job1")
        server.run("FLUSH BINARY LOGS", "INSERT INTO retained.t VALUES (2, 2, 'meanwhile', 1)")
        server.run("CREATE TABLE retained.wide (v TEXT)", "INSERT INTO retained.wide VALUES (REPEAT('x', 50000))")
        until(lambda: 0 < (left(t) or 0) < KEPT - 1, why="an older file")
        until(lambda: (lag(t) or 0) > 50_000, why="what was written meanwhile")
        lag_column = columns.replace("BINLOG_LEFT_SECOND", "LAG_BYTES")
        assert frontend.sql(lag_column)[0]["told"] == lag(t)
        assert "20147" in str(t.fe.job(t.name)["Msg"])
        server.run("SET GLOBAL binlog_expire_logs_auto_purge = OFF")
        until(lambda: left(t) is None, why="the new setting")
        assert t.fe.job(t.name)["Msg"] is None
        frontend.sql("STOP SYNC JOB retained.job1")
    finally:
        frontend.sql('ADMIN SET FRONTEND CONFIG ("binlog_check_second" = "30")')
        server.stop()


def lag(t: Altered) -> Any:
    return t.fe.job(t.name)["Status"]["lag_bytes"]


def left(t: Altered) -> Any:
    return t.fe.job(t.name)["Status"]["binlog_left_second"]
