"""A real canal server between MySQL and one frontend: Doris' own statement, from CREATE SYNC to rows."""

from collections.abc import Callable, Iterator
from typing import Any

import pymysql
import pytest

from tests.acceptance.frontend import FrontendProcess
from tests.canal_servers import CanalServer
from tests.servers import MysqlServer
from tests.until import until

pytestmark = [pytest.mark.mysql, pytest.mark.spark]

CAUGHT_UP_SECOND = 90.0
DORIS = """
CREATE SYNC `test_db`.`job1`
(
FROM `mysql_db1`.`tbl1` INTO `test_tbl`
(k1, k2, v1)
)
FROM BINLOG
(
"type" = "canal",
"canal.server.ip" = "127.0.0.1",
"canal.server.port" = "{port}",
"canal.destination" = "example",
"canal.username" = "",
"canal.password" = ""
)
"""


class Shop:
    """A source table that canal reads, its target and the job between them, under names of their own."""

    def __init__(self, name: str, mysql: MysqlServer, fe: FrontendProcess, table: str = "orders") -> None:
        self.name = name
        self.mysql = mysql
        self.fe = fe
        self.table = f"{name}.{table}"
        mysql.run(
            f"CREATE DATABASE {name}",
            f"CREATE TABLE {self.table} (id BIGINT PRIMARY KEY, status VARCHAR(16), amount DECIMAL(12,2),"
            " at DATETIME(6), note TEXT)",
        )
        fe.sql(f"CREATE DATABASE {name}")
        fe.sql(
            f"CREATE TABLE {self.table} (id BIGINT NOT NULL, status VARCHAR(16), amount DECIMAL(12,2),"
            f" at DATETIME(6), note STRING) UNIQUE KEY(id)",
        )

    def create_sync(self, canal: CanalServer, properties: str = "") -> None:
        self.fe.sql(
            f"CREATE SYNC {self.name}.job1 (FROM {self.table} INTO orders) FROM BINLOG"
            f' ("type" = "canal", "canal.server.ip" = "127.0.0.1", "canal.server.port" = "{canal.port}",'
            f' "canal.destination" = "{canal.destination}", "canal.username" = "canal", "canal.password" = "canal")'
            f" {properties}"
        )

    def source_rows(self) -> list[tuple[Any, ...]]:
        return self.mysql.run(f"SELECT id, status, amount, at, note FROM {self.table} ORDER BY id")

    def lake_rows(self) -> list[tuple[Any, ...]]:
        rows = self.fe.sql(f"SELECT id, status, amount, at, note FROM {self.table} ORDER BY id")
        return [tuple(row.values()) for row in rows]

    def wait_until_equal(self) -> None:
        """Row by row, exact values."""
        expected = self.source_rows()
        until(lambda: self.lake_rows() == expected, deadline=CAUGHT_UP_SECOND, why=f"{self.name} equal to its source")

    def job(self) -> dict[str, Any]:
        return self.fe.job(self.name)


@pytest.fixture
def shop(mysql_server: MysqlServer, frontend: FrontendProcess) -> Iterator[Callable[..., Shop]]:
    """Makes shops; their jobs end with the test, before its canal servers do."""
    made: list[Shop] = []

    def make(name: str) -> Shop:
        made.append(Shop(name, mysql_server, frontend))
        return made[-1]

    yield make
    for each in made:
        if each.job()["State"] != "CANCELLED":
            frontend.sql(f"STOP SYNC JOB {each.name}.job1")


def test_doris_own_example_runs(
    mysql_server: MysqlServer, frontend: FrontendProcess, canal: Callable[..., CanalServer]
) -> None:
    """The manual's statement, unchanged but for the port, maps by place and shows what Doris showed."""
    mysql_server.run(
        "CREATE DATABASE mysql_db1",
        "CREATE TABLE mysql_db1.tbl1 (id INT PRIMARY KEY, name VARCHAR(20) NOT NULL, score INT)",
    )
    frontend.sql("CREATE DATABASE test_db")
    frontend.sql("CREATE TABLE test_db.test_tbl (k1 INT NOT NULL, k2 VARCHAR(20), v1 INT) UNIQUE KEY(k1)")
    server = canal(open_to_all=True)
    frontend.sql(DORIS.format(port=server.port))
    mysql_server.run(
        "INSERT INTO mysql_db1.tbl1 VALUES (1, 'one', 10), (2, 'two', NULL), (3, 'three', 30)",
        "UPDATE mysql_db1.tbl1 SET score = 20 WHERE id = 2",
        "UPDATE mysql_db1.tbl1 SET id = 4 WHERE id = 3",
        "DELETE FROM mysql_db1.tbl1 WHERE id = 1",
    )
    expected = [(2, "two", 20), (4, "three", 30)]

    def rows() -> list[tuple[Any, ...]]:
        return [tuple(row.values()) for row in frontend.sql("SELECT k1, k2, v1 FROM test_db.test_tbl ORDER BY k1")]

    until(lambda: rows() == expected, deadline=CAUGHT_UP_SECOND, why="the rows")
    job = frontend.job("test_db")
    assert (job["Type"], job["State"], job["Msg"]) == ("CANAL", "RUNNING", None)
    assert job["Channel"] == "mysql_db1.tbl1->test_tbl"
    assert job["JobConfig"] == f"address:127.0.0.1:{server.port},destination:example,batchSize:8192"
    assert job["Status"]["server"] == f"127.0.0.1:{server.port}"
    until(lambda: frontend.job("test_db")["Status"]["lag_second"] == 0, deadline=20, why="lag 0 when caught up")
    frontend.sql("CREATE TABLE test_db.test_tbl2 (k1 INT NOT NULL, k2 VARCHAR(20), v1 INT) UNIQUE KEY(k1)")
    with pytest.raises(pymysql.err.MySQLError, match=r"is already read by sync job 'test_db.job1'"):
        frontend.sql(DORIS.format(port=server.port).replace("job1", "job2").replace("test_tbl", "test_tbl2"))
    frontend.sql("STOP SYNC JOB test_db.job1")
