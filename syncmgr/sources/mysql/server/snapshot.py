"""What a snapshot queries from a server besides the rows: where to cut a table, where the binlog ends, what it still
holds.

Owns: the queries, and a key's values as literals that only the server compares.
Must not know: who reads the chunks, what is done with them, jobs.
"""

import contextlib
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final
from uuid import uuid4

from syncmgr.errors import Code, SyncError
from syncmgr.job.channel import channel_state
from syncmgr.job.position import GtidSet, Order, Position, compare, parse_gtids
from syncmgr.job.snapshot.chunk import Bound, ChunkPlan, beyond, chunk_rows, even_bounds, is_dense
from syncmgr.job.snapshot.select_list import quoted as quoted_column
from syncmgr.job.types.folding import folded_name
from syncmgr.job.types.schema import INTEGER_BITS, SourceColumn, SourceTable
from syncmgr.sources.mysql.address import (
    Connection,
    Identity,
    MysqlAddress,
    naming_failures,
    query,
    refuse_other,
    unreachable,
)
from syncmgr.sources.mysql.chunk.chunks import MOST_ROW, MysqlChunks
from syncmgr.sources.mysql.server.exact_point import ExactPoint, await_writers
from syncmgr.sources.mysql.server.replica import check_reaches
from syncmgr.sources.mysql.server.server import Server, identity_of
from syncmgr.sources.mysql.server.tables import quoted, schema_of, unique_keys
from syncmgr.sources.mysql.sessions import Sessions
from syncmgr.sources.mysql.wire import FIRST_OFFSET
from syncmgr.sources.mysql.xid import prepared

AS_CHUNKS_READ: Final = "SET SESSION time_zone = '+00:00', sql_mode = ''"
AS_TEXT: Final = frozenset({"date", "datetime", "timestamp"})
AS_BYTES: Final = frozenset({"char", "varchar", "binary", "varbinary"})
GONE: Final = (
    "it is not there under that name; a statement that renamed or dropped it is followed when it is read from the "
    "binlog; if there was none, the job's user may not read it: grant SELECT on it"
)
CUTS: Final = 5  # of a table whose collations change meanwhile
HOUR: Final = 3600.0
XIDS_SHOWN: Final = 3
SHOWN_SECOND: Final = 10.0  # between the binlog of a transaction and its end in the engine
SHOWN_STEP_SECOND: Final = 0.02
REACHED: Final = frozenset({Order.SAME, Order.AFTER})


