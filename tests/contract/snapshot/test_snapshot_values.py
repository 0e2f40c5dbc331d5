"""A row by SELECT and the same row from the binlog: every type, value by value."""

import datetime as dt
from typing import Any

import pytest

from syncmgr.job.snapshot.chunk_rows import ChunkRows
from syncmgr.job.types.schema import SourceTable, arrow_type
from syncmgr.lake.lake import Lake
from syncmgr.lake.spark.chunk_relation import relation
from syncmgr.sources.mysql.address import MysqlAddress
from syncmgr.sources.mysql.jdbc import MysqlChunks
from tests.contract.mysql.reading.test_mysql_values import columns, fill, read, types_of
from tests.contract.mysql_reader import Row, database, facts
from tests.support.servers.mysql import PASSWORD, MysqlServer
from tests.support.spark_session import SPARK, reading_sources

pytestmark = [pytest.mark.mysql, *SPARK]


def chunk_of(server: MysqlServer, table: SourceTable, condition: str = "") -> ChunkRows:
    reader = MysqlChunks(MysqlAddress(host="127.0.0.1", port=server.port, user="repl", password=PASSWORD))
    return ChunkRows(
        plan="p",
        number=1,
        reader=reader,
        table=table,
        columns=tuple(column.name for column in table.columns),
        condition=condition,
    )


def selected(lake: Lake, chunk: ChunkRows) -> dict[int, Row]:
    rows = relation(reading_sources(lake), chunk).collect()
    return {row["id"]: {name: told(row[name]) for name in chunk.columns} for row in rows}


def told(value: Any) -> Any:
    """PySpark collects bytes as bytearrays, and instants without their zone."""
    return bytes(value) if isinstance(value, bytearray) else value


@pytest.mark.parametrize("suffix", ["", " NOT NULL"])
def test_every_type_is_the_same_both_ways(any_server: MysqlServer, lake: Lake, suffix: str) -> None:
    """What a chunk selects equals what the binlog tells of the same row, extremes and NULLs included."""
    types = types_of(any_server)
    if suffix:
        types = {kind.replace(" NULL", ""): literals for kind, literals in types.items()}
    with database(any_server) as db:
        any_server.run(f"CREATE TABLE {db}.t (id INT PRIMARY KEY, {columns(types, suffix)})")
        table = facts(any_server, [(db, "t")]).tables[0]
        names = [column.name for column in table.columns]
        reader = read(any_server, db, names, lambda: fill(any_server, f"{db}.t", types, nulls=not suffix), stored=False)
        expected, found = reader.state((db, "t")), selected(lake, chunk_of(any_server, table))
        assert found.keys() == expected.keys()
        kinds = {f"c{place}": kind for place, kind in enumerate(types)}
        for number, row in expected.items():
            for column in table.columns:
                value = row[column.name]
                if str(arrow_type(column)) == "timestamp[us, tz=UTC]" and value is not None:
                    value = value.astimezone(dt.UTC).replace(tzinfo=None)
                assert (kinds.get(column.name), number, found[number][column.name]) == (
                    kinds.get(column.name),
                    number,
                    value,
                )
