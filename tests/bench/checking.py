"""Whether CHECK finds what differs and nothing else, while rows change and processes are killed, and what it costs.

Run: python -m tests.bench.checking unseen [--runs 50] | hot [--second 60]  | kills [--kills 100]
     | big [--rows 4000000] [--server mysql]

unseen: 100 rows are changed with sql_log_bin = 0 while others change; a check finds exactly these, and REPAIR makes
them equal again. hot: 20 rows toggle between two values; no check calls one DIFFERENT. kills: worker, frontend, lake's
JVM or server are killed while checks run; no verdict is wrong. big: a table of bench.t's columns under 2,000 changes a
second.
"""

import argparse
import contextlib
import json
import random
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pymysql

from tests.acceptance.frontend import FrontendProcess
from tests.bench.backlog import COLUMNS, load
from tests.bench.freshness import POLL_SECOND, made, reached, report, transactions
from tests.bench.snapshot import SNAPSHOT
from tests.support.servers.mysql import MysqlServer
from tests.support.until import until

ROWS = 20_000  # of the small table
UNSEEN = 100
HOT = 20
# A killed server with the tests' own setting loses transactions that its binlog has: the target has them, too.
DURABLE = {"innodb-flush-log-at-trx-commit": "2"}
OVER = {"DONE", "FAILED", "STOPPED"}


def fill(mysql: MysqlServer, fe: FrontendProcess) -> None:
    until(lambda: made(fe, "c"), deadline=300, why="Spark")
    mysql.run("CREATE DATABASE c", "CREATE TABLE c.t (id INT PRIMARY KEY, v INT, s VARCHAR(40))")
    for start in range(0, ROWS, 5000):
        mysql.run("INSERT INTO c.t VALUES " + ", ".join(f"({row}, 0, 'a{row}')" for row in range(start, start + 5000)))
    fe.sql(f"CREATE SYNC c.job1 (FROM c.* INTO c.*) {SNAPSHOT.format(port=mysql.port)}")
    fe.await_caught_up("c", deadline=300)


@contextlib.contextmanager
def writing(mysql: MysqlServer, statement: Callable[[], str], per_second: float) -> Iterator[list[float]]:
    """When each transaction was committed. `statement`: of the next. What a server that is down refuses is left out."""
    over, committed = threading.Event(), list[float]()

    def write() -> None:
        while not over.is_set():
            with contextlib.suppress(pymysql.err.MySQLError, OSError), contextlib.closing(mysql.connect()) as session:
                due = time.monotonic()
                while not over.wait(max(due - time.monotonic(), 0.0)):
                    with session.cursor() as cursor:
                        cursor.execute(statement())
                    session.commit()
                    committed.append(time.time())
                    due = max(due + 1 / per_second, time.monotonic() - 1)
            over.wait(0.2)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield committed
    finally:
        over.set()
        thread.join()


def toggle() -> str:
    return f"UPDATE c.t SET v = 1 - v WHERE id = {random.randrange(HOT)}"


