"""What CREATE SYNC would do, check by check.

Owns: what EXPLAIN SYNC says of each check.
Must not know: what a check queries, what is stored.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from syncmgr.control.planning import Planner, keyed_tables
from syncmgr.control.sync_request import Inspect, KeyedTable, PlannedChannel, Survey, SyncRequest, Table
from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.description import ChannelDescription, quoted
from syncmgr.job.channel.patterns import Found
from syncmgr.job.channel.table_pattern import literal
from syncmgr.job.snapshot.chunk import chunk_rows
from syncmgr.job.source import Can, SourceDescription
from syncmgr.job.types.schema import TargetTable

OK: Final = "ok"
Row = tuple[str, str, str, str, str]  # as EXPLAIN_COLUMNS names them


class Explanation:
    """Nothing here changes anything. Blocks as long as source and lake take."""

    def __init__(self, planner: Planner, inspect: Inspect, survey: Survey) -> None:
        self._planner, self._inspect, self._survey = planner, inspect, survey

    def explain(self, wanted: SyncRequest, taken: SyncError | None = None) -> list[Row]:
        """Every check with its outcome, table by table; one that fails does not hide those of other tables.

        `taken`: why the source has no room for another reader.
        """
        try:
            places = self._planner.wanted_tables.places(wanted)
        except SyncError as error:
            return [_row("", "", "tables", "", error)]
        if Can.LIST_TABLES not in wanted.source.can:
            return self._explain_by_position(wanted.source, places, taken)
        rows = [*self._explain_server(wanted, places)]
        if rows[0][-1] != OK:
            return rows
        surveyed = self._survey(wanted.source, sorted({literal(place.table[0]) for place in places}))
        made: dict[Table, TargetTable] = {}
        for place, inspected in zip(places, self._each(wanted, places), strict=True):
            rows += self._explain_table(wanted, place, inspected, surveyed.get(place.table), made)
        return rows

    def _each(self, wanted: SyncRequest, places: Sequence[PlannedChannel]) -> Sequence[KeyedTable | SyncError]:
        """All at once, and if that fails, one by one."""
        try:
            return keyed_tables(self._planner.inspected(wanted, places))
        except SyncError as error:
            return [error] if len(places) == 1 else [each for one in places for each in self._each(wanted, [one])]

    def _explain_by_position(
        self, source: SourceDescription, places: Sequence[PlannedChannel], taken: SyncError | None
    ) -> list[Row]:
        """Does not query the source about tables: that may take data from its present reader."""
        try:
            if taken is not None:
                raise taken
            channels = self._planner.by_position(source, places)
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

    def _explain_server(self, wanted: SyncRequest, places: Sequence[PlannedChannel]) -> Iterator[Row]:
        """What is wrong with the server, or with the grants for it and for all tables."""
        address = wanted.source.address
        try:
            start = self._inspect(wanted.source, []).start
        except SyncError as error:
            yield _row("", "", "source", address, self._with_tables(error, wanted, places))
            return
        yield _row("", "", "source", address)
        yield _row("", "", "start", start.gtids or f"{start.file}:{start.offset}")

    def _with_tables(self, error: SyncError, wanted: SyncRequest, places: Sequence[PlannedChannel]) -> SyncError:
        if error.code is not Code.SOURCE_GRANT_MISSING:
            return error
        try:
            self._planner.inspected(wanted, places)
        except SyncError as found:
            return found if found.code is error.code else error
        return error

    def _explain_table(
        self,
        wanted: SyncRequest,
        place: PlannedChannel,
        inspected: KeyedTable | SyncError,
        surveyed: Found | None,
        made: dict[Table, TargetTable],
    ) -> Iterator[Row]:
        source, target = ".".join(place.table), f"{place.node.target.db or wanted.db}.{place.node.target.name}"
        try:
            if isinstance(inspected, SyncError):
                raise inspected
            channel, home = self._planner.channel(wanted, place, inspected, made)
            self._planner.check_exact_points(wanted, [channel])
        except SyncError as error:
            yield _row(source, target, "check", "", error)
            return
        yield from _explain_channel(channel, home, "is created" if place.target is None else "exists")
        if surveyed is not None and wanted.takes_snapshot:
            size = chunk_rows(surveyed.rows, wanted.chunk_rows, surveyed.bytes // max(surveyed.rows, 1))
            yield _row(source, target, "rows", f"about {surveyed.rows}")
            yield _row(source, target, "bytes", f"about {surveyed.bytes}")
            yield _row(source, target, "chunks", f"about {max(-(-surveyed.rows // size), 1)}")


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
        text = origin.text if plain and origin is not None else column.expression
        yield f"{column.target} {'' if kind is None else kind.type.text} = {text}"


def _row(source: str, target: str, what: str, value: str, error: SyncError | None = None) -> Row:
    return source, target, what, value, OK if error is None else f"{error} (error {error.code.number})"
