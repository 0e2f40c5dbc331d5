"""What opens the tables of a format: a lake for a frontend, or their files for a backup.

Owns: what a frontend requires of a lake besides the ports.
Must not know: any table format.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from pkgutil import resolve_name
from typing import NotRequired, Protocol, TypedDict, Unpack, cast

from syncmgr.lake.port import Chunks, LakeTables, SavedTables, Upkeep
from syncmgr.lake.registry import TableFormat
from syncmgr.lake.spark.launch import LakePlace


class LakeOptions(TypedDict):
    """How a frontend wants its lake."""

    lake_dir: Path
    #: where jars are kept, shared with other lakes
    jars_dir: Path
    #: the spark.* keys of fe.conf, unchanged
    options: Mapping[str, str]
    #: receives one line at a time while Spark starts
    progress: Callable[[str], None]
    #: how long other calls wait for that
    wait_second: float
    #: for copies of files that are not on the local disk
    copies_dir: Path
    #: where key indexes are kept between starts
    index_dir: Path
    #: of all of them in memory, now
    index_max_bytes: Callable[[], int]
    #: how long a cluster may give a job of Spark no executor
    executor_wait_second: NotRequired[float]
    #: of data files elsewhere that a fold copies at once, now
    fold_copy_bytes: NotRequired[Callable[[], int]]
    #: of staged rows that travel with the tasks of a cluster, now
    task_rows_bytes: NotRequired[Callable[[], int]]
    #: variables for its JVM only
    environment: NotRequired[Mapping[str, str]]
    #: expressions of channels are not bounded
    trusts_expressions: NotRequired[bool]


class OpenLake(Chunks, Upkeep, Protocol):
    """The tables of a frontend. Any method may be called from any thread."""

    @property
    def tables(self) -> LakeTables: ...

    @property
    def place(self) -> LakePlace:
        """Where SELECT finds it."""

    @property
    def serves(self) -> bool:
        """Whether its engine runs now."""

    @property
    def state(self) -> str:
        """What it is doing, in words."""

    def start(self) -> None:
        """Returns at once."""

    def make_catalog(self) -> None:
        """Waits for its start; there is a catalog then. Raises LAKE_STARTING, JAVA_MISSING, LAKE_FAILED."""

    def stop(self) -> None: ...


def open_lake(of: TableFormat, **options: Unpack[LakeOptions]) -> OpenLake:
    return cast("Callable[..., OpenLake]", resolve_name(of.lake))(**options)


def saved_tables(of: TableFormat, lake_dir: Path, found: Callable[[Path], Path]) -> SavedTables:
    """Of a lake whose files name each other in `lake_dir`. `found`: where such a file is, by its relative path."""
    return cast("Callable[..., SavedTables]", resolve_name(of.saved))(lake_dir, found)
