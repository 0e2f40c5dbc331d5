"""What is wanted of one source table.

Owns: which columns of it are read, from where on, and what may replace it, as its channel says.
Must not know: the binlog, its events, what the columns are at some place of it.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from syncmgr.job.channel.description import Shadow
from syncmgr.job.ddl.ddl import Table
from syncmgr.job.position import Position, has_passed
from syncmgr.job.types.schema import SourceTable
from syncmgr.sources.port import ChannelPlan


@dataclass(frozen=True, kw_only=True, slots=True)
class Subscription:
    """What is wanted of one source table: columns to decode, and those that make the target's key.

    `schema`: the table as it was found, or as statements have changed it since. `known_at`: from where on in the binlog
    that applies, so that it may interpret rows whose metadata is below FULL; None: from where reading begins.
    `shadows`: tables that may replace it, and what shows whether they may. `after`: changes up to there are not wanted.
    `complete`: no column of the table may be left out. `nameless`: rows of it arrived without column names, and it has
    not been compared since. `left`: names that it had before. `gone`: it was dropped.
    """

    columns: tuple[str, ...]
    keys: tuple[str, ...] = ()
    schema: SourceTable | None = None
    known_at: Position | None = None
    shadows: tuple[Table, ...] = ()
    after: Position | None = None
    complete: bool = False
    nameless: bool = False
    left: tuple[Table, ...] = ()
    gone: bool = False


def subscriptions(channels: Iterable[ChannelPlan], start: Position) -> dict[Table, Subscription]:
    """By source table, where reading begins at `start`."""
    return {
        (channel.source.db, channel.source.name): Subscription(
            columns=channel.reads,
            keys=channel.source_keys,
            schema=channel.source,
            known_at=_later(channel.known_at, start if channel.after is None else channel.after),
            shadows=tuple(beside for shadow in channel.shadows for beside in _beside(shadow)),
            after=channel.after,
            complete=channel.complete,
            nameless=channel.nameless,
            left=tuple((shadow.db, shadow.name) for shadow in channel.shadows if shadow.left),
            gone=channel.gone,
        )
        for channel in channels
    }


def _beside(shadow: Shadow) -> tuple[Table, ...]:
    """It, and the triggers that fill it: statements name both in the same way."""
    return (shadow.db, shadow.name), *((shadow.db, trigger) for trigger, _ in shadow.triggers)


def _later(known_at: Position | None, first: Position) -> Position | None:
    """If it is after the first place that is considered."""
    return None if known_at is None or has_passed(first, known_at) else known_at
