"""Restores of the lake, of one table or of the metadata, by the words of docs/operations.md."""

import contextlib
import re
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pymysql
import pytest

from syncmgr.crash import CrashPoint
from syncmgr.errors import Code
from tests.acceptance.frontend import ROOT, FrontendProcess
from tests.acceptance.test_faults import BINLOG
from tests.support.servers.mysql import MysqlServer
from tests.support.until import until

pytestmark = [pytest.mark.mysql, pytest.mark.spark]

WITHOUT_KEY = 'PROPERTIES ("tables_without_key" = "append", "append_on_change" = "append")'
MANUAL = (ROOT / "docs" / "operations.md").read_text()


def chapter(name: str) -> str:
    found = re.search(rf"^## {name}$(.+?)^## ", MANUAL, re.DOTALL | re.MULTILINE)
    assert found is not None
    return found[1]


class House:
    """A frontend with one job, whose folders are copied and put back while it does not run."""

    def __init__(self, fe: FrontendProcess, mysql: MysqlServer) -> None:
        self.fe, self.mysql = fe, mysql
        self.folders = re.findall("`(var/\\w+)`", chapter("Backup").partition("\n")[2].partition(" together.")[0])
        self.rows = 0
        mysql.run("CREATE DATABASE shop", "CREATE TABLE shop.orders (id BIGINT PRIMARY KEY, v BIGINT)")
        fe.sql("CREATE DATABASE shop")
        fe.sql("CREATE TABLE shop.orders (id BIGINT NOT NULL, v BIGINT) UNIQUE KEY(id)")
        fe.sql(f"CREATE SYNC shop.job1 (FROM shop.orders INTO orders) {BINLOG.format(port=mysql.port)}")

    def insert(self) -> None:
        self.rows += 1
        self.mysql.run(f"INSERT INTO shop.orders VALUES ({self.rows}, {self.rows})")

    def await_equal(self) -> None:
        wanted = [{"id": number} for number in range(1, self.rows + 1)]
        self.fe.await_rows(
            lambda: self.fe.sql("SELECT id FROM shop.orders ORDER BY id") == wanted, why="the rows of the source"
        )

    def await_error(self, code: Code) -> None:
        until(lambda: self.fe.job("shop")["State"] == "PAUSED", why=f"{code}")
        assert f"(error {code.number})" in str(self.fe.job("shop")["Msg"])

    def stopped_copy(self, name: str) -> Path:
        """Stop the frontend, and copy the folders together."""
        assert self.fe.stop() == 0
        to = self.fe.folder / name
        for folder in self.folders:
            shutil.copytree(self.fe.folder / folder, to / folder, symlinks=True)
        return to

    def set_back(self) -> None:
        """By one commit, by the command of the manual."""
        command = re.search(r"```\n(.+?)```", chapter("Power failure"), re.DOTALL)
        assert command is not None
        subprocess.run(command[1], shell=True, check=True, cwd=self.fe.folder)

    def restore(self, copy: Path, *folders: str) -> None:
        """All, or some of them, and start."""
        for folder in folders or self.folders:
            shutil.rmtree(self.fe.folder / folder)
            shutil.copytree(copy / folder, self.fe.folder / folder, symlinks=True)
        self.fe.start()


@pytest.fixture
def house(mysql_server: MysqlServer, tmp_path: Path) -> Iterator[House]:
    fe = FrontendProcess(tmp_path)
    fe.start()
    yield House(fe, mysql_server)
    assert fe.stop() == 0
    mysql_server.run("DROP DATABASE shop")


def test_a_target_that_leaves_its_name_pauses_the_job(mysql_server: MysqlServer, frontend: FrontendProcess) -> None:
    """As in a swap of two names; once it is back, RESUME brings what was staged meanwhile, and what came later."""
    mysql_server.run("CREATE DATABASE swap", "CREATE TABLE swap.t (id BIGINT PRIMARY KEY)")
    frontend.sql("CREATE DATABASE swap")
    frontend.sql("CREATE TABLE swap.t (id BIGINT NOT NULL) UNIQUE KEY(id)")
    frontend.sql(f"CREATE SYNC swap.job1 (FROM swap.t INTO t) {BINLOG.format(port=mysql_server.port)}")

    def has(*rows: int) -> bool:
        return frontend.sql("SELECT id FROM swap.t ORDER BY id") == [{"id": row} for row in rows]

    mysql_server.run("INSERT INTO swap.t VALUES (1)")
    frontend.await_rows(lambda: has(1), why="the first row")
    catalog = frontend.folder / "var" / "lake" / "catalog.db"
    rename(catalog, "swap", "t", "away")
    mysql_server.run("INSERT INTO swap.t VALUES (2)")
    until(lambda: frontend.job("swap")["State"] == "PAUSED", why="an error of the target")
    assert f"(error {Code.NO_SUCH_TABLE.number})" in str(frontend.job("swap")["Msg"])
    rename(catalog, "swap", "away", "t")
    frontend.sql("RESUME SYNC JOB swap.job1")
    mysql_server.run("INSERT INTO swap.t VALUES (3)")
    frontend.await_rows(lambda: has(1, 2, 3), why="all rows")
    frontend.sql("STOP SYNC JOB swap.job1")


