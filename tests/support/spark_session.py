"""The one lake of a run: PySpark allows one JVM per process."""

import inspect
import threading
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar
from weakref import WeakKeyDictionary

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.table import Table
from pyspark.sql import SparkSession

import syncsql
from syncmgr.control.catalog import Catalog
from syncmgr.job.channel.description import MappedColumn
from syncmgr.job.ddl.lake_change import LakeChange
from syncmgr.job.epoch import ChannelAlter, ChannelCommit, ChannelCommitted, LastCommit, StagedFile
from syncmgr.job.rows.batch import OP, SEQ
from syncmgr.lake.commit.commit import Commit
from syncmgr.lake.iceberg.ancestry import token_property
from syncmgr.lake.iceberg.iceberg import Iceberg
from syncmgr.lake.index.indexing import Indexing
from syncmgr.lake.lake import Lake
from syncmgr.lake.spark.jvm import Java
from syncmgr.lake.spark.queries import answer
from syncmgr.lake.spark.queries.frame import SparkOfQueries, SparkSessionOfQueries
from syncmgr.lake.spark.queries.queries import UTC, Queries
from syncmgr.lake.spark.queries.sessions import SETTINGS
from syncmgr.lake.spark.session import Session
from syncmgr.lake.upkeep.upkeep import compact
from tests.support import jvm, stored, table_reader
from tests.support.until import PATIENCE

EXECUTOR_WAIT_SECOND = 20.0 * PATIENCE
START_SECOND = 300.0 * PATIENCE
STORE_KEY = {"spark.hadoop.fs.s3a.secret.key": "S3: secret=\\ #1"}  # of no store; it must be passed on unchanged
FOREIGN_ROW = "INSERT INTO {table} VALUES (500, -1)"
SPARK = [
    pytest.mark.spark,
    pytest.mark.filterwarnings(
        "ignore:unclosed <socket:ResourceWarning"
    ),  # PySpark's collect() leaves its socket to the GC
]
_readers: WeakKeyDictionary[SparkSession, SparkSessionOfQueries] = WeakKeyDictionary()
_running: list[Lake] = []  # that of the run, if a test has asked for it


def _reader(first: SparkSession) -> SparkSessionOfQueries:
    """One for all, since each has connections of its own to the catalog."""
    if first not in _readers:
        spark = SparkOfQueries(first._jvm, first._jsparkSession)
        _readers[first] = spark.new_session({**SETTINGS, "spark.sql.session.timeZone": UTC}, None)
    return _readers[first]


def new_lake(folder: Path, index_max_bytes: int = 2**30, options: Mapping[str, str] | None = None) -> Lake:
    return Lake(
        lake_dir=folder / "lake",
        jars_dir=jvm.jars_dir(folder),
        options=jvm.flags() if options is None else options,
        progress=print,
        wait_second=START_SECOND,
        copies_dir=folder / "copies",
        index_dir=folder / "index",
        index_max_bytes=lambda: index_max_bytes,
        executor_wait_second=EXECUTOR_WAIT_SECOND,
    )


def new_queries(lake: Lake) -> Queries:
    def lake_is_there() -> None:
        lake.ready()
        lake.iceberg()

    place, second = lake.place, START_SECOND
    return Queries(place, lake_is_there, lambda: lake.state, memory=2**30, spill=2**33, nice=1, wait_second=second)


def indexing_of(lake: Lake, db: str, table: str) -> Indexing:
    return lake._upkeep_of(db, table).indexing


def running_lake(folder: Path, options: Mapping[str, str] | None = None) -> Iterator[Lake]:
    """`options`: in addition."""
    lake = new_lake(folder, options={**jvm.flags(), **STORE_KEY, **(options or {})})
    lake.start()
    lake.ready()
    _running.append(lake)
    yield lake
    _running.remove(lake)
    lake.stop()


@contextmanager
def another_lake(folder: Path, options: Mapping[str, str]) -> Iterator[Lake]:
    """With other options, in the same process: the lake of the run has no JVM meanwhile."""
    for shared in _running:
        shared.stop()
    lake = new_lake(folder, options={**jvm.flags(), **options})
    lake.start()
    lake.ready()
    yield lake
    lake.stop()
    for shared in _running:
        shared._session = Session(shared.place, print)
        shared.start()
        shared.ready()


def statement(sql: str) -> syncsql.CreateTable:
    [parsed] = syncsql.parse(sql)
    assert isinstance(parsed.statement, syncsql.CreateTable)
    return parsed.statement


