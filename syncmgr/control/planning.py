"""What CREATE SYNC means: its channels, held against what the source and the lake have, and the targets that it makes.

Owns: the order of the checks of CREATE SYNC, and what EXPLAIN SYNC says of each.
Must not know: the lives of jobs, what is stored.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final, Protocol
from uuid import uuid4

from syncmgr.control.statement_text import (
    check_names,
    condition,
    databases,
    item,
    items,
    odd_names,
    pattern_of,
    refuse_twice,
)
from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.channel_plan import check_loadable, plan_channel
from syncmgr.job.channel.description import ChannelDescription, quoted
from syncmgr.job.channel.patterns import SERVERS_OWN, DatabasePattern, Found, Pattern, sharded, spelt, target_of
from syncmgr.job.channel.positional import plan_positional, untold
from syncmgr.job.channel.table_pattern import literal
from syncmgr.job.job_properties import WithoutKey
from syncmgr.job.snapshot.chunk import chunk_rows
from syncmgr.job.snapshot.handshake import Locked, UniqueKeys, never
from syncmgr.job.source import Can, SourceDescription
from syncmgr.job.types.schema import SourceTable, TargetTable
from syncmgr.lake.port import LakeTables
from syncmgr.sources import cancellation
from syncmgr.sources.port import Inspected
from syncsql import Channel, Name, Shards, Tables, quote_name

OK: Final = "ok"
LOOKS: Final = 3  # a source may get a table in each moment that a look takes
OTHERS_SECOND: Final = 300  # a job that has been quiet for longer counts as one that ended
Row = tuple[str, str, str, str, str]  # as EXPLAIN_COLUMNS names them
Table = tuple[str, str]
_Told = tuple[SourceTable, tuple[tuple[str, ...], ...]]  # with its unique keys


class Catalog(Protocol):
    """The tables of the lake."""

    def databases(self) -> list[str]: ...
    def tables(self, db: str) -> list[str]: ...
    def table(self, db: str, name: str) -> TargetTable: ...


class Inspect(Protocol):
    """Asks the source."""

    def __call__(self, source: SourceDescription, tables: Sequence[Table], locked: Locked = never, /) -> Inspected: ...


CheckExact = Callable[[SourceDescription, Sequence[SourceTable]], None]
Survey = Callable[[SourceDescription, Sequence[str]], Mapping[Table, Found]]


@dataclass(frozen=True, kw_only=True, slots=True)
class SyncRequest:
    """What a statement asks for, and how its job is to take it. `chunk_rows`: of a snapshot.

    `checked`: each value will be looked at, so that a target may be narrower than its source. `shared`: targets that
    have shards of the same job already.
    """

    db: str
    channels: tuple[Channel | Tables | Shards, ...]
    source: SourceDescription
    without_key: WithoutKey
    chunk_rows: int
    checked: bool = False
    shared: frozenset[Table] = frozenset()

    @property
    def takes_snapshot(self) -> bool:
        return self.source.takes_snapshot


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """`made`: targets that are not there yet; with the uuid of a spare one that is. `has_grown`: there may be more
    tables that are meant.
    """

    channels: tuple[ChannelDescription, ...]
    inspected: Inspected
    made: tuple[TargetTable, ...]
    takes_snapshot: bool = False
    has_grown: bool = False

    @property
    def loading(self) -> frozenset[str]:
        """Tokens of the channels whose rows come by a snapshot first."""
        return frozenset(channel.token for channel in self.channels) if self.takes_snapshot else frozenset()


@dataclass(frozen=True, kw_only=True, slots=True)
class _PlannedChannel:
    """A channel of the statement; `target` None: it is to be made, as `found` says, in the place of `spare`.

    `shards`: what says that the tables of other databases go into the target, too.
    """

    node: Channel
    target: TargetTable | None
    found: Found | None = None
    shards: Shards | None = None
    spare: TargetTable | None = None

    @property
    def table(self) -> Table:
        return str(self.node.source.db), self.node.source.name

    @property
    def written(self) -> Channel | Shards:
        return self.shards or self.node


class Planner:
    """Nothing here changes anything. Blocks for as long as source and lake take."""

    def __init__(
        self,
        *,
        catalog: Catalog,
        tables: LakeTables,
        job_of: Callable[[str, str], str | None],
        is_ours: Callable[[str], bool],
        inspect: Inspect,
        survey: Survey,
        check_exact: CheckExact,
    ) -> None:
        """`job_of`: the job, not cancelled, that a table is the target of. `is_ours`: whether a channel of that token
        is, or was, one of this frontend. `survey`: the tables of databases.

        `check_exact`: raises SNAPSHOT_REFUSED for tables without a key that cannot be read at an exact point.
        """
        self._catalog = catalog
        self._tables = tables
        self._job_of = job_of
        self._is_ours = is_ours
        self._inspect = inspect
        self._survey = survey
        self._check_exact = check_exact

    def check_exact(self, source: SourceDescription, tables: Sequence[SourceTable]) -> None:
        """Whether tables without a key can be read at an exact point. Raises SNAPSHOT_REFUSED."""
        self._check_exact(source, tables)

    def plan(self, wanted: SyncRequest, looks: int = LOOKS) -> Plan:
        """Raises what the first failed check says. `looks`: how often all is looked at where tables come meanwhile."""
        places = self._places(wanted)
        if Can.TELL_TABLES not in wanted.source.can:
            return self._positional(wanted.source, places)
        inspected = self._inspected(wanted, places)
        has_grown = self._has_grown(wanted, places)
        if has_grown and looks > 1:
            return self.plan(wanted, looks - 1)
        _refuse_keyless(wanted, zip(places, _told(inspected), strict=True))
        made: dict[Table, TargetTable] = {}
        planned = [
            self._channel(wanted, place, told, made) for place, told in zip(places, _told(inspected), strict=True)
        ]
        self._check_exact_points(wanted, [channel for channel, _ in planned])
        return Plan(
            channels=tuple(replace(channel, known_at=inspected.known_at) for channel, _ in planned),
            inspected=inspected,
            made=tuple(made.values()),
            takes_snapshot=wanted.takes_snapshot,
            has_grown=has_grown,
        )

    def _has_grown(self, wanted: SyncRequest, places: Sequence[_PlannedChannel]) -> bool:
        """Whether a table came after they were found and before the place in the binlog from which changes are read:
        its statement is before it, and would never be met.
        """
        if not any(map(is_wide, wanted.channels)):
            return False
        found = self._found(wanted)
        meant = {wish.table for each in wanted.channels for wish in _expanded(each, found)}
        return not meant <= {place.table for place in places}

    def _inspected(self, wanted: SyncRequest, places: Sequence[_PlannedChannel]) -> Inspected:
        by_table = {place.table: place for place in places}
        inspected = self._inspect(
            wanted.source,
            list(by_table),
            lambda table, schema, keys: _is_locked(wanted, by_table[table], schema, keys),
        )
        _refuse_respelt(places, inspected)
        return inspected

    def _positional(self, source: SourceDescription, places: Sequence[_PlannedChannel]) -> Plan:
        channels = self._by_position(source, places)
        inspected = self._inspect(source, [place.table for place in places])
        return Plan(channels=channels, inspected=inspected, made=())

    def _by_position(
        self, source: SourceDescription, places: Sequence[_PlannedChannel]
    ) -> tuple[ChannelDescription, ...]:
        channels = [_by_position(place) for place in places]
        for channel in channels:
            self._tables.check_channel(channel)
        for channel in channels:
            source.check_channel(channel)
        return tuple(map(untold, channels))

    def _channel(
        self, wanted: SyncRequest, place: _PlannedChannel, told: _Told, made: dict[Table, TargetTable]
    ) -> tuple[ChannelDescription, TargetTable]:
        """With its target, which is in `made` from here on if it is not there yet.

        Raises SHARDS_REFUSED for what is wrong with one of many.
        """
        cancellation.check()
        table, unique_keys = told
        target = place.target or self._made(wanted, place, told, made)
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

    def _check_exact_points(self, wanted: SyncRequest, channels: Iterable[ChannelDescription]) -> None:
        """Of those whose targets have no key, all at once. Raises SNAPSHOT_REFUSED."""
        tables = [channel.source for channel in channels if not channel.keys]
        if not wanted.takes_snapshot or not tables:
            return
        with _offering_latest(wanted):
            self._check_exact(wanted.source, tables)

    def _made(
        self, wanted: SyncRequest, place: _PlannedChannel, told: _Told, made: dict[Table, TargetTable]
    ) -> TargetTable:
        """The target of the first table that needs it is that of all."""
        assert place.found is not None, "only tables that were found have no target yet"
        table, unique_keys = told
        home = place.node.target.db or wanted.db, place.node.target.name
        if home not in made:
            _refuse_keyless(wanted, [(place, told)])
            found = replace(target_of(table, unique_keys, place.found, home[0]), name=home[1])
            shared = sharded(found) if place.shards is not None else found
            made[home] = shared if place.spare is None else replace(shared, uuid=place.spare.uuid)
        return made[home]

    # -- which tables

    def _places(self, wanted: SyncRequest) -> list[_PlannedChannel]:
        """Raises what is wrong with the names: twice, not there, in use."""
        _refuse_servers_own(wanted)
        found = self._found(wanted)
        wishes = [wish for each in wanted.channels for wish in self._meant(wanted, each, found)]
        refuse_twice(f"{wish.node.source.db}.{wish.node.source.name}" for wish in wishes)
        homes = {each.target_db for each in wanted.channels if isinstance(each, Tables)}
        homes |= {each.target.db or wanted.db for each in wanted.channels if isinstance(each, Shards)}
        there = {(db, name) for db in homes for name in self._catalog.tables(db)}
        places = [self._place(wanted, wish, there) for wish in wishes]
        refuse_twice(_filled(places, wanted.db))
        return places

    def _meant(
        self, wanted: SyncRequest, each: Channel | Tables | Shards, found: Mapping[Table, Found]
    ) -> list[_PlannedChannel]:
        """Of a user who sees no table all that is lacking is told at once."""
        try:
            return list(_expanded(each, found))
        except SyncError as unseen:
            lacking = self._lacking(wanted, pattern_of(each)) if not isinstance(each, Channel) else None
            raise (lacking or unseen) from unseen

    def _lacking(self, wanted: SyncRequest, pattern: Pattern) -> SyncError | None:
        """The grants that are missing; those on tables that nobody has named cannot be asked for."""
        named, where = [], "the databases of the pattern"
        if isinstance(pattern, DatabasePattern):
            named, where = [(pattern.db, pattern.named)] if pattern.named is not None else [], f"`{pattern.db}`.*"
        try:
            self._inspect(wanted.source, named)
        except SyncError as error:
            if error.code is not Code.SOURCE_GRANT_MISSING:
                return None
            return error if named else error.saying(f"; and SELECT on {where}, of which no table shows")
        return None

    def _found(self, wanted: SyncRequest) -> Mapping[Table, Found]:
        patterns = {databases(each) for each in wanted.channels if not isinstance(each, Channel)}
        if Can.TELL_TABLES not in wanted.source.can:
            if patterns:
                kind = wanted.source.kind.lower()
                what = f"FROM with a pattern and {kind}, which knows no tables; name each of them"
                raise SyncError(Code.NOT_SUPPORTED, what=what)
            return {}
        patterns |= {literal(db) for db, _ in odd_names(wanted.channels)}
        found = self._survey(wanted.source, sorted(patterns)) if patterns else {}
        check_names(wanted.channels, found)
        return found

    def _place(self, wanted: SyncRequest, wish: _PlannedChannel, there: Collection[Table]) -> _PlannedChannel:
        node = wish.node
        home = node.target.db or wanted.db
        if wish.found is not None and (home, node.target.name) not in there:
            return wish
        try:
            target = self._catalog.table(home, node.target.name)
        except SyncError as error:
            if self._job_of(home, node.source.name) is not None:
                raise
            raise _told_how_to_make(error, wanted, node) from error
        if node.partitions is not None:
            names = ", ".join(node.partitions.names)
            raise SyncError(Code.PARTITION_REFUSED, partitions=names, table=target.label)
        owner = self._job_of(target.db, target.name)
        if owner is not None and (wish.shards is None or (target.db, target.name) not in wanted.shared):
            raise SyncError(Code.TARGET_IN_USE, table=target.label, job=owner)
        self._refuse_others(target)
        if wish.found is not None and owner is None and target.is_spare:
            return replace(wish, spare=target)  # the source may have other columns by now
        return replace(wish, target=target)

    def _refuse_others(self, target: TargetTable) -> None:
        """Jobs of a frontend with other metadata are known by what they write alone."""
        if all(map(self._is_ours, target.writers)):
            return
        if not all(map(self._is_ours, self._tables.writers(target.db, target.name, OTHERS_SECOND))):
            raise SyncError(Code.TARGET_OF_OTHERS, table=target.label, second=OTHERS_SECOND)

    # -- EXPLAIN SYNC

    def explain(self, wanted: SyncRequest, taken: SyncError | None = None) -> list[Row]:
        """Every check with its outcome, table by table; one that fails does not hide those of other tables.

        `taken`: why the source has no place for one more reader.
        """
        try:
            places = self._places(wanted)
        except SyncError as error:
            return [_row("", "", "tables", "", error)]
        if Can.TELL_TABLES not in wanted.source.can:
            return self._explain_by_position(wanted.source, places, taken)
        rows = [*self._explain_server(wanted, places)]
        if rows[0][-1] != OK:
            return rows
        told = self._survey(wanted.source, sorted({literal(place.table[0]) for place in places}))
        made: dict[Table, TargetTable] = {}
        for place, inspected in zip(places, self._each(wanted, places), strict=True):
            rows += self._explain_table(wanted, place, inspected, told.get(place.table), made)
        return rows

    def _each(self, wanted: SyncRequest, places: Sequence[_PlannedChannel]) -> Sequence[_Told | SyncError]:
        """All at once, and where that fails one by one."""
        try:
            return _told(self._inspected(wanted, places))
        except SyncError as error:
            return [error] if len(places) == 1 else [each for one in places for each in self._each(wanted, [one])]

    def _explain_by_position(
        self, source: SourceDescription, places: Sequence[_PlannedChannel], taken: SyncError | None
    ) -> list[Row]:
        """Of no table is the source asked: that may take something from whoever reads it."""
        try:
            if taken is not None:
                raise taken
            channels = self._by_position(source, places)
            self._inspect(source, [])
        except SyncError as error:
            return [_row("", "", "source", source.address, error)]
        return [
            _row("", "", "source", source.address),
            *(
                row
                for channel, place in zip(channels, places, strict=True)
                for row in _explain_channel(channel, place.target, "exists")
            ),
        ]

    def _explain_server(self, wanted: SyncRequest, places: Sequence[_PlannedChannel]) -> Iterator[Row]:
        """What is wrong with the server, or with the grants for it and all of the tables."""
        address = wanted.source.address
        try:
            start = self._inspect(wanted.source, []).start
        except SyncError as error:
            yield _row("", "", "source", address, self._with_tables(error, wanted, places))
            return
        yield _row("", "", "source", address)
        yield _row("", "", "start", start.gtids or f"{start.file}:{start.offset}")

    def _with_tables(self, error: SyncError, wanted: SyncRequest, places: Sequence[_PlannedChannel]) -> SyncError:
        if error.code is not Code.SOURCE_GRANT_MISSING:
            return error
        try:
            self._inspected(wanted, places)
        except SyncError as found:
            return found if found.code is error.code else error
        return error

    def _explain_table(
        self,
        wanted: SyncRequest,
        place: _PlannedChannel,
        inspected: _Told | SyncError,
        told: Found | None,
        made: dict[Table, TargetTable],
    ) -> Iterator[Row]:
        source, target = ".".join(place.table), f"{place.node.target.db or wanted.db}.{place.node.target.name}"
        try:
            if isinstance(inspected, SyncError):
                raise inspected
            channel, home = self._channel(wanted, place, inspected, made)
            self._check_exact_points(wanted, [channel])
        except SyncError as error:
            yield _row(source, target, "check", "", error)
            return
        yield from _explain_channel(channel, home, "is created" if place.target is None else "exists")
        if told is not None and wanted.takes_snapshot:
            size = chunk_rows(told.rows, wanted.chunk_rows, told.bytes // max(told.rows, 1))
            yield _row(source, target, "rows", f"about {told.rows}")
            yield _row(source, target, "bytes", f"about {told.bytes}")
            yield _row(source, target, "chunks", f"about {max(-(-told.rows // size), 1)}")


def _by_position(place: _PlannedChannel) -> ChannelDescription:
    assert place.target is not None, "what has no target yet was found by a pattern"
    return plan_positional(
        token=str(uuid4()),
        table=place.table,
        target=place.target,
        items=[item(column) for column in place.node.columns],
        where=condition(place.node),
    )


def _refuse_respelt(places: Sequence[_PlannedChannel], inspected: Inspected) -> None:
    """Raises NO_TABLE_MATCHES for a name that the server takes for that of a table which it calls otherwise: the binlog
    has its own.
    """
    for place, found in zip(places, inspected.tables, strict=True):
        if place.table != (found.db, found.name):
            raise SyncError(Code.NO_TABLE_MATCHES, pattern=".".join(place.table), hint=spelt(found.label))


def _told(inspected: Inspected) -> list[_Told]:
    return list(zip(inspected.tables, inspected.unique_keys, strict=True))


@contextmanager
def _offering_latest(wanted: SyncRequest) -> Iterator[None]:
    """With the way without a snapshot where the statement has a place for it."""
    try:
        yield
    except SyncError as error:
        if error.code is not Code.SNAPSHOT_REFUSED or wanted.source.joins:
            raise
        raise error.saying('; or write "start" = "latest"') from error


def _is_locked(
    wanted: SyncRequest, place: _PlannedChannel, source: SourceTable | None, unique_keys: UniqueKeys
) -> bool:
    """Whether its rows are read at an exact point, since its target has no key to tell them by."""
    if not wanted.takes_snapshot:
        return False
    if place.target is not None:
        return not place.target.keys
    assert place.found is not None, "only tables that were found have no target yet"
    if source is None or wanted.without_key is not WithoutKey.APPEND:
        return False
    return not target_of(source, unique_keys, place.found, wanted.db).keys


def _told_how_to_make(error: SyncError, wanted: SyncRequest, node: Channel) -> SyncError:
    """Of a channel that asks for nothing but its table, where the rows' types are known before they come."""
    plain = not node.columns and node.where is None and Can.TELL_TABLES in wanted.source.can
    if error.code is not Code.NO_SUCH_TABLE or not plain:
        return error
    home = Name(db=node.target.db or wanted.db, name=node.source.name)
    into = f"{quote_name(str(home.db))}.*"
    return error.saying(f"; FROM {node.source.sql()} INTO {into} makes its target, {home.sql()}")


