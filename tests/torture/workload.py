"""What happens at the source while the adversary is at work.

Owns: the tables, the transactions, the invariants that every moment of the source keeps.
Must not know: the frontend, who breaks what.

Every transaction of the bank keeps the sum of the money over its three tables, and every transfer leaves two moves and
one line of the journal. The shop keeps nothing but its rows.
"""

import contextlib
import random
import string
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import pymysql

from tests.support.servers.mysql import MysqlServer

START_MONEY: Final = 1_000
ACCOUNTS: Final = 60
HOT: Final = 7
IDS: Final = 3_000
BIG: Final = 8_000  # rows of a big transaction
Cursor = Any


@dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    """A source table and its target, of one name."""

    db: str
    name: str
    source: str
    target: str

    @property
    def path(self) -> str:
        return f"{self.db}.{self.name}"


TABLES: Final = (
    Table(
        db="bank",
        name="accounts",
        source="(id BIGINT PRIMARY KEY, money BIGINT NOT NULL, moves BIGINT NOT NULL)",
        target="(id BIGINT NOT NULL, money BIGINT, moves BIGINT) UNIQUE KEY(id)",
    ),
    Table(
        db="bank",
        name="purses",
        source="(place VARCHAR(20), owner VARCHAR(40), money BIGINT NOT NULL, moves BIGINT NOT NULL,"
        " PRIMARY KEY (place, owner))",
        target="(place VARCHAR(20) NOT NULL, owner VARCHAR(40) NOT NULL, money BIGINT, moves BIGINT)"
        " UNIQUE KEY(place, owner)",
    ),
    Table(
        db="bank",
        name="vaults",
        source="(id INT PRIMARY KEY, money BIGINT NOT NULL, moves BIGINT NOT NULL)",
        target="(id INT NOT NULL, money BIGINT, moves BIGINT) UNIQUE KEY(id) DISTRIBUTED BY HASH(id) BUCKETS 4",
    ),
    Table(
        db="bank",
        name="journal",
        source="(line BIGINT AUTO_INCREMENT PRIMARY KEY, amount BIGINT NOT NULL, words VARCHAR(80))",
        target="(line BIGINT NOT NULL, amount BIGINT, words VARCHAR(80)) DUPLICATE KEY(line)",
    ),
    Table(
        db="shop",
        name="things",
        source="(id BIGINT PRIMARY KEY, number BIGINT, price DECIMAL(12,2), words TEXT, at DATETIME(6))",
        target="(id BIGINT NOT NULL, number BIGINT, price DECIMAL(12,2), words STRING, at DATETIME(6)) UNIQUE KEY(id)",
    ),
    Table(
        db="shop",
        name="tags",
        source="(thing BIGINT, tag VARCHAR(30), number BIGINT, PRIMARY KEY (tag, thing))",
        target="(thing BIGINT NOT NULL, tag VARCHAR(30) NOT NULL, number BIGINT) UNIQUE KEY(tag, thing)"
        " DISTRIBUTED BY HASH(tag, thing) BUCKETS 4",
    ),
)
HOLDERS: Final = ("accounts", "purses", "vaults")


def tables(db: str) -> list[Table]:
    return [table for table in TABLES if table.db == db]


class Workload(threading.Thread):
    """One connection that makes transactions until it is stopped. `turn`: who holds it sees no open transaction."""

    def __init__(
        self, mysql: MysqlServer, seed: float, transaction: Callable[[Cursor, random.Random], None], pause: float
    ) -> None:
        """`pause`: seconds between two transactions."""
        super().__init__(daemon=True, name=transaction.__name__)
        self._mysql = mysql
        self._dice = random.Random(seed)
        self._transaction = transaction
        self._pause = pause
        self._stopped = threading.Event()
        self.turn = threading.Lock()
        self.transactions = 0

    def run(self) -> None:
        """A server that is gone, and a connection that was cut: begin anew; the rest is a fault of ours."""
        while not self._stopped.is_set():
            with contextlib.suppress(pymysql.err.OperationalError, pymysql.err.InterfaceError, ConnectionError):
                self._connected()
            self._stopped.wait(0.2)

    def _connected(self) -> None:
        with contextlib.closing(self._mysql.connect(autocommit=False)) as connection, connection.cursor() as cursor:
            while not self._stopped.wait(self._pause):
                with self.turn:
                    self._transaction(cursor, self._dice)
                self.transactions += 1

    def stop(self) -> None:
        self._stopped.set()
        self.join()


