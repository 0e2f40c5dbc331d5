"""Every snapshot of a table under a running job is a moment of the source, for every reader."""

import contextlib
import random
import threading

import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

from tests.acceptance.frontend import FrontendProcess
from tests.support.servers.mysql import MysqlServer
from tests.support.until import until

pytestmark = [pytest.mark.mysql, pytest.mark.spark]

ACCOUNTS, MONEY = 50, 100
BINLOG = (
    'FROM BINLOG ("type" = "mysql", "start" = "latest", "mysql.host" = "127.0.0.1", "mysql.port" = "{port}", '
    '"mysql.user" = "root", "mysql.password" = "", "mysql.ssl" = "disabled")'
)


def transfers(mysql: MysqlServer, stop: threading.Event) -> None:
    """Money moves and accounts change their numbers, and the sum of all stays."""
    dice = random.Random(2)
    with contextlib.closing(mysql.connect()) as connection, connection.cursor() as cursor:
        while not stop.wait(0.005):
            payer, payee = dice.sample(range(ACCOUNTS), 2)
            cursor.execute("BEGIN")
            cursor.execute(f"UPDATE bank.accounts SET money = money - 1 WHERE id % {ACCOUNTS} = {payer}")
            cursor.execute(f"UPDATE bank.accounts SET money = money + 1 WHERE id % {ACCOUNTS} = {payee}")
            if dice.random() < 0.1:
                cursor.execute(f"UPDATE bank.accounts SET id = id + {ACCOUNTS} WHERE id % {ACCOUNTS} = {payee}")
            cursor.execute("COMMIT")


def opened(frontend: FrontendProcess) -> Table:
    folder = frontend.folder / "var" / "lake"
    catalog = SqlCatalog("lake", uri=f"sqlite:///{folder}/catalog.db", warehouse=str(folder))
    try:
        return catalog.load_table(("bank", "accounts"))
    finally:
        catalog.engine.dispose()


def test_every_snapshot_is_a_moment_of_the_source(mysql_server: MysqlServer, frontend: FrontendProcess) -> None:
    """While transfers are committed many times a second, a reader that refuses equality deletes opens each snapshot
    and finds all accounts with all of the money; so does Spark.
    """
    mysql_server.run("CREATE DATABASE bank", "CREATE TABLE bank.accounts (id BIGINT PRIMARY KEY, money BIGINT)")
    frontend.sql("CREATE DATABASE bank")
    frontend.sql("CREATE TABLE bank.accounts (id BIGINT NOT NULL, money BIGINT) UNIQUE KEY(id)")
    frontend.sql(f"CREATE SYNC bank.job1 (FROM bank.accounts INTO accounts) {BINLOG.format(port=mysql_server.port)}")
    rows = ", ".join(f"({number}, {MONEY})" for number in range(ACCOUNTS))
    mysql_server.run(f"INSERT INTO bank.accounts VALUES {rows}")
    stop = threading.Event()
    writer = threading.Thread(target=transfers, args=(mysql_server, stop))
    writer.start()
    try:
        until(lambda: frontend.job("bank")["Status"]["commits"] > 3, why="the first commits")
        seen: set[int] = set()
        until(lambda: read_newest(frontend, seen) > 8, why="some snapshots")
    finally:
        stop.set()
        writer.join()
    until(lambda: frontend.job("bank")["Status"]["index"]["accounts"]["state"] == "ready", why="the key index")
    status = frontend.job("bank")["Status"]["index"]["accounts"]
    assert (status["missing"], status["equality_deletes"]) == (0, 0)
    expected = mysql_server.run("SELECT id, money FROM bank.accounts ORDER BY id")
    sql = "SELECT id, money FROM bank.accounts ORDER BY id"
    until(lambda: [tuple(row.values()) for row in frontend.sql(sql)] == list(expected))
    frontend.sql("STOP SYNC JOB bank.job1")


def read_newest(frontend: FrontendProcess, seen: set[int]) -> int:
    """How many snapshots were read so far; the first ones came while the rows themselves did."""
    table = opened(frontend)
    for snapshot in table.snapshots()[-2:]:
        if snapshot.snapshot_id not in seen:
            found = table.scan(snapshot_id=snapshot.snapshot_id).to_arrow().to_pydict()
            assert (len(found["id"]), sum(found["money"])) == (ACCOUNTS, ACCOUNTS * MONEY), snapshot
            seen.add(snapshot.snapshot_id)
    [told] = frontend.sql("SELECT count(*) AS n, sum(money) AS s FROM bank.accounts")
    assert (told["n"], told["s"]) == (ACCOUNTS, ACCOUNTS * MONEY)
    return len(seen)
