"""Where a job reads, as far as its rules have to know.

Owns: what every source is asked about itself, and what one may be able to do.
Must not know: kinds of sources.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, Protocol, Self

from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.description import ChannelDescription

BINLOG: Final = "FROM BINLOG"
SNAPSHOT: Final = "snapshot"


class Can(Enum):
    """What not every source is able to do."""

    READ_ROWS = "give the rows that are there: snapshots, ADD TABLE, RESYNC TABLE"
    TELL_TABLES = "name its tables, their columns and keys: patterns, targets that are made"
    FOLLOW_DDL = "go on after DDL that changes the columns of a table"
    STOP_TABLE = "go on without a table that cannot be read on"


@dataclass(frozen=True, kw_only=True, slots=True)
class Caveat:
    """What CREATE SYNC warns of."""

    code: Code
    text: str


class SourceDescription(Protocol):
    """FROM BINLOG (...) of one kind of source, with every default filled in. Frozen, and equal by what it says."""

    @property
    def kind(self) -> str:
        """The Type column of SHOW SYNC JOB; in small letters "type" of FROM BINLOG."""

    @property
    def address(self) -> str:
        """For messages."""

    @property
    def config(self) -> str:
        """JobConfig of SHOW SYNC JOB, in Doris' form, without what is secret."""

    @property
    def password(self) -> str: ...
    @property
    def can(self) -> frozenset[Can]: ...
    @property
    def refused(self) -> Mapping[str, str]:
        """Properties that a job on it cannot have, with the reason."""

    @property
    def takes_snapshot(self) -> bool:
        """Whether the rows that are there come first."""

    @property
    def joins(self) -> bool:
        """Whether it is asked for tables of a job that runs."""

    @property
    def joining(self) -> Self:
        """As it is asked for tables of a job that runs, whose rows come first."""

    @property
    def accepts_unlogged(self) -> bool:
        """Whether a table may differ by what foreign keys have changed."""

    @property
    def one_reader(self) -> Hashable:
        """What one job alone can read, so that two that have the same would compete; None: as many as want to."""

    def in_use(self, reader: str) -> SyncError:
        """That this reader has it already."""

    def check_channel(self, channel: ChannelDescription) -> None:
        """Raises what forbids it to be read exactly, as far as its description says."""

    def caveats(self, channel: ChannelDescription) -> tuple[Caveat, ...]: ...
    def facts(self) -> dict[str, Any]:
        """What is stored of it: the arguments that make it again, the password in the clear."""
