"""Socket to Arrow against python-mysql-replication on one binlog, one core: python -m tests.bench.decode [rows].

Prints changes per CPU second of both (a busy machine shall not decide) and their ratio with FULL and with MINIMAL
metadata, the speed of compressed transactions and of small ones, and the memory of a process that only reads. Ends with
status 1 where an aim is missed.
"""

import itertools
import logging
import multiprocessing
import resource
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pymysqlreplication import BinLogStreamReader
from pymysqlreplication.row_event import DeleteRowsEvent, UpdateRowsEvent, WriteRowsEvent

from syncmgr.job.ddl.ddl import Table
from syncmgr.job.position import Position
from syncmgr.job.types.schema import SourceTable
from syncmgr.sources.mysql.address import MysqlAddress
from syncmgr.sources.mysql.binlog.subscriptions import Subscription
from syncmgr.sources.mysql.source import MysqlSource
from tests.contract.mysql_reader import address, facts, reached
from tests.support.servers.mysql import PASSWORD, MysqlServer

RATIO: Final = 25.0
COMPRESSED: Final = 0.8  # of the speed without
MEMORY: Final = 400  # MiB
RUNS: Final = 3
SIZES: Final = (1, 1, 2, 5, 10, 20, 50)  # rows of the small transactions, in turns
DEFINED: Final = {
    "account": "id BIGINT PRIMARY KEY, k INT NOT NULL, c CHAR(120) NOT NULL, pad CHAR(60) NOT NULL",
    "line": "o INT, d TINYINT, w SMALLINT, n TINYINT, item INT, supplier SMALLINT, delivered DATETIME, qty TINYINT,"
    " amount DECIMAL(6,2), dist CHAR(24), id BIGINT UNIQUE, PRIMARY KEY (w, d, o, n)",
    "wide": "id BIGINT UNSIGNED PRIMARY KEY, tenant INT NOT NULL, code VARCHAR(32) NOT NULL, name VARCHAR(100),"
    " email VARCHAR(120), description TEXT, amount DECIMAL(18,4) NOT NULL, price DECIMAL(10,2), qty SMALLINT NOT NULL,"
    " flags TINYINT NOT NULL, ratio DOUBLE NOT NULL, score FLOAT,"
    " status ENUM('new','paid','shipped','cancelled') NOT NULL, tags SET('a','b','c','d','e'),"
    " active TINYINT(1) NOT NULL, created DATETIME(6) NOT NULL, updated TIMESTAMP(6) NULL, birth DATE, start TIME(3),"
    " yr YEAR, doc JSON, bin VARBINARY(64), ext CHAR(36) NOT NULL, country CHAR(2) NOT NULL, medium MEDIUMINT,"
    " big BIGINT UNSIGNED, bits BIT(12), note VARCHAR(300), utf VARCHAR(50), latin VARCHAR(40) CHARACTER SET latin1",
}
VALUES: Final = {
    "account": "n, n % 1000, REPEAT(LEFT(SHA2(n, 256), 32), 3), LEFT(REPEAT(LEFT(SHA2(-n, 256), 32), 2), 59)",
    "line": "n, n % 10, n % 7, n % 15, n * 7, n % 100, IF(n % 3, '2024-01-01' + INTERVAL n SECOND, NULL), 5,"
    " n % 9999 / 3, LEFT(LEFT(SHA2(n, 256), 32), 24), n",
    "wide": "n, n % 1000, CONCAT('C', n), IF(n % 5, 'lorem ipsum dolor', NULL), CONCAT('u', n, '@example.com'),"
    " IF(n % 5, REPEAT('lorem ipsum ', 6), NULL), n * 1.5, n / 7, n % 30000, n % 100, n / 3, IF(n % 5, n / 7, NULL),"
    " ELT(n % 4 + 1, 'new', 'paid', 'shipped', 'cancelled'), ELT(n % 5 + 1, 'a', 'a,b', 'c,d', 'a,b,c,d,e', ''), n % 2,"
    " '2024-01-01' + INTERVAL n * 1.000001 SECOND, '2024-06-01 01:02:03.000004', '2001-02-03', '11:12:13.014',"
    ' 2000 + n % 30, IF(n % 5, CONCAT(\'{"a": \', n % 1000, \', "s": "lorem ipsum", "l": [1, 2.5, null, true],'
    " \"o\": {\"x\": ', n, '}}'), NULL), LEFT(SHA2(n, 256), 20), UUID(), 'CN', n - 5000,"
    " 18446744073709551615 - n, n % 4096,"
    " REPEAT('dolor sit ', 8), '数据同步任务管理', 'cafe lorem'",
}
CHANGED: Final = {
    "account": "k = k + 1, c = CONCAT(c, '')",
    "line": "amount = amount / 2, delivered = NOW()",
    "wide": "qty = qty + 1, amount = amount + 1.5, updated = NOW(6), status = 'paid'",
}
WIDE_SHARE: Final = 2 / 3  # of the rows of another table
KEYS: Final = {"line": ("w", "d", "o", "n")}


