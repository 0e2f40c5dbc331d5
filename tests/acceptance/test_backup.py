"""Backups of a frontend that commits, and what comes back from them, by the commands of docs/operations.md."""

import contextlib
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyiceberg.table import StaticTable

from syncmgr.backup.manifest import NAME
from syncmgr.backup.moment import held
from syncmgr.crash import VARIABLE, CrashPoint
from syncmgr.lake.iceberg.ancestry import token_property
from syncmgr.lake.iceberg.catalog_file import pointers
from tests.acceptance.frontend import FrontendProcess
from tests.acceptance.test_faults import BINLOG
from tests.acceptance.test_restores import MANUAL, chapter
from tests.support.servers.mysql import MysqlServer
from tests.support.until import HANG_SECOND, until

pytestmark = [pytest.mark.mysql, pytest.mark.spark]

TABLES = ("vectors", "positions", "parts")
COLUMNS = "(id BIGINT NOT NULL, v BIGINT) UNIQUE KEY(id)"
MADE = {
    "vectors": COLUMNS,
    "positions": f'{COLUMNS} PROPERTIES ("format-version" = "2")',
    "parts": f"{COLUMNS} DISTRIBUTED BY HASH(id) BUCKETS 2",
}


def syncmgr(command: str, folder: Path, fe: FrontendProcess) -> "subprocess.CompletedProcess[str]":
    """What the manual says to type, and what it says."""
    [typed] = re.findall(rf"^\.venv/bin/python (-m syncmgr {command} /backup/monday .+)$", MANUAL, re.MULTILINE)
    return subprocess.run(
        [sys.executable, *(str(folder) if word == "/backup/monday" else word for word in typed.split())],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=fe.folder,
        env={**os.environ, VARIABLE: str(fe.folder / "crash")},
        timeout=HANG_SECOND,
        text=True,
        check=False,
    )


def done(command: str, folder: Path, fe: FrontendProcess) -> str:
    ended = syncmgr(command, folder, fe)
    assert ended.returncode == 0, ended.stdout
    return ended.stdout


def refused(command: str, folder: Path, fe: FrontendProcess) -> str:
    ended = syncmgr(command, folder, fe)
    assert ended.returncode == 1, ended.stdout
    assert "Traceback" not in ended.stdout
    return ended.stdout


class Shop:
    """Three tables of a source under constant writes, and a job that follows them."""

    def __init__(self, mysql: MysqlServer, fe: FrontendProcess) -> None:
        self.mysql, self.fe = mysql, fe
        self._ended = threading.Event()
        self._rows = 0
        columns = "(id BIGINT PRIMARY KEY, v BIGINT)"
        mysql.run("CREATE DATABASE saved", *(f"CREATE TABLE saved.{table} {columns}" for table in TABLES))
        fe.sql("CREATE DATABASE saved")
        for table, layout in MADE.items():
            fe.sql(f"CREATE TABLE saved.{table} {layout}")
        channels = ", ".join(f"FROM saved.{table} INTO {table}" for table in TABLES)
        fe.sql(f"CREATE SYNC saved.job1 ({channels}) {BINLOG.format(port=mysql.port)}")

    def change(self) -> None:
        """New rows, and changes of old ones: a deletion vector or position delete for each older file."""
        first = self._rows
        self._rows += 10
        for table in TABLES:
            rows = ", ".join(f"({number}, 0)" for number in range(first, self._rows))
            self.mysql.run(
                f"INSERT INTO saved.{table} VALUES {rows}",
                f"UPDATE saved.{table} SET v = v + 1 WHERE id % 7 = 0",
                f"DELETE FROM saved.{table} WHERE id = {first + 3}",
            )

    @contextlib.contextmanager
    def changing(self) -> Iterator[None]:
        """While commits go on."""
        self._ended.clear()
        thread = threading.Thread(target=self._change_on)
        thread.start()
        try:
            yield
        finally:
            self._ended.set()
            thread.join()

    def _change_on(self) -> None:
        while not self._ended.wait(0.05):
            self.change()

    def await_equal(self, fe: FrontendProcess) -> None:
        for table in TABLES:
            query = f"SELECT id, v FROM saved.{table} ORDER BY id"
            wanted = [{"id": key, "v": value} for key, value in self.mysql.run(query)]
            fe.await_rows(lambda: fe.sql(query) == wanted, why=f"the rows of {table}")  # noqa: B023 - called at once
        assert fe.job("saved")["State"] == "RUNNING"

    def await_indexes(self, fe: FrontendProcess) -> None:
        """What commits before the indexes are ready has equality deletes, which the next epoch removes and pyiceberg
        cannot read.
        """

        def ready() -> bool:
            indexes = fe.job("saved")["Status"]["index"]
            return {table for table, index in indexes.items() if index["state"] == "ready"} >= set(TABLES)

        until(ready, why="key indexes")
        self.change()
        self.await_equal(fe)