@dataclass(kw_only=True)
class LakeTable:
    """A fresh table and one channel into it. Change rows are given as (op, values...) in the order of `columns`."""

    lake: Lake
    folder: Path
    db: str
    name: str
    columns: Sequence[str]
    keys: tuple[str, ...]
    types: Mapping[str, pa.DataType] = field(default_factory=dict)
    expressions: Mapping[str, str] = field(default_factory=dict)
    where: str | None = None
    token: str = field(default_factory=lambda: uuid.uuid4().hex)
    epoch: int = 0
    seq: int = 0
    last_snapshot: int | None = None
    last_sequence: int = 0

    def staged(self, rows: Sequence[tuple[object, ...]]) -> StagedFile:
        """A segment: `_op` first in each row, `_seq` in order."""
        data: dict[str, pa.Array] = {
            name: pa.array([row[place] for row in rows], self.types.get(name, pa.int64()))
            for place, name in enumerate(self.columns, 1)
        }
        data[OP] = pa.array([row[0] for row in rows], pa.int8())
        data[SEQ] = pa.array(range(self.seq, self.seq + len(rows)), pa.int64())
        self.seq += len(rows)
        path = self.folder / f"{uuid.uuid4().hex}.parquet"
        pq.write_table(pa.table(data), path, compression="zstd", store_schema=False)
        return StagedFile(path=str(path), rows=len(rows), bytes=path.stat().st_size)

    def prepared(self, *segments: Sequence[tuple[object, ...]]) -> ChannelCommit:
        """The next epoch."""
        self.epoch += 1
        mapped = {name: f"`{name}`" for name in self.columns if not self.expressions} | dict(self.expressions)
        return ChannelCommit(
            token=self.token,
            epoch=self.epoch,
            fingerprint=f"epoch {self.epoch}",
            db=self.db,
            table=self.name,
            files=tuple(self.staged(rows) for rows in segments),
            columns=tuple(MappedColumn(target=target, expression=sql) for target, sql in mapped.items()),
            keys=self.keys,
            where=self.where,
            last=LastCommit(epoch=self.borne, snapshot=self.last_snapshot, sequence=self.last_sequence),
        )

    @property
    def borne(self) -> int:
        """The last epoch that the table has, as the metadata would know it."""
        iceberg = self.lake.iceberg()
        return iceberg.token(iceberg.load(self.db, self.name), token_property(self.token))

    @property
    def uuid(self) -> str:
        return self.lake.tables.describe(self.db, self.name).uuid

    def commit(self, *segments: Sequence[tuple[object, ...]]) -> ChannelCommitted:
        return self.apply(self.prepared(*segments))

    def apply(self, commit: ChannelCommit) -> ChannelCommitted:
        done = self.lake.commit(commit)
        if done.snapshot is not None:
            self.last_snapshot, self.last_sequence = done.snapshot, done.sequence
        return done

    def rows(self) -> list[tuple[object, ...]]:
        """In order. Of a local table with plain types as pyiceberg reads it, which takes a tenth of the CPU time."""
        if self.lake.place.embedded:
            with table_reader.opened(self.lake.place.lake_dir, self.db, self.name) as table:
                if table_reader.is_alike(table):
                    return sorted(table_reader.rows(table), key=table_reader.nulls_first)
        return self.in_spark()

    @contextmanager
    def in_reader(self) -> Iterator[Table]:
        """For pyiceberg; of a lake elsewhere without its catalog."""
        if not self.lake.place.embedded:
            yield stored.of_storage(self.loaded())
            return
        with table_reader.opened(self.lake.place.lake_dir, self.db, self.name) as table:
            yield table

    def in_spark(self, columns: str = "*") -> list[tuple[object, ...]]:
        """As the JVM that commits sees them: that of the queries is slow to start."""
        asked = _reader(self.lake.iceberg().spark).sql(f"SELECT {columns} FROM {self.db}.{self.name} ORDER BY ALL")
        return [tuple(row) for batch, _ in answer.batches(asked) for row in batch]

    @property
    def indexing(self) -> Indexing:
        return indexing_of(self.lake, self.db, self.name)

    def sql(self, text: str) -> None:
        """What another user of the same table does: `{table}` stands for its name."""
        self.lake.iceberg().spark.sql(text.format(table=f"lake.{self.db}.{self.name}")).collect()

    def files(self, content: int) -> int:
        """How many data (0), position delete (1) or equality delete (2) files the table has."""
        if self.lake.place.embedded:
            with table_reader.opened(self.lake.place.lake_dir, self.db, self.name) as table:
                snapshot = table.current_snapshot()
                return 0 if snapshot is None else sum(f.content == content for f in table_reader.files(table, snapshot))
        spark = self.lake.iceberg().spark
        return spark.sql(f"SELECT * FROM lake.{self.db}.{self.name}.files WHERE content = {content}").count()

    def loaded(self) -> Java:
        """As the catalog has it now."""
        return self.lake.iceberg().load(self.db, self.name)

    def stray_files(self) -> set[str]:
        """Data and delete files in the table's storage that no snapshot names."""
        with self.in_reader() as table:
            named = {file.file_path.removeprefix("file:") for file in table_reader.all_files(table)}
        return {file for file in stored.files_below(self.loaded(), "data") if file.endswith(".parquet")} - named


