"""One table of a job: which source goes into which target.

Owns: what is stored of a channel.
Must not know: servers, Spark, statements' text.
"""

import hashlib
import re
from dataclasses import dataclass
from typing import Final

from mysqlddl.words import Modes
from syncmgr.job.channel.channel_state import Stop
from syncmgr.job.channel.shard import Part
from syncmgr.job.position import Position, has_passed
from syncmgr.job.types.schema import SourceTable

RECREATED: Final = (  # why a table that is `source_dropped`, and exists, is not followed
    "it was dropped, and nothing in the binlog has created it again: a session with sql_log_bin = 0 has, so that its "
    "columns and first rows are not known"
)
_PLAIN: Final = re.compile(r"`((?:[^`]|``)+)`")  # an expression that is one source column


@dataclass(frozen=True, kw_only=True, slots=True)
class MappedColumn:
    """A target column and the Spark SQL expression over source columns that fills it.

    `constant`: the text that it has in every row, whose literal is `expression`; None: rows differ.
    """

    target: str
    expression: str
    constant: str | None = None

    @property
    def source(self) -> str | None:
        """The source column that fills it unchanged; None: it is computed."""
        found = _PLAIN.fullmatch(self.expression)
        return None if found is None else found[1].replace("``", "`")


@dataclass(frozen=True, kw_only=True, slots=True)
class Listed:
    """The name that a column list gives to the source column at its position, and the target type that it must fit.

    `type` "": no target column has the name, so the source column is skipped.
    """

    name: str
    type: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class PastDdl:
    """A statement, and what is needed to read it again."""

    text: str
    db: str
    modes: Modes


@dataclass(frozen=True, kw_only=True, slots=True)
class Shadow:
    """A copy of a source table that a migration tool alters, fills, and finally swaps in for it.

    `alters`: what has changed it since it was a copy. `triggers`: those by which a tool copies changes of the table
    into it, each with its event. `left`: not a copy, but a name that the table itself had before. `log`: not a copy,
    but a table that its tool keeps next to it.
    """

    db: str
    name: str
    alters: tuple[PastDdl, ...] = ()
    left: bool = False
    log: bool = False
    triggers: tuple[tuple[str, str], ...] = ()

    @property
    def is_copy(self) -> bool:
        return not (self.left or self.log)


@dataclass(frozen=True, kw_only=True, slots=True)
class Reshaped:
    """What statements have done to columns that a list names by position, before the first rows have shown them."""

    added: bool = False
    dropped: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class ChannelHistory:
    """What has become of a channel, and of its two tables, since it was planned."""

    source_dropped: bool = False
    #: the target with its source table
    dropped: bool = False
    #: target columns that it once filled, which keep those values
    kept_columns: tuple[str, ...] = ()
    #: copies that may replace the source table, and the names that it left
    shadows: tuple[Shadow, ...] = ()
    #: if the table joined its job later: changes up to there do not belong to it
    after: Position | None = None
    #: the place in the binlog at which the table was as the channel's `source` says; None: the job is from an earlier
    #: version, or on canal
    known_at: Position | None = None
    #: why it is no longer read; None: it is
    stopped: Stop | None = None
    #: rows of it came without their column names, which have not been compared with the server's since
    nameless: bool = False
    #: if the channel's `source` has no columns yet
    reshaped: Reshaped = Reshaped()

    def skips(self, end: Position) -> bool:
        """Whether nothing of the channel is wanted up to there, since the read of the table's rows covers it."""
        return self.after is not None and has_passed(self.after, end)

    @property
    def is_read(self) -> bool:
        return self.stopped is None and not self.dropped


@dataclass(frozen=True, kw_only=True, slots=True)
class ChannelDescription:
    """Source table -> target table, resolved against both schemas; `history`: what has become of it."""

    #: random, made at CREATE SYNC, never reused
    token: str
    #: the schema at the job's start position; without columns until the first rows have shown them, if `places` are
    #: given
    source: SourceTable
    target_db: str
    target: str
    columns: tuple[MappedColumn, ...]
    #: target key columns
    keys: tuple[str, ...]
    #: the source columns that fill `keys`, in the same order, except one that has the same text in every row
    source_keys: tuple[str, ...]
    #: the source columns that a segment must hold
    reads: tuple[str, ...]
    #: Spark SQL; None: all rows
    where: str | None = None
    #: Doris' list, which names the source columns by position; `reads` and `source_keys` hold its names. Empty: columns
    #: are mapped by name
    places: tuple[Listed, ...] = ()
    #: there is no column list
    takes_new_columns: bool = False
    history: ChannelHistory = ChannelHistory()

    @property
    def expressions(self) -> str:
        """The texts that name source columns, besides the columns that fill a target column unchanged."""
        computed = (c.expression for c in self.columns if c.source is None and c.constant is None)
        return "\n".join([*computed, self.where or ""])

    @property
    def mapping_fingerprint(self) -> str:
        """Equal if the same source columns go into the same target columns."""
        columns = [self.source.column(name) for name in self.reads]
        return hashlib.sha256(repr((columns, self.columns)).encode()).hexdigest()[:16]

    @property
    def part(self) -> Part | None:
        """If other channels fill the same target: the rows that belong to this one."""
        found = ((c.target, c.constant) for c in self.columns if c.constant is not None)
        return next((Part(column=column, value=value) for column, value in found), None)

    @property
    def target_label(self) -> str:
        """The name of its target in Status."""
        return self.target if self.part is None else f"{self.target} ({self.part.value})"

    @property
    def label(self) -> str:
        """As Doris' Channel column prints it."""
        return f"{self.source.label}->{self.target}"


def literal(text: str) -> str:
    """A text in Spark SQL."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def quoted(name: str) -> str:
    """A column name in Spark SQL."""
    return "`" + name.replace("`", "``") + "`"
