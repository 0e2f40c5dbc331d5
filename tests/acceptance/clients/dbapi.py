"""Drivers of Python's DB-API: PyMySQL, mysql-connector-python, mysqlclient.

Owns: how each of them is asked for what its checks need. Run as `dbapi.py NAME`.
Must not know: the right answers.
"""

import importlib
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from importlib.metadata import version
from typing import Any, ClassVar

from checks import DATABASE, HOST, MANY, ODD_TEXT, PASSWORD, PORT, SLOW, USER, VALUES, VALUES_ARE, equal, report

Options = Mapping[str, Any] | None


class Driver:
    """What all of them share."""

    module = "pymysql"
    distribution = "pymysql"
    secure: ClassVar[Options] = {"ssl": {"verify_mode": "none"}}
    plain: ClassVar[Options] = {"ssl_disabled": True}
    compressing: ClassVar[Options] = None
    several: ClassVar[Options] = {"client_flag": 1 << 16}

    def __init__(self) -> None:
        self.dbapi = importlib.import_module(self.module)

    def connect(self, **options: Any) -> Any:
        where = {"host": HOST, "port": PORT, "user": USER, "password": PASSWORD, "database": DATABASE}
        return self.dbapi.connect(**where, **(options or self.plain))

    def version(self) -> str:
        return version(self.distribution)

    def ask(self, sql: str, parameters: Sequence[Any] = (), **options: Any) -> list[tuple[Any, ...]]:
        with closing(self.connect(**options)) as connection, closing(connection.cursor()) as cursor:
            cursor.execute(sql, tuple(parameters)) if parameters else cursor.execute(sql)
            return [tuple(row) for row in cursor.fetchall()]

    def login(self) -> None:
        [(user,)] = self.ask("SELECT CURRENT_USER()")
        equal(user.split("@")[0], USER)

    def tls(self) -> None:
        [(_, cipher)] = self.ask("SHOW STATUS LIKE 'Ssl_cipher'", **self.secure)
        equal(bool(cipher), True)

    def compression(self) -> None:
        assert self.compressing is not None
        equal(self.ask("SHOW STATUS LIKE 'Compression'", **self.compressing), [("Compression", "ON")])
        equal(len(self.ask(MANY, **self.compressing)), 10_000)

    def values(self) -> None:
        equal(self.ask(VALUES), [VALUES_ARE])

    def prepared(self) -> None:
        equal(self.ask("SELECT %s, %s, %s", (ODD_TEXT, 42, None)), [(ODD_TEXT, 42, None)])

    def rows(self) -> None:
        equal([row[0] for row in self.ask(MANY)], list(range(10_000)))

    def metadata(self) -> None:
        where = f"table_schema = '{DATABASE}'"
        equal(self.ask(f"SELECT table_name FROM information_schema.tables WHERE {where}"), [("orders",)])
        equal([row[:2] for row in self.ask("DESCRIBE orders")], [("id", "bigint"), ("status", "varchar(16)")])

    def errors(self) -> None:
        with closing(self.connect()) as connection, closing(connection.cursor()) as cursor:
            for sql, number in (("SELEC 1", 1064), ("DESCRIBE nothing", 1146), ("USE nothing", 1049)):
                try:
                    cursor.execute(sql)
                except self.dbapi.Error as error:
                    equal(error.args[0], number)
                else:
                    raise AssertionError(f"{sql} went through")
            cursor.execute("SELECT 42")
            equal(cursor.fetchall()[0][0], 42)

    def several_statements(self) -> None:
        assert self.several is not None
        with closing(self.connect(**self.plain, **self.several)) as connection, closing(connection.cursor()) as cursor:
            cursor.execute("SELECT 1; SET @x = 2; SELECT @x")
            found = [cursor.fetchall()]
            while cursor.nextset():
                found.append(cursor.fetchall() if cursor.description else ())
            equal([list(rows) for rows in found], [[(1,)], [], [(2,)]])

    def kill(self) -> None:
        with closing(self.connect()) as victim, closing(victim.cursor()) as cursor:
            cursor.execute("SELECT CONNECTION_ID()")
            [(connection_id,)] = cursor.fetchall()
            ended = threading.Event()
            killer = threading.Thread(target=self.kill_until, args=(ended, f"KILL QUERY {connection_id}"))
            killer.start()
            try:
                cursor.execute(SLOW)
                cursor.fetchall()
            except self.dbapi.Error as error:
                equal(error.args[0], 1317)
            else:
                raise AssertionError("the query went on to its end")
            finally:
                ended.set()
                killer.join()
            cursor.execute("SELECT 42")
            equal(cursor.fetchall()[0][0], 42)

    def kill_until(self, ended: threading.Event, sql: str) -> None:
        """Again and again: it may come before the query."""
        while not ended.wait(1.0):
            self.ask_nothing(sql)

    def ask_nothing(self, sql: str) -> None:
        with closing(self.connect()) as connection, closing(connection.cursor()) as cursor:
            cursor.execute(sql)

    def checks(self) -> dict[str, Callable[[], Any]]:
        offered = {
            "login": self.login,
            "tls": self.tls,
            "values": self.values,
            "prepared": self.prepared,
            "many rows": self.rows,
            "metadata": self.metadata,
            "errors": self.errors,
            "several statements": self.several_statements if self.several is not None else None,
            "kill": self.kill,
            "compression": self.compression if self.compressing is not None else None,
        }
        return {name: check for name, check in offered.items() if check is not None}


class Connector(Driver):
    """Server-side prepared statements and compression of its own. Tuples of its rows may be bytearrays."""

    module = "mysql.connector"
    distribution = "mysql-connector-python"
    secure: ClassVar[Options] = {"ssl_disabled": False, "use_pure": True}
    plain: ClassVar[Options] = {"ssl_disabled": True, "use_pure": True}
    compressing: ClassVar[Options] = {"ssl_disabled": True, "use_pure": True, "compress": True}
    several: ClassVar[Options] = {}

    def checks(self) -> dict[str, Callable[[], Any]]:
        """It sends its password under TLS alone; from then on the fast path does without."""
        return {"tls": self.tls} | super().checks()

    def prepared(self) -> None:
        with closing(self.connect()) as connection, closing(connection.cursor(prepared=True)) as cursor:
            for number in (42, 43):
                cursor.execute("SELECT ?, ?, ?", (ODD_TEXT, number, None))
                equal([tuple(row) for row in cursor.fetchall()], [(ODD_TEXT, number, None)])
            cursor.execute(VALUES)
            equal([tuple(row) for row in cursor.fetchall()], [VALUES_ARE])


class Mysqlclient(Driver):
    """The wrapper of the C library."""

    module = "MySQLdb"
    distribution = "mysqlclient"
    secure: ClassVar[Options] = {"ssl": {"cipher": "HIGH"}, "charset": "utf8mb4"}
    plain: ClassVar[Options] = {"charset": "utf8mb4"}
    compressing: ClassVar[Options] = {"compress": True}


DRIVERS = {"pymysql": Driver, "mysql-connector-python": Connector, "mysqlclient": Mysqlclient}

if __name__ == "__main__":
    driver = DRIVERS[sys.argv[1]]()
    report(driver.version(), driver.checks())