def rename(catalog: Path, db: str, old: str, new: str) -> None:
    """What another engine's ALTER TABLE RENAME does to the catalog."""
    with contextlib.closing(sqlite3.connect(catalog, timeout=30)) as connection, connection:
        text = "UPDATE iceberg_tables SET table_name = ? WHERE table_namespace = ? AND table_name = ?"
        assert connection.execute(text, (new, db, old)).rowcount == 1


@pytest.mark.long
def test_what_was_restored_alone_stops_the_job(house: House) -> None:
    """A set-back by one commit that counted, an older lake and older metadata are each reported, and no row is skipped;
    with everything of one moment the job goes on.
    """
    assert len(house.folders) == 3
    house.insert()
    house.await_equal()
    first = house.stopped_copy("first")
    house.fe.start()
    house.insert()
    house.await_equal()
    second = house.stopped_copy("second")

    house.set_back()
    house.fe.start()
    house.insert()
    house.await_error(Code.TARGET_SET_BACK)
    assert house.fe.stop() == 0
    house.restore(second)
    house.await_equal()

    third = house.stopped_copy("third")
    house.restore(first, "var/lake")
    house.insert()
    house.await_error(Code.TARGET_SET_BACK)
    assert house.fe.stop() == 0
    house.restore(third)
    house.await_equal()

    fourth = house.stopped_copy("fourth")
    house.restore(first, "var/meta", "var/staging")
    house.await_error(Code.OTHER_HISTORY)
    assert house.fe.stop() == 0
    house.restore(fourth)
    house.insert()
    house.await_equal()


@pytest.mark.long
def test_a_power_failure_in_a_commit_is_mended_as_the_manual_says(house: House) -> None:
    """The catalog has the row of a commit whose metadata are empty; its epoch had not counted, and comes again."""
    house.insert()
    house.await_equal()
    house.fe.arm(CrashPoint.TABLE_COMMITTED)
    house.insert()
    house.fe.await_death(CrashPoint.TABLE_COMMITTED)
    newest = metadata(house.fe.folder / "var" / "lake" / "catalog.db", "shop", "orders")
    Path(newest.removeprefix("file:")).write_bytes(b"")
    house.fe.start()
    house.await_error(Code.TABLE_BROKEN)
    assert house.fe.stop() == 0
    house.set_back()
    house.fe.start()
    house.fe.sql("RESUME SYNC JOB shop.job1")
    house.insert()
    house.await_equal()


