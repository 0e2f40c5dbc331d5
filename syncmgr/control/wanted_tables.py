"""Which tables a statement means, and the target of each.

Owns: what is wrong with the names: duplicate, missing, in use.
Must not know: columns, what is stored, the lives of jobs.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Final

from syncmgr.control.statement_text import (
    check_names,
    databases,
    odd_names,
    pattern_of,
    refuse_twice,
)
from syncmgr.control.sync_request import Inspect, PlannedChannel, PlannedTargets, Survey, SyncRequest, Table
from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.patterns import SERVERS_OWN, DatabasePattern, Found, Pattern
from syncmgr.job.channel.table_pattern import literal
from syncmgr.job.source import Can
from syncmgr.job.types.schema import TargetTable
from syncmgr.job.types.table_rules import check_name
from syncmgr.lake.port import LakeTables
from syncmgr.sources import cancellation
from syncsql import Channel, Name, Shards, Tables, quote_name

OTHERS_SECOND: Final = 300  # a job that has been quiet for longer counts as ended
Described = Callable[[str, str], TargetTable]


class WantedTables:
    """Nothing here changes anything. Blocks as long as source and lake take."""

    def __init__(
        self,
        *,
        catalog: PlannedTargets,
        tables: LakeTables,
        job_of: Callable[[str, str], str | None],
        is_ours: Callable[[str], bool],
        inspect: Inspect,
        survey: Survey,
    ) -> None:
        """`job_of`: the job, not cancelled, that a table is the target of. `is_ours`: whether a channel of that token
        is, or was, one of this frontend. `survey`: the tables of databases.
        """
        self._catalog, self._tables = catalog, tables
        self._job_of, self._is_ours = job_of, is_ours
        self._inspect, self._survey = inspect, survey

    def places(self, wanted: SyncRequest) -> list[PlannedChannel]:
        """Raises what is wrong with the names: duplicate, missing, in use. A target is described once,
        however many tables fill it, and none before the names are known to be good.
        """
        _refuse_servers_own(wanted)
        found = self.found(wanted)
        wishes = self._wishes(wanted, found)
        if not wishes:
            meant = wanted.channels[0].source.sql()
            raise SyncError(Code.NO_TABLE_MATCHES, pattern=meant, hint="; EXCLUDE leaves none of them")
        refuse_twice(f"{wish.node.source.db}.{wish.node.source.name}" for wish in wishes)
        refuse_twice(_filled(wishes, wanted.db))
        homes = {each.target_db for each in wanted.channels if isinstance(each, Tables)}
        homes |= {each.target.db or wanted.db for each in wanted.channels if isinstance(each, Shards)}
        there = {(db, name) for db in homes for name in self._catalog.tables(db)}
        described = cache(self._described)
        places = [self._place(wanted, wish, there, described) for wish in wishes]
        for target in {each.label: each for each in (place.target or place.spare for place in places) if each}.values():
            self._refuse_others(target)
        _refuse_unfit(wanted, places)
        return places

    def _wishes(self, wanted: SyncRequest, found: Mapping[Table, Found]) -> list[PlannedChannel]:
        """A user who does not see a table is told all missing grants at once, those on the other tables included."""
        wishes: list[PlannedChannel] = []
        unseen: list[tuple[Pattern, SyncError]] = []
        for each in wanted.channels:
            cancellation.check()
            try:
                wishes += expanded(each, found)
            except SyncError as error:
                assert not isinstance(each, Channel), "it needs not be found"
                unseen.append((pattern_of(each), error))
        if unseen:
            patterns = [pattern for pattern, _ in unseen]
            raise self._lacking(wanted, wishes, patterns) or unseen[0][1]
        return wishes

    def _lacking(
        self, wanted: SyncRequest, wishes: Iterable[PlannedChannel], unseen: Collection[Pattern]
    ) -> SyncError | None:
        """The missing grants; those on unnamed tables cannot be listed."""
        described = cache(self._described)
        keyless = {wish.table: _is_keyless(wanted, wish, described) for wish in wishes}
        named = [(each.db, each.named) for each in unseen if isinstance(each, DatabasePattern) and each.named]
        tables = list(dict.fromkeys([*keyless, *named]))
        try:
            self._inspect(wanted.source, tables, lambda table, *_: keyless.get(table, False))
        except SyncError as error:
            if error.code is not Code.SOURCE_GRANT_MISSING:
                return None
            return _granting(error, [each for each in unseen if not (isinstance(each, DatabasePattern) and each.named)])
        return None

    def found(self, wanted: SyncRequest) -> Mapping[Table, Found]:
        patterns = {databases(each) for each in wanted.channels if not isinstance(each, Channel)}
        if Can.LIST_TABLES not in wanted.source.can:
            if patterns:
                kind = wanted.source.kind.lower()
                what = f"FROM with a pattern and {kind}, which knows no tables; name each of them"
                raise SyncError(Code.NOT_SUPPORTED, what=what)
            return {}
        patterns |= {literal(db) for db, _ in odd_names(wanted.channels)}
        found = self._survey(wanted.source, sorted(patterns)) if patterns else {}
        check_names(wanted.channels, found)
        return found

    def _described(self, db: str, name: str) -> TargetTable:
        """As the lake has it. Raises INTERRUPTED: this takes milliseconds for each of many."""
        cancellation.check()
        return self._catalog.table(db, name)

    def _place(
        self, wanted: SyncRequest, wish: PlannedChannel, there: Collection[Table], described: Described
    ) -> PlannedChannel:
        node = wish.node
        home = node.target.db or wanted.db
        if wish.found is not None and (home, node.target.name) not in there:
            return wish
        try:
            target = described(home, node.target.name)
        except SyncError as error:
            if self._job_of(home, node.source.name) is not None:
                raise
            raise _with_remedy(error, wanted, node) from error
        if node.partitions is not None:
            names = ", ".join(node.partitions.names)
            raise SyncError(Code.PARTITION_REFUSED, partitions=names, table=target.label)
        owner = self._job_of(target.db, target.name)
        if owner is not None and (wish.shards is None or (target.db, target.name) not in wanted.shared):
            raise SyncError(Code.TARGET_IN_USE, table=target.label, job=owner)
        if wish.found is not None and owner is None and target.is_spare:
            return replace(wish, spare=target)  # the source may have other columns by now
        return replace(wish, target=target)

    def _refuse_others(self, target: TargetTable) -> None:
        """Jobs of a frontend with other metadata are known only by what they write."""
        if all(map(self._is_ours, target.writers)):
            return
        cancellation.check()
        if not all(map(self._is_ours, self._tables.writers(target.db, target.name, OTHERS_SECOND))):
            raise SyncError(Code.TARGET_OF_OTHERS, table=target.label, second=OTHERS_SECOND)


def _is_keyless(wanted: SyncRequest, wish: PlannedChannel, described: Described) -> bool:
    """Whether its rows are read at an exact point, as far as is known before they are seen."""
    try:
        target = described(wish.node.target.db or wanted.db, wish.node.target.name)
    except SyncError as error:
        if error.code is Code.INTERRUPTED:
            raise
        return False
    return wanted.takes_snapshot and not target.keys


def _granting(error: SyncError, unseen: Iterable[Pattern]) -> SyncError:
    """With the grants on databases of which no table shows; which databases a pattern of these means is not known."""
    dbs = list(dict.fromkeys(each.db for each in unseen if isinstance(each, DatabasePattern)))
    grant = ", ".join([str(error.context["grant"]), *(f"SELECT on {db}.*" for db in dbs)])
    more = (f"GRANT SELECT ON {quote_name(db)}.* TO {error.context['account']}" for db in dbs)
    widened = SyncError(
        error.code, **error.context | {"grant": grant, "remedy": "; ".join([str(error.context["remedy"]), *more])}
    )
    if all(isinstance(each, DatabasePattern) for each in unseen):
        return widened
    return widened.saying("; and SELECT on the databases of the pattern, of which no table shows")


def _with_remedy(error: SyncError, wanted: SyncRequest, node: Channel) -> SyncError:
    """For a channel that only names its table, if the rows' types are known before they arrive."""
    plain = not node.columns and node.where is None and Can.LIST_TABLES in wanted.source.can
    if error.code is not Code.NO_SUCH_TABLE or not plain:
        return error
    home = Name(db=node.target.db or wanted.db, name=node.source.name)
    into = f"{quote_name(str(home.db))}.*"
    return error.saying(f"; FROM {node.source.sql()} INTO {into} makes its target, {home.sql()}")


