"""A row by SELECT and the same row from the binlog: every type, value by value."""

import pytest

from syncmgr.job.snapshot.chunk_rows import ChunkRows
from syncmgr.job.types.schema import SourceTable
from syncmgr.sources.mysql.address import MysqlAddress
from syncmgr.sources.mysql.chunk.chunks import MysqlChunks
from tests.contract.mysql.reading.test_mysql_values import columns, fill, read, types_of
from tests.contract.mysql_reader import Row, database, facts
from tests.support.chunk_reads import ReadHere, rows_of
from tests.support.servers.mysql import PASSWORD, MysqlServer

pytestmark = pytest.mark.mysql


def chunk_of(server: MysqlServer, table: SourceTable, condition: str = "") -> ChunkRows:
    source = MysqlChunks(MysqlAddress(host="127.0.0.1", port=server.port, user="repl", password=PASSWORD))
    return ChunkRows(
        plan="p",
        number=1,
        reader=ReadHere(source),
        table=table,
        columns=tuple(column.name for column in table.columns),
        condition=condition,
    )


def selected(chunk: ChunkRows) -> dict[int, Row]:
    return {row["id"]: row for row in rows_of(chunk).to_pylist()}


@pytest.mark.parametrize("suffix", ["", " NOT NULL"])
def test_every_type_is_the_same_both_ways(any_server: MysqlServer, suffix: str) -> None:
    """What a chunk selects equals what the binlog tells of the same row, extremes and NULLs included."""
    types = types_of(any_server)
    if suffix:
        types = {kind.replace(" NULL", ""): literals for kind, literals in types.items()}
    with database(any_server) as db:
        any_server.run(f"CREATE TABLE {db}.t (id INT PRIMARY KEY, {columns(types, suffix)})")
        table = facts(any_server, [(db, "t")]).tables[0]
        names = [column.name for column in table.columns]
        reader = read(any_server, db, names, lambda: fill(any_server, f"{db}.t", types, nulls=not suffix), stored=False)
        expected, found = reader.state((db, "t")), selected(chunk_of(any_server, table))
        assert found.keys() == expected.keys()
        kinds = {f"c{place}": kind for place, kind in enumerate(types)}
        for number, row in expected.items():
            for column in table.columns:
                value = row[column.name]
                assert (kinds.get(column.name), number, found[number][column.name]) == (
                    kinds.get(column.name),
                    number,
                    value,
                )