def _refuse_keyless(wanted: SyncRequest, places: Iterable[tuple[_PlannedChannel, _Told]]) -> None:
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
        and not target_of(table, unique_keys, place.found, wanted.db).keys
    ]
    if labels:
        raise SyncError(Code.NO_SOURCE_KEY, tables=", ".join(labels))


def _refuse_servers_own(wanted: SyncRequest) -> None:
    """Raises NOT_SUPPORTED: what is in such a database changes by statements alone, or is no table at all."""
    for each in wanted.channels:
        pattern = None if isinstance(each, Channel) else pattern_of(each)
        db = (
            each.source.db
            if isinstance(each, Channel)
            else pattern.db
            if isinstance(pattern, DatabasePattern)
            else None
        )
        if db in SERVERS_OWN:
            what = f"FROM {db}, which is the server's own: its rows change without events in the binlog"
            raise SyncError(Code.NOT_SUPPORTED, what=what)


def is_wide(each: Channel | Tables | Shards) -> bool:
    """Whether it may mean more tables than there are."""
    return not isinstance(each, Channel) and not isinstance(each.source, Name)


def _expanded(each: Channel | Tables | Shards, found: Mapping[Table, Found]) -> Iterator[_PlannedChannel]:
    if isinstance(each, Channel):
        yield _PlannedChannel(node=each, target=None)
        return
    for db, name in pattern_of(each).members(found):
        shards = each if isinstance(each, Shards) else None
        target = each.target if isinstance(each, Shards) else Name(db=each.target_db, name=name)
        node = Channel(source=Name(db=db, name=name), target=target)
        yield _PlannedChannel(node=node, target=None, found=found[db, name], shards=shards)


