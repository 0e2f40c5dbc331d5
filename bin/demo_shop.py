# ruff: noqa: INP001 - a script beside scripts, not a package
"""The shop of the demo: its changes, and its comparison with the lake.

Owns: the workload, when the job has caught up, which rows differ.
Must not know: how either server was started. Needs PyMySQL alone.
"""

import argparse
import json
import random
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final, Protocol

import pymysql
from pymysql.cursors import Cursor, DictCursor, SSCursor

Row = tuple[object, ...]
Key = tuple[int, ...]

CUSTOMERS: Final = 500
TRANSACTIONS_PER_SECOND: Final = 40
BIG_EVERY_SECOND: Final = 5
BIG_ROWS: Final = 5000
FIRST_ORDERS: Final = 50_000
STATUSES: Final = ("new", "paid", "packed", "shipped", "returned")
CITIES: Final = ("Lagos", "São Paulo", "København", "上海", "Kraków", None)
NOTES: Final = (None, "", "it's urgent", 'say "hello"', "back\\slash", "línea\nnueva", "快递", "🎁")
SHOWN_DIFFERENCES: Final = 5


@dataclass(frozen=True, slots=True)
class Table:
    """One table on both sides. The first `key` columns are its key, all of them whole numbers."""

    name: str
    columns: tuple[str, ...]
    key: int

    def query(self, database: str) -> str:
        order = ", ".join(self.columns[: self.key])
        return f"SELECT {', '.join(self.columns)} FROM {database}.{self.name} ORDER BY {order}"  # noqa: S608 - our own names


TABLES: Final = (
    Table("customers", ("id", "name", "city", "credit"), 1),
    Table("orders", ("id", "customer_id", "status", "channel", "amount", "note", "changed_at"), 1),
    Table("order_lines", ("order_id", "line_no", "sku", "quantity", "price"), 2),
)


class Step(Protocol):
    """One kind of transaction; gives the number of changed rows."""

    def __call__(self, cursor: Cursor) -> int: ...