def _refuse_unfit(wanted: SyncRequest, places: Iterable[PlannedChannel]) -> None:
    """Raises BAD_NAME for all tables of a pattern whose name no table of the lake can have."""
    unfit: dict[str, str] = {}
    for place in places:
        if place.found is None or place.target is not None:
            continue
        try:
            check_name(place.node.target.name, "table")
        except SyncError as error:
            unfit[place.node.source.sql()] = str(error.context["reason"])
    if unfit:
        reason = "; ".join(dict.fromkeys(unfit.values()))
        raise SyncError(Code.BAD_NAME, what="table", name=", ".join(unfit), reason=reason).saying(
            _left_out(wanted, unfit)
        )


def _left_out(wanted: SyncRequest, tables: Iterable[str]) -> str:
    rest = "; FROM one of them INTO a target of another name, which exists, takes it"
    if wanted.source.joins:
        return f"; ALTER SYNC JOB ... DROP TABLE leaves out what a pattern of the job means{rest}"
    return f"; write EXCLUDE ({', '.join(tables)}) after the pattern{rest}"


def _refuse_servers_own(wanted: SyncRequest) -> None:
    """Raises NOT_SUPPORTED: the contents of such a database change only by statements, or are not tables at all."""
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
    """Whether it may match more tables than exist."""
    return not isinstance(each, Channel) and not isinstance(each.source, Name)


def expanded(each: Channel | Tables | Shards, found: Mapping[Table, Found]) -> Iterator[PlannedChannel]:
    if isinstance(each, Channel):
        yield PlannedChannel(node=each, target=None)
        return
    for db, name in pattern_of(each).members(found):
        shards = each if isinstance(each, Shards) else None
        target = each.target if isinstance(each, Shards) else Name(db=each.target_db, name=name)
        node = Channel(source=Name(db=db, name=name), target=target)
        yield PlannedChannel(node=node, target=None, found=found[db, name], shards=shards)


def _filled(places: Iterable[PlannedChannel], db: str) -> Iterator[str]:
    """What each place fills; shards fill a part of their target each, which no other channel fills as a whole."""
    shared: set[str] = set()
    for place in places:
        target = f"{place.node.target.db or db}.{place.node.target.name}"
        if place.shards is None or target not in shared:
            yield target
        if place.shards is not None:
            shared.add(target)
            yield f"{target} ({place.node.source.db})"
