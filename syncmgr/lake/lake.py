"""The lake as the rest of the program sees it: start, commit, stop.

Owns: which session, pool and lock each kind of work gets.
Must not know: how any of it is done.
"""

import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final, Protocol, Unpack

from pyspark.sql import SparkSession

from syncmgr.errors import SyncError
from syncmgr.job.ddl.lake_change import DropTable
from syncmgr.job.epoch import ChannelAlter, ChannelCommit, ChannelCommitted
from syncmgr.job.snapshot.chunk import ChunkPlan
from syncmgr.job.snapshot.chunk_rows import ChunkRows
from syncmgr.job.snapshot.retention import Kept
from syncmgr.lake.commit.alter import Alter
from syncmgr.lake.commit.commit import Commit
from syncmgr.lake.commit.commit_marker import refuse_lost
from syncmgr.lake.commit.expressions import Bounds
from syncmgr.lake.commit.uncommitted_files import AbandonedFolders
from syncmgr.lake.drops import Drops, finish
from syncmgr.lake.durability import Durability, lake_disk
from syncmgr.lake.foreign_catalog import ForeignCatalog, unless_old
from syncmgr.lake.iceberg.catalog_file import pointers
from syncmgr.lake.iceberg.catalog_reader import CatalogReader, Pointer
from syncmgr.lake.iceberg.iceberg import Iceberg
from syncmgr.lake.index.indexing import IndexBudget, Indexing, Standing
from syncmgr.lake.integrity import check_files, check_metadata
from syncmgr.lake.opening import LakeOptions
from syncmgr.lake.spark.jvm import JAVA_ERRORS, asked
from syncmgr.lake.spark.launch import EXECUTOR_WAIT_SECOND, LakePlace
from syncmgr.lake.spark.readings import ChunkReads
from syncmgr.lake.spark.session import READY, Session
from syncmgr.lake.storage.copies import FOLD_BYTES, TASK_BYTES, Copies, Room
from syncmgr.lake.storage.locations import is_local, local
from syncmgr.lake.tables import IcebergTables
from syncmgr.lake.unknown_storage import elsewhere
from syncmgr.lake.upkeep.upkeep import Ran, TableUpkeep
from syncmgr.lake.warm_up import warm_up

COMMIT_SETTINGS: Final = {  # an epoch is small and its plan is known: adapting is not worth it
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.maxConcurrentOutputFileWriters": "64",  # a file per kind and partition at once, no sort before it
    "spark.sql.lateralColumnAlias.enableImplicitResolution": "false",  # expressions see only source columns
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "100000",  # a job to list some files takes longer
}

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Open:
    """What lives as long as one JVM."""

    spark: SparkSession
    iceberg: Iceberg
    copies: Copies
    upkeep_session: SparkSession
    snapshots_session: SparkSession


@dataclass(frozen=True, slots=True)
class _Indexes:
    """Where key indexes are kept, and the memory that all of them have together."""

    folder: Path
    budget: IndexBudget

    def of(self, table: str) -> Indexing:
        return Indexing(self.folder, self.budget, table)


class _Guard(Protocol):
    def writing(self, db: str, table: str) -> AbstractContextManager[Callable[[], None]]:
        """Around a write to a table; call its value if nothing was written."""


