"""What every source that has tables and rows promises (`sources/port.py`): the one in a folder, and MySQL."""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Protocol

import pytest

from syncmgr.config import settings
from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.patterns import DatabasePattern
from syncmgr.job.position import Position
from syncmgr.job.snapshot.chunk_rows import ChunkRows
from syncmgr.job.snapshot.handshake import never
from syncmgr.job.source import SourceDescription
from syncmgr.job.types.schema import SourceTable
from syncmgr.sources.mysql.kind import MYSQL
from syncmgr.sources.port import Source, SourceRows, SourceTables
from tests.contract.mysql_reader import database
from tests.support.chunk_reads import ReadHere
from tests.support.chunk_reads import rows_of as rows_in
from tests.support.memory_source.description import MemoryDescription
from tests.support.memory_source.kind import MemoryServer
from tests.support.servers.mysql import PASSWORD, MysqlServer

pytestmark = pytest.mark.mysql

Row = Mapping[str, Any]
UNKNOWN: Final = "ffffffff-ffff-11f1-83c3-02fc00000001:1-3"  # transactions of no server


class Bench(Protocol):
    """A source with one database of the test's own."""

    about: SourceDescription
    source: Source
    db: str

    def create(self, *names: str) -> None:
        """Tables `(id BIGINT PRIMARY KEY, note VARCHAR(20))`."""

    def rename(self, old: str, new: str) -> None: ...
    def drop(self, name: str) -> None: ...
    def write(self, name: str, *ids: int) -> None:
        """A transaction that inserts rows."""

    def read(self, chunk: ChunkRows) -> list[int]:
        """The first column of what the reader of the chunk gives."""


class InFolder:
    db = "shop"

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        (folder / "changes.jsonl").touch()
        self.about: SourceDescription = MemoryDescription(folder=str(folder))
        self.source: Source = MemoryServer(MemoryDescription(folder=str(folder)))

    def create(self, *names: str) -> None:
        columns = [
            {"name": "id", "type": "bigint", "nullable": False, "key": 1},
            {"name": "note", "type": "varchar", "length": 20, "charset": "utf8mb4"},
        ]
        tables = [{"db": self.db, "name": name, "columns": columns} for name in names]
        (self._folder / "tables.json").write_text(json.dumps(tables))
        for name in names:
            self._append({"table": [None, [self.db, name]]})

    def rename(self, old: str, new: str) -> None:
        self._append({"table": [[self.db, old], [self.db, new]]})

    def drop(self, name: str) -> None:
        self._append({"table": [[self.db, name], None]})

    def write(self, name: str, *ids: int) -> None:
        self._append([[[self.db, name], 0, {"id": each, "note": None}] for each in ids])

    def _append(self, line: object) -> None:
        with (self._folder / "changes.jsonl").open("a") as file:
            file.write(json.dumps(line) + "\n")

    def read(self, chunk: ChunkRows) -> list[int]:
        return [int(each) for each in rows_in(chunk)["id"].to_pylist()]


class OnServer:
    def __init__(self, server: MysqlServer, db: str) -> None:
        self._server, self.db = server, db
        told = {"type": "mysql", "mysql.host": "127.0.0.1", "mysql.port": str(server.port)}
        self.about: SourceDescription = MYSQL.described({**told, "mysql.user": "repl", "mysql.password": PASSWORD})
        self.source: Source = MYSQL.source(self.about, settings.read_bytes(b"", Path("fe.conf")))

    def create(self, *names: str) -> None:
        self._server.run(
            *(f"CREATE TABLE {self.db}.{name} (id BIGINT PRIMARY KEY, note VARCHAR(20))" for name in names)
        )

    def rename(self, old: str, new: str) -> None:
        self._server.run(f"RENAME TABLE {self.db}.{old} TO {self.db}.{new}")

    def drop(self, name: str) -> None:
        self._server.run(f"DROP TABLE {self.db}.{name}")

    def write(self, name: str, *ids: int) -> None:
        values = ", ".join(f"({each}, NULL)" for each in ids)
        self._server.run(f"INSERT INTO {self.db}.{name} VALUES {values}")

    def read(self, chunk: ChunkRows) -> list[int]:
        return [int(each) for each in rows_in(chunk)["id"].to_pylist()]


@contextmanager
def in_folder(_request: pytest.FixtureRequest, folder: Path) -> Iterator[Bench]:
    yield InFolder(folder)


@contextmanager
def on_server(request: pytest.FixtureRequest, _folder: Path) -> Iterator[Bench]:
    server: MysqlServer = request.getfixturevalue("mysql_server")
    with database(server) as db:
        yield OnServer(server, db)


@pytest.fixture(params=[in_folder, on_server])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    make: Callable[..., Any] = request.param
    with make(request, tmp_path) as made:
        yield made


def tables_of(bench: Bench) -> SourceTables:
    assert bench.source.tables is not None
    return bench.source.tables


def rows_of(bench: Bench) -> SourceRows:
    assert bench.source.rows is not None
    return bench.source.rows


def inspected(bench: Bench, *names: str) -> Sequence[SourceTable]:
    return bench.source.inspect([(bench.db, name) for name in names], never).tables