def _filled(places: Iterable[_PlannedChannel], db: str) -> Iterator[str]:
    """What each place fills; shards a part of their target each, which nobody else fills as a whole."""
    shared: set[str] = set()
    for place in places:
        target = f"{place.node.target.db or db}.{place.node.target.name}"
        if place.shards is None or target not in shared:
            yield target
        if place.shards is not None:
            shared.add(target)
            yield f"{target} ({place.node.source.db})"


def _explain_channel(channel: ChannelDescription, target: TargetTable | None, state: str) -> Iterator[Row]:
    assert target is not None, "it is there, or is made"
    names = channel.source.label, f"{channel.target_db}.{channel.target}"
    yield _row(*names, "target", state)
    yield _row(*names, "key", ", ".join(channel.keys) or "none: rows are appended")
    yield _row(*names, "columns", ", ".join(_mapped(channel, target)))
    if channel.where is not None:
        yield _row(*names, "where", channel.where)
    yield _row(*names, "check", "types, keys and grants")


def _mapped(channel: ChannelDescription, target: TargetTable) -> Iterator[str]:
    """Each target column with its type, and the expression, or the type of the source column of its name."""
    for column in channel.columns:
        kind, origin = target.column(column.target), channel.source.column(column.target)
        plain = origin is not None and column.expression == quoted(origin.name)
        said = origin.text if plain and origin is not None else column.expression
        yield f"{column.target} {'' if kind is None else kind.type.text} = {said}"


def _row(source: str, target: str, what: str, value: str, error: SyncError | None = None) -> Row:
    return source, target, what, value, OK if error is None else f"{error} (error {error.code.number})"