def open_the_bank(cursor: Cursor) -> None:
    """All of the money, in one transaction."""
    cursor.execute("BEGIN")
    for number in range(ACCOUNTS):
        cursor.execute(f"INSERT INTO bank.accounts VALUES ({number}, {START_MONEY}, 0)")
        cursor.execute(f"INSERT INTO bank.purses VALUES ('{number % 5}', 'owner {number}', {START_MONEY}, 0)")
        cursor.execute(f"INSERT INTO bank.vaults VALUES ({number}, {START_MONEY}, 0)")
    cursor.execute("COMMIT")


def banking(cursor: Cursor, dice: random.Random) -> None:
    """One transaction of the bank; where a row that it needs is gone, it is rolled back."""
    kind = dice.choices((_transfer, _rename, _close, _open), weights=(10, 2, 1, 1))[0]
    cursor.execute("BEGIN")
    kept = all(kind(cursor, dice) for _ in range(dice.choice((1, 1, 1, 2, 5, 20))))
    if kept and dice.random() < 0.1:
        cursor.execute("SAVEPOINT halfway")
        _transfer(cursor, dice)
        cursor.execute("ROLLBACK TO SAVEPOINT halfway")
    cursor.execute("COMMIT" if kept and dice.random() > 0.05 else "ROLLBACK")


def _place(dice: random.Random) -> tuple[str, str]:
    """A table and the condition of one row; one account is in half of all that happens there."""
    table, number = dice.choice(HOLDERS), dice.randrange(ACCOUNTS)
    if table == "purses":
        return table, f"place = '{dice.choice((number % 5, 'far'))}' AND owner = 'owner {number}'"
    if table == "accounts" and dice.random() < 0.5:
        number = HOT
    return table, f"id = {number + ACCOUNTS * dice.choice((0, 0, 1))}"


def _transfer(cursor: Cursor, dice: random.Random) -> bool:
    (payer, mine), (payee, yours), amount = _place(dice), _place(dice), dice.randrange(1, 100)
    gave = cursor.execute(f"UPDATE bank.{payer} SET money = money - {amount}, moves = moves + 1 WHERE {mine}")
    took = cursor.execute(f"UPDATE bank.{payee} SET money = money + {amount}, moves = moves + 1 WHERE {yours}")
    cursor.execute(f"INSERT INTO bank.journal (amount, words) VALUES ({amount}, '{payer} to {payee}')")
    return bool(gave and took)


def _rename(cursor: Cursor, dice: random.Random) -> bool:
    """The key changes, there and back."""
    number = dice.randrange(ACCOUNTS)
    if dice.random() < 0.5:
        cursor.execute(
            f"UPDATE IGNORE bank.purses SET place = IF(place = 'far', '{number % 5}', 'far')"
            f" WHERE owner = 'owner {number}'",
        )
    else:
        table = dice.choice(("accounts", "vaults"))
        cursor.execute(
            f"UPDATE IGNORE bank.{table} SET id = IF(id >= {ACCOUNTS}, id - {ACCOUNTS}, id + {ACCOUNTS})"
            f" WHERE id % {ACCOUNTS} = {number}",
        )
    return True


def _close(cursor: Cursor, dice: random.Random) -> bool:
    """A row goes, and another one takes what it held."""
    (table, mine), (heir, yours) = _place(dice), _place(dice)
    cursor.execute(f"SELECT money, moves FROM bank.{table} WHERE {mine}")
    found = cursor.fetchone()
    if found is None or (table, mine) == (heir, yours):
        return False
    cursor.execute(f"DELETE FROM bank.{table} WHERE {mine}")
    return bool(
        cursor.execute(f"UPDATE bank.{heir} SET money = money + {found[0]}, moves = moves + {found[1]} WHERE {yours}")
        or (found[0] == found[1] == 0 and cursor.execute(f"SELECT 1 FROM bank.{heir} WHERE {yours}")),
    )


