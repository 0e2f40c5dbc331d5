"""How long a server keeps what a job reads next: by its settings and the age of its files."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from syncmgr.job.position import Position
from syncmgr.sources.mysql.retained_files import retained_on
from tests.contract.mysql_reader import address
from tests.support.servers.mysql import Flavour, MysqlServer
from tests.support.until import HANG_SECOND, until

pytestmark = pytest.mark.mysql
KEPT = 3000


@contextmanager
def server(folder: Path, flavour: Flavour) -> Iterator[MysqlServer]:
    """Its own: others read while its binlog is purged."""
    made = MysqlServer(folder, flavour).start()
    try:
        yield made
    finally:
        made.stop()


def end(mysql: MysqlServer) -> Position:
    name = "SHOW MASTER STATUS" if mysql.flavour == "mariadb" else "SHOW BINARY LOG STATUS"
    row = mysql.run(name)[0]
    identity = "@@server_id" if mysql.flavour == "mariadb" else "@@server_uuid"
    return Position(file=str(row[0]), offset=int(row[1]), server=str(mysql.run(f"SELECT {identity}")[0][0]))


def left(mysql: MysqlServer, *starts: Position) -> list[float | None]:
    return [each.left_second for each in retained_on(address(mysql), starts, HANG_SECOND)]


def lags(mysql: MysqlServer, *starts: Position) -> list[int | None]:
    return [each.lag_bytes for each in retained_on(address(mysql), starts, HANG_SECOND)]


@pytest.mark.parametrize("flavour", ["mysql", "mariadb"])
def test_what_lies_ahead_of_a_place_is_measured(tmp_path: Path, flavour: Flavour) -> None:
    """Over all files from there on, to the byte; nothing of another server's, or of a file that is gone."""
    with server(tmp_path, flavour) as mysql:
        mysql.run("CREATE DATABASE d", "CREATE TABLE d.t (v LONGTEXT)")
        first = end(mysql)
        assert lags(mysql, first) == [0]
        mysql.run("INSERT INTO d.t VALUES (REPEAT('x', 100000))", "FLUSH BINARY LOGS")
        second = end(mysql)
        mysql.run("INSERT INTO d.t VALUES (REPEAT('y', 1000))")
        sizes = {str(row[0]): int(row[1]) for row in mysql.run("SHOW BINARY LOGS")}
        ahead = sizes[first.file] - first.offset + sizes[second.file]
        assert ahead > 101_000
        foreign = Position(file=first.file, offset=4, server="another")
        assert lags(mysql, first, second, end(mysql), foreign) == [ahead, sizes[second.file] - second.offset, 0, None]
        until(lambda: purged(mysql, second.file), why="no recovery of the server needs the first file")
        assert lags(mysql, first) == [None]


def purged(server: MysqlServer, file: str) -> bool:
    """Whether nothing before that file is left: MariaDB keeps, without a word, what a crash would make it read."""
    server.run(f"PURGE BINARY LOGS TO '{file}'")
    return str(server.run("SHOW BINARY LOGS")[0][0]) == file


@pytest.mark.parametrize("flavour", ["mysql", "mariadb"])
def test_a_place_stays_as_long_as_its_file(tmp_path: Path, flavour: Flavour) -> None:
    """In the newest file for all of the setting; in an older one from when the next one was made on. A server that
    purges nothing by itself, and one that was never read, give no time; what was purged has none left.
    """
    with server(tmp_path, flavour) as mysql:
        days = "expire_logs_days" if flavour == "mariadb" else "binlog_expire_logs_seconds"
        purges = (2, 2 * 86400.0) if flavour == "mariadb" else (KEPT, float(KEPT))
        mysql.run(f"SET GLOBAL {days} = {purges[0]}")
        first = end(mysql)
        assert left(mysql, first) == [purges[1]]
        mysql.run("FLUSH BINARY LOGS")
        made = time.time()
        until(lambda: time.time() > made + 2, why="two seconds")
        newest = end(mysql)
        assert newest.file != first.file
        old, new, foreign, nowhere = left(
            mysql, first, newest, Position(file=first.file, offset=4, server="another"), Position(gtids="1-1-1")
        )
        assert old is not None
        assert purges[1] - 60 < old <= purges[1] - 1
        assert (new, foreign, nowhere) == (purges[1], None, None)
        mysql.run(f"SET GLOBAL {days} = 0")
        assert left(mysql, first, newest) == [None, None]
        until(lambda: purged(mysql, newest.file), why="no recovery of the server needs the older files")
        assert left(mysql, first, newest) == [0.0, None]


def test_a_server_that_is_told_to_purge_nothing_gives_no_time(tmp_path: Path) -> None:
    """MySQL's binlog_expire_logs_auto_purge, whatever the time is."""
    with server(tmp_path, "mysql") as mysql:
        mysql.run("SET GLOBAL binlog_expire_logs_seconds = 60")
        assert left(mysql, end(mysql)) == [60.0]
        mysql.run("SET GLOBAL binlog_expire_logs_auto_purge = OFF")
        assert left(mysql, end(mysql)) == [None]


def test_maria_db_has_seconds_too(tmp_path: Path) -> None:
    """From 10.6 on, beside the days."""
    with server(tmp_path, "mariadb") as mysql:
        mysql.run(f"SET GLOBAL binlog_expire_logs_seconds = {KEPT}")
        assert left(mysql, end(mysql)) == [float(KEPT)]