def test_tables_are_inspected_in_the_order_of_the_question(bench: Bench) -> None:
    """With their columns, their keys, and a place and a time of now."""
    bench.create("a", "b")
    before = time.time()
    found = bench.source.inspect([(bench.db, "b"), (bench.db, "a")], never)
    assert [table.name for table in found.tables] == ["b", "a"]
    assert [[(each.name, each.type, each.key) for each in table.columns] for table in found.tables] == [
        [("id", "bigint", 1), ("note", "varchar", 0)]
    ] * 2
    assert found.unique_keys == ((("id",),),) * 2
    assert abs(found.server_time - before) < 60
    assert found.start != Position()


def test_a_table_that_is_not_there_is_named(bench: Bench) -> None:
    """Before a job is made for it."""
    bench.create("a")
    with pytest.raises(SyncError, match=rf"{bench.db}\.gone") as refused:
        inspected(bench, "a", "gone")
    assert refused.value.code is Code.SOURCE_UNKNOWN_TABLE


def test_a_survey_has_the_tables_of_its_databases(bench: Bench) -> None:
    """And no others, nor any of a database that matches no pattern."""
    bench.create("a", "b")
    tables = tables_of(bench)
    assert {table for table in tables.survey([bench.db]) if table[0] == bench.db} == {(bench.db, "a"), (bench.db, "b")}
    assert tables.survey(["no_such_database"]) == {}
    assert tables.survey([bench.db])[bench.db, "a"].name == "a"


def test_a_job_goes_on_where_its_history_is(bench: Bench) -> None:
    """And not where that has not come as far as the job; a table that is not there any more is no obstacle."""
    bench.create("a")
    bench.write("a", 1)
    end = tables_of(bench).end()
    bench.write("a", 2)
    bench.source.check_continues(bench.about, end, [(bench.db, "a"), (bench.db, "gone")])
    beyond = replace(end, offset=end.offset + 100_000, gtids=end.gtids and f"{end.gtids},{UNKNOWN}")
    with pytest.raises(SyncError) as refused:
        bench.source.check_continues(bench.about, beyond, [(bench.db, "a")])
    assert refused.value.code is Code.SOURCE_POSITION_LOST


def test_the_end_moves_with_each_transaction(bench: Bench) -> None:
    """And only then."""
    bench.create("a")
    tables = tables_of(bench)
    before = tables.end()
    assert tables.end() == before
    bench.write("a", 1)
    after = tables.end()
    assert after != before
    assert rows_of(bench).snapshot().end() == after


def all_of(bench: Bench, exclude: tuple[tuple[str, str], ...] = ()) -> DatabasePattern:
    return DatabasePattern(db=bench.db, exclude=exclude)


def test_the_tables_named_after_a_place_are_those_that_came(bench: Bench) -> None:
    """Not those of before, also if they got rows or another name; each under its last name, also if it is gone by then:
    whoever looks at it finds that out.
    """
    bench.create("a", "b")
    tables = tables_of(bench)
    start = tables.end()
    bench.write("a", 1)
    bench.rename("b", "older")
    bench.create("c", "d", "e", "_d_gho")
    bench.write("c", 1)
    bench.rename("d", "renamed")
    bench.drop("e")
    assert tables.named(start, [all_of(bench)]) == {(bench.db, "c"), (bench.db, "renamed"), (bench.db, "e")}
    assert tables.named(start, [all_of(bench, ((bench.db, "c"),))]) == {(bench.db, "renamed"), (bench.db, "e")}
    assert tables.named(start, [DatabasePattern(db="another")]) == frozenset()
    assert tables.named(tables.end(), [all_of(bench)]) == frozenset()


@pytest.mark.parametrize("wanted", [3, 1000])
def test_the_chunks_of_a_plan_have_each_row_once(bench: Bench, wanted: int) -> None:
    """Whatever their size: all rows that are there, in ascending chunks."""
    bench.create("a")
    bench.write("a", *range(1, 11))
    (table,) = inspected(bench, "a")
    snapshot = rows_of(bench).snapshot()
    start = snapshot.end()
    reader = ReadHere(snapshot.settle(start))
    snapshot.await_seen(table, start)
    plan = snapshot.plan(table, ("id",), wanted)
    columns = ("id", "note")
    chunks = [
        ChunkRows(
            plan=plan.id,
            number=n,
            reader=reader,
            table=table,
            columns=columns,
            condition=plan.condition(n),
        )
        for n in range(1, plan.count + 1)
    ]
    read = [row for chunk in chunks for row in sorted(bench.read(chunk))]
    assert read == list(range(1, 11))
    snapshot.check_same([(table, columns)])
    held = snapshot.check_held(start)
    assert held is None or held > 0


def test_what_was_written_after_a_place_is_seen_by_a_read_after_it(bench: Bench) -> None:
    """The rows of a snapshot are those of its start, or later ones."""
    bench.create("a")
    bench.write("a", 1)
    (table,) = inspected(bench, "a")
    snapshot = rows_of(bench).snapshot()
    reader = ReadHere(snapshot.settle(tables_of(bench).end()))
    bench.write("a", 2)
    plan = snapshot.plan(table, ("id",), 100)
    chunk = ChunkRows(
        plan=plan.id,
        number=1,
        reader=reader,
        table=table,
        columns=("id",),
        condition=plan.condition(1),
    )
    assert sorted(bench.read(chunk)) == [1, 2]