@pytest.mark.parametrize(
    ("db", "others", "keyed"),
    [
        pytest.param("back1", False, True, id="alone", marks=pytest.mark.slow),
        pytest.param("back2", True, True, id="beside another", marks=pytest.mark.long),
        pytest.param("back3", True, False, id="without a key"),
    ],
)
def test_resync_renews_a_table_that_was_set_back(
    mysql_server: MysqlServer, frontend: FrontendProcess, db: str, *, others: bool, keyed: bool
) -> None:
    """The one error that names it is cured as it says: all rows are those of the source, and later changes follow."""
    tables = {"t": keyed, "u": True} if others else {"t": keyed}
    mysql_server.run(f"CREATE DATABASE {db}")
    frontend.sql(f"CREATE DATABASE {db}")
    for table, has_key in tables.items():
        mysql_server.run(f"CREATE TABLE {db}.{table} (id BIGINT NOT NULL{' PRIMARY KEY' if has_key else ''})")
        frontend.sql(f"CREATE TABLE {db}.{table} (id BIGINT NOT NULL){' UNIQUE KEY(id)' if has_key else ''}")
    channels = ", ".join(f"FROM {db}.{table} INTO {table}" for table in tables)
    rest = f"{BINLOG.format(port=mysql_server.port)} {WITHOUT_KEY}"
    frontend.sql(f"CREATE SYNC {db}.job1 ({channels}) {rest}")

    def insert(number: int) -> None:
        mysql_server.run(*(f"INSERT INTO {db}.{table} VALUES ({number})" for table in tables))

    def await_rows(last: int, table: str = "t") -> None:
        wanted = [{"id": number} for number in range(1, last + 1)]
        frontend.await_rows(
            lambda: frontend.sql(f"SELECT id FROM {db}.{table} ORDER BY id") == wanted, why="the source's rows"
        )

    insert(1)
    await_rows(1)
    catalog = frontend.folder / "var" / "lake" / "catalog.db"
    older = metadata(catalog, db, "t")
    insert(2)
    await_rows(2)
    set_to(catalog, db, "t", older)  # and not by one commit, which is a compaction's where this took long
    insert(3)
    said = f"(error {Code.TARGET_SET_BACK.number})"
    if others:
        await_rows(3, "u")
        said = "RESYNC TABLE"
    state = "RUNNING" if others else "PAUSED"

    def has_failed() -> bool:
        job = frontend.job(db)
        return said in str(job["Msg"]) and job["State"] == state

    until(has_failed, why="the error of the table")
    of_job = f"WHERE JOB_SCHEMA = '{db}' AND JOB_NAME = 'job1'"
    (newest,) = frontend.sql(f"SELECT max(EPOCH) AS n FROM information_schema.sync_epochs {of_job}")
    insert(4)
    frontend.sql(f"ALTER SYNC JOB {db}.job1 RESYNC TABLE {db}.t")
    if not others:
        frontend.sql(f"RESUME SYNC JOB {db}.job1")
    await_rows(4)
    insert(5)
    for table in tables:
        await_rows(5, table)
    until(lambda: not frontend.job(db)["Msg"], why="no trouble any more")
    points = f"SELECT EPOCH AS epoch FROM information_schema.sync_points {of_job} AND TARGET_TABLE = 't'"
    for point in {row["epoch"] for row in frontend.sql(points)}:  # no other is listed than may be read
        rows = frontend.sql(f"SELECT id FROM {db}.t VERSION AS OF '{db}.job1@{point}'")
        assert point < newest["n"] or {1, 2, 3} <= {row["id"] for row in rows}, "a point before the rows were there"
    frontend.sql(f"STOP SYNC JOB {db}.job1")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("db", "others", "pending"),
    [
        pytest.param("across1", False, False, id="alone", marks=pytest.mark.slow),
        pytest.param("across2", True, False, id="beside another", marks=pytest.mark.long),
        pytest.param("across3", False, True, id="with a statement that was not followed"),
        pytest.param("across4", False, True, id="after PAUSE", marks=pytest.mark.long),
    ],
)
def test_resync_renews_a_table_that_was_set_back_across_a_statement(
    mysql_server: MysqlServer, frontend: FrontendProcess, db: str, *, others: bool, pending: bool
) -> None:
    """The older table lacks a column, and the statement that made it may be followed already or be stored to be."""
    tables = ["t", "u"] if others else ["t"]
    mysql_server.run(f"CREATE DATABASE {db}", *(f"CREATE TABLE {db}.{t} (id BIGINT PRIMARY KEY)" for t in tables))
    frontend.sql(f"CREATE DATABASE {db}")
    channels = ", ".join(f"FROM {db}.{table} INTO {db}.*" for table in tables)
    frontend.sql(f"CREATE SYNC {db}.job1 ({channels}) {BINLOG.format(port=mysql_server.port)}")
    catalog = frontend.folder / "var" / "lake" / "catalog.db"

    def await_rows(rows: dict[int, int | None], table: str) -> None:
        wanted = [{"id": number, "v": v} for number, v in rows.items()]

        def has() -> bool:
            with contextlib.suppress(pymysql.err.OperationalError):  # no such column yet
                return frontend.sql(f"SELECT id, v FROM {db}.{table} ORDER BY id") == wanted
            return False

        frontend.await_rows(has, why="the source's rows")

    mysql_server.run(f"INSERT INTO {db}.t VALUES (1)")
    frontend.await_rows(lambda: frontend.sql(f"SELECT id FROM {db}.t") == [{"id": 1}], why="the first row")
    older = metadata(catalog, db, "t")
    mysql_server.run(f"INSERT INTO {db}.t VALUES (2)")
    frontend.await_rows(lambda: len(frontend.sql(f"SELECT id FROM {db}.t")) == 2, why="the second row")
    if pending:
        set_to(catalog, db, "t", older)
    mysql_server.run(*(f"ALTER TABLE {db}.{table} ADD COLUMN v BIGINT" for table in tables))
    if not pending:
        await_rows({1: None, 2: None}, "t")
        set_to(catalog, db, "t", older)
    mysql_server.run(*(f"INSERT INTO {db}.{table} VALUES (3, 3)" for table in tables))
    said = "RESYNC TABLE" if others else f"(error {Code.TARGET_SET_BACK.number})"
    until(lambda: said in str(frontend.job(db)["Msg"]), why="the error of the table")
    if db == "across4":
        frontend.sql(f"PAUSE SYNC JOB {db}.job1")
    frontend.sql(f"ALTER SYNC JOB {db}.job1 RESYNC TABLE {db}.t")
    if not others:
        frontend.sql(f"RESUME SYNC JOB {db}.job1")
    await_rows({1: None, 2: None, 3: 3}, "t")
    mysql_server.run(*(f"INSERT INTO {db}.{table} VALUES (4, 4)" for table in tables))
    await_rows({1: None, 2: None, 3: 3, 4: 4}, "t")
    if others:
        await_rows({3: 3, 4: 4}, "u")
    until(lambda: not frontend.job(db)["Msg"], why="no trouble any more")
    frontend.sql(f"STOP SYNC JOB {db}.job1")


