"""What the rest of the program requires of a table format: five ports.

Owns: what each of them promises.
Must not know: Iceberg's API, Spark, who asks.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from syncmgr.job.channel.description import ChannelDescription
from syncmgr.job.channel.shard import Part
from syncmgr.job.epoch import ChannelAlter, ChannelCommit, ChannelCommitted
from syncmgr.job.show_sync import IndexStanding, Ran
from syncmgr.job.snapshot.chunk import ChunkPlan
from syncmgr.job.snapshot.chunk_rows import ChunkRows
from syncmgr.job.snapshot.retention import Kept
from syncmgr.job.targets.target_change import TargetChange
from syncmgr.job.types.schema import TargetTable


class Commits(Protocol):
    """Commits one channel of one epoch; a table already marked with the epoch is skipped."""

    def check_integrity(self, db: str, table: str, *, replaced: bool = False) -> None:
        """Raises TABLE_BROKEN if a table cannot be read as it is. `replaced`: or, all of its rows are about to be, if
        that cannot be done.
        """

    def commit(self, channel: ChannelCommit) -> ChannelCommitted:
        """Exactly once, and durable when it returns."""

    def alter(self, alter: ChannelAlter) -> ChannelCommitted:
        """The same for one DDL statement."""


class Chunks(Commits, Protocol):
    """Commits chunks of a snapshot, too."""

    def check_chunks(self, db: str, table: str, plan: ChunkPlan) -> None:
        """Raises TARGET_REPLACED if the table was rolled back after one of its chunks was committed."""

    def give_up(self, chunk: ChunkRows) -> None:
        """Its commit ends with INTERRUPTED, unless it is in the lake."""


class LakeTables(Protocol):
    """Databases and tables: created, described and dropped. Read-only calls also work while the lake starts."""

    def ready(self) -> None:
        """Waits for a lake that starts. Raises LAKE_STARTING, JAVA_MISSING, LAKE_FAILED."""

    def namespaces(self) -> list[str]: ...
    def tables(self, db: str) -> list[str]: ...
    def views(self, db: str) -> list[str]:
        """Those of other engines."""

    def describe(self, db: str, table: str) -> TargetTable:
        """The inverse of `create_table`; a table of another engine is described by the nearest types. Raises
        NO_SUCH_TABLE.
        """

    def snapshots(self, db: str, table: str) -> frozenset[int]:
        """Those that may be read. Raises NO_SUCH_TABLE."""

    def is_other(self, db: str, table: str, token: str, last_snapshot: int) -> bool:
        """Whether a table no longer has what the channel of a token has committed. Raises NO_SUCH_TABLE."""

    def create_namespace(self, db: str) -> None: ...
    def drop_namespace(self, db: str) -> None: ...
    def create_table(self, table: TargetTable, *, for_job: bool) -> str:
        """`for_job`: made by a job, not by CREATE TABLE. Returns the table's uuid. Raises TABLE_EXISTS."""

    def alter_table(self, db: str, table: str, decide: Callable[[TargetTable], TargetChange]) -> None:
        """`decide`: what is to change of the table as it is; asked again when a commit has come first. Raises what that
        raises, NO_SUCH_TABLE.
        """

    def drop_table(self, db: str, table: str) -> str | None:
        """With its files, unless another table has them, too: then returns its label."""

    def is_empty(self, db: str, table: str, part: Part | None = None) -> bool:
        """Whether the table, or a part of it, has no row, not even a deleted one."""

    def writers(self, db: str, table: str, second: float) -> frozenset[str]:
        """The tokens of channels that have committed rows in the last seconds; waits for a lake that starts."""

    def check_channel(self, channel: ChannelDescription) -> None:
        """Raises BAD_EXPRESSION, TYPE_DOES_NOT_FIT."""


class Upkeep(Protocol):
    """What is done to files alongside commits, which it never blocks, and its state; the lake may be unavailable."""

    @property
    def serves(self) -> bool: ...
    def upkeep(self, db: str, table: str) -> Sequence[Ran]:
        """What ran."""

    def expire(self, db: str, table: str, kept: Kept) -> Sequence[Ran]: ...
    def upkeep_log(self, db: str, table: str) -> Sequence[Ran]:
        """What was recently done to a table, oldest first."""

    def index(self, db: str, table: str) -> IndexStanding:
        """The state of the key index of a table."""


Movable = Callable[[str], AbstractContextManager[None]]  # turns a ValueError about the file of that name into ours


class SavedTables(Protocol):
    """The tables of a catalog that no frontend has open, as files that name each other by paths of one folder.

    All raise BACKUP_LACKS if a file is not as it should be, and FileNotFoundError if one is not there.
    """

    def count(self, catalog: Path) -> int: ...
    def files(self, catalog: Path) -> frozenset[str]:
        """The names of all that a reader of the tables may need."""

    def previous(self, catalog: Path) -> frozenset[str]:
        """Those that describe the tables before their last commits, as far as they exist: commits delete old ones."""

    def take(self, catalog: Path) -> None:
        """Looks for what describes the tables now, before a commit deletes it."""

    def unmovable(self, catalog: Path) -> list[str]:
        """What `move` would refuse, and why, without doing it."""

    def relative(self, location: str) -> Path:
        """The path of a named file below the folder."""

    def copy_lost(self, catalog: Path, to: Path) -> tuple[Path, Sequence[str]] | None:
        """Notes in the folder `to` which tables of the catalog lack writes that the disk of the lake has lost, so that
        they accept no commit there either; returns the note, and these tables. None: nothing is known to be lost.
        """

    def drop_views(self, catalog: Path) -> list[str]:
        """Those of other engines, whose data may be anywhere; returns their names."""

    def move(self, catalog: Path, new: Path, movable: Movable) -> None:
        """Rewrites the names for a lake in another folder, in place."""