class Lake:
    """One Spark driver and one Iceberg catalog. Every method may be called from any thread."""

    def __init__(self, **options: Unpack[LakeOptions]) -> None:
        self._wait_second = options["wait_second"]
        progress, trusts = options["progress"], options.get("trusts_expressions", False)
        self._bounds = Bounds(trusts=trusts)
        self.place = LakePlace(
            lake_dir=options["lake_dir"],
            jars_dir=options["jars_dir"],
            copies_dir=options["copies_dir"],
            executor_wait_second=options.get("executor_wait_second", EXECUTOR_WAIT_SECOND),
            options=options["options"],
            environment=options.get("environment", {}),
        )
        self._room = _room(options)
        self._session = Session(self.place, progress)
        self._shelf = CatalogReader(file=self.place.catalog_file)
        catalog = self._shelf if self.place.embedded else ForeignCatalog(self.iceberg)
        on_disk = _disk_of(self.place)
        self._durability = Durability(on_disk or self.place.lake_dir, catalog.pointer, catalog.is_new)
        self._guards: tuple[_Guard, ...] = (
            *([] if on_disk is None else [self._durability]),
            *([catalog] if isinstance(catalog, ForeignCatalog) else []),
        )
        drops = Drops(
            folder=self.place.lake_dir / ".dropped",
            sync=partial(_confirm, self._durability),
            tables=lambda: pointers(self._shelf.file),
        )
        self.tables = IcebergTables(
            self.place,
            self._shelf,
            self.iceberg,
            ready=self.ready,
            making=partial(_making, None if on_disk is None else self._durability),
            writing=self._writing,
            drops=drops if self.place.embedded else None,
            forget=self._forget,
            trusts_expressions=trusts,
        )
        self._lock = threading.Lock()
        self._open: _Open | None = None
        self._indexes = _Indexes(options["index_dir"], IndexBudget(options["index_max_bytes"]))
        self._upkeep: dict[tuple[str, str], TableUpkeep] = {}
        self._readings = ChunkReads()
        self._strays = AbandonedFolders()

    def start(self) -> None:
        """Returns at once; `ready` waits. A dummy epoch runs as soon as the lake is ready."""
        if self._durability in self._guards:
            with suppress(OSError):  # the first commit meets it, too
                self._durability.open()
        self._session.start()
        threading.Thread(target=self._warm_up, name="lake-warm-up", daemon=True).start()

    def _warm_up(self) -> None:
        try:
            self.ready()
            if self.tables.drops is not None:
                finish(self.iceberg(), self.tables.drops)
            if self.place.local:  # others do not see the table of the dummy epochs
                warm_up(self.iceberg())
        except (SyncError, *JAVA_ERRORS) as error:  # whatever it is, the first real commit meets it too
            logger.info("no warm-up: %s", error)

    def ready(self, timeout: float | None = None) -> None:
        """Waits up to `timeout` seconds, by default `wait_second`. Raises LAKE_STARTING, JAVA_MISSING, LAKE_FAILED."""
        self._session.ready(self._wait_second if timeout is None else timeout)

    @property
    def state(self) -> str:
        """What it is doing; the word ready once it serves."""
        return self._session.state

    @property
    def serves(self) -> bool:
        return self._session.state == READY

    @property
    def pid(self) -> int | None:
        """Process id of Spark's JVM."""
        return self._session.pid

    def stop(self) -> None:
        """Ends Spark, so that no commit that hangs has an index any more, and saves the key indexes."""
        self._session.stop()
        with self._lock:
            known = list(self._upkeep.values())
        for upkeep in known:
            try:
                upkeep.indexing.save(now=True)
            except OSError as error:  # it is rebuilt
                logger.warning("a key index was not saved: %s", error)
        if self._open is not None:
            self._open.copies.close()
        self._durability.close()

    def make_catalog(self) -> None:
        """Waits for Spark; creates the catalog if there is none. Raises as `ready`."""
        self.ready()
        self.iceberg()

    def iceberg(self) -> Iceberg:
        """The catalog in the session of the commits. Raises LAKE_STARTING."""
        return self._opened_now().iceberg

    def _opened_now(self) -> _Open:
        spark = self._session.current()
        with self._lock:
            if self._open is None or self._open.spark is not spark:
                if self._open is not None:
                    self._open.copies.close()
                pointer = self._shelf.pointer if self.place.embedded else None
                self._open = _opened(spark, Copies(self.place.copies_dir, self._room), pointer)
            return self._open

    def check_integrity(self, db: str, table: str, *, replaced: bool = False) -> None:
        """Raises TABLE_BROKEN if the catalog names files of a local lake that are gone, as after a power failure; not
        for files of rows, if all of them are to be replaced.
        """
        if not self.place.embedded:
            return
        self.ready()
        label, pointer = f"{db}.{table}", self._shelf.pointer(db, table)
        check_metadata(label, pointer)
        with self.tables.asking(db, table):
            iceberg = self.iceberg()
            check_files(label, pointer, iceberg, iceberg.load(db, table), rows=not replaced)

    def check_chunks(self, db: str, table: str, plan: ChunkPlan) -> None:
        """Raises TARGET_REPLACED if the table was rolled back after one of its chunks was committed."""
        self.ready()
        with self.tables.asking(db, table):
            iceberg = self.iceberg()
            name, numbers = f"{db}.{table}", plan.numbers
            unless_old(iceberg, lambda: refuse_lost(iceberg, iceberg.load(db, table), name, plan.id, numbers))

    def commit(self, channel: ChannelCommit) -> ChannelCommitted:
        """Commits a channel's segment of an epoch, or a chunk of its snapshot, exactly once; durable when it returns.

        Raises FENCED, TARGET_REPLACED, TARGET_SET_BACK, OTHER_HISTORY, WRITES_LOST, NO_SUCH_TABLE, UNKNOWN_COLUMN,
        COLUMN_NOT_COVERED, COLUMN_REPLACED, FOREIGN_CHANGE, BAD_EXPRESSION, SOURCE_VALUE, SNAPSHOT_BROKEN,
        SOURCE_ACCESS_DENIED for good; LAKE_STARTING, LAKE_FAILED and SOURCE_UNREACHABLE if the same call may be
        retried.
        """
        self.ready()
        strays = self._strays.of(channel)
        with self._writing(channel.db, channel.table) as upkeep:
            iceberg = self.iceberg()
            commit = Commit(iceberg, channel, strays, upkeep.indexing)
            with _jobs_of(channel, iceberg, self._readings):
                self._bounds.check(iceberg.spark, channel)
                done = replace(unless_old(iceberg, commit.run), dead=commit.dead_letters())
        return done

    def give_up(self, chunk: ChunkRows) -> None:
        """The commit of a chunk that is being read ends with INTERRUPTED; one that is already in the lake is not
        affected. From any thread.
        """
        self._readings.give_up(chunk)

    def alter(self, alter: ChannelAlter) -> ChannelCommitted:
        """Changes one channel's table for one DDL statement exactly once; durable when it returns.

        Raises FENCED, TARGET_REPLACED, TARGET_SET_BACK, OTHER_HISTORY, WRITES_LOST, NO_SUCH_TABLE, FOREIGN_CHANGE for
        good; LAKE_STARTING and LAKE_FAILED if the same call may be retried.
        """
        self.ready()
        with self._writing(alter.db, alter.table) as upkeep:
            iceberg = self.iceberg()
            done = unless_old(iceberg, Alter(iceberg, alter, upkeep.indexing, self.tables.drops).run)
        if not done.passed_over and any(isinstance(change, DropTable) for change in alter.changes):
            self._forget(alter.db, alter.table)
        return done

    def upkeep(self, db: str, table: str) -> tuple[Ran, ...]:
        """Does what a table's files need: index, fold, compaction; returns what ran. Blocks, but never a commit.

        Raises WRITES_LOST, NO_SUCH_TABLE, LAKE_STARTING, LAKE_FAILED.
        """
        upkeep = self._upkeep_of(db, table)
        with lake_disk(), self._durable(db, table) as nothing_written, self.tables.asking(db, table):
            opened = _for_upkeep(self._opened_now())
            ran = upkeep.tick(opened.iceberg, opened.upkeep_session)
            upkeep.indexing.save()
            if not ran:
                nothing_written()
        return ran

    def expire(self, db: str, table: str, kept: Kept) -> tuple[Ran, ...]:
        """Removes what is not needed: old snapshots, orphans; returns what ran. Blocks, but neither a commit nor
        `upkeep`.

        `kept`: which snapshots must stay. Raises as `upkeep`.
        """
        on_disk = self._durability in self._guards
        durable = self._durability.expiring(db, table) if on_disk else nullcontext(_nothing)
        with lake_disk(), durable as something_written, self.tables.asking(db, table):
            opened = _for_upkeep(self._opened_now())
            ran = self._upkeep_of(db, table).expire(opened.iceberg, opened.snapshots_session, kept)
            if ran:
                something_written()
        return ran

    def upkeep_session(self, *, snapshots: bool = False) -> SparkSession:
        """The session in which upkeep of files runs, or that of snapshots, whose steps have tasks by the number of
        files. Raises LAKE_STARTING.
        """
        with asked():
            opened = self._opened_now()
            return opened.snapshots_session if snapshots else opened.upkeep_session

    def upkeep_log(self, db: str, table: str) -> tuple[Ran, ...]:
        """The last upkeep of a table, oldest first."""
        return tuple(self._upkeep_of(db, table).ran)

    def index(self, db: str, table: str) -> Standing:
        """The state of the key index of a table."""
        upkeep = self._upkeep_of(db, table)
        return upkeep.indexing.standing(upkeep.equality_deletes)

    def _upkeep_of(self, db: str, table: str) -> TableUpkeep:
        with self._lock:
            if (db, table) not in self._upkeep:
                indexing = self._indexes.of(f"{db}.{table}")
                self._upkeep[db, table] = TableUpkeep(db, table, indexing)
            return self._upkeep[db, table]

    @contextmanager
    def _writing(self, db: str, table: str) -> Iterator[TableUpkeep]:
        """Around a commit to a table."""
        upkeep = self._upkeep_of(db, table)
        with upkeep.commit(), lake_disk(), self._durable(db, table), self.tables.asking(db, table):
            yield upkeep

    @contextmanager
    def _durable(self, db: str, table: str) -> Iterator[Callable[[], None]]:
        """Around a write to a table; call its value if nothing was written."""
        with ExitStack() as guards:
            nothing = [guards.enter_context(guard.writing(db, table)) for guard in self._guards]
            yield lambda: _all(nothing)

    def _forget(self, db: str, table: str) -> None:
        with self._lock:
            upkeep = self._upkeep.pop((db, table), None)
        if upkeep is not None:
            upkeep.indexing.drop()
        self._durability.forget(db, table)


