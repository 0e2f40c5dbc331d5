"""What CREATE SYNC queries from a server before a job may read it.

Owns: the queries, and the error of each bad answer.
Must not know: jobs, targets, how the stream is read.
"""

import re
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Final

from pymysql import err

from syncmgr.errors import Code, SyncError
from syncmgr.job.ddl.ddl import Table
from syncmgr.job.objects.surroundings import MERGE
from syncmgr.job.position import MariadbGtids, Position, parse_gtids
from syncmgr.job.snapshot.handshake import Locked, never
from syncmgr.job.source import SNAPSHOT
from syncmgr.job.types.schema import SourceTable
from syncmgr.sources.mysql.address import Connection, MysqlAddress, connect, naming_failures, query, unreachable
from syncmgr.sources.mysql.binlog.continuation.first_events import made_at
from syncmgr.sources.mysql.binlog.dump.stream import (
    SILENCE_SECOND,
    BinlogStream,
    DuplicateServerIdError,
    StreamLostError,
    StreamOptions,
    lacking_to_read,
    replication_grant_missing,
)
from syncmgr.sources.mysql.description import LATEST
from syncmgr.sources.mysql.new_server import random_id, refuse_settings, refuse_taken_id
from syncmgr.sources.mysql.server.exact_point import NO_GTIDS, check_locks, why_unended
from syncmgr.sources.mysql.server.grants import (
    LOCK_TABLES,
    SELECT,
    Lacking,
    grants_missing,
    unlockable,
    unreadable,
)
from syncmgr.sources.mysql.server.list_tables import VERSIONED, nearest
from syncmgr.sources.mysql.server.merge_tables import CHILD_ENGINE, merging
from syncmgr.sources.mysql.server.server import PRIVILEGE_MISSING, Server
from syncmgr.sources.mysql.server.tables import cascades, old_fractions, quoted, schema_of, unique_keys
from syncmgr.sources.mysql.wire import FIRST_OFFSET
from syncmgr.sources.mysql.xid import prepared

PROBE_SECOND: Final = 2.0
SETTLE_TRIES: Final = 5
XA_SECOND: Final = 10.0  # how long CREATE SYNC waits for prepared XA transactions to end
XA_STEP_SECOND: Final = 0.05
XA_EVENTS: Final = 1000  # examined after a start; a server that writes more meanwhile is queried again
XA_UNSEEN: Final = frozenset({1227, 1401})  # MySQL 8 shows prepared transactions only to XA_RECOVER_ADMIN
XA_SHOWN: Final = 5
FROM_BEGIN: Final = (
    "or SET GLOBAL binlog_row_metadata = FULL and then FLUSH BINARY LOGS, so that the current binlog file is read from "
    "its begin; or use latest"
)
_FILE_POS: Final = re.compile(r"([^:/\s]+\.\d+):(\d+)")


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceFacts:
    """What the server said."""

    version: str
    server: str
    by_gtid: bool
    #: why its GTIDs cannot be used on another server
    why_not_shared: str | None
    full_metadata: bool
    #: unix seconds
    server_time: float
    #: where the job begins
    start: Position
    #: where the tables' schemas apply, which may be later than `start`
    known_at: Position
    #: in the order of the requested ones, as are `unique_keys` and `cascades`
    tables: tuple[SourceTable, ...]
    #: per table the column sets of its primary and NOT NULL unique keys
    unique_keys: tuple[tuple[tuple[str, ...], ...], ...]
    #: per table, whether a foreign key changes its rows besides the statements on it
    cascades: tuple[bool, ...]
    #: whether the binlog then has those rows
    logs_cascades: bool
    #: whether it could have them
    can_log_cascades: bool


