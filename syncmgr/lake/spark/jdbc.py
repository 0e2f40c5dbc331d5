"""A part of a source table as Spark reads it, through JDBC.

Owns: when the driver is loaded, the connection's options, the SELECT, the relation that has the columns of a segment,
what its errors mean.
Must not know: chunks' plans, commits, where the rows go.
"""

import re
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final
from urllib.parse import quote

from pyspark.sql import DataFrame, SparkSession

from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.description import quoted
from syncmgr.job.rows.batch import OP, SEQ, ChangeKind
from syncmgr.job.rows.dead_letter import DeadLetter
from syncmgr.job.snapshot import select_list
from syncmgr.job.snapshot.chunk import ChunkRows
from syncmgr.job.snapshot.handshake import opening as hand_shake
from syncmgr.job.source import MysqlDescription
from syncmgr.job.types.schema import SourceColumn
from syncmgr.lake.spark import jvm
from syncmgr.lake.spark.certificates import STORES
from syncmgr.lake.spark.chunk_values import CheckedColumn, dead_letters, held, kept_out, value_sql

DRIVER: Final = "com.mysql.cj.jdbc.Driver"
FAILURE_SECOND: Final = 4.0  # less than until a table is tried again
ROW_BY_ROW: Final = -(2**31)  # Connector/J's word for rows as they come, which keeps memory flat
SLOW_READER_SECOND: Final = 600  # for which the server waits while Spark writes
SILENCE_SECOND: Final = 600  # a server that says nothing for so long has lost the query
DISTRUST: Final = re.compile(r"(?:Certificate\w*|CertPath\w*|SSLHandshake)Exception: (.*)")
# The driver's own defaults, said here so that no other version of it gives a server what it asks for.
NOTHING_GIVEN: Final = {"allowLoadLocalInfile": "false", "allowUrlInLocalInfile": "false", "autoDeserialize": "false"}
ASKS_FILE: Final = "LOAD DATA LOCAL INFILE"  # in what the driver says of a server that asks for one
_SENT: Final = {"STRING": "BINARY"}
NOT_THERE: Final = re.compile(
    r"Table '[^']*' doesn't exist|Unknown column '[^']*'|Unknown database|doesn't exist in engine|denied to user"
)


class Driver:
    """MySQL's, which a JVM does not have until somebody wants rows of a source. Any thread."""

    def __init__(self, bring: Callable[[], Path]) -> None:
        self._bring = bring
        self._lock = threading.Lock()
        self._failure: tuple[float, SyncError] | None = None  # monotonic

    def load(self, spark: SparkSession) -> None:
        """Once for each JVM; one that the operator has given it is left alone. Raises what Jars raise."""
        with self._lock:
            if not jvm.has_class(spark, DRIVER):
                jvm.add_jar(spark, self._brought())

    def _brought(self) -> Path:
        """Whoever has waited for somebody else's attempt hears how that ended: each one starts a JVM."""
        if self._failure is not None and time.monotonic() - self._failure[0] < FAILURE_SECOND:
            raise SyncError(self._failure[1].code, **self._failure[1].context)
        try:
            return self._bring()
        except SyncError as error:
            self._failure = time.monotonic(), error
            raise


def relation(spark: SparkSession, chunk: ChunkRows) -> DataFrame:
    """Its wanted columns in the types of a segment, `_op` and `_seq`; one partition. Reads nothing yet but the types.

    Nothing is pushed down: WHERE means what Spark says.
    """
    columns, rows = _held(chunk), _wire(spark, chunk)
    out = kept_out(chunk, columns)
    rows = rows if out is None else rows.where(f"NOT ({out})")
    values = [f"{value_sql(chunk, one)} AS {quoted(name)}" for one, name in zip(columns, chunk.columns, strict=True)]
    return rows.selectExpr(*values, f"CAST({ChangeKind.INSERT:d} AS TINYINT) AS `{OP}`", f"0L AS `{SEQ}`")


def letters(spark: SparkSession, chunk: ChunkRows, token: str) -> tuple[DeadLetter, ...]:
    """Of the rows that `relation` leaves out, in a reading of its own, which needs no hand-shake."""
    columns = _held(chunk)
    out = kept_out(chunk, columns)
    if out is None:
        return ()
    return dead_letters(
        _wire(spark, replace(chunk, exact=False)).where(out), columns, token=token, most=chunk.max_dead_letters + 1
    )


def _held(chunk: ChunkRows) -> list[CheckedColumn]:
    return [held(chunk, _column(chunk, name), f"c{place}") for place, name in enumerate(chunk.columns)]


