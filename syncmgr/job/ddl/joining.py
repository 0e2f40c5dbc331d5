"""Which of the tables that come to a job join it.

Owns: that only one table fills a target, or a part of it; which of several that is; which names new tables have.
Must not know: servers, what is planned for a table.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.description import ChannelDescription
from syncmgr.job.ddl import ddl
from syncmgr.job.ddl.ddl import Table
from syncmgr.job.ddl.following.ddl_statement import DdlStatement


@dataclass(frozen=True, kw_only=True, slots=True)
class Filling:
    """What a table fills: a target, or that part of it which has the rows of one database."""

    target: Table
    part: str | None = None

    def meets(self, other: "Filling") -> bool:
        """Whether their rows would overwrite each other's."""
        return self.target == other.target and (None in {self.part, other.part} or self.part == other.part)

    @property
    def label(self) -> str:
        target = ".".join(self.target)
        return target if self.part is None else f"{target} ({self.part})"


@dataclass(frozen=True, kw_only=True, slots=True)
class Turns:
    """`first`: they join if nothing else is wrong with them; `later`: if one of those does not; `refused`: never."""

    first: tuple[Table, ...]
    later: tuple[Table, ...]
    refused: Mapping[Table, SyncError]


def filling(channel: ChannelDescription) -> Filling:
    """That of a channel."""
    part = None if channel.part is None else channel.part.value
    return Filling(target=(channel.target_db, channel.target), part=part)


def turns(taken: Collection[Filling], coming: Mapping[Table, Filling]) -> Turns:
    """In order of the new tables: of two that would fill one target the first does."""
    first: dict[Table, Filling] = {}
    later: list[Table] = []
    refused: dict[Table, SyncError] = {}
    for table, wish in coming.items():
        if any(map(wish.meets, taken)):
            refused[table] = SyncError(Code.DUPLICATE_MAPPING, table=wish.label)
        elif any(map(wish.meets, first.values())):
            later.append(table)
        else:
            first[table] = wish
    return Turns(first=tuple(first), later=tuple(later), refused=refused)


def named(statements: Iterable[DdlStatement]) -> frozenset[Table]:
    """The tables that these statements make, under the names that they have after the last one.

    A name to which an older table was renamed is not among them: only reading the binlog shows which table has it.
    """
    made, others = set[Table](), set[Table]()
    for statement in statements:
        for old, new in ddl.named(statement.text, statement.db, statement.modes):
            is_new = old in made or (old is None and new not in others)
            made -= {old, new}
            (made if is_new else others).add(new)
    return frozenset(made)