def change() -> str:
    row = random.randrange(HOT, ROWS // 2)
    return random.choice(
        (
            f"UPDATE c.t SET v = v + 1 WHERE id = {row}",
            f"DELETE FROM c.t WHERE id = {row}",
            f"REPLACE INTO c.t VALUES ({row}, 0, 'b')",
        )
    )


def started(fe: FrontendProcess, statement: str) -> int:
    return int(fe.sql(statement)[0]["CheckId"])


def rows_of(fe: FrontendProcess, check: int) -> list[dict[str, Any]]:
    return fe.sql(f"SELECT * FROM information_schema.sync_checks WHERE CHECK_ID = {check}")


def ended(fe: FrontendProcess, check: int) -> dict[str, Any]:
    until(lambda: all(row["STATE"] in OVER for row in rows_of(fe, check)), deadline=900, why=f"check {check}")
    return rows_of(fe, check)[0]


def found(fe: FrontendProcess, check: int) -> dict[int, str]:
    rows = fe.sql(f"SELECT ROW_KEY, KIND FROM information_schema.sync_check_rows WHERE CHECK_ID = {check}")
    return {int(json.loads(row["ROW_KEY"])["id"]): row["KIND"] for row in rows if row["KIND"] != "UNSETTLED"}


def alter_unseen(mysql: MysqlServer, dice: random.Random, run: int) -> dict[int, str]:
    """The kind of each row, of the upper half of the table, which nothing else changes."""
    expected, statements = dict[int, str](), ["SET sql_log_bin = 0"]
    for at, row in enumerate(dice.sample(range(ROWS // 2, ROWS), UNSEEN)):
        match at % 4:
            case 0:
                expected[row] = "DIFFERENT"
                statements.append(f"UPDATE c.t SET v = v + 1 WHERE id = {row}")
            case 1:
                expected[row] = "DIFFERENT"
                statements.append(f"UPDATE c.t SET s = UPPER(CONCAT(s, ' ')) WHERE id = {row}")
            case 2:
                expected[row] = "EXTRA"
                statements.append(f"DELETE FROM c.t WHERE id = {row}")
            case _:
                expected[ROWS + run * UNSEEN + at] = "MISSING"
                statements.append(f"INSERT INTO c.t VALUES ({ROWS + run * UNSEEN + at}, 1, NULL)")
    mysql.run(*statements, "SET sql_log_bin = 1", *[f"SELECT 'run {run}'"])
    return expected


def unseen(mysql: MysqlServer, fe: FrontendProcess, options: argparse.Namespace) -> None:
    """Each run repairs what it has found; the rows that it deleted are put back unseen, too, and repaired."""
    fill(mysql, fe)
    dice, right, repaired, took = random.Random(1), 0, 0, list[float]()
    with writing(mysql, change, 200) as committed:
        for run in range(options.runs):
            expected = alter_unseen(mysql, dice, run)
            begun = time.monotonic()
            check = started(fe, "CHECK SYNC JOB c.job1")
            row = ended(fe, check)
            took.append(time.monotonic() - begun)
            same = found(fe, check) == expected and row["RESULT"] == "DIFFERENT"
            right += same
            after = ended(fe, started(fe, f"REPAIR SYNC JOB c.job1 CHECK {check}"))
            repaired += (after["RESULT"], after["REPAIRED"]) == ("EQUAL", len(expected))
            if not same or after["RESULT"] != "EQUAL":
                print(run, row, after, found(fe, check).items() ^ expected.items(), flush=True)
            gone = [key for key, kind in expected.items() if kind == "EXTRA"]
            mysql.run("INSERT INTO c.t VALUES " + ", ".join(f"({key}, 0, 'a')" for key in gone))
        print(
            f"{right} of {options.runs} found exactly the {UNSEEN} rows, {repaired} repaired, {len(committed)} changes"
        )
    print(f"a check took {sorted(took)[len(took) // 2]:.1f} s (median)")
    fe.await_caught_up("c", deadline=300)
    print("at rest:", ended(fe, started(fe, "CHECK SYNC JOB c.job1"))["RESULT"])


def hot(mysql: MysqlServer, fe: FrontendProcess, options: argparse.Namespace) -> None:
    fill(mysql, fe)
    results, kinds = Counter[str](), Counter[str]()
    end = time.monotonic() + options.second
    with writing(mysql, toggle, 500) as committed:
        begun = time.monotonic()
        while time.monotonic() < end:
            check = started(fe, "CHECK SYNC JOB c.job1")
            results[str(ended(fe, check)["RESULT"])] += 1
            kinds.update(found(fe, check).values())
        rate = len(committed) / (time.monotonic() - begun)
    print(
        f"{results.total()} checks while {HOT} rows toggled {rate:.0f} times a second: {dict(results)}, {dict(kinds)}"
    )


def kills(mysql: MysqlServer, fe: FrontendProcess, options: argparse.Namespace) -> None:
    """One row differs for certain, and is the only one that may be called different."""
    fill(mysql, fe)
    mysql.run("SET sql_log_bin = 0", f"UPDATE c.t SET v = 77 WHERE id = {ROWS - 1}")
    dice, counts, states, wrong = random.Random(2), Counter[str](), Counter[str](), 0
    with writing(mysql, toggle, 200), writing(mysql, change, 50):
        while counts.total() < options.kills:
            check = started(fe, 'CHECK SYNC JOB c.job1 WITH ("chunk_rows" = "2000", "rounds" = "100")')
            while counts.total() < options.kills and not all(row["STATE"] in OVER for row in rows_of(fe, check)):
                time.sleep(dice.random() * 6)
                ends = 1 - states.total() % 2  # the frontend's death ends a check: every other one may end by itself
                [victim] = dice.choices(("worker", "jvm", "server", "frontend"), (6, 2, 3, ends))
                kill(mysql, fe, victim)
                counts[victim] += 1
            row = ended(fe, check)
            verdict = found(fe, check)
            states[f"{row['STATE']} {row['RESULT']}"] += 1
            if verdict not in ({}, {ROWS - 1: "DIFFERENT"}) or (
                row["STATE"] == "DONE" and row["RESULT"] != "DIFFERENT"
            ):
                wrong += 1
                print("wrong:", row, verdict, flush=True)
    print(f"{counts.total()} kills {dict(counts)} in {states.total()} checks: {wrong} wrong; {dict(states)}")
    fe.await_caught_up("c", deadline=300)
    check = started(fe, "CHECK SYNC JOB c.job1")
    print("at rest:", ended(fe, check)["RESULT"], found(fe, check))


def kill(mysql: MysqlServer, fe: FrontendProcess, victim: str) -> None:
    match victim:
        case "worker":
            fe.kill_workers()
        case "server":
            mysql.kill()
            mysql.start()
        case "frontend":
            fe.kill()
            fe.start()
        case _:
            assert fe.process is not None
            for child in psutil.Process(fe.process.pid).children(recursive=True):
                with contextlib.suppress(psutil.Error):
                    if child.name() == "java":
                        child.kill()
                        return


def big(mysql: MysqlServer, fe: FrontendProcess, options: argparse.Namespace) -> None:
    until(lambda: made(fe, "bench"), deadline=300, why="Spark")
    with mysql.connect() as source, source.cursor() as cursor:
        cursor.execute("CREATE DATABASE bench")
        cursor.execute(f"CREATE TABLE bench.t ({COLUMNS.format(key='PRIMARY KEY')})")
        load(cursor, options.rows)
        cursor.execute("ANALYZE TABLE bench.t")
    fe.sql(f"CREATE SYNC bench.job1 (FROM bench.* INTO bench.*) {SNAPSHOT.format(port=mysql.port)}")
    fe.await_caught_up("bench", deadline=1800)

    def changes() -> str:
        keys = ", ".join(str(random.randrange(1, options.rows + 1)) for _ in range(10))
        return f"UPDATE bench.t SET c1 = c1 + 1 WHERE id IN ({keys})"

    base = transactions(mysql.run("SELECT @@gtid_executed")[0][0])
    with writing(mysql, changes, 200) as committed:
        time.sleep(15)
        end = time.time() + 20
        before = server_second()
        report(ages(fe, committed, base, lambda: time.time() < end))
        alone = (server_second() - before) / 20
        cpu, wrote, begun = server_second(), len(committed), time.monotonic()
        check = started(fe, "CHECK SYNC JOB bench.job1")
        report(ages(fe, committed, base, lambda: rows_of(fe, check)[0]["STATE"] not in OVER))
        took = time.monotonic() - begun
        own, wrote = server_second() - cpu - alone * took, len(committed) - wrote
    row = ended(fe, check)
    print({name: row[name] for name in ("STATE", "RESULT", "ROWS_SOURCE", "CHUNKS", "ROUND", "DIFFERENT", "UNSETTLED")})
    print(f"{options.rows} rows in {took:.0f} s under {wrote * 10 / took:.0f} changes/s; the source without it")
    print(f"{alone:.2f} of a core, and {own / options.rows * 1e6:.2f} CPU s a million rows for it")


def server_second() -> float:
    """CPU of the only server that this process has started."""
    [times] = [each.cpu_times() for each in psutil.Process().children() if each.name() in {"mysqld", "mariadbd"}]
    return float(times.user + times.system)


def ages(fe: FrontendProcess, committed: list[float], base: int, goes_on: Callable[[], bool]) -> list[float]:
    """Of every transaction when the position of the job includes it."""
    told, looked = list[float](), 0.0
    with contextlib.closing(fe.connect()) as connection, connection.cursor() as cursor:
        newest = reached(cursor, "bench") - base
        while True:
            time.sleep(POLL_SECOND * 5)
            at, now = time.time(), reached(cursor, "bench") - base
            told += [at - committed[number - 1] for number in range(newest + 1, now + 1)]
            newest = now
            if at - looked > 1:
                looked = at
                if not goes_on():
                    return told


MODES = {"unseen": unseen, "hot": hot, "kills": kills, "big": big}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("mode", choices=MODES)
    arguments.add_argument("--runs", type=int, default=50)
    arguments.add_argument("--second", type=float, default=60.0)
    arguments.add_argument("--kills", type=int, default=100)
    arguments.add_argument("--rows", type=int, default=4_000_000)
    arguments.add_argument("--server", choices=("mysql", "mariadb"), default="mysql")
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as place:
        mysql = MysqlServer(Path(place) / "mysql", options.server, DURABLE)
        mysql.start()
        fe = FrontendProcess(Path(place) / "fe", {"sync_commit_interval_second": 1.0 if options.mode == "big" else 0.3})
        fe.start()
        try:
            MODES[options.mode](mysql, fe, options)
        finally:
            fe.stop()
            mysql.stop()


if __name__ == "__main__":
    main()
