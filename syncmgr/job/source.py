"""The source of a job, as far as its rules have to know.

Owns: what every source says about itself, and what one may be able to do.
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
    LIST_TABLES = "list its tables, their columns and keys: patterns, targets that are made"
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
    def key_files(self) -> Mapping[str, str]:
        """Files of the frontend's machine that prove to the source who it is, by property; "": none."""

    @property
    def can(self) -> frozenset[Can]: ...
    @property
    def refused(self) -> Mapping[str, str]:
        """Properties that a job on it cannot have, with the reason, besides those of what it cannot do."""

    @property
    def takes_snapshot(self) -> bool:
        """Whether the existing rows come first."""

    @property
    def starts_at_place(self) -> bool:
        """Whether the statement names a place in the source's changes, from which on they count."""

    @property
    def joins(self) -> bool:
        """Whether it can be queried for tables of a running job."""

    @property
    def joining(self) -> Self:
        """As it is queried for tables of a running job, whose rows come first."""

    @property
    def accepts_unlogged(self) -> bool:
        """Whether a table may differ because of changes by foreign keys."""

    @property
    def one_reader(self) -> Hashable:
        """A resource that only one job can read, so that two with the same one would compete; None: any number can."""

    def in_use(self, reader: str) -> SyncError:
        """The error that this reader already has it."""

    def check_channel(self, channel: ChannelDescription) -> None:
        """Raises an error if its description rules out an exact read."""

    def caveats(self, channel: ChannelDescription) -> tuple[Caveat, ...]: ...
    def properties(self) -> dict[str, str]:
        """All its properties of FROM BINLOG, with the password in clear text."""

    def altered(self, changed: Mapping[str, str]) -> Self:
        """With other values of some properties of FROM BINLOG, by which the same changes are reached.

        Raises PROPERTY_UNKNOWN, PROPERTY_WRONG, PROPERTY_MISSING for a password that would go to another server.
        """

    def facts(self) -> dict[str, Any]:
        """What is stored of it: the arguments that recreate it, with the password in clear text."""
