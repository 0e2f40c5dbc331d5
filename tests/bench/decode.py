"""Socket to Arrow against python-mysql-replication on one binlog, one core: python -m tests.bench.decode [changes].

Prints changes per CPU second of both (a busy machine shall not decide) and their ratio, which must be at least 20, and
the speed with small transactions; ends with status 1 below the ratio.
"""

import logging
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Final

from pymysqlreplication import BinLogStreamReader
from pymysqlreplication.row_event import DeleteRowsEvent, UpdateRowsEvent, WriteRowsEvent

from syncmgr.job.position import Position
from syncmgr.mysql.source import MysqlSource
from syncmgr.mysql.subscriptions import Subscription
from tests.contract.mysql_reader import address, facts, reached
from tests.servers import PASSWORD, MysqlServer

RATIO: Final = 20.0
RUNS: Final = 3
CHUNK: Final = 10_000
TABLES: Final = {
    ("bench", "orders"): Subscription(columns=("id", "customer", "status", "amount", "at", "note"), keys=("id",)),
    ("bench", "wide"): Subscription(columns=("id", *"abcdefghijklmnopqrs"), keys=("id",)),
}


def fill(server: MysqlServer, changes: int) -> None:
    """Bulk inserts, updates and deletes of a narrow and a wide table."""
    server.run(
        "CREATE DATABASE bench",
        "CREATE TABLE bench.orders (id BIGINT PRIMARY KEY, customer INT NOT NULL, status VARCHAR(16),"
        " amount DECIMAL(12,2), at DATETIME(6), note CHAR(60))",
        "CREATE TABLE bench.wide (id BIGINT PRIMARY KEY, a INT, b INT UNSIGNED, c VARCHAR(50), d VARCHAR(50),"
        " e DOUBLE, f DECIMAL(30,8), g TIMESTAMP(3) NULL, h DATE, i ENUM('x','y','z'), j SET('p','q'), k TIME,"
        " l VARCHAR(40) CHARACTER SET latin1, m BLOB, n TINYINT, o SMALLINT, p MEDIUMINT, q YEAR, r BIT(5), s TEXT)",
        "CREATE TABLE bench.n (n INT PRIMARY KEY)",
        "SET SESSION cte_max_recursion_depth = 1000000",
        "INSERT INTO bench.n WITH RECURSIVE s AS (SELECT 0 n UNION ALL SELECT n + 1 FROM s WHERE n < 9999)"
        " SELECT n FROM s",
    )
    done = 0
    while done < changes:
        base = done
        server.run(
            f"INSERT INTO bench.orders SELECT {base} + n, n % 1000, 'new', n / 7, NOW(6), REPEAT('x', n % 60)"
            " FROM bench.n",
            f"INSERT INTO bench.wide SELECT {base} + n, n, n, CONCAT('c', n), IF(n % 3, 'dd', NULL), n / 3, n * 1.5,"
            " '2024-01-02 03:04:05.678', '2024-02-03', 'y', 'p,q', '10:11:12', 'dej', x'00ff', 1, 2, 3, 2024, b'101',"
            f" 'text' FROM bench.n WHERE n < {CHUNK // 4}",
            f"UPDATE bench.orders SET status = 'paid' WHERE id >= {base} AND id < {base + CHUNK // 2}",
            f"DELETE FROM bench.orders WHERE id >= {base + CHUNK // 2} AND id < {base + CHUNK // 2 + CHUNK // 10}",
        )
        done += CHUNK + CHUNK // 4 + CHUNK // 2 + CHUNK // 10


def fill_small(server: MysqlServer, transactions: int) -> None:
    """Four one-row changes a transaction."""
    connection = server.connect(autocommit=False)
    with connection, connection.cursor() as cursor:
        for number in range(transactions):
            for part in range(4):
                cursor.execute(
                    f"UPDATE bench.orders SET amount = amount + 1, note = '{number}' WHERE id = {number * 4 + part}",
                )
            connection.commit()


def ours(server: MysqlServer, start: Position, end: Position, *, decode: bool = True) -> int:
    source = MysqlSource([address(server, ssl="disabled")], 4801, start, TABLES)
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
        ignored_tables=["n"],
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


def main() -> int:
    changes = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
    warnings.simplefilter("ignore", DeprecationWarning)
    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory() as folder:
        server = MysqlServer(Path(folder)).start()
        try:
            return _measure(server, changes)
        finally:
            server.stop()


def _measure(server: MysqlServer, changes: int) -> int:
    fill(server, changes)
    start = facts(server, start="earliest").start
    end = facts(server).start
    runs = [timed(lambda: ours(server, start, end)) for _ in range(RUNS)]
    mine = sorted(speed for _, speed in runs)[RUNS // 2]
    rows, other = timed(lambda: theirs(server, start))
    assert rows == runs[0][0], (rows, runs)
    print(
        f"bulk: {rows} changes; syncmgr {mine:,.0f} per CPU second,"
        f" python-mysql-replication {other:,.0f}: {mine / other:.1f} times"
    )
    before = facts(server).start
    fill_small(server, max(changes // 20, 1000))
    after = facts(server).start
    _, decoded = timed(lambda: ours(server, before, after))
    _, routed = timed(lambda: ours(server, before, after, decode=False))
    print(f"4 changes a transaction: {decoded:,.0f} changes per CPU second decoded, {routed:,.0f} routed")
    return 0 if mine >= RATIO * other else 1


if __name__ == "__main__":
    sys.exit(main())
