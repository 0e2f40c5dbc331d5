"""What CREATE SYNC refuses is typed again as its message says, and the job is well."""

from collections.abc import Callable

import pymysql
import pytest

from syncmgr.errors import Code
from tests.acceptance.altered import BINLOG
from tests.acceptance.frontend import FrontendProcess
from tests.support.servers.mysql import MysqlServer
from tests.support.until import until

pytestmark = [pytest.mark.mysql, pytest.mark.spark]


class Desk:
    """A database `orders` and `lines` at the source, one row in each, and an empty database of the same name."""

    def __init__(self, name: str, mysql: MysqlServer, fe: FrontendProcess) -> None:
        self.name, self.mysql, self.fe = name, mysql, fe
        mysql.run(f"CREATE DATABASE {name}")
        for table in ("orders", "lines_1"):
            mysql.run(
                f"CREATE TABLE {name}.{table} (id BIGINT PRIMARY KEY, status INT)",
                f"INSERT INTO {name}.{table} VALUES (1, 5)",
            )
        fe.sql(f"CREATE DATABASE {name}")

    def sync(self, channels: str, properties: str = "") -> None:
        binlog = BINLOG.format(port=self.mysql.port, start="snapshot")
        if properties:
            binlog = binlog.replace('"type" = "mysql"', f'"type" = "mysql", {properties}')
        self.fe.sql(f"CREATE SYNC {self.name}.job1 ({channels}) {binlog}")

    def refused(self, code: Code, words: str, channels: str) -> None:
        with pytest.raises(pymysql.err.MySQLError, match=words) as raised:
            self.sync(channels)
        assert raised.value.args[0] == code.number

    def until_rows(self, table: str, rows: int = 1) -> None:
        """Then the job ends, and its target with it."""
        until(lambda: len(self._rows(table)) == rows, why="the rows")
        until(lambda: self.fe.job(self.name)["Msg"] is None, why="no Msg")  # a commit that takes long is one
        self.fe.sql(f"STOP SYNC JOB {self.name}.job1")
        self.fe.sql(f"DROP TABLE {self.name}.{table}")

    def _rows(self, table: str) -> list[object]:
        return list(self.fe.sql(f"SELECT id FROM {self.name}.{table}"))


@pytest.fixture
def desk(mysql_server: MysqlServer, frontend: FrontendProcess) -> Callable[[str], Desk]:
    return lambda name: Desk(name, mysql_server, frontend)


def test_a_name_that_is_mistyped_is_suggested(desk: Callable[[str], Desk]) -> None:
    """20031, 20108 and 20109: the nearest table, database and column, which is typed."""
    it = desk("create_names")
    it.refused(Code.NO_TABLE_MATCHES, "did you mean 'orders'", f"FROM {it.name}.ordres INTO {it.name}.*")
    it.fe.sql(f"CREATE TABLE {it.name}.orders (id BIGINT NOT NULL, state INT) UNIQUE KEY(id)")
    it.refused(Code.SOURCE_UNKNOWN_TABLE, "did you mean 'orders'", f"FROM {it.name}.ordres INTO orders")
    it.refused(Code.SOURCE_UNKNOWN_TABLE, "did you mean 'create_names'", "FROM create_nmes.orders INTO orders")
    it.refused(Code.SOURCE_UNKNOWN_TABLE, "it has no database 'x'", "FROM x.orders INTO orders")
    channel = f"FROM {it.name}.orders INTO orders (id, state = {{}} + 1)"
    it.refused(Code.SOURCE_UNKNOWN_COLUMN, "has no column 'statsu'; did you mean 'status'", channel.format("statsu"))
    it.sync(channel.format("status"))
    it.until_rows("orders")


def test_a_pattern_is_typed_as_the_message_says(desk: Callable[[str], Desk]) -> None:
    """20031 of a name in backticks that was meant as a pattern, and 20035 of what is not RE2."""
    it = desk("create_patterns")
    into = f"INTO {it.name}.*"
    with pytest.raises(pymysql.err.MySQLError) as raised:
        it.sync(f"FROM {it.name}.`lines%` {into}")
    assert raised.value.args[0] == Code.NO_TABLE_MATCHES.number
    it.sync(str(raised.value.args[1]).partition("write ")[2].partition(" if that is meant")[0])
    it.until_rows("lines_1")
    bad = rf"FROM TABLES REGEXP '^{it.name}\.(?=lines)' {into}"
    it.refused(Code.BAD_PATTERN, "invalid perl operator", bad)
    it.sync(bad.replace("(?=lines)", "lines"))
    it.until_rows("lines_1")


def test_a_foreign_key_that_is_not_logged_is_accepted_or_dropped(
    mariadb_server: MysqlServer, frontend: FrontendProcess
) -> None:
    """20135: the job is created with "unlogged_cascades" = "accept", or once the key has no action."""
    it = Desk("create_cascades", mariadb_server, frontend)
    key = f"FOREIGN KEY (status) REFERENCES {it.name}.parents (id)"
    mariadb_server.run(
        f"CREATE TABLE {it.name}.parents (id INT PRIMARY KEY)",
        f"INSERT INTO {it.name}.parents VALUES (5)",
        f"ALTER TABLE {it.name}.orders ADD CONSTRAINT k {key} ON DELETE CASCADE",
    )
    channel = f"FROM {it.name}.orders INTO {it.name}.*"
    it.refused(Code.SOURCE_CASCADES, '"unlogged_cascades" = "accept"', channel)
    it.sync(channel, '"unlogged_cascades" = "accept"')
    it.until_rows("orders")
    mariadb_server.run(
        f"ALTER TABLE {it.name}.orders DROP FOREIGN KEY k", f"ALTER TABLE {it.name}.orders ADD CONSTRAINT k {key}"
    )
    it.sync(channel)
    it.until_rows("orders")
