"""How long a DDL statement holds a job up beside a big table, and how fast statements are read, against sqlglot.

Run: python -m tests.bench.ddl [--rows 10000000] [--statements 30]

The table comes by a snapshot; then one row is changed, a column comes, grows, gets another name or goes, and another
row is changed. The time runs from the end of the ALTER in MySQL, which writes it into the binlog, to the committed
position behind it: cut, commit of what was open, change of the table, and the order to read on.
"""

import argparse
import contextlib
import logging
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import sqlglot
from pymysql.cursors import Cursor, DictCursor
from sqlglot.errors import SqlglotError

from mysqlddl.reading import Modes, UnclearError, read
from tests.acceptance.frontend import FrontendProcess
from tests.bench.backlog import BINLOG, load
from tests.bench.freshness import POLL_SECOND, reached, transactions
from tests.grammar.mysqlddl.shown import MODES, cases
from tests.support.servers.mysql import MysqlServer

ALTERS = (  # such as MySQL makes at once, however many rows there are
    "ADD COLUMN x{n} INT NOT NULL DEFAULT 7",
    "RENAME COLUMN x{n} TO y{n}",
    "MODIFY c6 VARCHAR({wide})",
    "ALTER COLUMN c1 SET DEFAULT {n}",
    "DROP COLUMN y{n}",
)
PARSED_SECOND = 1.0
REPEATS = 5
QUIET_SECOND = 1.0  # between two statements


def ours(text: str, modes: Modes) -> None:
    with contextlib.suppress(UnclearError):
        read(text, "shop", modes)


def sqlglots(text: str, _modes: Modes) -> None:
    """A parser of all of SQL; what it cannot read it gives up early."""
    with contextlib.suppress(SqlglotError):
        sqlglot.parse(text, dialect="mysql")


def parsed_a_second(parse: Callable[[str, Modes], None]) -> float:
    """Statements of the whole corpus, round after round, in CPU seconds."""
    texts = [(case.sql, MODES[case.modes]) for case in cases()]
    count, began = 0, time.process_time()
    while (took := time.process_time() - began) < PARSED_SECOND:
        for text, modes in texts:
            parse(text, modes)
        count += len(texts)
    return count / took


def compare_parsers() -> None:
    """The median of alternated runs of both."""
    logging.getLogger("sqlglot").setLevel(logging.ERROR)  # it warns of each statement that it does not know
    pairs = [(parsed_a_second(ours), parsed_a_second(sqlglots)) for _ in range(REPEATS)]
    mine, theirs = (median(each) for each in zip(*pairs, strict=True))
    ratio = median(one / other for one, other in pairs)
    print(f"{mine:,.0f} statements a second of CPU, sqlglot {theirs:,.0f}, ratio {ratio:.1f}", flush=True)


def hold(mysql: Cursor, console: DictCursor, number: int) -> float:
    """Seconds that one ALTER takes to be in the lake."""
    mysql.execute(f"UPDATE bench.t SET c1 = c1 + 1 WHERE id = {number + 1}")
    turn = number // len(ALTERS)
    mysql.execute("ALTER TABLE bench.t " + ALTERS[number % len(ALTERS)].format(n=turn, wide=61 + turn))
    began = time.monotonic()
    mysql.execute("SELECT @@gtid_executed")
    [end] = mysql.fetchone() or [""]
    mysql.execute(f"UPDATE bench.t SET c1 = c1 + 1 WHERE id = {number + 2}")
    while reached(console, "bench") < transactions(end):
        time.sleep(POLL_SECOND)
    return time.monotonic() - began


def measure(mysql: MysqlServer, fe: FrontendProcess, rows: int, statements: int) -> None:
    columns = "id BIGINT {key}, c1 INT, c2 VARCHAR(40), c3 DECIMAL(12,2), c4 DATETIME, c5 BIGINT, c6 VARCHAR(60)"
    mysql.run("CREATE DATABASE bench", f"CREATE TABLE bench.t ({columns.format(key='PRIMARY KEY')})")
    with contextlib.closing(mysql.connect()) as connection, connection.cursor() as cursor:
        load(cursor, rows)
    fe.sql("CREATE DATABASE bench")
    fe.sql(f"CREATE TABLE bench.t ({columns.format(key='NOT NULL')}) UNIQUE KEY(id)")
    binlog = BINLOG.replace("latest", "snapshot").format(port=mysql.port)
    fe.sql(f"CREATE SYNC bench.job1 (FROM bench.t INTO t) {binlog}")
    fe.await_caught_up("bench", deadline=900)
    with (
        contextlib.closing(mysql.connect()) as connection,
        connection.cursor() as cursor,
        contextlib.closing(fe.connect()) as client,
        client.cursor() as console,
    ):
        took = []
        for number in range(statements):
            time.sleep(QUIET_SECOND)
            took.append(hold(cursor, console, number))
            print(f"{took[-1]:.2f}", end=" ", flush=True)
    took.sort()
    print(f"\n{statements} statements: p50 {took[len(took) // 2]:.2f} s, longest {took[-1]:.2f} s", flush=True)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rows", type=int, default=10_000_000)
    arguments.add_argument("--statements", type=int, default=30)
    options = arguments.parse_args()
    compare_parsers()
    with tempfile.TemporaryDirectory() as place:
        mysql = MysqlServer(Path(place) / "mysql", "mysql")
        mysql.start()
        fe = FrontendProcess(Path(place) / "fe", {"sync_commit_interval_second": 0.3}).start()
        try:
            measure(mysql, fe, options.rows, options.statements)
        finally:
            fe.stop()
            mysql.stop()


if __name__ == "__main__":
    main()