class MysqlSnapshot:
    """Each query has a connection of its own; they are rare.

    All raise SOURCE_UNREACHABLE and SOURCE_ACCESS_DENIED.
    """

    def __init__(
        self, addresses: Sequence[MysqlAddress], replica: MysqlAddress | None = None, most_row: int = MOST_ROW
    ) -> None:
        """`replica`: where tables are cut and read, instead of the source. `most_row`: bytes of one."""
        self._addresses = tuple(addresses)
        self._address = self._addresses[0]
        self._replica = replica
        self._most_row = most_row
        self._identity: Identity | None = None  # of the source that was settled on
        self._sessions = Sessions()

    def give_up(self) -> None:
        """All present and future queries end with INTERRUPTED. Returns at once."""
        self._sessions.give_up()

    def settle(self, start: Position) -> MysqlChunks:
        """Of the server whose rows are read: the one at which the job began, which is queried from now on, or its
        replica.

        Another one may be behind the start: what it lacks would come neither from its rows nor from the binlog. The
        same for what the binlog has before a SELECT shows it, so we wait a moment.
        """
        error = None
        for address in self._addresses:
            self._address = address
            try:
                with self._connected() as connection:
                    server = Server(address, connection)
                    found = server.id == start.server
                    if found and self._replica is None:
                        await_shown(address, server, start)
                if found:
                    self._identity = identity_of(server)
                    return self._reader(start, self._identity)
            except SyncError as failed:
                error = failed
                continue
            error = unreachable(address, f"it is not the server at which the job began, {start.server}")
        assert error is not None, "there is at least one address"
        raise error

    def await_seen(self, table: SourceTable, start: Position) -> None:
        """Waits until a SELECT shows everything that the binlog has of a table up to a place that is known only by
        file.

        A writer of the table prevents others from locking it until its transaction has ended in the engine, too.
        Raises SNAPSHOT_REFUSED, SNAPSHOT_WAITS, SNAPSHOT_BROKEN.
        """
        if start.gtids or start.offset <= FIRST_OFFSET:
            return
        with self._connected() as connection:
            await_writers(self._address, connection, table)

    def _reader(self, start: Position, identity: Identity) -> MysqlChunks:
        if self._replica is not None:
            identity = check_reaches(self._replica, start, self._address)
        return MysqlChunks(self._replica or self._address, self._most_row, identity)

    def plan(self, table: SourceTable, key: Sequence[str], wanted_rows: int, where: str = "") -> ChunkPlan:
        """How to cut a table whose target key has these columns. `wanted_rows`: of a chunk. `where`: of the rows that
        are estimated, in MySQL's words; "": all.

        Raises SNAPSHOT_BROKEN if the table is missing.
        """
        with self._connected(self._replica) as connection:
            return _Planning(connection, table, key, wanted_rows).plan(where)

    def end(self) -> Position:
        """The place after every transaction that a SELECT has shown so far."""
        with self._connected() as connection:
            if self._identity is not None:
                refuse_other(self._address, connection, self._identity)
            return Server(self._address, connection).latest()

    @contextlib.contextmanager
    def exact(self, table: SourceTable, name: str, known: Collection[str]) -> Iterator[ExactPoint]:
        """The handshake with the reader of a table by the statements of job/snapshot/handshake.py.

        `known`: XA transactions whose prepared rows were read without those of this table: these would come neither
        with its rows nor with their commit. MySQL keeps the table locked until they end, MariaDB does not. Raises
        SNAPSHOT_WAITS.
        """
        with self._sessions.open(self._address) as connection:
            if known and Server(self._address, connection).mariadb:
                _refuse_prepared(table, set(prepared(connection, mariadb=True)) & set(known))
            yield ExactPoint(self._address, connection, table, name)

    def check_same(self, tables: Sequence[tuple[SourceTable, Sequence[str]]]) -> None:
        """Raises SNAPSHOT_BROKEN if a wanted column is no longer what it was when the job was created."""
        for address in (self._replica, self._address) if self._replica else (self._address,):
            with self._connected(address) as connection:
                for table, wanted in tables:
                    _check_same(connection, table, wanted)

    def check_held(self, start: Position) -> float | None:
        """Hours for which the server keeps its binlog, None: until it is purged.

        Raises SOURCE_POSITION_LOST if it no longer reaches back to `start`.
        """
        with self._connected() as connection:
            server = Server(self._address, connection)
            reason = purged(connection, server, start)
            if reason is not None:
                shown = start.gtids or f"{start.file}:{start.offset}"
                address = self._address.label
                raise SyncError(Code.SOURCE_POSITION_LOST, position=shown, address=address, reason=reason)
            return kept_hours(connection)

    @contextlib.contextmanager
    def _connected(self, address: MysqlAddress | None = None) -> Iterator[Connection]:
        """To the source, if no other is given."""
        asked = address or self._address
        with self._sessions.open(asked) as connection, naming_failures(asked):
            query(connection, AS_CHUNKS_READ)
            yield connection


def _refuse_prepared(table: SourceTable, xids: Collection[str]) -> None:
    if xids:
        reason = f"XA transactions are prepared that began before it joined: {', '.join(sorted(xids)[:XIDS_SHOWN])}"
        raise SyncError(Code.SNAPSHOT_WAITS, table=table.label, reason=reason)


def await_shown(address: MysqlAddress, server: Server, start: Position) -> None:
    """Waits until every SELECT shows everything up to there. Without GTIDs CREATE SYNC has chosen a start for which
    that is true.
    """
    if not start.gtids:
        return
    deadline = time.monotonic() + SHOWN_SECOND
    while compare(_bare(server.latest_shown() if server.mariadb else server.latest()), _bare(start)) not in REACHED:
        if time.monotonic() > deadline:
            raise unreachable(address, f"what its binlog has up to {start.gtids} is not visible yet")
        time.sleep(SHOWN_STEP_SECOND)


