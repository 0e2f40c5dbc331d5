"""How long a wedged query engine keeps others from an answer.

Run: python -m tests.bench.wedged [--times N]

A LIKE that never ends takes all cores of the engine and is killed once it does; another client asks for a count all the
time. The time runs from the KILL to the first count that another engine has answered, its start included, and from the
first row of the LIKE on.
"""

import argparse
import contextlib
import statistics
import tempfile
import threading
import time
from pathlib import Path

import psutil
import pymysql

from tests.acceptance.frontend import FrontendProcess
from tests.support.until import HANG_SECOND, until

NEVER_ENDS = "SELECT count(*) FROM range({rows}) WHERE concat(repeat('a', 300), id) LIKE concat(repeat('%a', 60), 'b')"
BUSY_SECOND = 3.0  # of CPU: its plan takes less
ASK = "SELECT count(*) FROM press.t"


def wedge(fe: FrontendProcess) -> tuple[float, float]:
    """Seconds from the KILL, and from the query's beginning, to an answer of another engine."""
    fe.sql(ASK)
    [engine] = fe.query_engine()
    process = psutil.Process(engine)

    def taken() -> float:
        times = process.cpu_times()
        return times.user + times.system

    before, begun = taken(), time.monotonic()
    connection = fe.connect()

    def ask() -> None:
        with contextlib.suppress(pymysql.err.MySQLError), connection.cursor() as cursor:
            cursor.execute(NEVER_ENDS.format(rows=2 * psutil.cpu_count()))

    asking = threading.Thread(target=ask)
    asking.start()
    until(lambda: taken() > before + BUSY_SECOND, why="the query in the engine's cores")
    killed = time.monotonic()
    fe.sql(f"KILL QUERY {connection.thread_id()}")
    until(lambda: answers(fe) and engine not in fe.query_engine(), why="an answer", deadline=HANG_SECOND)
    served = time.monotonic()
    asking.join()
    connection.close()
    return served - killed, served - begun


def answers(fe: FrontendProcess) -> bool:
    with contextlib.suppress(pymysql.err.MySQLError):
        fe.sql(ASK)
        return True
    return False


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--times", type=int, default=5)
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as place:
        fe = FrontendProcess(Path(place) / "fe").start()
        try:
            fe.sql("CREATE DATABASE press")
            fe.sql("CREATE TABLE press.t (id BIGINT NOT NULL) UNIQUE KEY(id)")
            measured = [wedge(fe) for _ in range(options.times)]
        finally:
            fe.stop()
    for what, seconds in zip(("from the KILL", "from its beginning"), zip(*measured, strict=True), strict=True):
        each = ", ".join(f"{second:.1f}" for second in seconds)
        print(f"{what}: median {statistics.median(seconds):.1f} s of {each}")


if __name__ == "__main__":
    main()
