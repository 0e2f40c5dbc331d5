"""One source table through a job of each kind: every column type ends in the same lake rows."""

from collections.abc import Callable
from typing import Any, Final

import pytest

from tests.acceptance.frontend import FrontendProcess
from tests.support.servers.canal import CANAL_PASSWORD, USER, CanalServer
from tests.support.servers.mysql import PASSWORD, MysqlServer
from tests.support.slow import on_servers
from tests.support.until import until

pytestmark = [pytest.mark.mysql, pytest.mark.spark]


# MySQL's type, the target's, two values
TYPES: Final = [
    ("TINYINT", "TINYINT", "-1", "127"),
    ("TINYINT UNSIGNED", "SMALLINT", "255", "0"),
    ("SMALLINT UNSIGNED", "INT", "65535", "0"),
    ("MEDIUMINT UNSIGNED", "INT", "16777215", "0"),
    ("INT", "INT", "-2147483648", "2147483647"),
    ("INT(10) UNSIGNED ZEROFILL", "BIGINT", "4294967295", "42"),
    ("BIGINT UNSIGNED", "LARGEINT", "18446744073709551615", "0"),
    ("BOOLEAN", "TINYINT", "TRUE", "FALSE"),
    ("BIT(1)", "BOOLEAN", "b'1'", "b'0'"),
    ("BIT(9)", "INT", "b'101010101'", "b'0'"),
    ("BIT(64)", "LARGEINT", "0xFFFFFFFFFFFFFFFF", "b'1'"),
    ("FLOAT", "FLOAT", "1.1", "16777216"),
    ("DOUBLE", "DOUBLE", "1e20", "0.0001"),
    ("DECIMAL(20,6)", "DECIMAL(20,6)", "12345.678900", "-0.000001"),
    ("DECIMAL(65,30)", "STRING", "-0.5", "12"),
    ("DATE", "DATE", "'2024-02-29'", "'0001-01-01'"),
    ("TIME", "STRING", "'-838:59:59'", "'100:00:00'"),
    ("TIME(6)", "STRING", "'-00:00:00.000001'", "'12:34:56.789'"),
    ("DATETIME", "DATETIME", "'2024-01-02 03:04:05'", "'0001-01-01 00:00:00'"),
    ("DATETIME(6)", "DATETIME(6)", "'9999-12-31 23:59:59.999999'", "'1969-12-31 23:59:59.999999'"),
    ("TIMESTAMP NULL", "TIMESTAMP", "'2024-01-02 03:04:05'", "'1970-01-01 00:00:01'"),
    ("TIMESTAMP(6) NULL", "TIMESTAMP(6)", "'2024-01-02 03:04:05.000001'", "'2038-01-19 03:14:07.999999'"),
    ("YEAR", "INT", "2024", "0"),
    ("CHAR(5)", "CHAR(5)", "'ab'", "''"),
    ("VARCHAR(20)", "VARCHAR(20)", "'héllo€😀'", "''"),
    ("TEXT", "STRING", "CONCAT('text ', '中文')", "''"),
    ("BINARY(6)", "BINARY", "x'010200'", "x'FF'"),
    ("VARBINARY(10)", "BINARY", "x'ff00fe'", "''"),
    ("BLOB", "BINARY", "x'00e28c'", "''"),
    ("ENUM('a','b''c')", "STRING", "'b''c'", "''"),
    ("SET('x','y','z')", "STRING", "'x,z'", "''"),
    ("JSON", "{json}", """'{"a": 1.5, "b": [1, "x", null, true], "c": {"d": "é\\\\n"}}'""", "'[1e20, \"\\\\u007f\"]'"),
    ("GEOMETRY", "BINARY", "ST_GeomFromText('POINT(1 2)')", "ST_GeomFromText('LINESTRING(0 0,1 1)')"),
]


