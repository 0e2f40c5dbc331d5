"""Whether a job can go on with a server that it has not read yet, or with another login to the same one.

Owns: what is queried for that, and the refusals that CREATE SYNC has in common with it.
Must not know: jobs, which of several servers is read.
"""

import secrets
from collections.abc import Sequence
from contextlib import closing
from typing import Final

from pymysql import err

from syncmgr.errors import Code, SyncError
from syncmgr.job.ddl.ddl import Table
from syncmgr.job.position import Position
from syncmgr.job.source_history.logged import refusal
from syncmgr.sources.mysql.address import Connection, MysqlAddress, connect, naming_failures, query, unreachable
from syncmgr.sources.mysql.binlog.dump.stream import (
    BinlogStream,
    DuplicateServerIdError,
    StreamLostError,
    StreamOptions,
    lacking_to_read,
)
from syncmgr.sources.mysql.server.grants import SELECT, Lacking, grants_missing, unreadable
from syncmgr.sources.mysql.server.server import Server

PROBE_SECOND: Final = 2.0


def check_continues(address: MysqlAddress, start: Position, tables: Sequence[Table], server_id: int) -> str | None:
    """Raises SyncError if what follows `start` cannot be read there: by its settings, the grants of the user, or since
    it has another history. A table that is not there is not looked at: a statement that was not read yet may have
    renamed or dropped it. `server_id`: 0 is not looked for. Returns why its GTIDs cannot be used on another server.
    """
    with closing(connect(address)) as connection, naming_failures(address):
        server = Server(address, connection)
        refuse_settings(address, server)
        lacking = [
            *lacking_to_read(address, server, random_id()),
            *(Lacking(SELECT, table) for table in unreadable(connection, tables)),
        ]
        if lacking:
            raise grants_missing(address, connection, lacking)
        server.refuse_incomplete()
        refuse_taken_id(address, connection, server, server_id)
        reason = server.why_not_shared
    _refuse_other_history(address, start)
    return reason


def _refuse_other_history(address: MysqlAddress, start: Position) -> None:
    """As every connection of a run does before it reads; the first packets have the refusals of the server itself."""
    options = StreamOptions(server_id=random_id(), heartbeat=PROBE_SECOND / 10)
    try:
        with closing(BinlogStream(address, options, start)) as stream:
            stream.read(PROBE_SECOND)
            stream.read(PROBE_SECOND)
    except StreamLostError as error:
        raise error.cause_for_user from error
    except DuplicateServerIdError as error:
        raise unreachable(address, str(error)) from error


def refuse_settings(address: MysqlAddress, server: Server) -> None:
    """Raises the error of the first setting that no job can read with."""
    refused = refusal(server.variables)
    if refused is not None:
        asked, value = refused
        raise SyncError(asked.code, value=value, address=address.label, reason=asked.why)


def refuse_taken_id(address: MysqlAddress, connection: Connection, server: Server, server_id: int) -> None:
    """`server_id`: that the user has chosen, 0: none. Raises SOURCE_SERVER_ID."""
    if not server_id:
        return
    taken = server_id == int(server.variables["server_id"])
    try:
        rows = query(connection, "SHOW SLAVE HOSTS" if server.mariadb else "SHOW REPLICAS")
    except err.MySQLError:
        rows = []  # older than the statement, or not allowed: then the stream itself will show it
    replicas = {int(row.get("Server_Id", row.get("Server_id", 0))) for row in rows}
    if taken or server_id in replicas:
        raise SyncError(Code.SOURCE_SERVER_ID, server_id=server_id, address=address.label)


def random_id() -> int:
    """Of a replica that disappears in a moment; users choose smaller ones."""
    return secrets.randbelow(1 << 31) + (1 << 31) - 1
