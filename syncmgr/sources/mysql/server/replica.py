"""A replica whose rows a snapshot reads, so that the source is spared.

Owns: what must be true of it, so that the source's binlog continues where its rows end.
Must not know: chunks, jobs, who reads.
"""

from collections.abc import Sequence
from contextlib import closing
from typing import Final

from syncmgr.errors import Code, SyncError
from syncmgr.job.position import GtidSet, Position
from syncmgr.job.types.schema import SourceTable
from syncmgr.sources.mysql.address import (
    Connection,
    Identity,
    MysqlAddress,
    connect,
    naming_failures,
    query,
    unreachable,
)
from syncmgr.sources.mysql.server.server import Server, identity_of
from syncmgr.sources.mysql.server.tables import schema_of

TRIES: Final = 5


def start_at(replica: MysqlAddress, source: MysqlAddress, tables: Sequence[SourceTable], server: str) -> Position:
    """What the replica has executed: a lower bound of whatever is read from it later. `server`: the source's id.

    Raises SOURCE_UNSUPPORTED if it is not a replica of the source, or its tables differ; REPLICA_FILTERED,
    SOURCE_GRANT_MISSING, SOURCE_UNREACHABLE, SOURCE_ACCESS_DENIED.
    """
    with closing(connect(replica)) as connection, naming_failures(replica):
        _check_server(replica, Server(replica, connection))
        executed = _settled(replica, connection, tables)
    check_subset(replica, executed, source)
    return Position(gtids=str(executed), server=server)


def check_reaches(replica: MysqlAddress, start: Position, source: MysqlAddress) -> Identity:
    """Whether its rows are those of the job: as new as its start, and none that the source does not have.

    Raises SOURCE_UNREACHABLE while it is behind the start, SOURCE_UNSUPPORTED if it has diverged, REPLICA_FILTERED.
    """
    with closing(connect(replica)) as connection, naming_failures(replica):
        server = Server(replica, connection)
        _check_server(replica, server)
        executed = _executed(connection)
    left = GtidSet.parse(start.gtids).subtract(executed)
    if left:
        raise unreachable(replica, f"it has not executed {left}, which the job counts as read")
    check_subset(replica, executed, source)
    return identity_of(server)


def check_subset(replica: MysqlAddress, executed: GtidSet, source: MysqlAddress) -> None:
    """Whether the source has all that the replica had executed before. Raises SOURCE_UNSUPPORTED."""
    left = executed.subtract(_executed_on(source))
    if left:
        raise _refused(replica, f"it has executed {left}, which {source.label} has not")


def _executed_on(address: MysqlAddress) -> GtidSet:
    with closing(connect(address)) as connection, naming_failures(address):
        return _executed(connection)


def _executed(connection: Connection) -> GtidSet:
    return GtidSet.parse(query(connection, "SELECT @@global.gtid_executed gtids")[0]["gtids"])


def _check_server(replica: MysqlAddress, server: Server) -> None:
    if server.mariadb or not server.by_gtid:
        raise _refused(replica, "rows are read from a replica by MySQL's GTIDs alone, and gtid_mode is not ON there")
    server.refuse_unapplied()


def _settled(replica: MysqlAddress, connection: Connection, tables: Sequence[SourceTable]) -> GtidSet:
    """What it had executed while its tables were those of the source, before and after the query."""
    for _ in range(TRIES):
        differ = _differing(connection, tables)
        executed = _executed(connection)
        differ = differ or _differing(connection, tables)
        if differ is None:
            return executed
    raise _refused(replica, f"its table {differ} is not what it is on the source; let the replica catch up")


def _differing(connection: Connection, tables: Sequence[SourceTable]) -> str | None:
    return next((t.label for t in tables if schema_of(connection, (t.db, t.name)) != t), None)


def _refused(replica: MysqlAddress, reason: str) -> SyncError:
    return SyncError(Code.SOURCE_UNSUPPORTED, address=replica.label, reason=reason)