def _jobs_of(channel: ChannelCommit, iceberg: Iceberg, readings: ChunkReads) -> AbstractContextManager[None]:
    if channel.chunk is not None:
        return readings.reading(iceberg.spark, channel.chunk)
    iceberg.use_pool("commit")
    return nullcontext()


def _room(options: LakeOptions) -> Room:
    return Room(
        fold=options.get("fold_copy_bytes", lambda: FOLD_BYTES),
        task=options.get("task_rows_bytes", lambda: TASK_BYTES),
    )


def _confirm(durability: Durability) -> None:
    with lake_disk():
        durability.confirm()


@contextmanager
def _making(durability: Durability | None, db: str, table: str) -> Iterator[None]:
    with lake_disk(), nullcontext() if durability is None else durability.making(db, table), asked():
        yield


def _opened(spark: SparkSession, copies: Copies, pointer: Callable[[str, str], Pointer] | None) -> _Open:
    for key, value in COMMIT_SETTINGS.items():
        spark.conf.set(key, value)
    spark.conf.set("spark.sql.shuffle.partitions", str(spark.sparkContext.defaultParallelism))
    with asked():
        upkeep_session, snapshots_session = spark.newSession(), spark.newSession()  # with Spark's own settings
        upkeep_session.conf.set("spark.sql.parquet.fieldId.read.enabled", "true")
        iceberg = Iceberg(spark, copies, None if pointer is None else partial(elsewhere, pointer))
        return _Open(
            spark=spark,
            iceberg=iceberg,
            copies=copies,
            upkeep_session=upkeep_session,
            snapshots_session=snapshots_session,
        )


def _for_upkeep(opened: _Open) -> _Open:
    opened.iceberg.use_pool("upkeep")
    return opened


def _all(calls: Iterable[Callable[[], None]]) -> None:
    for call in calls:
        call()


def _nothing() -> None:
    """What is not on a local disk needs no sync."""


def _disk_of(place: LakePlace) -> Path | None:
    """The folder of a warehouse on the local disk, whatever the catalog."""
    folder = place.warehouse
    return local(folder) if folder is not None and is_local(folder) else None