def _open(cursor: Cursor, dice: random.Random) -> bool:
    number = dice.randrange(ACCOUNTS)
    cursor.execute(f"INSERT IGNORE INTO bank.accounts VALUES ({number}, 0, 0)")
    cursor.execute(f"INSERT IGNORE INTO bank.vaults VALUES ({number}, 0, 0)")
    cursor.execute(f"INSERT IGNORE INTO bank.purses VALUES ('{number % 5}', 'owner {number}', 0, 0)")
    return True


def shopping(cursor: Cursor, dice: random.Random) -> None:
    """One transaction of the shop, from one row to thousands."""
    cursor.execute("BEGIN")
    for _ in range(dice.choice((1, 1, 2, 5, 30))):
        dice.choices(
            (_replace, _hot, _update, _delete, _move, _tag, _untag, _undo, _mass),
            weights=(6, 4, 6, 2, 2, 6, 2, 1, 0.1),
        )[0](cursor, dice)
    cursor.execute("ROLLBACK" if dice.random() < 0.05 else "COMMIT")


def _replace(cursor: Cursor, dice: random.Random) -> None:
    rows = (
        f"({dice.randrange(IDS)}, {dice.randrange(10**9)}, {dice.randrange(10**6)}.25, '{_words(dice)}', NOW(6))"
        for _ in range(dice.choice((1, 1, 3, 50)))
    )
    cursor.execute(f"REPLACE INTO shop.things VALUES {', '.join(rows)}")


def _hot(cursor: Cursor, dice: random.Random) -> None:
    cursor.execute(
        f"INSERT INTO shop.things (id, number) VALUES ({HOT}, 1) ON DUPLICATE KEY UPDATE number = number + 1"
    )


def _update(cursor: Cursor, dice: random.Random) -> None:
    first = dice.randrange(IDS)
    cursor.execute(
        f"UPDATE shop.things SET price = price + 1, words = {dice.choice(('NULL', repr(_words(dice))))}"
        f" WHERE id BETWEEN {first} AND {first + dice.choice((0, 0, 10, 100))}",
    )


def _delete(cursor: Cursor, dice: random.Random) -> None:
    first = dice.randrange(IDS)
    cursor.execute(f"DELETE FROM shop.things WHERE id BETWEEN {first} AND {first + dice.choice((0, 0, 5, 40))}")


def _move(cursor: Cursor, dice: random.Random) -> None:
    """Keys swap and wander."""
    one, other = dice.randrange(IDS), dice.randrange(IDS)
    for old, new in ((one, -1), (other, one), (-1, other)):
        cursor.execute(f"UPDATE IGNORE shop.things SET id = {new} WHERE id = {old}")
    cursor.execute("DELETE FROM shop.things WHERE id = -1")


def _tag(cursor: Cursor, dice: random.Random) -> None:
    """Keys that MySQL's collation takes for one, and the lake does not: the binlog tells which spelling is stored."""
    tag = dice.choice(("red", "Red", "blue", "caf\u00e9", "cafe", "", "x" * 30))
    cursor.execute(f"REPLACE INTO shop.tags VALUES ({dice.randrange(200)}, '{tag}', {dice.randrange(10**6)})")


def _untag(cursor: Cursor, dice: random.Random) -> None:
    cursor.execute(f"DELETE FROM shop.tags WHERE thing = {dice.randrange(200)}")


def _undo(cursor: Cursor, dice: random.Random) -> None:
    cursor.execute("SAVEPOINT beginning")
    _replace(cursor, dice)
    _delete(cursor, dice)
    cursor.execute("ROLLBACK TO SAVEPOINT beginning")


def _mass(cursor: Cursor, dice: random.Random) -> None:
    first = dice.randrange(IDS, 4 * IDS)
    cursor.execute("SET SESSION cte_max_recursion_depth = 100000")
    cursor.execute(
        f"REPLACE INTO shop.things (id, number, words) WITH RECURSIVE r AS (SELECT {first} n UNION ALL"
        f" SELECT n + 1 FROM r WHERE n < {first + dice.randrange(BIG)}) SELECT n, n * 3, CONCAT('mass ', n) FROM r",
    )


def _words(dice: random.Random) -> str:
    return "".join(dice.choices(string.ascii_letters + " \u00e9\U0001f600", k=dice.choice((0, 5, 40, 200))))
