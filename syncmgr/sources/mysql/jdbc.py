"""How the JDBC driver reads a part of a table.

Owns: the connection's options, the SELECT, what the driver's errors mean.
Must not know: chunks' plans, Spark, where the rows go.
"""

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from syncmgr.errors import Code, SyncError
from syncmgr.job.snapshot import select_list
from syncmgr.job.snapshot.chunk_rows import ChunkRows, JdbcSelect
from syncmgr.job.snapshot.handshake import opening as hand_shake
from syncmgr.job.types.schema import SourceColumn, SourceTable
from syncmgr.sources.mysql.address import ALL_ROWS, ANY_TIME, MysqlAddress
from syncmgr.sources.mysql.key_stores import STORES

DRIVER: Final = "com.mysql.cj.jdbc.Driver"
ROW_BY_ROW: Final = -(2**31)  # Connector/J's setting for streamed rows, which keeps memory flat
SLOW_READER_SECOND: Final = 600  # how long the server waits while Spark writes
SILENCE_SECOND: Final = 600  # a server that is silent for this long has lost the query
DISTRUST: Final = re.compile(r"(?:Certificate\w*|CertPath\w*|SSLHandshake)Exception: (.*)")
# The driver's own defaults, stated so that no other version of it gives a server what it requests.
NOTHING_GIVEN: Final = {"allowLoadLocalInfile": "false", "allowUrlInLocalInfile": "false", "autoDeserialize": "false"}
ASKS_FILE: Final = "LOAD DATA LOCAL INFILE"  # in the driver's message about a server that requests one
# Texts come as the bytes that the server sends, which are UTF-8: a driver would only decode and re-encode them.
SENT: Final = {"STRING": "BINARY"}
UNREADABLE: Final = re.compile(  # a value that the driver has, and cannot turn into what Spark wants
    r"(?:java\.sql\.SQLDataException|com\.mysql\.cj\.exceptions\."
    r"(?:DataConversionException|DataReadException|NumberOutOfRange)): (.*)"
)
NOT_THERE: Final = re.compile(
    r"Table '[^']*' doesn't exist|Unknown column '[^']*'|Unknown database|doesn't exist in engine|denied to user"
)


@dataclass(frozen=True, slots=True)
class MysqlChunks:
    """The rows of one server."""

    server: MysqlAddress

    def rows(self, chunk: ChunkRows) -> JdbcSelect:
        """Raises PEM_FILE."""
        told = [_selected(chunk, _column(chunk, name)) for name in chunk.columns]
        items = ", ".join(f"{one.sql} AS c{place}" for place, one in enumerate(told))
        table = f"{select_list.quoted(chunk.table.db)}.{select_list.quoted(chunk.table.name)}"
        where = f" WHERE {chunk.condition}" if chunk.condition else ""
        return JdbcSelect(
            options=options(self.server, exact=chunk.plan if chunk.exact else None),
            query=f"SELECT {items} FROM {table}{where}",  # noqa: S608 - quoted
            columns=tuple((SENT.get(one.wire, one.wire), one.wire) for one in told),
        )

    def error(self, text: str, table: SourceTable) -> SyncError | None:
        unreadable = UNREADABLE.search(text)
        if unreadable is not None:
            return _unreadable(table, unreadable[1].strip())
        found = re.search(r"(?:java\.sql\.SQL\w*|com\.mysql\.cj\S*)Exception: (.*)", text)
        if found is None:
            return None
        reason, address, user = found[1].strip(), self.server.label, self.server.user
        proof = DISTRUST.search(text)
        if proof is not None:
            said = proof[1].strip()
            return SyncError(Code.SOURCE_TLS, address=address, reason=f"{said}; {self.server.tls.remedy(said)}")
        if ASKS_FILE in reason:
            return SyncError(Code.SOURCE_ASKS_FILE, address=address, file="the driver was not told its name")
        if NOT_THERE.search(reason):
            return SyncError(Code.SNAPSHOT_BROKEN, table=table.label, reason=reason)
        if "Access denied for user" in reason:
            return SyncError(Code.SOURCE_ACCESS_DENIED, address=address, user=user, reason=reason)
        return SyncError(Code.SOURCE_UNREACHABLE, address=address, reason=reason)


def _unreadable(table: SourceTable, reason: str) -> SyncError:
    """The driver does not say of which column; the server has answered."""
    columns = " or ".join(column.name for column in table.columns)
    return SyncError(Code.SOURCE_VALUE, column=columns, table=table.label, value="a value", reason=reason)


def _selected(chunk: ChunkRows, column: SourceColumn) -> select_list.Selected:
    exactly = chunk.refused_texts(column) is not None
    return select_list.selected_exactly(column) if exactly else select_list.selected(column)


def _column(chunk: ChunkRows, name: str) -> SourceColumn:
    column = chunk.table.column(name)
    assert column is not None, "a channel reads columns of its source"
    return column


def options(server: MysqlAddress, *, exact: str | None = None) -> dict[str, str]:
    """Of Spark's JDBC source. The session's time zone is that of Spark; its SQL mode neither pads nor refuses.

    `exact`: the name of the handshake with which it begins.
    """
    host = f"[{server.host}]" if ":" in server.host else server.host
    properties = STORES.properties(server.tls) | {
        "allowPublicKeyRetrieval": "true",  # if it is in clear text; see syncmgr/sources/mysql/tls.py
        "characterEncoding": "UTF-8",
        "characterSetResults": "UTF-8",  # the server converts, since it knows its charsets
        "connectionTimeZone": "UTC",
        "tinyInt1isBit": "false",
        "yearIsDateType": "false",
        "jdbcCompliantTruncation": "false",
        "connectTimeout": str(int(server.connect_timeout * 1000)),
        "socketTimeout": str(SILENCE_SECOND * 1000),
        "tcpKeepAlive": "true",
        "netTimeoutForStreamingResults": str(SLOW_READER_SECOND),
        "sessionVariables": f"time_zone='+00:00',sql_mode='',{ALL_ROWS} {ANY_TIME}",
        **NOTHING_GIVEN,
    }
    opening: tuple[str, ...] = ("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",)
    if exact is not None:
        opening = hand_shake(exact)
        properties["allowMultiQueries"] = "true"
    query = "&".join(f"{name}={quote(value, safe='')}" for name, value in properties.items())
    return {
        "url": f"jdbc:mysql://{host}:{server.port}/?{query}",
        "driver": DRIVER,
        "user": server.user,
        "password": server.password,
        "fetchsize": str(ROW_BY_ROW),
        "sessionInitStatement": "; ".join(opening),
        "pushDownPredicate": "false",
        "pushDownAggregate": "false",
        "pushDownLimit": "false",
        "pushDownOffset": "false",
        "pushDownTableSample": "false",
    }