def _wire(spark: SparkSession, chunk: ChunkRows) -> DataFrame:
    """The wanted columns under the names c0, c1, ...

    Texts come as the bytes that the server sends, which are UTF-8: a driver would decode them to encode them again.
    """
    columns = [_column(chunk, name) for name in chunk.columns]
    told = [select_list.selected(column) for column in columns]
    wire = [f"c{place}" for place in range(len(columns))]
    pairs = list(zip(told, wire, strict=True))
    items = ", ".join(f"{one.sql} AS {name}" for one, name in pairs)
    table = f"{select_list.quoted(chunk.table.db)}.{select_list.quoted(chunk.table.name)}"
    where = f" WHERE {chunk.condition}" if chunk.condition else ""
    return (
        spark.read.format("jdbc")
        .options(**options(chunk.source, chunk.connect_timeout, exact=chunk.plan if chunk.exact else None))
        .option("dbtable", f"(SELECT {items} FROM {table}{where}) chunk")  # noqa: S608 - quoted
        .option("customSchema", ", ".join(f"{name} {_SENT.get(one.wire, one.wire)}" for one, name in pairs))
        .load()
        .selectExpr(*(f"CAST({name} AS {one.wire}) AS {name}" if one.wire in _SENT else name for one, name in pairs))
    )


def _column(chunk: ChunkRows, name: str) -> SourceColumn:
    column = chunk.table.column(name)
    assert column is not None, "a channel reads columns of its source"
    return column


def options(source: MysqlDescription, connect_timeout: float, *, exact: str | None = None) -> dict[str, str]:
    """Of Spark's JDBC source. The session's time zone is that of Spark; its SQL mode neither pads nor refuses.

    `exact`: the name of the hand-shake with which it begins.
    """
    host, port = source.hosts[0]
    host = f"[{host}]" if ":" in host else host
    properties = STORES.properties(source.tls) | {
        "allowPublicKeyRetrieval": "true",  # where it is in the clear; see syncmgr/sources/mysql/tls.py
        "characterEncoding": "UTF-8",
        "characterSetResults": "UTF-8",  # the server converts, who knows its charsets
        "connectionTimeZone": "UTC",
        "tinyInt1isBit": "false",
        "yearIsDateType": "false",
        "jdbcCompliantTruncation": "false",
        "connectTimeout": str(int(connect_timeout * 1000)),
        "socketTimeout": str(SILENCE_SECOND * 1000),
        "tcpKeepAlive": "true",
        "netTimeoutForStreamingResults": str(SLOW_READER_SECOND),
        "sessionVariables": "time_zone='+00:00',sql_mode=''",
        **NOTHING_GIVEN,
    }
    opening: tuple[str, ...] = ("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",)
    if exact is not None:
        opening = hand_shake(exact)
        properties["allowMultiQueries"] = "true"
    query = "&".join(f"{name}={quote(value, safe='')}" for name, value in properties.items())
    return {
        "url": f"jdbc:mysql://{host}:{port}/?{query}",
        "driver": DRIVER,
        "user": source.user,
        "password": source.password,
        "fetchsize": str(ROW_BY_ROW),
        "sessionInitStatement": "; ".join(opening),
        "pushDownPredicate": "false",
        "pushDownAggregate": "false",
        "pushDownLimit": "false",
        "pushDownOffset": "false",
        "pushDownTableSample": "false",
    }


def source_error(text: str, chunk: ChunkRows) -> SyncError | None:
    """The error of a source that did not give its rows; None where Spark's words tell of something else."""
    found = re.search(r"(?:java\.sql\.SQL\w*|com\.mysql\.cj\S*)Exception: (.*)", text)
    if found is None:
        return None
    reason, address, user = found[1].strip(), chunk.source.address, chunk.source.user
    proof = DISTRUST.search(text)
    if proof is not None:
        said = proof[1].strip()
        return SyncError(Code.SOURCE_TLS, address=address, reason=f"{said}; {chunk.source.tls.remedy(said)}")
    if ASKS_FILE in reason:
        return SyncError(Code.SOURCE_ASKS_FILE, address=address, file="the driver was not told its name")
    if NOT_THERE.search(reason):
        return SyncError(Code.SNAPSHOT_BROKEN, table=chunk.table.label, reason=reason)
    if "Access denied for user" in reason:
        return SyncError(Code.SOURCE_ACCESS_DENIED, address=address, user=user, reason=reason)
    return SyncError(Code.SOURCE_UNREACHABLE, address=address, reason=reason)