def move_away(fe: FrontendProcess) -> None:
    """As the manual says; and for good."""
    [typed] = re.findall(r"^mv .+$", chapter("Restore"), re.MULTILINE)
    elsewhere = fe.folder / "elsewhere"
    elsewhere.mkdir()
    subprocess.run(typed.replace("/somewhere/", str(elsewhere)).split(), cwd=fe.folder, check=True)
    shutil.rmtree(elsewhere)


def read_by_another(fe: FrontendProcess) -> dict[str, list[tuple[int, int]]]:
    """The rows of each table as pyiceberg reads them, which finds vectors by the data files that they name."""
    found = {}
    for name, pointer in pointers(fe.folder / "var" / "lake" / "catalog.db").items():
        rows = StaticTable.from_metadata(pointer.location).scan().to_arrow()
        found[name.label] = sorted(zip(rows["id"].to_pylist(), rows["v"].to_pylist(), strict=True))
    return found


def assert_of_one_moment(backup: Path) -> None:
    """No table is newer than the metadata of its channel, but for an epoch that these are about to commit; none is
    older.
    """
    with contextlib.closing(sqlite3.connect(backup / "meta" / "meta.db")) as meta:
        channels = dict(meta.execute("SELECT token, last_epoch FROM channels").fetchall())
        intents = {number for (number,) in meta.execute("SELECT number FROM epochs WHERE committed_at IS NULL")}
    with contextlib.closing(sqlite3.connect(backup / "lake" / "catalog.db")) as catalog:
        locations = [path for (path,) in catalog.execute("SELECT metadata_location FROM iceberg_tables")]
    borne = dict[str, int]()
    for location in locations:
        table = Path(*Path(location.removeprefix("file:")).parts[-4:])
        properties = json.loads((backup / "lake" / table).read_bytes())["properties"]
        borne |= {token: int(properties[key]) for token in channels if (key := token_property(token)) in properties}
    for token, epoch in borne.items():
        assert epoch == channels[token] or epoch in intents
    assert len(borne) == len(TABLES)


def test_a_backup_of_a_running_frontend_comes_back(mysql_server: MysqlServer, tmp_path: Path) -> None:
    """Taken while a job commits, restored at the same path and at another one: the job goes on, and no row is lost or
    doubled; a wrong folder, a frontend that lives and what is there already are refused, a killed backup holds nobody.
    """
    fe = FrontendProcess(tmp_path / "one").start()
    shop = Shop(mysql_server, fe)
    killed, backup, again = tmp_path / "killed", tmp_path / "backup", tmp_path / "again"
    shop.change()
    shop.await_equal(fe)
    with held(fe.folder / "var" / "meta" / "meta.db", fe.folder / "var" / "lake" / "catalog.db"):
        shop.change()
        until(
            lambda: list((fe.folder / "var" / "staging").glob("*/*/*.parquet")), why="rows that wait for their intent"
        )
    shop.await_equal(fe)
    shop.await_indexes(fe)
    with shop.changing():
        for point in (CrashPoint.BACKUP_HELD, CrashPoint.BACKUP_NOTED):
            fe.arm(point)
            assert syncmgr("backup", killed / point, fe).returncode < 0
        said = done("backup", backup, fe)
    assert "commits were held for" in said
    assert "compared" in said
    assert_of_one_moment(backup)
    assert "is not an empty folder" in refused("backup", backup, fe)
    assert not list((fe.folder / "var").glob("*/.backup"))
    assert "in use by another frontend" in refused("restore", backup, fe)
    shop.await_equal(fe)
    until(lambda: not fe.job("saved")["Msg"], why="no Msg")
    assert "locked" not in (fe.folder / "log" / "fe.log").read_text()
    assert fe.stop() == 0

    move_away(fe)
    assert NAME in refused("restore", killed / CrashPoint.BACKUP_NOTED, fe)
    done("restore", backup, fe)
    saved = read_by_another(fe)
    fe.start()
    shop.change()
    shop.await_equal(fe)
    fe.kill()

    move_away(fe)
    other = FrontendProcess(tmp_path / "two")
    assert "paths are rewritten" in done("restore", backup, other)
    assert read_by_another(other) == saved
    other.start()
    shop.await_equal(other)
    shop.change()
    shop.await_equal(other)
    done("backup", again, other)
    assert_of_one_moment(again)
    assert other.stop() == 0
    mysql_server.run("DROP DATABASE saved")