def create(server: MysqlServer, rows: int) -> dict[Table, Subscription]:
    """The tables, and beside them what fills them; nothing of that is in the binlog."""
    server.run("DROP DATABASE IF EXISTS bench", "DROP DATABASE IF EXISTS stage", "CREATE DATABASE bench")
    server.run(*(f"CREATE TABLE bench.{name} ({columns})" for name, columns in DEFINED.items()))
    server.run(
        "SET SESSION sql_log_bin = 0, SESSION cte_max_recursion_depth = 10000000",
        "CREATE DATABASE stage",
        "USE stage",
        *(f"CREATE TABLE stage.{name} LIKE bench.{name}" for name in DEFINED),
        *(
            f"INSERT INTO stage.{name} WITH RECURSIVE s AS (SELECT 0 n UNION ALL SELECT n + 1 FROM s"
            f" WHERE n < {rows_of(name, rows)})"
            f" SELECT {values} FROM s"
            for name, values in VALUES.items()
        ),
    )
    told = facts(server, [("bench", name) for name in DEFINED]).tables
    return {(each.db, each.name): subscribed(each) for each in told}


def subscribed(table: SourceTable) -> Subscription:
    columns = tuple(column.name for column in table.columns)
    return Subscription(columns=columns, keys=KEYS.get(table.name, ("id",)), schema=table)


def rows_of(name: str, rows: int) -> int:
    return int(rows * WIDE_SHARE) if name == "wide" else rows


