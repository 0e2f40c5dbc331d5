"""The columns that a job keeps through DDL against those that the server has: it is never asked for them."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from typing import Final

import pymysql
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mysqlddl.nodes import AlterTable
from mysqlddl.reading import Modes, read
from syncmgr.job.ddl.alteration import altered
from syncmgr.job.types.schema import SourceColumn, SourceTable
from tests.contract.mysql_reader import database, facts
from tests.support.servers.mysql import MysqlServer

pytestmark = pytest.mark.mysql
EXAMPLES: Final = max(settings.default.max_examples // 20, 5)
NAMES: Final = ("id", "a", "b", "c", "D", "`the e`")
TYPES: Final = (
    "INT",
    "INT UNSIGNED NOT NULL",
    "BIGINT NOT NULL DEFAULT 7",
    "TINYINT(1) NULL",
    "DECIMAL(10,2)",
    "FLOAT",
    "VARCHAR(20) NOT NULL DEFAULT ''",
    "VARCHAR(30) CHARACTER SET latin1",
    "CHAR(5) COMMENT 'five'",
    "TEXT",
    "VARBINARY(9)",
    "BLOB",
    "DATE",
    "DATETIME(3)",
    "TIMESTAMP(6) NULL",
    "TIME",
    "YEAR",
    "BIT(3)",
    "JSON",
    "ENUM('x','y')",
    "SET('x','y','z') NOT NULL",
    "INT AS (1 + 1) STORED",
    "INT INVISIBLE",
)
names, types = st.sampled_from(NAMES), st.sampled_from(TYPES)
places = st.one_of(st.sampled_from(["", " FIRST"]), st.builds(" AFTER {}".format, names))
clauses = st.one_of(
    st.builds("ADD COLUMN {} {}{}".format, names, types, places),
    st.builds("ADD ({} {}, {} {})".format, names, types, names, types),
    st.builds("DROP COLUMN {}".format, names),
    st.builds("RENAME COLUMN {} TO {}".format, names, names),
    st.builds("MODIFY {} {}{}".format, names, types, places),
    st.builds("CHANGE {} {} {}{}".format, names, names, types, places),
    st.builds("ADD INDEX ({})".format, names),
    st.builds("DROP PRIMARY KEY, ADD PRIMARY KEY ({}, {})".format, names, names),
    st.builds("ALTER COLUMN {} SET DEFAULT 5".format, names),
    st.sampled_from(["CONVERT TO CHARACTER SET latin1", "COMMENT 'x'", "DROP PRIMARY KEY", "ENGINE = InnoDB"]),
)
statements = st.lists(clauses, min_size=1, max_size=3).map(", ".join)


@pytest.fixture
def db(any_server: MysqlServer) -> Iterator[str]:
    with database(any_server) as name:
        yield name


def told(table: SourceTable) -> list[SourceColumn]:
    """Without charsets, which rows tell where a statement does not."""
    return [replace(column, charset=None) for column in table.columns]


@settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=True
)
@given(st.lists(statements, min_size=4, max_size=8))
def test_the_columns_that_are_kept_are_the_servers(any_server: MysqlServer, db: str, changes: list[str]) -> None:
    """Behind every ALTER that the server carries out, whatever its clauses and their order."""
    modes = Modes(mariadb=any_server.flavour == "mariadb", strict=True)
    any_server.run(
        f"DROP TABLE IF EXISTS {db}.t", f"CREATE TABLE {db}.t (id BIGINT PRIMARY KEY, a INT, b VARCHAR(20), c DATE)"
    )
    known = facts(any_server, [(db, "t")]).tables[0]
    with closing(any_server.connect(database=db)) as connection, connection.cursor() as cursor:
        for change in changes:
            try:
                cursor.execute(f"ALTER TABLE t {change}")
            except pymysql.err.MySQLError:
                continue
            parsed = read(f"ALTER TABLE t {change}", db, modes)
            assert isinstance(parsed, AlterTable)
            known = altered(known, parsed.clauses).table
            assert told(known) == told(facts(any_server, [(db, "t")]).tables[0]), change
