"""What keeps a table fast in the background: fold, compaction, expiry, orphans.

Owns: when each is due, and that one at a time works on a table's files, and in parallel one on its snapshots.
Must not know: jobs, who ticks.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from pyspark.sql import SparkSession

from syncmgr.crash import CrashPoint, passing
from syncmgr.errors import SyncError
from syncmgr.job.channel.description import quoted
from syncmgr.job.snapshot.retention import Kept
from syncmgr.lake.cures import as_argument, in_catalog
from syncmgr.lake.iceberg.iceberg import Iceberg
from syncmgr.lake.iceberg.table_metadata import CODEC, TableTotals, common_codec
from syncmgr.lake.index.indexing import Indexing
from syncmgr.lake.index.keys import UnindexableError
from syncmgr.lake.spark.jvm import JAVA_ERRORS, REFUSED, Java, java_class, text_of, words
from syncmgr.lake.spark.launch import CATALOG
from syncmgr.lake.target.own_properties import refuse_long_waits, refuse_no_removal, refuse_unreadable
from syncmgr.lake.upkeep.candidates import IdleTime
from syncmgr.lake.upkeep.compaction import Compaction, candidates
from syncmgr.lake.upkeep.fold import Fold
from syncmgr.lake.upkeep.orphans import remove_orphans
from syncmgr.lake.upkeep.tasks import set_tasks

QUIET_SECOND: Final = 2.0  # after this long without a commit, upkeep disturbs nothing
IDLE_SECOND: Final = 12.0  # the longest quiet time of a busy table in a job with the default commit interval
BUSY_SHARE: Final = 10  # alongside commits a kind of upkeep takes at most a tenth of the time
QUIET_SHARE: Final = 2  # at rest a compaction takes at most half of it
BUSY_DELETE_FILES: Final = 16
SMALL_FILES: Final = 24
SMALL_FILE_BYTES: Final = 16 * 1024 * 1024
BUSY_SMALL_FILES: Final = 200
OLD_SNAPSHOTS: Final = 20
BUSY_OLD_SNAPSHOTS: Final = 200  # an expiry is a Spark job over all manifests
ORPHAN_SECOND: Final = 3 * 24 * 3600  # a commit in flight is never that old
STAGED_DAYS: Final = 5  # Iceberg's own default of history.expire.max-snapshot-age-ms
STAGED_TAG: Final = "syncmgr-staged-"
ORPHAN_PERIOD_SECOND: Final = 24 * 3600
SHOWN: Final = 20
MIN_INPUT_FILES: Final = 8  # Spark does not join fewer
COMPACTION: Final = {
    "min-input-files": str(MIN_INPUT_FILES),
    "max-concurrent-file-group-rewrites": "1",  # the driver is the executor: memory for one
}

CODEC_OF_SESSION: Final = "spark.sql.iceberg.compression-codec"
DANGLING: Final = {"remove-dangling-deletes": "true"}

logger = logging.getLogger(__name__)
Work = Callable[[], int]  # how many files or snapshots it processed


class Kind(StrEnum):
    """What upkeep does."""

    INDEX = "index"
    FOLD = "fold"
    COMPACT = "compact"
    EXPIRE = "expire"
    ORPHANS = "orphans"


@dataclass(frozen=True, kw_only=True, slots=True)
class Ran:
    """`at`: unix seconds of its end. `done`: files or snapshots that it processed; 0: it gave way."""

    kind: Kind
    at: float
    seconds: float
    done: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Situation:
    """Everything that decides what to do with files. `quiet`: seconds since the last commit.

    `since`: time since each kind ran, in multiples of how long that took. `compacted_files`: what compaction left.
    `unfoldable`: rows in equality deletes that the last fold left. `index_behind`: the key index has to be built.
    `pressing`: whether the index says that files should be rewritten, which then disturbs no commit; None: no index.
    """

    totals: TableTotals
    quiet: float
    since: Mapping[Kind, float]
    compacted_files: int
    unfoldable: int = 0
    index_behind: bool = False
    pressing: bool | None = None


def due(at: Situation) -> Kind | None:
    """What should be done with the files. Fold comes before compaction, which would read equality deletes slowly."""
    totals, is_quiet = at.totals, at.quiet >= QUIET_SECOND
    if at.index_behind:
        return Kind.INDEX
    rests_fold = is_quiet or (totals.delete_files >= BUSY_DELETE_FILES and _rested(Kind.FOLD, at.since))
    if totals.equality_deletes > at.unfoldable and rests_fold:
        return Kind.FOLD
    worth_it = _many_small(at, is_quiet=is_quiet) if at.pressing is None else at.pressing
    return (
        Kind.COMPACT if worth_it and _rested(Kind.COMPACT, at.since, QUIET_SHARE if is_quiet else BUSY_SHARE) else None
    )


def due_of_snapshots(expirable: int, quiet: float, since: Mapping[Kind, float], *, orphans: bool) -> Kind | None:
    """What should be done with the snapshots now. `expirable`: how many are not needed.

    `orphans`: whether it is time to look for files without one.
    """
    is_quiet = quiet >= QUIET_SECOND
    if _rested(Kind.EXPIRE, since) and expirable >= (OLD_SNAPSHOTS if is_quiet else BUSY_OLD_SNAPSHOTS):
        return Kind.EXPIRE
    return Kind.ORPHANS if orphans and is_quiet else None


def _rested(kind: Kind, since: Mapping[Kind, float], share: int = BUSY_SHARE) -> bool:
    return since.get(kind, share) >= share


def _many_small(at: Situation, *, is_quiet: bool) -> bool:
    small = at.totals.data_files - at.compacted_files
    is_small = at.totals.data_bytes < SMALL_FILE_BYTES * at.totals.data_files
    return is_small and small >= (SMALL_FILES if is_quiet else BUSY_SMALL_FILES)


@dataclass(slots=True)
class _Rest:
    """What the last work of each kind could do nothing about, which is not tried again until there is more of it.

    `files`: the number of all that Spark left unchanged; None: none. `snapshots`: those that a tag, a branch or a
    property of another engine holds.
    """

    compacted_files: int = 0
    unfoldable: int = 0
    files: int | None = None
    snapshots: int = 0


class TableUpkeep:
    """The upkeep of one table: one kind at a time of its files, and one of its snapshots, which takes longer."""

    def __init__(self, db: str, table: str, indexing: Indexing, clock: Callable[[], float] = time.monotonic) -> None:
        self._db, self._table, self._clock = db, table, clock
        self.indexing = indexing
        self.equality_deletes = 0  # rows in them at its last look
        self._files, self._snapshots = threading.Lock(), threading.Lock()
        self._ended: dict[Kind, tuple[float, float]] = {}  # monotonic end, seconds
        self._orphans_at = clock() + ORPHAN_PERIOD_SECOND
        self._rest = _Rest()
        self._commits = 0
        self._committed_at = clock() - QUIET_SECOND
        self.ran: deque[Ran] = deque(maxlen=SHOWN)

    @contextmanager
    def commit(self) -> Iterator[None]:
        """While it lasts, and some time after, the table is not quiet."""
        self._commits += 1
        try:
            yield
        finally:
            self._commits -= 1
            self._committed_at = self._clock()

    def tick(self, iceberg: Iceberg, session: SparkSession) -> tuple[Ran, ...]:
        """Does what is due with the files, each kind at most once. Returns at once if another tick is doing it."""
        work: dict[Kind, Work] = {
            Kind.INDEX: lambda: self._follow_up(iceberg),
            Kind.FOLD: lambda: self._patient(iceberg, lambda: self._fold(iceberg, session)),
            Kind.COMPACT: lambda: self._patient(iceberg, lambda: self._compact(iceberg, session)),
        }
        return self._do(work, lambda: self._due(iceberg), self._files)

    def expire(self, iceberg: Iceberg, session: SparkSession, kept: Kept) -> tuple[Ran, ...]:
        """The same with the snapshots. `kept`: which must stay. Raises FOREIGN_CHANGE if the table forbids it."""
        table = iceberg.load(self._db, self._table)
        refuse_no_removal(self._db, self._table, lambda key: iceberg.property(table, key))
        oldest = iceberg.oldest_kept(table, kept)
        orphans: dict[Kind, Work] = {Kind.ORPHANS: lambda: self._remove_orphans(iceberg, session)}
        work: dict[Kind, Work] = {
            Kind.EXPIRE: lambda: (
                0 if oldest is None else self._patient(iceberg, lambda: self._expire(iceberg, session, oldest))
            ),
            **orphans,
        }
        try:
            return self._do(work, lambda: self._due_of_snapshots(iceberg, oldest), self._snapshots)
        except (SyncError, *JAVA_ERRORS):  # orphans need no commit, and are of no snapshot that could have stayed
            with suppress(SyncError, *JAVA_ERRORS):
                self._do(orphans, lambda: self._due_of_snapshots(iceberg, None), self._snapshots)
            raise

    def _do(self, work: Mapping[Kind, Work], due: Callable[[], Kind | None], lock: threading.Lock) -> tuple[Ran, ...]:
        if not lock.acquire(blocking=False):
            return ()
        try:
            ran: dict[Kind, Ran] = {}
            while (kind := due()) is not None and kind not in ran:
                ran[kind] = self._run(kind, work[kind])
            return tuple(ran.values())
        finally:
            lock.release()

    def _due(self, iceberg: Iceberg) -> Kind | None:
        table = iceberg.load(self._db, self._table)
        totals = iceberg.current(table)
        if totals is None:
            return None
        self.equality_deletes = totals.equality_deletes
        files_press = self._pressing(iceberg, table)
        situation = Situation(
            totals=totals,
            quiet=self._quiet(),
            since=self._since(),
            compacted_files=self._rest.compacted_files,
            unfoldable=self._rest.unfoldable,
            index_behind=self.indexing.is_behind,
            pressing=files_press and not self._is_left(totals),
        )
        return due(situation)

    def _due_of_snapshots(self, iceberg: Iceberg, oldest: int | None) -> Kind | None:
        table = iceberg.load(self._db, self._table)
        expirable = 0 if oldest is None else iceberg.older_snapshots(table, oldest) - self._rest.snapshots
        return due_of_snapshots(expirable, self._quiet(), self._since(), orphans=self._clock() >= self._orphans_at)

    def _since(self) -> dict[Kind, float]:
        now = self._clock()
        return {kind: (now - end) / max(seconds, 0.1) for kind, (end, seconds) in list(self._ended.items())}

    def _quiet(self) -> float:
        """Seconds since the last commit; 0 during one."""
        return 0.0 if self._commits else self._clock() - self._committed_at

    def _calm(self) -> IdleTime:
        quiet = self._quiet()
        return IdleTime.IDLE if quiet >= IDLE_SECOND else IdleTime.QUIET if quiet >= QUIET_SECOND else IdleTime.BUSY

    def _pressing(self, iceberg: Iceberg, table: Java) -> bool | None:
        """Also opens the index of a table without a commit since the start."""
        if not iceberg.layout(table).identifier:
            return None
        with self.indexing.lock:
            index = self.indexing.usable(iceberg, table)
            return None if index is None else bool(candidates(index, self._calm()))

    def _is_left(self, totals: TableTotals) -> bool:
        """Whether Spark would rewrite nothing of what the index suggests, as was the case the last time."""
        return self._rest.files is not None and abs(totals.files - self._rest.files) < MIN_INPUT_FILES

    def _run(self, kind: Kind, work: Work) -> Ran:
        began = self._clock()
        try:
            done = work()
        except JAVA_ERRORS as error:
            if java_class(error) not in REFUSED:
                raise
            logger.info("%s of %s.%s gave way to a commit: %s", kind, self._db, self._table, words(error))
            done = 0
        end = self._clock()
        self._ended[kind] = end, end - began
        ran = Ran(kind=kind, at=time.time(), seconds=end - began, done=done)
        self.ran.append(ran)
        logger.info("%s of %s.%s: %s in %.1f s", kind, self._db, self._table, done, end - began)
        return ran

    def _patient(self, iceberg: Iceberg, work: Work) -> int:
        """All tables share a thread: none may make it wait."""
        table = iceberg.load(self._db, self._table)
        refuse_long_waits(self._db, self._table, lambda key: iceberg.property(table, key))
        try:
            return work()
        except JAVA_ERRORS as error:
            refuse_unreadable(text_of(error), self._db, self._table, lambda: iceberg.properties(table))
            raise

    def _follow_up(self, iceberg: Iceberg) -> int:
        self.indexing.follow_up(iceberg, lambda: iceberg.load(self._db, self._table))
        return self.indexing.standing().rows

    def _fold(self, iceberg: Iceberg, session: SparkSession) -> int:
        """What cannot be folded is not retried until there is more of it, so that compaction gets its turn."""
        looked_at = self.equality_deletes
        try:
            folded = Fold(iceberg, session, self._db, self._table, self.indexing).run()
        except UnindexableError as error:
            logger.info("nothing of %s.%s is folded: %s", self._db, self._table, error)
            folded = 0
        self._rest.unfoldable = 0 if folded else looked_at
        self._rest.files = None  # other rows are dead now
        return folded

    def _expire(self, iceberg: Iceberg, session: SparkSession, oldest: int) -> int:
        expired = expire(iceberg, session, self._db, self._table, oldest)
        self._rest.snapshots = iceberg.older_snapshots(iceberg.load(self._db, self._table), oldest)
        return expired

    def _remove_orphans(self, iceberg: Iceberg, session: SparkSession) -> int:
        self._orphans_at = self._clock() + ORPHAN_PERIOD_SECOND
        return remove_orphans(iceberg, session, self._db, self._table, time.time() - ORPHAN_SECOND)

    def _compact(self, iceberg: Iceberg, session: SparkSession) -> int:
        try:
            rewritten = Compaction(iceberg, self._db, self._table, self.indexing, self._calm()).run()
        except UnindexableError as error:
            logger.info("Spark compacts %s.%s: %s", self._db, self._table, error)
            rewritten = None
        by_spark = rewritten is None
        if rewritten is None:
            table = iceberg.load(self._db, self._table)
            with self.indexing.set_aside():
                rewritten = compact(_writing(iceberg, session, table), self._db, self._table, self._dangling(iceberg))
        totals = iceberg.current(iceberg.load(self._db, self._table))
        self._rest.compacted_files = totals.data_files if totals else 0
        self._rest.files = totals.files if by_spark and totals and not rewritten else None
        return rewritten

    def _dangling(self, iceberg: Iceberg) -> Mapping[str, str]:
        """Position deletes of removed files need a separate commit, which parallel commits make fail."""
        return DANGLING if iceberg.format_version(iceberg.load(self._db, self._table)) < 3 else {}


def _writing(iceberg: Iceberg, session: SparkSession, table: Java) -> SparkSession:
    """One that writes files in a codec that this JVM has: Iceberg would follow the table's."""
    word = iceberg.property(table, CODEC)
    if word is None or common_codec(word) == word.lower():
        return session
    own = session.newSession()
    own.conf.set(CODEC_OF_SESSION, common_codec(word))
    return own


