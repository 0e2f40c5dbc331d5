"""A server as one connection finds it: its settings, where its binlog ends, its errors for a missing grant.

Owns: the queries that CREATE SYNC and a snapshot share.
Must not know: jobs, tables, how the stream is read.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final

from pymysql import err

from syncmgr.errors import Code, SyncError
from syncmgr.job.position import GtidSet, MariadbGtids, Position
from syncmgr.job.source_history.logged import OFF, VARIABLES, left_out, unapplied, why_not_shared, without_replicated
from syncmgr.sources.mysql.address import Connection, Identity, MysqlAddress, query
from syncmgr.sources.mysql.server.grants import Lacking, grants_missing

PRIVILEGE_MISSING: Final = frozenset({1227, 1142})
SYNTAX: Final = 1064
UTC: Final = "UTC"
KEYS_BESIDE: Final = 9  # of MySQL, the first version
NATIVE_KEYS: Final = "innodb_native_foreign_keys"  # of MySQL from 9.6 on
SEES_BINLOG: Final = "REPLICATION CLIENT"
SEES_REPLICATION: Final = "SLAVE MONITOR"


def _named_by(*, mariadb: bool) -> str:
    return "server_id" if mariadb else "server_uuid"


class Server:
    """`variables`: the global ones that matter here."""

    def __init__(self, address: MysqlAddress, connection: Connection) -> None:
        self._address = address
        self._connection = connection
        names = ", ".join(f"'{name}'" for name in VARIABLES)
        rows = query(connection, f"SHOW GLOBAL VARIABLES WHERE Variable_name IN ({names})")
        self.variables: dict[str, str] = {row["Variable_name"]: row["Value"] for row in rows}
        self.mariadb = "mariadb" in self.variables["version"].lower()

    @property
    def id(self) -> str:
        """As a position names it."""
        return self.variables[_named_by(mariadb=self.mariadb)]

    @property
    def by_gtid(self) -> bool:
        return self.mariadb or self.variables.get("gtid_mode") == "ON"

    @property
    def full_metadata(self) -> bool:
        return self.variables.get("binlog_row_metadata") == "FULL"

    @property
    def logs_cascades(self) -> bool:
        """Whether rows that a foreign key changes have events; on older servers the engine changes them unseen."""
        return self.variables.get(NATIVE_KEYS) == OFF

    @property
    def can_log_cascades(self) -> bool:
        """Whether a setting of the server decides it."""
        return NATIVE_KEYS in self.variables

    @property
    def keys_beside(self) -> bool:
        """Whether REFERENCES next to a column makes a foreign key."""
        return self.mariadb or int(self.variables["version"].split(".")[0]) >= KEYS_BESIDE

    @property
    def in_galera(self) -> bool:
        return self.variables.get("wsrep_on") == "ON"

    @property
    def why_not_shared(self) -> str | None:
        """Why its GTIDs cannot be used on other servers of its history; None: they can."""
        return why_not_shared(self.variables, by_gtid=self.by_gtid)

    def system_zone(self) -> str:
        """What the server calls its own time zone. If it was started with TZ=UTC-8, that name stands for another
        zone.
        """
        name = self.variables.get("system_time_zone", "")
        noon = "2000-01-01 12:00:00"
        [row] = query(self._connection, "SELECT CAST(CONVERT_TZ(%s, '+00:00', 'SYSTEM') AS CHAR) shown", noon)
        shown = str(row["shown"])
        return name if name != UTC or shown.startswith(noon) else f"{name}, where {shown} is {noon} in UTC"

    def refuse_incomplete(self) -> None:
        """A binlog that lacks changes. Raises SOURCE_FILTERED, SOURCE_UNLOGGED, SOURCE_GRANT_MISSING."""
        label = self._address.label
        for row in self._binlog_status():
            reason = left_out(row["Binlog_Do_DB"], row["Binlog_Ignore_DB"])
            if reason is not None:
                raise SyncError(Code.SOURCE_FILTERED, address=label, reason=reason)
        variable = without_replicated(self.variables)
        if variable is not None and (self.in_galera or self._replicates()):
            raise SyncError(Code.SOURCE_UNLOGGED, address=label, variable=variable, end=self._end_of_replication())

    def _end_of_replication(self) -> str:
        if self.in_galera:
            return "taking it out of its Galera cluster"
        return "STOP SLAVE and RESET SLAVE ALL" if self.mariadb else "STOP REPLICA and RESET REPLICA ALL"

    def refuse_unapplied(self) -> None:
        """A replica, MySQL's, that has not applied all that it has executed. Raises REPLICA_FILTERED,
        SOURCE_GRANT_MISSING.
        """
        reason = unapplied(self._replica_status(), self.variables)
        if reason is not None:
            raise SyncError(Code.REPLICA_FILTERED, address=self._address.label, reason=reason)

    def hidden(self) -> Iterator[Lacking]:
        """The query that fails for lack of a grant."""
        asks: list[Callable[[], object]] = [self._binlog_status]
        if without_replicated(self.variables) is not None and not self.in_galera:
            asks.append(self._replicates)
        for ask in asks:
            try:
                ask()
            except SyncError as error:
                if error.code is not Code.SOURCE_GRANT_MISSING:
                    raise
                yield Lacking(str(error.context["grant"]))

    def _replicates(self) -> bool:
        """Whether it has a source, even one that it does not follow at the moment."""
        if not self.mariadb:
            return bool(self._replica_status())
        grant = SEES_REPLICATION if self._has_fine_grants else SEES_BINLOG
        return bool(self.privileged("SHOW ALL SLAVES STATUS", grant=grant))

    def _replica_status(self) -> list[dict[str, Any]]:
        return self.privileged("SHOW REPLICA STATUS", "SHOW SLAVE STATUS")

    @property
    def _has_fine_grants(self) -> bool:
        """MariaDB 10.5 has split REPLICATION CLIENT."""
        major, minor = self.variables["version"].split(".")[:2]
        return (int(major), int(minor)) >= (10, 5)

    def _binlog_status(self) -> list[dict[str, Any]]:
        return self.privileged("SHOW BINARY LOG STATUS", "SHOW MASTER STATUS")

    def binlog_files(self) -> dict[str, int]:
        """Name -> size, the oldest first. Raises SOURCE_GRANT_MISSING."""
        return {str(row["Log_name"]): int(row["File_size"]) for row in self.privileged("SHOW BINARY LOGS")}

    def end(self) -> Position:
        """Of the binlog, only as a place in its files. Raises SOURCE_GRANT_MISSING."""
        return self._end_in(self._binlog_status()[0])

    def _end_in(self, row: dict[str, Any]) -> Position:
        return Position(file=str(row["File"]), offset=int(row["Position"]), server=self.id)

    def latest(self) -> Position:
        """The end of the binlog. Raises SOURCE_GRANT_MISSING."""
        row = self._binlog_status()[0]
        if self.mariadb or not self.by_gtid:
            return self._placed(str(row["File"]), int(row["Position"]))
        return replace(self._end_in(row), gtids=str(GtidSet.parse(row["Executed_Gtid_Set"])))

    def latest_shown(self) -> Position:
        """Only MariaDB says up to where in the binlog a consistent read sees."""
        query(self._connection, "START TRANSACTION WITH CONSISTENT SNAPSHOT")
        rows = query(self._connection, "SHOW STATUS LIKE 'binlog_snapshot_%'")
        query(self._connection, "COMMIT")
        variables = {row["Variable_name"].lower(): row["Value"] for row in rows}
        return self._placed(variables["binlog_snapshot_file"], int(variables["binlog_snapshot_position"]))

    def _placed(self, file: str, offset: int) -> Position:
        gtids = ""
        if self.mariadb:
            gtids_there = query(self._connection, "SELECT BINLOG_GTID_POS(%s, %s) gtids", file, offset)[0]["gtids"]
            gtids = str(MariadbGtids.parse(gtids_there or ""))
        return Position(gtids=gtids, file=file, offset=offset, server=self.id)

    def privileged(self, *texts: str, grant: str = SEES_BINLOG) -> list[dict[str, Any]]:
        """The first of several spellings that the server knows. Raises SOURCE_GRANT_MISSING."""
        for text in texts:
            try:
                return query(self._connection, text)
            except err.MySQLError as error:
                number = error.args[0] if error.args else 0
                if number in PRIVILEGE_MISSING:
                    raise grants_missing(self._address, self._connection, [Lacking(grant)]) from error
                if number != SYNTAX or text == texts[-1]:
                    raise
        raise AssertionError("the last one returned or raised")


def identity_of(server: Server) -> Identity:
    """By which other connections recognize it."""
    return _named_by(mariadb=server.mariadb), server.id
