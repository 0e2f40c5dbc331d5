"""Backup and restore where a database server keeps the metadata, on real servers."""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Thread
from typing import Final

import pytest
from sqlalchemy import text

from syncmgr.backup import backup as backup_module
from syncmgr.backup import restore as restore_module
from syncmgr.crash import CrashPoint
from syncmgr.errors import Code
from syncmgr.job.ddl.ddl_step import DdlRecord, DdlState
from syncmgr.meta.codec import Vault
from syncmgr.meta.store import Store
from tests.contract.meta.test_backup import START, House, assert_is_refused
from tests.support import metadata
from tests.support.servers.databases import Make, asking
from tests.support.slow import DATABASES, on_servers
from tests.support.until import HANG_SECOND
from tests.unit.job.factories import make_job

pytestmark = pytest.mark.mysql

DDL: Final = DdlRecord(position=START, at=0.1, table="tä", statement="s ' \\ 🐬", state=DdlState.PAUSED, outcome="why")


class ServedHouse(House):
    """A House whose metadata are where `url` says."""

    def __init__(self, folder: Path, url: str) -> None:
        super().__init__(folder)
        self.url = url
        self.conf.write_text(f"query_port = 9030\nmeta_url = {url}\n")

    def opened(self) -> Store:
        return metadata.opened(self.url, Vault(self.var / "meta" / "secret.key"))


@pytest.fixture
def house(tmp_path: Path, make: Make) -> Iterator[ServedHouse]:
    house = ServedHouse(tmp_path / "house", make())
    house.fill()
    house.store.ddl.refuse(house.job.id, DDL)
    yield house
    house.close()


def table(url: str, name: str) -> list[tuple[object, ...]]:
    with asking(url) as connection:
        return sorted(tuple(row) for row in connection.execute(text(f"SELECT * FROM {name}")))


@on_servers("postgres", fixture="make", among=DATABASES)
def test_what_a_server_keeps_comes_back(house: ServedHouse, tmp_path: Path, make: Make) -> None:
    """Into another database, whose next job has a number of its own; one that is not empty is refused."""
    house.back_up(tmp_path / "copy")
    tables = {name: table(house.url, name) for name in ("jobs", "channels", "epochs", "ddl", "totals", "loads")}
    house.close()
    shutil.rmtree(house.var)
    assert_is_refused(Code.RESTORE_REFUSED, "the database of meta_url has", lambda: house.restore(tmp_path / "copy"))
    other = ServedHouse(tmp_path / "other", make())
    other.restore(tmp_path / "copy")
    assert other.rows() == [1, 2]
    assert {name: table(other.url, name) for name in tables} == tables
    assert not (other.var / "meta" / "meta.db").exists()
    with closing(other.opened()) as store:
        assert store.database.owner() is None
        assert store.jobs.all() == [house.job]
        assert store.ddl.of(house.job.id) == [DDL]
        channel = house.job.channels[0]
        assert channel.target_db
        store.jobs.forget(house.job.id)
        assert store.jobs.add(make_job(), START, 1.0).id > house.job.id


@pytest.mark.slow
@on_servers("mysql", fixture="make", among=DATABASES)
def test_it_moves_between_a_file_and_a_server(house: ServedHouse, tmp_path: Path, make: Make) -> None:
    """Whatever meta_url says at the restore."""
    house.back_up(tmp_path / "first")
    file = House(tmp_path / "file")
    file.restore(tmp_path / "first")
    with closing(file.opened()) as store:
        assert store.jobs.all() == [house.job]
    file.back_up(tmp_path / "second")
    other = ServedHouse(tmp_path / "other", make())
    other.restore(tmp_path / "second")
    with closing(other.opened()) as store:
        assert store.jobs.all() == [house.job]
        assert store.ddl.of(house.job.id) == [DDL]


@on_servers("mariadb", fixture="make", among=DATABASES)
def test_nobody_writes_in_the_moment(house: ServedHouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A frontend waits until the copy is made, its change is not in it, and it gets no error."""
    writer = Thread(target=lambda: house.store.jobs.keep_synced_until(house.job.id, 77.0))

    def write(point: CrashPoint) -> None:
        if point is CrashPoint.BACKUP_HELD:
            writer.start()
            writer.join(0.5)
            assert writer.is_alive()

    monkeypatch.setattr(backup_module, "passing", write)
    house.back_up(tmp_path / "copy")
    writer.join(HANG_SECOND)
    assert [row for row in table(house.url, "jobs") if 77.0 in row]
    with closing(sqlite3.connect(tmp_path / "copy" / "meta" / "meta.db")) as copy:
        assert copy.execute("SELECT synced_until FROM jobs").fetchall() == [(None,)]


@on_servers("mysql", fixture="make", among=DATABASES)
def test_a_restore_that_fails_leaves_the_server_empty(
    house: ServedHouse, tmp_path: Path, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It can be tried again."""
    house.back_up(tmp_path / "copy")
    other = ServedHouse(tmp_path / "other", make())

    def fails(_: Path) -> None:
        raise OSError("no room")

    with monkeypatch.context() as patched:
        patched.setattr(restore_module, "sync_file_system", fails)
        assert_is_refused(Code.BACKUP_FAILED, "no room", lambda: other.restore(tmp_path / "copy"))
    other.restore(tmp_path / "copy")
    with closing(other.opened()) as store:
        assert store.jobs.all() == [house.job]


def test_a_server_without_metadata_is_refused(tmp_path: Path, make: Make) -> None:
    """No frontend has run with it."""
    empty = ServedHouse(tmp_path / "empty", make())
    (empty.var / "meta").mkdir(parents=True)
    assert_is_refused(Code.BACKUP_REFUSED, "no frontend has run", lambda: empty.back_up(tmp_path / "copy"))