def inspect_server(
    address: MysqlAddress,
    tables: Sequence[Table],
    start: str,
    server_id: int,
    *,
    joins: bool = False,
    locked: Locked = never,
) -> SourceFacts:
    """Everything that must hold before a job may read. `server_id` 0: not chosen by the user, so not checked.

    `joins`: the tables belong to a running job, so their rows are read after whatever it has read. `locked`: whether a
    table, of which nothing may be known yet, will be locked for a moment. Raises SyncError: each SOURCE_* code,
    SNAPSHOT_REFUSED, and PROPERTY_WRONG for `start`.
    """
    connection = connect(address)
    try:
        with naming_failures(address):
            return _Inspection(address, connection, joins=joins).facts(tables, start, server_id, locked)
    finally:
        connection.close()


class _Inspection:
    """One connection's queries."""

    def __init__(self, address: MysqlAddress, connection: Connection, *, joins: bool) -> None:
        self._joins = joins
        self._address = address
        self._connection = connection
        self._server = Server(address, connection)
        self._variables = self._server.variables

    def facts(self, tables: Sequence[Table], start: str, server_id: int, locked: Locked) -> SourceFacts:
        refuse_settings(self._address, self._server)
        self._refuse_missing_grants(tables, locked)
        for table in tables:
            self._check_table(table)
        self._server.refuse_incomplete()
        position, known_at, schemas = self._settled(tables, start)
        if self._joins and not self._server.by_gtid:
            check_locks(self._address, self._connection, schemas, NO_GTIDS)
        refuse_taken_id(self._address, self._connection, self._server, server_id)
        position = self._probed(position)
        return SourceFacts(
            version=self._variables["version"],
            server=self._server.id,
            by_gtid=self._server.by_gtid,
            why_not_shared=self._server.why_not_shared,
            full_metadata=self._server.full_metadata,
            server_time=float(query(self._connection, "SELECT UNIX_TIMESTAMP(NOW(6)) seconds")[0]["seconds"]),
            start=position,
            known_at=known_at,
            tables=schemas,
            unique_keys=tuple(unique_keys(self._connection, table) for table in tables),
            cascades=tuple(cascades(self._connection, table) for table in tables),
            logs_cascades=self._server.logs_cascades,
            can_log_cascades=self._server.can_log_cascades,
        )

    def _refuse_missing_grants(self, tables: Sequence[Table], locked: Locked) -> None:
        """Raises SOURCE_GRANT_MISSING for all of them, so that one visit to the server is enough."""
        lacking = [
            *lacking_to_read(self._address, self._server, random_id()),
            *(Lacking(SELECT, table) for table in unreadable(self._connection, tables)),
        ]
        if lacking:
            lacking += [Lacking(LOCK_TABLES, table[:1]) for table in self._unlockable(tables, locked)]
            raise grants_missing(self._address, self._connection, lacking)

    def _unlockable(self, tables: Sequence[Table], locked: Locked) -> list[Table]:
        """Requested only along with other grants: if it is the only missing one, the check of the locks says what they
        are for.
        """
        known = {table: (schema_of(self._connection, table), unique_keys(self._connection, table)) for table in tables}
        every = self._joins and not self._server.by_gtid
        return unlockable(
            self._address, self._connection, [table for table in tables if every or locked(table, *known[table])]
        )

    def _check_table(self, table: Table) -> None:
        label = ".".join(table)
        found = query(
            self._connection,
            "SELECT TABLE_TYPE kind, ENGINE engine FROM information_schema.TABLES"
            " WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s",
            *table,
        )
        if not found:
            raise self._unknown_table(table)  # a name in another case than the binlog writes
        if found[0]["kind"] == VERSIONED:
            raise self._unsupported(f"{label} is system-versioned: its historical rows are in the binlog like others")
        if "TABLE" not in found[0]["kind"] or "VIEW" in found[0]["kind"]:
            raise self._unsupported(f"{label} is a {found[0]['kind'].lower()}; only a table has rows in the binlog")
        if (found[0]["engine"] or "").upper() == MERGE:
            raise self._unsupported(f"{label} is a MERGE table; sync the tables whose rows it shows")
        old = old_fractions(self._connection, table)
        if old:
            remedy = f"SET GLOBAL mysql56_temporal_format = ON, and ALTER TABLE {label} FORCE"
            raise self._unsupported(f"{label}.{old[0]} has fractions in the format of MariaDB 5.3; {remedy}")
        if found[0]["engine"] == CHILD_ENGINE:
            self._refuse_merged(table)

    def _refuse_merged(self, table: Table) -> None:
        for other in merging(self._connection, table):
            name = ".".join(other)
            raise self._unsupported(
                f"rows of {'.'.join(table)} that are written through the MERGE table {name} are in the binlog under "
                f"that name alone; DROP TABLE {name}, or make it a view"
            )

    def _unknown_table(self, table: Table) -> SyncError:
        facts = {"table": ".".join(table), "address": self._address.label, "hint": nearest(self._connection, table)}
        return SyncError(Code.SOURCE_UNKNOWN_TABLE, **facts)

    def _unsupported(self, reason: str) -> SyncError:
        return SyncError(Code.SOURCE_UNSUPPORTED, address=self._address.label, reason=reason)

    def _settled(self, tables: Sequence[Table], start: str) -> tuple[Position, Position, tuple[SourceTable, ...]]:
        """A start, a place in the binlog, and the schemas that apply there: they were the same before and after it was
        read.
        """
        before = self._schemas(tables)
        for _ in range(SETTLE_TRIES):
            position = self._start(start, before)
            known_at = position if _is_end(start, position) else self._server.latest()
            self._await_statements(tables)
            after = self._schemas(tables)
            if before == after:
                return position, known_at, after
            before = after
        raise self._unsupported("the tables are being altered all the time")

    def _await_statements(self, tables: Sequence[Table]) -> None:
        """A statement that changes a table is in the binlog before information_schema shows its effect, and blocks all
        others from the table meanwhile.
        """
        for table in tables:
            query(self._connection, f"SELECT 1 FROM {quoted(table)} LIMIT 0")  # noqa: S608 - quoted

    def _schemas(self, tables: Sequence[Table]) -> tuple[SourceTable, ...]:
        found = [(table, schema_of(self._connection, table)) for table in tables]
        for table, schema in found:
            if schema is None:
                raise self._unknown_table(table)
        return tuple(schema for _, schema in found if schema is not None)

    def _start(self, text: str, tables: Sequence[SourceTable]) -> Position:
        word = text.strip()
        if word.lower() == LATEST:
            return self._latest_without_prepared()
        if word.lower() == SNAPSHOT:
            return self._before_every_row(text, tables)
        if not self._server.full_metadata:
            shown = self._variables.get("binlog_row_metadata", "MINIMAL")
            raise _wrong_start(
                text,
                f"binlog_row_metadata is {shown} on the server, so the columns of older rows are not known; "
                "use latest, or SET GLOBAL binlog_row_metadata = FULL",
            )
        if word.lower() == "earliest":
            return self._earliest()
        coordinate = _FILE_POS.fullmatch(word)
        if coordinate is not None:
            return Position(file=coordinate[1], offset=max(int(coordinate[2]), FIRST_OFFSET), server=self._server.id)
        return self._gtid_start(text)

    def _gtid_start(self, text: str) -> Position:
        try:
            gtids = parse_gtids(text)
        except ValueError as error:
            reason = f"it is neither snapshot, latest, earliest, a GTID set nor file:position ({error})"
            raise _wrong_start(text, reason) from error
        if not gtids or isinstance(gtids, MariadbGtids) is not self._server.mariadb:
            raise _wrong_start(text, "it is not a GTID set of this kind of server")
        if not self._server.by_gtid:
            raise _wrong_start(text, f"gtid_mode is {self._variables.get('gtid_mode')} on the server")
        return Position(gtids=str(gtids), server=self._server.id)

    def _before_every_row(self, text: str, tables: Sequence[SourceTable]) -> Position:
        """Every change after it comes through the binlog; every SELECT from now on shows all changes before it.

        A transaction is in the binlog before a SELECT shows it, so the end of the binlog is such a place only once all
        transactions that had written the tables by then have ended. The set that the server counts as executed is one,
        and so is the beginning of a file, before which no commit was under way. For tables that join, the reader of the
        rows waits for what is under way.
        """
        end = self._latest_without_prepared()
        if self._server.mariadb:
            return self._server.latest_shown()
        if end.gtids or self._joins:
            return end
        fallback = self._server.full_metadata
        locking = replace(self._address.locking, tries=1) if fallback else self._address.locking
        unended = why_unended(replace(self._address, locking=locking), self._connection, tables)
        if unended is None:
            return end
        if not fallback:
            raise _wrong_start(text, f"{unended}; {FROM_BEGIN}")
        return replace(end, offset=FIRST_OFFSET)

    def _earliest(self) -> Position:
        oldest = next(iter(self._server.binlog_files()))
        return Position(file=oldest, offset=FIRST_OFFSET, server=self._server.id)

    def _latest_without_prepared(self) -> Position:
        """Rows of an XA transaction that is prepared before the start and committed after it are before the start.

        A start is right if afterwards none was prepared, and none had been committed meanwhile. If the server does not
        show that, the stream will. Raises SOURCE_XA_OPEN.
        """
        deadline = time.monotonic() + XA_SECOND
        while True:
            position = self._server.latest()
            try:
                open_now = prepared(self._connection, mariadb=self._server.mariadb)
            except err.MySQLError as error:
                if error.args and error.args[0] in XA_UNSEEN:
                    return position
                raise
            if not open_now and not self._xa_ended_behind(position):
                return position
            if time.monotonic() > deadline:
                xids = ", ".join(open_now[:XA_SHOWN]) or "others at every moment"
                raise SyncError(Code.SOURCE_XA_OPEN, address=self._address.label, xids=xids)
            time.sleep(XA_STEP_SECOND)

    def _xa_ended_behind(self, start: Position) -> bool:
        """Whether there may be an XA COMMIT after a position in the binlog."""
        now = self._server.latest()
        if (now.file, now.offset) == (start.file, start.offset):
            return False
        text = f"SHOW BINLOG EVENTS IN %s FROM {start.offset} LIMIT {XA_EVENTS}"
        try:
            rows = query(self._connection, text, start.file)
        except err.MySQLError as error:
            if error.args and error.args[0] in PRIVILEGE_MISSING:
                raise replication_grant_missing(self._address, str(error)) from error
            raise
        is_complete = now.file == start.file and len(rows) < XA_EVENTS
        return not is_complete or any(row["Info"].startswith("XA COMMIT") for row in rows)

    def _probed(self, position: Position) -> Position:
        """Request the stream: only that shows whether the position still exists and the grants suffice.

        It also shows when the file was created, by which a server that is restored before the job has read is
        recognized.
        """
        try:
            with closing(self._stream(position)) as stream:
                stream.read(PROBE_SECOND)
                stream.read(PROBE_SECOND)
            if not position.file:
                return position
            with closing(self._stream(Position(file=position.file, offset=FIRST_OFFSET))) as stream:
                return replace(position, created=made_at(stream, SILENCE_SECOND))
        except StreamLostError as error:
            raise error.cause_for_user from error
        except DuplicateServerIdError as error:
            raise unreachable(self._address, str(error)) from error

    def _stream(self, position: Position) -> BinlogStream:
        options = StreamOptions(server_id=random_id(), heartbeat=PROBE_SECOND / 10)
        return BinlogStream(self._address, options, position)


def _is_end(start: str, position: Position) -> bool:
    """Whether a start was found at the end of the binlog, just now."""
    now = start.strip().lower() in {LATEST, SNAPSHOT}
    return now and (bool(position.gtids) or position.offset != FIRST_OFFSET)


def _wrong_start(value: str, reason: str) -> SyncError:
    return SyncError(Code.PROPERTY_WRONG, name="start", value=value, reason=reason)