def compact(session: SparkSession, db: str, table: str, more: Mapping[str, str] = MappingProxyType({})) -> int:
    """Merges small files into big ones; returns how many were removed. Deletes that come meanwhile still apply to the
    rows.

    `more`: options of rewrite_data_files besides ours.
    """
    options = ", ".join(f"'{key}', '{value}'" for key, value in (COMPACTION | dict(more)).items())
    call = f"CALL {CATALOG}.system.rewrite_data_files(table => {as_argument((db, table))}, options => map({options}))"
    return int(session.sql(call).collect()[0]["rewritten_data_files_count"])


def _hold_staged(iceberg: Iceberg, session: SparkSession, name: tuple[str, str], table: Java) -> None:
    """Keeps what another engine has staged and not yet published, which an expiry by time would remove: each gets a tag
    of ours, and loses it once it is published or too old.
    """
    staged = iceberg.staged(table, int((time.time() - STAGED_DAYS * 24 * 3600) * 1000))
    wanted = {f"{STAGED_TAG}{snapshot}": snapshot for snapshot in staged}
    held = {tag for tag in iceberg.references(table) if tag.startswith(STAGED_TAG)}
    for tag in sorted(held - wanted.keys()):
        session.sql(f"ALTER TABLE {in_catalog(name)} DROP TAG IF EXISTS {quoted(tag)}").collect()
    for tag in sorted(wanted.keys() - held):
        what = f"{quoted(tag)} AS OF VERSION {wanted[tag]} RETAIN {STAGED_DAYS} DAYS"
        session.sql(f"ALTER TABLE {in_catalog(name)} CREATE TAG IF NOT EXISTS {what}").collect()


def expire(iceberg: Iceberg, session: SparkSession, db: str, table: str, oldest: int) -> int:
    """Expires the snapshots before `oldest`, and deletes the files that only they name; returns how many were expired.

    Iceberg's Java call would delete Puffin files that contain other vectors still in force.
    """
    loaded = iceberg.load(db, table)
    kept = iceberg.earliest_from(loaded, oldest)  # Iceberg goes by time, and drops all before the first older one
    if kept is None:
        return 0
    _hold_staged(iceberg, session, (db, table), loaded)
    older = iceberg.older_snapshots(loaded, oldest)
    set_tasks(session, iceberg.current(loaded))
    passing(CrashPoint.EXPIRY_BEGUN)
    if not iceberg.expire(session, db, table, kept):
        logger.warning("old files of %s.%s are left to the removal of orphans: its catalog answers late", db, table)
    passing(CrashPoint.EXPIRED)
    return older - iceberg.older_snapshots(iceberg.load(db, table), oldest)
