"""What CREATE SYNC means: its channels, checked against what the source and the lake have, and the targets that it
makes.

Owns: the order of the checks of CREATE SYNC.
Must not know: the lives of jobs, what is stored.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Final
from uuid import uuid4

from syncmgr.control.statement_text import (
    condition,
    item,
    items,
)
from syncmgr.control.sync_request import (
    CheckExact,
    Inspect,
    KeyedTable,
    Plan,
    PlannedChannel,
    SyncRequest,
    Table,
)
from syncmgr.control.wanted_tables import WantedTables, expanded, is_wide
from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.channel_plan import check_loadable, plan_channel
from syncmgr.job.channel.description import ChannelDescription
from syncmgr.job.channel.patterns import Found, sharded, spelt, target_of
from syncmgr.job.channel.positional import plan_positional, without_columns
from syncmgr.job.job_properties import WithoutKey
from syncmgr.job.snapshot.handshake import UniqueKeys
from syncmgr.job.source import Can, SourceDescription
from syncmgr.job.types.schema import SourceTable, TargetTable
from syncmgr.lake.port import LakeTables
from syncmgr.lake.registry import FORMAT
from syncmgr.sources import cancellation
from syncmgr.sources.port import Inspected

KEYLESS: Final = 'EXCLUDE such a table, or append by PROPERTIES ("tables_without_key" = "append")'
KEYLESS_JOINS: Final = (
    'ALTER SYNC JOB ... SET ("tables_without_key" = "append") first, which appends their rows; or EXCLUDE such a '
    "table; one that matches a pattern of the job is left out by ALTER SYNC JOB ... DROP TABLE"
)
LOOKS: Final = 3  # a source may get a new table during each look


class Planner:
    """Nothing here changes anything. Blocks as long as source and lake take."""

    def __init__(
        self,
        *,
        wanted_tables: WantedTables,
        tables: LakeTables,
        inspect: Inspect,
        check_exact: CheckExact,
    ) -> None:
        """`check_exact`: raises SNAPSHOT_REFUSED for tables without a key that cannot be read at an exact point."""
        self.wanted_tables = wanted_tables
        self._tables = tables
        self._inspect = inspect
        self._check_exact = check_exact

    def check_exact(self, source: SourceDescription, tables: Sequence[SourceTable]) -> None:
        """Whether tables without a key can be read at an exact point. Raises SNAPSHOT_REFUSED."""
        self._check_exact(source, tables)

    def plan(self, wanted: SyncRequest, looks: int = LOOKS) -> Plan:
        """Raises the error of the first failed check. `looks`: how often everything is examined if tables appear
        meanwhile.
        """
        places = self.wanted_tables.places(wanted)
        if Can.LIST_TABLES not in wanted.source.can:
            return self._positional(wanted.source, places)
        inspected = self.inspected(wanted, places)
        has_grown = self._has_grown(wanted, places)
        if has_grown and looks > 1:
            return self.plan(wanted, looks - 1)
        _refuse_keyless(wanted, zip(places, keyed_tables(inspected), strict=True))
        made: dict[Table, TargetTable] = {}
        planned = [
            self.channel(wanted, place, keyed, made)
            for place, keyed in zip(places, keyed_tables(inspected), strict=True)
        ]
        self.check_exact_points(wanted, [channel for channel, _ in planned])
        return Plan(
            channels=tuple(
                replace(channel, history=replace(channel.history, known_at=inspected.known_at))
                for channel, _ in planned
            ),
            inspected=inspected,
            made=tuple(made.values()),
            takes_snapshot=wanted.takes_snapshot,
            has_grown=has_grown,
        )

    def _has_grown(self, wanted: SyncRequest, places: Sequence[PlannedChannel]) -> bool:
        """Whether a table was created after they were found and before the place in the binlog from which changes are
        read: its statement is before that place, and would never be reached.
        """
        if not any(map(is_wide, wanted.channels)):
            return False
        found = self.wanted_tables.found(wanted)
        meant = {wish.table for each in wanted.channels for wish in expanded(each, found)}
        return not meant <= {place.table for place in places}

    def inspected(self, wanted: SyncRequest, places: Sequence[PlannedChannel]) -> Inspected:
        by_table = {place.table: place for place in places}
        inspected = self._inspect(
            wanted.source,
            list(by_table),
            lambda table, schema, keys: _is_locked(wanted, by_table[table], schema, keys),
        )
        _refuse_respelt(places, inspected)
        return inspected

    def _positional(self, source: SourceDescription, places: Sequence[PlannedChannel]) -> Plan:
        channels = self.by_position(source, places)
        inspected = self._inspect(source, [place.table for place in places])
        return Plan(channels=channels, inspected=inspected, made=())

    def by_position(
        self, source: SourceDescription, places: Sequence[PlannedChannel]
    ) -> tuple[ChannelDescription, ...]:
        channels = [_by_position(place) for place in places]
        for channel in channels:
            self._tables.check_channel(channel)
        for channel in channels:
            source.check_channel(channel)
        return tuple(map(without_columns, channels))

    def channel(
        self, wanted: SyncRequest, place: PlannedChannel, keyed: KeyedTable, made: dict[Table, TargetTable]
    ) -> tuple[ChannelDescription, TargetTable]:
        """With its target, which is in `made` from here on if it does not exist yet.

        Raises SHARDS_REFUSED for what is wrong with one of many.
        """
        cancellation.check()
        table, unique_keys = keyed
        target = place.target or self._made(wanted, place, keyed, made)
        try:
            channel = plan_channel(
                token=str(uuid4()),
                source=table,
                unique_keys=unique_keys,
                target=target,
                items=items(place.written, table.db),
                where=condition(place.written),
                checked=wanted.checked,
                shard=place.shards is not None,
            )
        except SyncError as error:
            if place.shards is None or error.code is Code.SHARDS_REFUSED:
                raise
            raise SyncError(Code.SHARDS_REFUSED, table=table.label, target=target.label, reason=error) from error
        if place.target is not None:
            self._tables.check_channel(channel)
        if wanted.takes_snapshot:
            empty = place.target is None or self._tables.is_empty(target.db, target.name, channel.part)
            with _offering_latest(wanted):
                check_loadable(channel, is_empty=empty)
        return channel, target

    def check_exact_points(self, wanted: SyncRequest, channels: Iterable[ChannelDescription]) -> None:
        """Of those whose targets have no key, all at once. Raises SNAPSHOT_REFUSED."""
        tables = [channel.source for channel in channels if not channel.keys]
        if not wanted.takes_snapshot or not tables:
            return
        with _offering_latest(wanted):
            self._check_exact(wanted.source, tables)

    def _made(
        self, wanted: SyncRequest, place: PlannedChannel, keyed: KeyedTable, made: dict[Table, TargetTable]
    ) -> TargetTable:
        """The target of the first table that needs it is that of all."""
        assert place.found is not None, "only tables that were found have no target yet"
        table, unique_keys = keyed
        home = place.node.target.db or wanted.db, place.node.target.name
        if home not in made:
            _refuse_keyless(wanted, [(place, keyed)])
            found = replace(_target_of(table, unique_keys, place.found, home[0]), name=home[1])
            shared = sharded(found) if place.shards is not None else found
            made[home] = shared if place.spare is None else replace(shared, uuid=place.spare.uuid)
        return made[home]


def _target_of(source: SourceTable, unique_keys: UniqueKeys, found: Found, db: str) -> TargetTable:
    return target_of(source, unique_keys, found, db, FORMAT.reserved_columns)


def _by_position(place: PlannedChannel) -> ChannelDescription:
    assert place.target is not None, "what has no target yet was found by a pattern"
    return plan_positional(
        token=str(uuid4()),
        table=place.table,
        target=place.target,
        items=[item(column) for column in place.node.columns],
        where=condition(place.node),
    )


def _refuse_respelt(places: Sequence[PlannedChannel], inspected: Inspected) -> None:
    """Raises NO_TABLE_MATCHES for a name that the server treats as that of a table with another spelling: the binlog
    has its own.
    """
    for place, found in zip(places, inspected.tables, strict=True):
        if place.table != (found.db, found.name):
            raise SyncError(Code.NO_TABLE_MATCHES, pattern=".".join(place.table), hint=spelt(found.label))


def keyed_tables(inspected: Inspected) -> list[KeyedTable]:
    return list(zip(inspected.tables, inspected.unique_keys, strict=True))


@contextmanager
def _offering_latest(wanted: SyncRequest) -> Iterator[None]:
    """With the advice to go without a snapshot if the statement has a place for it."""
    try:
        yield
    except SyncError as error:
        if error.code is not Code.SNAPSHOT_REFUSED or wanted.source.joins:
            raise
        raise error.saying('; or write "start" = "latest"') from error


def _is_locked(wanted: SyncRequest, place: PlannedChannel, source: SourceTable | None, unique_keys: UniqueKeys) -> bool:
    """Whether its rows are read at an exact point, since its target has no key to identify them."""
    if not wanted.takes_snapshot:
        return False
    if place.target is not None:
        return not place.target.keys
    assert place.found is not None, "only tables that were found have no target yet"
    if source is None or wanted.without_key is not WithoutKey.APPEND:
        return False
    return not _target_of(source, unique_keys, place.found, wanted.db).keys


def _refuse_keyless(wanted: SyncRequest, places: Iterable[tuple[PlannedChannel, KeyedTable]]) -> None:
    """Raises NO_SOURCE_KEY for all tables whose target is to be made and would have no key.

    Of shards the first makes the target of all.
    """
    if wanted.without_key is not WithoutKey.REFUSE:
        return
    labels = [
        table.label
        for place, (table, unique_keys) in places
        if place.found is not None
        and place.target is None
        and not _target_of(table, unique_keys, place.found, wanted.db).keys
    ]
    if labels:
        raise SyncError(
            Code.NO_SOURCE_KEY, tables=", ".join(labels), cure=KEYLESS_JOINS if wanted.source.joins else KEYLESS
        )