def _bare(position: Position) -> Position:
    return Position(gtids=position.gtids)


class _Planning:
    """One table's."""

    def __init__(self, connection: Connection, table: SourceTable, key: Sequence[str], wanted_rows: int) -> None:
        self._connection = connection
        self._table = table
        self._name = quoted((table.db, table.name))
        self._wanted_key = key
        self._wanted_rows = wanted_rows
        self._collations: dict[str, tuple[str, str]] = {}

    def plan(self, where: str) -> ChunkPlan:
        if schema_of(self._connection, (self._table.db, self._table.name)) is None:
            raise broken(self._table, GONE, **{channel_state.GONE: True})
        rows = self._estimated(f" WHERE {where}" if where else "")
        for _ in range(CUTS):
            key, self._collations = self._key(), self._asked_collations()
            bounds = tuple(self._bounds(key, rows))
            if self._asked_collations() == self._collations:
                return ChunkPlan(id=uuid4().hex[:12], key=tuple(c.name for c in key), bounds=bounds, rows=rows)
        raise broken(self._table, "its collations change again and again", **{channel_state.ALTERED: True})

    def _asked_collations(self) -> dict[str, tuple[str, str]]:
        """Charset and collation by text column, folded."""
        rows = query(
            self._connection,
            "SELECT COLUMN_NAME name, CHARACTER_SET_NAME charset, COLLATION_NAME collation"
            " FROM information_schema.COLUMNS"
            " WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s AND COLLATION_NAME IS NOT NULL",
            *(self._table.db, self._table.name),
        )
        return {folded_name(row["name"]): (row["charset"], row["collation"]) for row in rows}

    def _estimated(self, where: str) -> int:
        """By the statistics that the optimizer has now; those of information_schema may be a day old."""
        plan = query(self._connection, f"EXPLAIN FORMAT=TRADITIONAL SELECT 1 FROM {self._name}{where}")  # noqa: S608 - quoted
        return int(plan[0]["rows"] or 0)

    def _row_bytes(self) -> int:
        rows = query(
            self._connection,
            "SELECT AVG_ROW_LENGTH size FROM information_schema.TABLES WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s",
            *(self._table.db, self._table.name),
        )
        return int(rows[0]["size"] or 0) if rows else 0

    def _key(self) -> tuple[SourceColumn, ...]:
        """A unique key inside of the target's key, of types with literals; none: the table stays whole."""
        folded = {folded_name(name) for name in self._wanted_key}
        for names in unique_keys(self._connection, (self._table.db, self._table.name)):
            columns = [column for name in names if (column := self._table.column(name)) is not None]
            fits = len(columns) == len(names) and {folded_name(name) for name in names} <= folded
            if fits and all(_selectable(column) is not None for column in columns):
                return tuple(columns)
        return ()

    def _bounds(self, key: tuple[SourceColumn, ...], rows: int) -> Iterator[Bound]:
        if not key:
            return
        size = chunk_rows(rows, self._wanted_rows, self._row_bytes())
        if len(key) == 1 and key[0].type in INTEGER_BITS:
            low, high = self._ends(key[0])
            if low is None or high is None or high - low < size:
                return
            if is_dense(low, high, rows):
                yield from ((str(bound),) for bound in even_bounds(low, high, -(-rows // size)))
                return
        yield from self._walked(key, size)

    def _ends(self, column: SourceColumn) -> tuple[int | None, int | None]:
        name = quoted_column(column.name)
        row = query(self._connection, f"SELECT MIN({name}) low, MAX({name}) high FROM {self._name}")[0]  # noqa: S608 - quoted
        return row["low"], row["high"]

    def _walked(self, key: tuple[SourceColumn, ...], size: int) -> Iterator[Bound]:
        """Every `size`-th row of the index, each searched after the one before."""
        names = [quoted_column(column.name) for column in key]
        items = ", ".join(f"{_selectable(column)} v{place}" for place, column in enumerate(key))
        order = ", ".join(names)
        where = ""
        while True:
            text = f"SELECT {items} FROM {self._name}{where} ORDER BY {order} LIMIT 1 OFFSET {size - 1}"  # noqa: S608 - quoted
            found = query(self._connection, text)
            if not found:
                return
            bound = tuple(self._literal(column, found[0][f"v{place}"]) for place, column in enumerate(key))
            yield bound
            where = f" WHERE {beyond(names, bound)}"

    def _literal(self, column: SourceColumn, value: Any) -> str:  # noqa: ANN401 - whatever type the driver returns
        """Text stays in its own charset and is compared by the collation that the key has now, even after an ALTER:
        by another one, rows would be in two chunks, or in none.
        """
        if column.type in AS_BYTES:
            known = self._collations.get(folded_name(column.name))
            return f"x'{value}'" if known is None else f"_{known[0]} x'{value}' COLLATE {known[1]}"
        if column.type in AS_TEXT:
            return f"'{value}'"
        return f"{value:f}" if column.type == "decimal" else str(value)


def _selectable(column: SourceColumn) -> str | None:
    """The form in which a key's value is queried; None for types that compare differently from their literals."""
    name = quoted_column(column.name)
    if column.type in INTEGER_BITS or column.type == "decimal":
        return name
    if column.type in AS_TEXT:
        return f"CAST({name} AS CHAR)"
    return f"HEX({name})" if column.type in AS_BYTES else None


def broken(table: SourceTable, reason: str, **facts: bool) -> SyncError:
    return SyncError(Code.SNAPSHOT_BROKEN, table=table.label, reason=reason, **facts)


def _check_same(connection: Connection, table: SourceTable, wanted: Sequence[str]) -> None:
    now = schema_of(connection, (table.db, table.name))
    if now is None:
        raise broken(table, GONE, **{channel_state.GONE: True})
    for name in wanted:
        before, after = table.column(name), now.column(name)
        if before is None or after is None or not _is_same(before, after):
            was, now_is = _difference(before, after), _difference(after, before)
            raise broken(table, f"column '{name}' was {was} and is {now_is}", **{channel_state.ALTERED: True})


def _is_same(before: SourceColumn, after: SourceColumn) -> bool:
    """Except for a charset that the statement that created the column left to the server."""
    return before == (after if before.charset is not None else replace(after, charset=None))


def _difference(column: SourceColumn | None, other: SourceColumn | None) -> str:
    """With what the type does not show, if the types are the same."""
    if column is None:
        return "gone"
    if other is None or column.text != other.text:
        return column.text
    charset = f" CHARACTER SET {column.charset}" if column.charset else ""
    return f"{column.text}{charset}{'' if column.nullable else ' NOT NULL'}"


def purged(connection: Connection, server: Server, start: Position) -> str | None:
    """Why the binlog does not reach back to a position."""
    if start.gtids and not server.mariadb:
        purged = query(connection, "SELECT @@global.gtid_purged gtids")[0]["gtids"]
        held = parse_gtids(start.gtids)
        assert isinstance(held, GtidSet)
        left = GtidSet.parse(purged).subtract(held)
        return f"the server has purged {left}" if left else None
    if not start.file or start.server != server.id:
        return None
    files = {str(row["Log_name"]) for row in query(connection, "SHOW BINARY LOGS")}
    return None if start.file in files else f"the server has purged {start.file}"


def kept_hours(connection: Connection) -> float | None:
    """For how long the server keeps its binlog; None: until it is purged by a statement."""
    names = "'binlog_expire_logs_seconds', 'expire_logs_days', 'binlog_expire_logs_auto_purge'"
    rows = query(connection, f"SHOW GLOBAL VARIABLES WHERE Variable_name IN ({names})")
    found = {row["Variable_name"]: row["Value"] for row in rows}
    if found.get("binlog_expire_logs_auto_purge") == "OFF":
        return None
    seconds = (
        float(found.get("binlog_expire_logs_seconds") or 0) or float(found.get("expire_logs_days") or 0) * 24 * HOUR
    )
    return seconds / HOUR or None