def fill(server: MysqlServer, all_rows: int) -> None:
    """Of each table half of the changes in small transactions, half in large ones."""
    for name, change in CHANGED.items():
        table, rows = f"bench.{name}", rows_of(name, all_rows)
        put = f"INSERT INTO {table} SELECT * FROM stage.{name}"
        update, delete = f"UPDATE {table} SET {change}", f"DELETE FROM {table}"
        server.run(*(f"{put} WHERE {some}" for some in small(0, rows // 2)), f"{put} WHERE id >= {rows // 2}")
        server.run(*(f"{update} WHERE {some}" for some in small(0, rows // 3)), f"{update} WHERE id >= {rows * 2 // 3}")
        server.run(*(f"{delete} WHERE {some}" for some in small(0, rows // 8)), f"{delete} WHERE id >= {rows * 7 // 8}")


def small(start: int, end: int) -> Iterator[str]:
    """Conditions that take a few rows each."""
    for size in itertools.cycle(SIZES):
        if start >= end:
            return
        yield f"id >= {start} AND id < {min(start + size, end)}"
        start += size


def fill_small(server: MysqlServer, rows: int) -> None:
    """Four one-row changes a transaction, of rows that are there."""
    connection = server.connect(autocommit=False)
    with connection, connection.cursor() as cursor:
        for number in range(rows // 12):
            for part in range(4):
                cursor.execute(
                    f"UPDATE bench.account SET k = k + 1, pad = '{number}' WHERE id = {rows // 2 + number * 4 + part}",
                )
            connection.commit()


@dataclass(frozen=True, kw_only=True, slots=True)
class Stretch:
    """A part of a server's binlog, and the tables' columns in it."""

    address: MysqlAddress
    start: Position
    end: Position
    tables: Mapping[Table, Subscription]


def ours(stretch: Stretch, *, decode: bool = True) -> int:
    start, end = stretch.start, stretch.end
    source = MysqlSource([stretch.address], 4801, start, stretch.tables)
    rows, at = 0, start
    try:
        while not (at.gtids and reached(at, end)):
            batch = source.get(1.0)
            if batch is None:
                continue
            at = batch.end or at
            rows += sum(len(part.decode()) for part in batch.changes) if decode else batch.events
    finally:
        source.close()
        source.get(0)
    return rows


def theirs(server: MysqlServer, start: Position) -> int:
    stream = BinLogStreamReader(
        connection_settings={
            "host": "127.0.0.1",
            "port": server.port,
            "user": "repl",
            "password": PASSWORD,
            "ssl_disabled": True,
        },
        server_id=4802,
        only_events=[WriteRowsEvent, UpdateRowsEvent, DeleteRowsEvent],
        only_schemas=["bench"],
        log_file=start.file,
        log_pos=start.offset,
        resume_stream=True,
    )
    try:
        return sum(len(event.rows) for event in stream)
    finally:
        stream.close()


def timed(work: Callable[[], int]) -> tuple[int, float]:
    begin = time.process_time()
    rows = work()
    return rows, rows / (time.process_time() - begin)


def alone(stretch: Stretch) -> tuple[int, float, int]:
    """Changes, changes per CPU second (the median of some runs), and the peak of this process' memory in MiB."""
    runs = [timed(lambda: ours(stretch)) for _ in range(RUNS)]
    return (
        runs[0][0],
        statistics.median(speed for _, speed in runs),
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    )


def in_a_process(stretch: Stretch) -> tuple[int, float, int]:
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(alone, stretch).result()


def written(server: MysqlServer, tables: Mapping[Table, Subscription], write: Callable[[], None]) -> Stretch:
    """What `write` puts into the binlog."""
    start = facts(server).start
    write()
    end = facts(server).start
    return Stretch(address=address(server, ssl="disabled"), start=start, end=end, tables=tables)


def main() -> int:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 60_000  # of each table; each changes twice
    warnings.simplefilter("ignore", DeprecationWarning)
    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory() as folder:
        server = MysqlServer(Path(folder)).start()
        try:
            return 1 if any([*_measure(server, rows)]) else 0
        finally:
            server.stop()


def _measure(server: MysqlServer, rows: int) -> Iterator[bool]:
    """Whether each aim is missed."""
    speeds = {}
    for level in ("FULL", "MINIMAL"):
        with server.global_variable("binlog_row_metadata", level):
            tables = create(server, rows)
            stretch = written(server, tables, lambda: fill(server, rows))
            changes, speeds[level], memory = in_a_process(stretch)
            told, other = timed(lambda stretch=stretch: theirs(server, stretch.start))  # type: ignore[misc]
            assert changes == told, (changes, told)
            ratio = speeds[level] / other
            print(
                f"{level}: {changes} changes; syncmgr {speeds[level]:,.0f} per CPU second in {memory} MiB,"
                f" python-mysql-replication {other:,.0f}: {ratio:.1f} times",
                flush=True,
            )
            yield ratio < RATIO or memory > MEMORY
    tables = create(server, rows)
    with server.global_variable("binlog_transaction_compression", "ON"):
        packed = written(server, tables, lambda: fill(server, rows))
    _, speed, memory = in_a_process(packed)
    print(f"compressed: {speed:,.0f} per CPU second in {memory} MiB, {speed / speeds['FULL']:.2f} of that without")
    yield speed < COMPRESSED * speeds["FULL"] or memory > MEMORY
    small_ones = written(server, tables, lambda: fill_small(server, rows))
    _, decoded = timed(lambda: ours(small_ones))
    _, routed = timed(lambda: ours(small_ones, decode=False))
    print(f"4 changes a transaction: {decoded:,.0f} changes per CPU second decoded, {routed:,.0f} routed")


if __name__ == "__main__":
    sys.exit(main())