@pytest.mark.slow
def test_resync_renews_a_table_that_was_set_back_at_a_renaming(
    mysql_server: MysqlServer, frontend: FrontendProcess
) -> None:
    """The statement that could not be followed gave the table another name, too: its rows are read under that one."""
    mysql_server.run("CREATE DATABASE named", "CREATE TABLE named.t (id BIGINT PRIMARY KEY)")
    frontend.sql("CREATE DATABASE named")
    frontend.sql(f"CREATE SYNC named.job1 (FROM named.t INTO named.*) {BINLOG.format(port=mysql_server.port)}")
    catalog = frontend.folder / "var" / "lake" / "catalog.db"

    def await_rows(columns: str, *rows: dict[str, int | None]) -> None:
        def has() -> bool:
            with contextlib.suppress(pymysql.err.OperationalError):  # no such column yet
                return frontend.sql(f"SELECT {columns} FROM named.t ORDER BY id") == [*rows]
            return False

        frontend.await_rows(has, why="the source's rows")

    mysql_server.run("INSERT INTO named.t VALUES (1)")
    await_rows("id", {"id": 1})
    older = metadata(catalog, "named", "t")
    mysql_server.run("INSERT INTO named.t VALUES (2)")
    await_rows("id", {"id": 1}, {"id": 2})
    set_to(catalog, "named", "t", older)
    mysql_server.run("ALTER TABLE named.t ADD COLUMN v BIGINT, RENAME TO named.u")
    until(lambda: frontend.job("named")["State"] == "PAUSED", why="the error of the table")
    assert f"(error {Code.TARGET_SET_BACK.number})" in frontend.job("named")["Msg"]
    mysql_server.run("INSERT INTO named.u VALUES (3, 3)")
    frontend.sql("ALTER SYNC JOB named.job1 RESYNC TABLE named.t")
    frontend.sql("RESUME SYNC JOB named.job1")
    rows: list[dict[str, int | None]] = [{"id": 1, "v": None}, {"id": 2, "v": None}, {"id": 3, "v": 3}]
    await_rows("id, v", *rows)
    mysql_server.run("INSERT INTO named.u VALUES (4, 4)")
    await_rows("id, v", *rows, {"id": 4, "v": 4})
    until(lambda: not frontend.job("named")["Msg"], why="no trouble any more")
    of_job = "WHERE JOB_SCHEMA = 'named'"
    (channel,) = frontend.sql(f"SELECT SOURCE_TABLE AS name FROM information_schema.sync_channels {of_job}")
    assert channel == {"name": "u"}
    frontend.sql("STOP SYNC JOB named.job1")


def metadata(catalog: Path, db: str, table: str) -> str:
    """Where the table's metadata are."""
    with contextlib.closing(sqlite3.connect(catalog, timeout=30)) as connection:
        text = "SELECT metadata_location FROM iceberg_tables WHERE table_namespace = ? AND table_name = ?"
        return str(connection.execute(text, (db, table)).fetchone()[0])


def set_to(catalog: Path, db: str, table: str, location: str) -> None:
    """As another engine's register_table does."""
    with contextlib.closing(sqlite3.connect(catalog, timeout=30)) as connection, connection:
        text = (
            "UPDATE iceberg_tables SET metadata_location = ?, previous_metadata_location = NULL"
            " WHERE table_namespace = ? AND table_name = ?"
        )
        assert connection.execute(text, (location, db, table)).rowcount == 1


def set_back(catalog: Path, db: str, table: str) -> None:
    """By one commit, as chapter Power failure does."""
    with contextlib.closing(sqlite3.connect(catalog, timeout=30)) as connection, connection:
        text = (
            "UPDATE iceberg_tables SET metadata_location = previous_metadata_location,"
            " previous_metadata_location = NULL WHERE table_namespace = ? AND table_name = ?"
        )
        assert connection.execute(text, (db, table)).rowcount == 1
