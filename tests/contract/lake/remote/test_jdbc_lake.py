"""A lake whose catalog is in PostgreSQL, on a connection that is lost right after a commit: Iceberg then sends it again
by itself, finds its own commit there, and takes it for that of somebody else.
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from syncmgr.config.catalog_keys import PREFIX
from syncmgr.job.rows.batch import ChangeKind
from syncmgr.lake.lake import Lake
from syncmgr.lake.spark.jvm import JAVA_ERRORS
from syncmgr.lake.spark.queries.sessions import SESSIONS
from syncmgr.lake.upkeep.upkeep import expire
from tests.contract.lake.remote.unanswered import until_altered, until_committed
from tests.support.lakes import of_spark
from tests.support.servers.object_store import BUCKET, ObjectStore, program
from tests.support.servers.postgres import PostgresServer, is_installed
from tests.support.servers.proxy import Proxy
from tests.support.spark_session import SPARK, Tables, another_lake, new_queries, rewrite
from tests.support.until import until

INS, UPD, DEL = ChangeKind
pytestmark = SPARK
UPDATED, INSERTED, DELETED = b"UPDATE 1\0", b"INSERT 0 1\0", b"DELETE 1\0"  # what PostgreSQL says once it is done


class Connections(Proxy):
    """To the catalog. `lose`: the next connection that is told this is cut instead."""

    def __init__(self, target: int) -> None:
        super().__init__(target)
        self._lost: bytes | None = None
        self.changes = self._changed

    @property
    def opened(self) -> int:
        """How many there are."""
        return len(self._open) // 2

    @property
    def armed(self) -> bool:
        return self._lost is not None

    def lose(self, answer: bytes) -> None:
        self._lost = answer

    def _changed(self, data: bytes) -> bytes:
        if self._lost is not None and self._lost in data:
            self._lost = None
            raise ConnectionResetError
        return data


@dataclass(frozen=True, slots=True)
class _Lost:
    lake: Lake
    connections: Connections


@pytest.fixture(scope="module", params=["folder", pytest.param("s3", marks=pytest.mark.slow)])
def lost(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[_Lost]:
    if not is_installed() or program() is None:
        pytest.skip("not installed: PostgreSQL or moto")
    folder = tmp_path_factory.mktemp("jdbc")
    with ExitStack() as running:
        database = PostgresServer()
        running.callback(database.start().stop)
        connections = Connections(database.port)
        running.callback(connections.close)
        place: Mapping[str, str] = {"catalog_warehouse": str(folder / "warehouse")}
        if request.param == "s3":
            store = ObjectStore(folder)
            running.callback(store.start().stop)
            place = {"catalog_warehouse": f"s3://{BUCKET}/warehouse", **store.settings(PREFIX)}
        own = {
            "catalog_type": "jdbc",
            "catalog_uri": f"jdbc:postgresql://127.0.0.1:{connections.port}/postgres",
            f"{PREFIX}jdbc.user": "postgres",
        }
        lake = running.enter_context(another_lake(folder / "lake", of_spark({**own, **place})))
        yield _Lost(lake, connections)


@pytest.fixture
def tables(lost: _Lost, tmp_path: Path) -> Tables:
    return Tables(lost.lake, tmp_path)


@pytest.mark.parametrize("how", ["arrow", "vectors", "alter"])
def test_a_commit_that_iceberg_sends_again_is_in_the_table(tables: Tables, lost: _Lost, how: str) -> None:
    """The rows are there once, every file that the table names is there, and so it goes on."""
    table = tables.make()
    table.commit([(INS, 1, 1), (INS, 2, 2)])
    lost.connections.lose(UPDATED)
    wanted: list[tuple[object, ...]] = [(1, 1), (2, 2), (3, 3)]
    if how == "arrow":
        until_committed(table, [(INS, 3, 3)])
    elif how == "vectors":
        until_committed(table, [(UPD, 1, 10), (DEL, 2, None), (INS, 3, 3)])
        wanted = [(1, 10), (3, 3)]
    else:
        until_altered(table)
        wanted = [(1, 1, 7), (2, 2, 7)]
    assert not lost.connections.armed
    assert table.rows() == wanted
    row: tuple[object, ...] = (INS, *(4 for _ in table.columns))
    table.commit([row])
    assert table.rows() == [*wanted, row[1:]]


@pytest.mark.parametrize("work", ["compaction", "compaction by Spark", "fold", "expiry"])
def test_upkeep_that_iceberg_sends_again_breaks_nothing(tables: Tables, lost: _Lost, work: str) -> None:
    """All rows are there once, and the table goes on."""
    table = tables.make()
    for number in range(8):
        table.commit([(INS, number, number)])
    if work == "fold":
        table.indexing.give_up(ValueError("switched off by the test"))
        table.commit([(DEL, 0, None), (INS, 0, 0)])
    lake, iceberg = table.lake, table.lake.iceberg()
    upkeep = lake._upkeep_of(table.db, table.name)
    lost.connections.lose(UPDATED)
    with suppress(*JAVA_ERRORS):
        if work == "fold":
            upkeep._fold(iceberg, lake.upkeep_session())
        elif work == "compaction by Spark":
            rewrite(table)
        elif work == "expiry":
            assert table.last_snapshot is not None
            expire(iceberg, lake.upkeep_session(snapshots=True), table.db, table.name, table.last_snapshot)
        else:
            lake.upkeep(table.db, table.name)
    assert not lost.connections.armed
    assert table.rows() == [(number, number) for number in range(8)]
    table.commit([(INS, 8, 8)])
    assert table.rows() == [(number, number) for number in range(9)]


def test_a_table_that_iceberg_creates_again_is_created(tables: Tables, lost: _Lost) -> None:
    """The statement succeeds, and the table takes rows."""
    lost.connections.lose(INSERTED)
    table = tables.make()
    assert not lost.connections.armed
    table.commit([(INS, 1, 1)])
    assert table.rows() == [(1, 1)]


def test_a_table_that_iceberg_drops_again_is_gone(tables: Tables, lost: _Lost) -> None:
    """The statement succeeds. Its files stay: the repetition finds no table, as if it had been renamed meanwhile."""
    table = tables.make()
    table.commit([(INS, 1, 1), (INS, 2, 2)])
    lost.connections.lose(DELETED)
    table.lake.tables.drop_table(table.db, table.name)
    assert not lost.connections.armed
    assert table.name not in table.lake.tables.tables(table.db)


@pytest.mark.slow
def test_queries_leave_no_connections(tables: Tables, lost: _Lost) -> None:
    """Each database and time zone that is queried has a session with a connection of its own; those that are no longer
    kept close theirs, whether Java collects garbage or not.
    """
    table, queries = tables.make(), new_queries(lost.lake)
    table.commit([(INS, 1, 1)])
    before = lost.connections.opened
    try:
        for minute in range(2 * SESSIONS):
            query = queries.query(f"SELECT id FROM {table.name}", table.db, str(minute), time_zone=f"+00:{minute:02}")
            assert [tuple(row) for batch in query.batches() for row in batch] == [(1,)]
        until(lambda: lost.connections.opened <= before + SESSIONS + 2, why="the connections of older sessions")
    finally:
        queries.stop()