def partitioned_by(table: LakeTable, *terms: str) -> None:
    """What another engine does to the partition spec; a term with - before it is removed."""
    loaded = table.lake.iceberg().load(table.db, table.name)
    update, expressions = loaded.updateSpec(), table.lake.iceberg().jvm.org.apache.iceberg.expressions.Expressions
    for term in terms:
        name, _, width = term.lstrip("-").partition(":")
        wanted = expressions.bucket(name, int(width)) if width else expressions.ref(name)
        update = update.removeField(wanted) if term.startswith("-") else update.addField(wanted)
    update.commit()


def rewrite(table: LakeTable) -> None:
    """What any user of Iceberg runs at night."""
    compact(table.lake.upkeep_session(), table.db, table.name, {"rewrite-all": "true"})


def changes_of(table: LakeTable, *changes: LakeChange) -> ChannelAlter:
    """The next epoch as that of a statement."""
    table.epoch += 1
    return ChannelAlter(
        token=table.token,
        epoch=table.epoch,
        fingerprint="",
        db=table.db,
        table=table.name,
        changes=changes,
        last=LastCommit(epoch=table.borne, snapshot=table.last_snapshot, sequence=table.last_sequence),
    )


Change = TypeVar("Change", ChannelCommit, ChannelAlter)


def coming_after(change: Change, **last: int | None) -> Change:
    """The same of a channel that knows another commit as its last one."""
    return replace(change, last=replace(change.last, **last))  # type: ignore[arg-type]


class Tables:
    """Makes tables in a database of their own."""

    def __init__(self, lake: Lake, folder: Path) -> None:
        self.lake, self.folder = lake, folder
        self.catalog = Catalog(lake.tables, lambda _db, _table: None)
        self.db = f"db_{uuid.uuid4().hex[:8]}"
        self.catalog.create_database(self.db, if_not_exists=False)

    def make(
        self,
        definition: str = "(id BIGINT NOT NULL, v BIGINT) UNIQUE KEY(id)",
        columns: Sequence[str] = ("id", "v"),
        keys: tuple[str, ...] = ("id",),
        name: str | None = None,
        **rest: object,
    ) -> LakeTable:
        name = name or f"t_{uuid.uuid4().hex[:8]}"
        self.catalog.create_table(statement(f"CREATE TABLE {name} {definition}"), self.db)
        return LakeTable(lake=self.lake, folder=self.folder, db=self.db, name=name, columns=columns, keys=keys, **rest)  # type: ignore[arg-type]


class Pausing:
    """An Iceberg that runs a rival's work right before its n-th call; if the caller holds the table's lock, which the
    rival may want, it only lets it begin.
    """

    def __init__(self, iceberg: Iceberg, at: int, rival: "Rival", lock: threading.RLock) -> None:
        self._iceberg, self._at, self._rival, self._lock = iceberg, at, rival, lock
        self.calls = 0
        self.thread: threading.Thread | None = None

    def __getattr__(self, name: str) -> object:
        method = getattr(self._iceberg, name)
        if not inspect.ismethod(method):
            return method

        def call(*args: object, **kwargs: object) -> object:
            if self.calls == self._at:
                self.thread = threading.Thread(target=self._rival.run)
                self.thread.start()
                if not (self._rival.locks and self._lock._is_owned()):  # type: ignore[attr-defined]
                    self.thread.join()
            self.calls += 1
            return method(*args, **kwargs)

        return call


class Rival:
    """Work that is done once; its error is kept for the test."""

    def __init__(self, work: object, *, locks: bool = False) -> None:
        self._work, self.locks = work, locks
        self.error: BaseException | None = None
        self.ran = False

    def run(self) -> None:
        self.ran = True
        try:
            self._work()  # type: ignore[operator]
        except BaseException as error:  # noqa: BLE001 - the test raises it again in its own thread
            self.error = error


def commit_beside(lake: Lake, commit: ChannelCommit, at: int, rival: Rival) -> tuple[ChannelCommitted, int]:
    """A commit during which a rival works before its n-th call; the outcome and how many calls there were."""
    indexing = indexing_of(lake, commit.db, commit.table)
    pausing = Pausing(lake.iceberg(), at, rival, indexing.lock)
    done = Commit(pausing, commit, [], indexing).run()  # type: ignore[arg-type]
    if pausing.thread is not None:
        pausing.thread.join()
    if rival.error is not None:
        raise rival.error
    return done, pausing.calls


def in_pyiceberg(table: LakeTable) -> list[tuple[object, ...]]:
    """The rows as a reader without Spark sees them, in order; an error if there are equality deletes."""
    with table.in_reader() as read:
        return sorted(table_reader.rows(read))