def make_source(mysql: MysqlServer, db: str) -> None:
    defined = ", ".join(f"c{i} {kind}" for i, (kind, *_) in enumerate(TYPES))
    mysql.run(f"CREATE DATABASE {db} CHARACTER SET utf8mb4", f"CREATE TABLE {db}.t (id INT PRIMARY KEY, {defined})")


def make_target(fe: FrontendProcess, db: str, table: str, json: str) -> None:
    defined = ", ".join(f"c{i} {target.format(json=json)}" for i, (_, target, *_) in enumerate(TYPES))
    fe.sql(f"CREATE TABLE {db}.{table} (id INT NOT NULL, {defined}) UNIQUE KEY(id)")


def change(mysql: MysqlServer, table: str) -> None:
    """Rows of every value, of NULLs, changed, moved and deleted."""
    one, two = (", ".join(values[place] for values in TYPES) for place in (2, 3))
    nulls = ", ".join(["NULL"] * len(TYPES))
    mysql.run(
        "SET NAMES utf8mb4, time_zone = '+00:00'",
        f"INSERT INTO {table} VALUES (1, {one}), (2, {two}), (3, {nulls}), (4, {one}), (5, {two})",
        f"UPDATE {table} SET c0 = NULL, c4 = 7 WHERE id = 1",
        f"UPDATE {table} SET id = 6 WHERE id = 4",
        f"DELETE FROM {table} WHERE id = 5",
    )


def differing(fe: FrontendProcess, db: str) -> list[dict[str, Any]]:
    """Rows that only one of the two tables has, counted as a set of values with NULL equal to NULL."""
    return fe.sql(
        f"(SELECT 'canal' side, * FROM {db}.canal EXCEPT ALL SELECT 'canal', * FROM {db}.direct) UNION ALL"
        f" (SELECT 'direct', * FROM {db}.direct EXCEPT ALL SELECT 'direct', * FROM {db}.canal)"
    )


@pytest.mark.slow
@on_servers("mysql")
def test_both_kinds_of_source_give_the_same_lake_rows(
    any_server: MysqlServer, frontend: FrontendProcess, canal: Callable[..., CanalServer]
) -> None:
    """Every type, by value; canal's job warns of what canal does not report."""
    db = f"types_{any_server.flavour}"
    server = canal(any_server)
    make_source(any_server, db)
    frontend.sql(f"CREATE DATABASE {db}")
    json = "JSON" if any_server.flavour == "mysql" else "STRING"
    for table in ("direct", "canal"):
        make_target(frontend, db, table, json)
    connection = frontend.connect()
    with connection, connection.cursor() as cursor:
        cursor.execute(
            f"CREATE SYNC {db}.direct (FROM {db}.t INTO direct) FROM BINLOG ('type' = 'mysql',"
            f" 'mysql.host' = '127.0.0.1', 'mysql.port' = '{any_server.port}', 'mysql.user' = 'repl',"
            f" 'mysql.password' = '{PASSWORD}')"
        )
        cursor.execute(
            f"CREATE SYNC {db}.canal (FROM {db}.t INTO canal) FROM BINLOG ('type' = 'canal',"
            f" 'canal.server.ip' = '127.0.0.1', 'canal.server.port' = '{server.port}',"
            f" 'canal.destination' = '{server.destination}', 'canal.username' = '{USER}',"
            f" 'canal.password' = '{CANAL_PASSWORD}', 'canal.time_zone' = 'UTC')"
        )
        cursor.execute("SHOW WARNINGS")
        said = " ".join(str(row) for row in cursor.fetchall())
    assert "utf8mb4" in said
    assert ("JSON" in said) == (json == "JSON")
    change(any_server, f"{db}.t")

    def ids(table: str) -> list[int]:
        return [row["id"] for row in frontend.sql(f"SELECT id FROM {db}.{table} ORDER BY id")]

    until(lambda: ids("direct") == ids("canal") == [1, 2, 3, 6], why="both tables")
    assert differing(frontend, db) == []
    frontend.sql(f"STOP SYNC JOB {db}.direct")
    frontend.sql(f"STOP SYNC JOB {db}.canal")