class Workload:
    """Transactions of a shop. Order numbers grow for ever; a number below zero is an order that was archived."""

    def __init__(self, cursor: Cursor, dice: random.Random) -> None:
        cursor.execute("SELECT coalesce(max(abs(id)), 0), now(6) FROM orders")
        row = cursor.fetchone()
        assert row is not None
        self.last: int = row[0]
        self.now: datetime = row[1]
        self.dice = dice

    def open(self, cursor: Cursor) -> int:
        """What the shop has sold before anybody looks."""
        ids = range(self.last + 1, self.last + 1 + BIG_ROWS)
        self.last = ids[-1]
        return self._insert(cursor, ids)

    def customers(self, cursor: Cursor) -> int:
        """Every customer that is not there yet."""
        rows = [(i, f"Customer {i}", self.dice.choice(CITIES), self._money()) for i in range(CUSTOMERS)]
        return cursor.executemany("INSERT IGNORE INTO customers VALUES (%s, %s, %s, %s)", rows) or 0

    def sell(self, cursor: Cursor) -> int:
        """New orders with their lines."""
        ids = range(self.last + 1, self.last + 1 + self.dice.randint(1, 10))
        self.last = ids[-1]
        return self._insert(cursor, ids)

    def move_on(self, cursor: Cursor) -> int:
        """The newest orders change their status, some more than once."""
        changed = 0
        for _ in range(self.dice.randint(1, 10)):
            changed += cursor.execute(
                "UPDATE orders SET status = %s, amount = amount + %s, note = %s, changed_at = %s WHERE id = %s",
                (self.dice.choice(STATUSES), self._money(), self.dice.choice(NOTES), self._later(), self._recent()),
            )
        return changed + cursor.execute(
            "UPDATE customers SET credit = credit - %s WHERE id = %s", (self._money(), self.dice.randrange(CUSTOMERS))
        )

    def archive(self, cursor: Cursor) -> int:
        """Keys change: an order and its lines get another number."""
        number = self._recent()
        changed = cursor.execute("UPDATE orders SET id = -id WHERE id = %s", (number,))
        return changed + cursor.execute("UPDATE order_lines SET order_id = -order_id WHERE order_id = %s", (number,))

    def cancel(self, cursor: Cursor) -> int:
        """Orders go, and their lines."""
        first = self._recent()
        changed = cursor.execute("DELETE FROM order_lines WHERE order_id BETWEEN %s AND %s", (first, first + 2))
        return changed + cursor.execute("DELETE FROM orders WHERE id BETWEEN %s AND %s", (first, first + 2))

    def restore(self, cursor: Cursor) -> int:
        """A row goes and comes back within one transaction; one that was archived or cancelled does not come back."""
        number = self._recent()
        lines = cursor.execute("DELETE FROM order_lines WHERE order_id = %s", (number,))
        if not cursor.execute("DELETE FROM orders WHERE id = %s", (number,)):
            return lines
        return lines + 1 + self._insert(cursor, range(number, number + 1))

    def season(self, cursor: Cursor) -> int:
        """A big transaction: thousands of new orders; half of them are paid, and all their lines become cheaper."""
        ids = range(self.last + 1, self.last + 1 + BIG_ROWS)
        changed = self._insert(cursor, ids)
        changed += cursor.execute("UPDATE orders SET status = 'paid' WHERE id > %s AND id MOD 2 = 0", (self.last,))
        changed += cursor.execute("UPDATE order_lines SET price = price * 0.9 WHERE order_id > %s", (self.last,))
        self.last = ids[-1]
        return changed

    def _insert(self, cursor: Cursor, ids: range) -> int:
        orders = [
            (i, self.dice.randrange(CUSTOMERS), "new", self._money(), self.dice.choice(NOTES), self._later())
            for i in ids
        ]
        lines = [
            (i, line, f"sku-{self.dice.randrange(1000)}", self.dice.choice((None, 1, 2, 12)), self._money())
            for i in ids
            for line in range(self.dice.randint(0, 3))
        ]
        names = "id, customer_id, status, amount, note, changed_at"  # the demo adds a column meanwhile
        values = "%s, %s, %s, %s, %s, %s"
        changed = cursor.executemany(f"INSERT INTO orders ({names}) VALUES ({values})", orders) or 0  # noqa: S608
        return changed + (cursor.executemany("INSERT INTO order_lines VALUES (%s, %s, %s, %s, %s)", lines) or 0)

    def _recent(self) -> int:
        return self.dice.randint(max(1, self.last - 2000), max(1, self.last))

    def _money(self) -> Decimal:
        return Decimal(self.dice.randrange(-1000, 100_000)) / 100

    def _later(self) -> datetime:
        self.now += timedelta(microseconds=self.dice.randrange(1, 5000))
        return self.now


def fill(shop: "pymysql.Connection[Cursor]") -> None:
    """The rows with which the demo begins; says how many."""
    with shop.cursor() as cursor:
        workload = Workload(cursor, random.Random(1))  # noqa: S311 - nothing is secret here
        rows = workload.customers(cursor)
        while workload.last < FIRST_ORDERS:
            rows += workload.open(cursor)
            shop.commit()
    sys.stdout.write(f"\n{rows:,} rows are there before the job\n")


def change(shop: "pymysql.Connection[Cursor]", seconds: float) -> None:
    """Changes the shop at a steady rate for so long; says how much."""
    started, transactions, changes, big_at = time.monotonic(), 0, 0, 0.0
    with shop.cursor() as cursor:
        workload = Workload(cursor, random.Random(time.time_ns()))  # noqa: S311 - nothing is secret here
        steps: list[Step] = [workload.customers]
        while (elapsed := time.monotonic() - started) < seconds:
            if elapsed >= big_at:
                steps.append(workload.season)
                big_at += BIG_EVERY_SECOND
            for step in steps:
                changes += step(cursor)
                shop.commit()
                transactions += 1
            ordinary = (workload.sell, workload.move_on, workload.archive, workload.cancel, workload.restore)
            steps = [workload.dice.choices(ordinary, (5, 5, 1, 1, 1))[0]]
            time.sleep(max(0.0, transactions / TRANSACTIONS_PER_SECOND - (time.monotonic() - started)))
    sys.stdout.write(f"\n{changes:,} rows changed by {transactions:,} transactions in {seconds:g} s\n")


def catch_up(shop: "pymysql.Connection[Cursor]", console: "pymysql.Connection[Cursor]", seconds: float) -> None:
    """Waits until the job has committed what the shop has written by now. Exits with 1 if it does not in time."""
    started, goal = time.monotonic(), _end_of_binlog(shop)
    while True:
        with console.cursor(DictCursor) as cursor:
            cursor.execute("SHOW SYNC JOB FROM demo")
            job = cursor.fetchone()
        assert job is not None
        status = json.loads(job["Status"] or "{}")
        at = status.get("position") or {"file": "", "offset": 0}
        has_rows = all(load["phase"] == "streaming" for load in status.get("snapshot", {}).values())
        elapsed = time.monotonic() - started
        if has_rows and at["file"] and _coordinate(at["file"], at["offset"]) >= goal:
            sys.stdout.write(f"\nthe job has caught up after {elapsed:.1f} s\n")
            return
        if elapsed > seconds:
            sys.exit(f"the job has not caught up after {seconds:g} s: {job}")
        time.sleep(0.1)


def _end_of_binlog(shop: "pymysql.Connection[Cursor]") -> tuple[int, int]:
    with shop.cursor() as cursor:
        try:
            cursor.execute("SHOW BINARY LOG STATUS")
        except pymysql.err.ProgrammingError:  # MariaDB, and MySQL before 8.2
            cursor.execute("SHOW MASTER STATUS")
        row = cursor.fetchone()
    assert row is not None
    return _coordinate(row[0], row[1])


def _coordinate(file: str, offset: int) -> tuple[int, int]:
    return int(file.rpartition(".")[2]), offset


def compare(shop: "pymysql.Connection[Cursor]", console: "pymysql.Connection[Cursor]") -> bool:
    """Says of each table how many rows are equal, and shows the first that are not."""
    equal = True
    for table in TABLES:
        same, shown = 0, 0
        with shop.cursor(SSCursor) as left, console.cursor(SSCursor) as right:
            left.execute(table.query("shop"))
            right.execute(table.query("demo"))
            for ours, theirs in _side_by_side(iter(left), iter(right), table.key):
                if ours == theirs:
                    same += 1
                elif shown < SHOWN_DIFFERENCES:
                    shown += 1
                    sys.stdout.write(f"{table.name}: MySQL has {ours}\n{' ' * len(table.name)}  the lake {theirs}\n")
        equal = equal and not shown
        sys.stdout.write(f"{table.name:<12} {same:>9,} rows are equal{', MORE ARE NOT' if shown else ''}\n")
    return equal


def _side_by_side(left: Iterator[Row], right: Iterator[Row], key: int) -> Iterator[tuple[Row | None, Row | None]]:
    """Rows of both sides by their key, None where one side has no such row. Both come ordered by key."""
    ours, theirs = next(left, None), next(right, None)
    while ours is not None or theirs is not None:
        if theirs is None or (ours is not None and _key(ours, key) < _key(theirs, key)):
            yield ours, None
            ours = next(left, None)
        elif ours is None or _key(theirs, key) < _key(ours, key):
            yield None, theirs
            theirs = next(right, None)
        else:
            yield ours, theirs
            ours, theirs = next(left, None), next(right, None)


def _key(row: Row, columns: int) -> Key:
    return tuple(value for value in row[:columns] if isinstance(value, int))


def main() -> int:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends the demo, without a trace of this
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("task", choices=("fill", "change", "catch-up", "compare"))
    parser.add_argument("--socket", required=True, help="of the shop's MySQL server")
    parser.add_argument("--port", type=int, help="of syncmgr's console")
    parser.add_argument("--seconds", type=float, default=60)
    options = parser.parse_args()
    with pymysql.connect(unix_socket=options.socket, user="root", database="shop", charset="utf8mb4") as shop:
        if options.task == "fill":
            fill(shop)
            return 0
        if options.task == "change":
            change(shop, options.seconds)
            return 0
        with pymysql.connect(host="127.0.0.1", port=options.port, user="root", charset="utf8mb4") as console:
            if options.task == "catch-up":
                catch_up(shop, console, options.seconds)
                return 0
            equal = compare(shop, console)
    sys.stdout.write("EQUAL\n" if equal else "DIFFERENT\n")
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
