"""Backup and restore on real SQLite files and real Iceberg tables, without a frontend and without Spark."""

import errno
import gzip
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import StaticTable

from syncmgr import __version__
from syncmgr.__main__ import main
from syncmgr.backup import backup as backup_module
from syncmgr.backup import manifest, moment
from syncmgr.backup.backup import PINS, Backup, back_up
from syncmgr.backup.places import Places
from syncmgr.backup.restore import _undo, restore
from syncmgr.config import settings
from syncmgr.crash import VARIABLE, CrashPoint
from syncmgr.errors import Code, SyncError
from syncmgr.host.folders import LOCK, RESTORING, locked, refuse_unfinished
from syncmgr.job.epoch import ChannelCommitted, Epoch, Prepared, StagedFile
from syncmgr.job.position import Position
from syncmgr.job.state import JobState
from syncmgr.lake.iceberg import catalog_file
from syncmgr.lake.iceberg.catalog_reader import RowName
from syncmgr.meta.codec import Vault
from syncmgr.meta.database.engine import sqlite_url
from syncmgr.meta.staged import staged_files
from syncmgr.meta.store import Store
from tests.support import metadata
from tests.support.until import HANG_SECOND
from tests.unit.job.factories import make_job

START = Position(gtids="u:1-5", file="binlog.000001", offset=157, server="u")
ROWS = pa.table({"id": [1, 2]})


def quiet(_: str) -> None:
    """What is said is no matter."""


class House:
    """The folders of a frontend that has one job, and one table in the lake."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.conf = folder, folder / "conf" / "fe.conf"
        self.var = folder / "var"
        self.conf.parent.mkdir(parents=True)
        self.conf.write_text("query_port = 9030\n")

    def fill(self) -> "House":
        for name in ("meta", "lake", "staging"):
            (self.var / name).mkdir(parents=True)
        self.store = self.opened()
        self.store.database.take_over("the old host", None)
        self.job = self.store.jobs.add(make_job(), START, 1.0)
        lake = self.var / "lake"
        self.catalog = SqlCatalog("lake", uri=f"sqlite:///{lake}/catalog.db", warehouse=str(lake))
        with closing(sqlite3.connect(lake / "catalog.db")) as catalog:
            catalog.execute("PRAGMA journal_mode=WAL")
        self.catalog.create_namespace("shop")
        self.table = self.catalog.create_table("shop.orders", schema=pa.schema([pa.field("id", pa.int64())]))
        self.table.append(ROWS)
        return self

    def stage(self, name: str) -> StagedFile:
        path = self.var / "staging" / f"job-{self.job.id}" / "life" / f"{name}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(name.encode())
        return StagedFile(path=str(path), rows=1, bytes=len(name))

    def back_up(self, to: Path) -> None:
        back_up(settings.read(self.conf), self.conf, to, quiet)

    def restore(self, of: Path) -> None:
        restore(settings.read(self.conf), of, quiet)

    def rows(self) -> list[int]:
        """Of the table, by another engine, from this house's own files."""
        pointer = catalog_file.pointers(self.var / "lake" / "catalog.db")[RowName("lake", "shop", "orders")]
        assert pointer.location.startswith(str(self.var / "lake"))
        found: list[int] = StaticTable.from_metadata(pointer.location).scan().to_arrow()["id"].to_pylist()
        return sorted(found)

    def opened(self) -> Store:
        return metadata.opened(sqlite_url(self.var / "meta"), Vault(self.var / "meta" / "secret.key"))

    def close(self) -> None:
        if hasattr(self, "store"):
            self.store.close()
            self.catalog.engine.dispose()


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    house = House(tmp_path / "house").fill()
    yield house
    house.close()


def assert_is_refused(code: Code, words: str, do: Callable[[], object]) -> None:
    with pytest.raises(SyncError, match=words) as raised:
        do()
    assert raised.value.code is code


def test_what_is_saved_comes_back(house: House, tmp_path: Path) -> None:
    """At the same path, byte for byte; the passwords can be read, and no frontend owns the metadata."""
    house.back_up(tmp_path / "copy")
    house.close()
    table = house.rows()
    shutil.rmtree(house.var)
    house.restore(tmp_path / "copy")
    assert house.rows() == table == [1, 2]
    with closing(house.opened()) as store:
        [job] = store.jobs.all()
        assert job.source.password == house.job.source.password
        assert store.database.owner() is None
    assert (house.var / "meta" / "secret.key").stat().st_mode & 0o077 == 0
    assert (tmp_path / "copy").stat().st_mode & 0o077 == 0


def test_a_frontend_that_is_stopped_is_saved(house: House, tmp_path: Path) -> None:
    """Nothing but the databases' own files is there; what a killed backup has left goes."""
    house.close()
    assert not list(house.var.glob("*/*-wal"))
    left = house.var / "lake" / PINS / "shop"
    left.mkdir(parents=True)
    house.back_up(tmp_path / "copy")
    assert not left.exists()
    shutil.rmtree(house.var)
    house.restore(tmp_path / "copy")
    assert house.rows() == [1, 2]


def test_a_frontend_without_tables_is_saved(tmp_path: Path) -> None:
    """Its catalog is not there, or has no tables of its own yet."""
    house = House(tmp_path / "house")
    (house.var / "meta").mkdir(parents=True)
    house.opened().close()
    house.back_up(tmp_path / "first")
    (house.var / "lake").mkdir()
    sqlite3.connect(house.var / "lake" / "catalog.db").close()
    house.back_up(tmp_path / "second")
    for copy in ("first", "second"):
        other = House(tmp_path / f"of {copy}")
        other.restore(tmp_path / copy)
        with closing(other.opened()) as store:
            assert store.jobs.all() == []


def test_it_comes_back_elsewhere(house: House, tmp_path: Path) -> None:
    """Nothing that comes back names the old folders."""
    intent = Epoch(number=1, end=START, last_seq=0, files={"token-1": (house.stage("rows"),)})
    house.store.epochs.add_intent(house.job.id, intent)
    house.back_up(tmp_path / "copy")
    house.close()
    shutil.rmtree(house.var)
    other = House(tmp_path / "other place")
    other.restore(tmp_path / "copy")
    assert other.rows() == [1, 2]
    [pointer] = catalog_file.pointers(other.var / "lake" / "catalog.db").values()
    older = json.loads(Path(pointer.location).read_bytes())["metadata-log"]
    assert [Path(each["metadata-file"]).is_relative_to(other.var) for each in older] == [True]
    assert str(house.var) not in Path(older[0]["metadata-file"]).read_text()
    with closing(other.opened()) as store:
        [epoch] = store.epochs.intents(house.job.id)
        [file] = epoch.files["token-1"]
    assert Path(file.path).read_bytes() == b"rows"
    assert Path(file.path).is_relative_to(other.var / "staging")


def test_packed_metadata_come_back_elsewhere(house: House, tmp_path: Path) -> None:
    """They name the new folders, and are packed as they were."""
    [before] = catalog_file.pointers(house.var / "lake" / "catalog.db").values()
    packed = before.location.replace(".metadata.json", ".gz.metadata.json")
    Path(packed).write_bytes(gzip.compress(Path(before.location).read_bytes()))
    with closing(sqlite3.connect(house.var / "lake" / "catalog.db")) as catalog, catalog:
        catalog.execute("UPDATE iceberg_tables SET metadata_location = ?", (packed,))
    house.back_up(tmp_path / "copy")
    house.close()
    shutil.rmtree(house.var)
    other = House(tmp_path / "other place")
    other.restore(tmp_path / "copy")
    assert other.rows() == [1, 2]
    [after] = catalog_file.pointers(other.var / "lake" / "catalog.db").values()
    assert str(house.var) not in gzip.decompress(Path(after.location).read_bytes()).decode()


@pytest.mark.parametrize("broken", ["property", "catalog"])
def test_what_cannot_be_moved_is_refused_with_a_cure(house: House, tmp_path: Path, broken: str) -> None:
    """A table or the catalog names a folder outside the lake, of which the backup has warned; nothing is left of the
    restore, and what the message says is done.
    """
    if broken == "property":
        with house.table.transaction() as change:
            change.set_properties({"write.data.path": "/elsewhere/data"})
    else:
        with closing(sqlite3.connect(house.var / "lake" / "catalog.db")) as catalog, catalog:
            catalog.execute("UPDATE iceberg_tables SET previous_metadata_location = '/elsewhere/v0.metadata.json'")
    house.back_up(tmp_path / "copy")
    house.close()
    shutil.rmtree(house.var)
    other = House(tmp_path / "other place")
    said = f"restore with lake_dir = {house.var}/lake in fe.conf"
    assert_is_refused(Code.RESTORE_REFUSED, re.escape(said), lambda: other.restore(tmp_path / "copy"))
    assert not [path for path in other.var.glob("lake/*") if path.name != "jars"]
    other.conf.write_text(f"query_port = 9030\nlake_dir = {house.var}/lake\n")
    other.restore(tmp_path / "copy")
    assert house.rows() == [1, 2]


def test_views_do_not_come_back(house: House, tmp_path: Path) -> None:
    """A view that another engine has made stops neither a backup nor a restore, and is not in the restored catalog."""
    with closing(sqlite3.connect(house.var / "lake" / "catalog.db")) as catalog, catalog:
        row = "('lake', 'shop', 'v', '/elsewhere/v.metadata.json', NULL, 'VIEW')"
        names = "catalog_name, table_namespace, table_name, metadata_location, previous_metadata_location, iceberg_type"
        catalog.execute(f"INSERT INTO iceberg_tables ({names}) VALUES {row}")
    house.back_up(tmp_path / "copy")
    house.close()
    shutil.rmtree(house.var)
    said = list[str]()
    restore(settings.read(house.conf), tmp_path / "copy", said.append)
    assert house.rows() == [1, 2]
    assert any("shop.v" in line for line in said)
    with closing(sqlite3.connect(house.var / "lake" / "catalog.db")) as catalog:
        assert catalog.execute("SELECT table_name FROM iceberg_tables").fetchall() == [("orders",)]


def test_which_staged_rows_are_saved(house: House, tmp_path: Path) -> None:
    """Those of intents, of channels that are behind, and of XA transactions that are open at the newest epoch."""
    waiting, old, intended, open_xa = map(house.stage, ("waiting", "old", "intended", "open"))
    house.stage("of no epoch")
    prepared = {"x": Prepared(files={"token-1": (old,)})}
    first = Epoch(number=1, end=START, last_seq=0, files={"token-1": (waiting,)}, prepared=prepared)
    house.store.epochs.add_intent(house.job.id, first)
    house.store.epochs.commit(house.job.id, first, {}, at=1.0, keep_since=0.0)
    prepared = {"x": Prepared(files={"token-1": (open_xa,)})}
    second = Epoch(number=2, end=START, last_seq=0, files={"token-1": (intended,)}, prepared=prepared)
    house.store.epochs.add_intent(house.job.id, second)
    Path(old.path).unlink()
    house.back_up(tmp_path / "copy")
    saved = {Path(name).stem for name in manifest.read(tmp_path / "copy").files if name.startswith(manifest.STAGING)}
    assert saved == {"waiting", "intended", "open"}
    done = {"token-1": ChannelCommitted(snapshot=1)}
    house.store.epochs.commit(house.job.id, second, done, at=2.0, keep_since=0.0)
    house.store.epochs.commit_channel(house.job.id, 1, "token-1", done["token-1"])
    copy = tmp_path / "meta.db"
    moment.copy_database(house.var / "meta" / "meta.db", copy)
    assert staged_files(copy) == {open_xa.path: open_xa.bytes}


def test_staged_rows_of_a_stopped_job_are_not_wanted(house: House, tmp_path: Path) -> None:
    """They go with it."""
    lost = StagedFile(path=str(house.var / "staging" / "gone"), rows=1, bytes=1)
    house.store.epochs.add_intent(house.job.id, Epoch(number=1, end=START, last_seq=0, files={"token-1": (lost,)}))
    assert_is_refused(Code.BACKUP_LACKS, "staged rows", lambda: house.back_up(tmp_path / "copy"))
    with closing(sqlite3.connect(house.var / "meta" / "meta.db")) as meta, meta:
        meta.execute("UPDATE jobs SET finished_at = 1.0, state = ?", (JobState.CANCELLED.value,))
    house.back_up(tmp_path / "another")


def test_nobody_writes_while_both_are_held(house: House) -> None:
    """Whoever would write to one of them waits until both are copied, and goes on without an error."""
    files = (house.var / "meta" / "meta.db", house.var / "lake" / "catalog.db")
    beaten, appended = threading.Event(), threading.Event()
    threads = [
        threading.Thread(target=lambda: (house.store.database.beat("the old host"), beaten.set())),
        threading.Thread(target=lambda: (house.table.append(ROWS), appended.set())),
    ]
    with moment.held(*files):
        before = house.store.database.owner(), len(house.table.metadata.snapshots)
        for thread in threads:
            thread.start()
        assert not beaten.wait(0.5)
        assert not appended.wait(0.5)
        assert house.store.database.owner() == before[0]
        assert len(house.catalog.load_table("shop.orders").metadata.snapshots) == before[1]
    assert beaten.wait(HANG_SECOND)
    assert appended.wait(HANG_SECOND)
    for thread in threads:
        thread.join()


def test_copies_are_of_one_moment(house: House, tmp_path: Path) -> None:
    """A writer that changes the metadata, then the catalog, and so on, is caught in no other state."""
    meta, catalog = house.var / "meta" / "meta.db", house.var / "lake" / "catalog.db"
    for file in (meta, catalog):
        with closing(sqlite3.connect(file)) as connection, connection:
            connection.execute("CREATE TABLE counted (n INTEGER)")
            connection.execute("INSERT INTO counted VALUES (0)")
    ended = threading.Event()

    def count() -> None:
        with closing(sqlite3.connect(meta, timeout=30)) as one, closing(sqlite3.connect(catalog, timeout=30)) as other:
            while not ended.is_set():
                for connection in (one, other):
                    with connection:
                        connection.execute("UPDATE counted SET n = n + 1")

    thread = threading.Thread(target=count)
    thread.start()
    seen = set()
    for _ in range(30):
        with moment.held(meta, catalog):
            for file in (meta, catalog):
                moment.copy_database(file, tmp_path / file.name)
        found = []
        for file in (meta, catalog):
            with closing(sqlite3.connect(tmp_path / file.name)) as copy:
                found += [n for (n,) in copy.execute("SELECT n FROM counted")]
        seen.add(found[0] - found[1])
    ended.set()
    thread.join()
    assert seen <= {0, 1}


def test_a_file_that_goes_before_it_is_noted_is_met_by_another_moment(
    house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As an expiry may do right behind the first moment."""
    hold, held = Backup._hold, []

    def hold_and_expire(backup: Backup) -> object:
        found = hold(backup)
        held.append(True)
        if len(held) == 1:
            [snapshot] = house.table.metadata.snapshots
            house.table.overwrite(pa.table({"id": [7]}))
            house.table.maintenance.expire_snapshots().by_id(snapshot.snapshot_id).commit()
            Path(snapshot.manifest_list).unlink()
        return found

    monkeypatch.setattr(Backup, "_note_early", lambda _: None)
    monkeypatch.setattr(Backup, "_hold", hold_and_expire)
    house.back_up(tmp_path / "copy")
    assert len(held) == 2
    house.close()
    shutil.rmtree(house.var)
    house.restore(tmp_path / "copy")
    assert house.rows() == [7]


def test_what_goes_soonest_is_noted_in_the_moment(
    house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Staged rows go with the next commit, a table's metadata with the twentieth."""
    staged = house.stage("rows")
    house.store.epochs.add_intent(house.job.id, Epoch(number=1, end=START, last_seq=0, files={"token-1": (staged,)}))
    hold, held = Backup._hold, []

    def hold_and_commit(backup: Backup) -> object:
        found = hold(backup)
        held.append(True)
        Path(staged.path).unlink()
        Path(house.table.metadata_location).unlink()
        return found

    monkeypatch.setattr(Backup, "_note_early", lambda _: None)
    monkeypatch.setattr(Backup, "_hold", hold_and_commit)
    house.back_up(tmp_path / "copy")
    assert held == [True]


def test_what_was_noted_outlives_a_drop(house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing waits for a backup: the files of a table that is dropped meanwhile have their second names."""

    def drop(point: CrashPoint) -> None:
        if point is CrashPoint.BACKUP_NOTED:
            shutil.rmtree(house.var / "lake" / "shop")

    monkeypatch.setattr(backup_module, "passing", drop)
    house.back_up(tmp_path / "copy")
    house.close()
    shutil.rmtree(house.var)
    house.restore(tmp_path / "copy")
    assert house.rows() == [1, 2]


def test_a_file_that_is_missing_is_named(house: House, tmp_path: Path) -> None:
    """A backup without it would be no backup; nothing is left of the one that was tried but its folder."""
    [data] = house.table.inspect.files()["file_path"].to_pylist()
    os.truncate(data, 5)
    assert_is_refused(Code.BACKUP_LACKS, "has 5 of", lambda: house.back_up(tmp_path / "one"))
    Path(data).unlink()
    assert_is_refused(Code.BACKUP_LACKS, Path(data).name, lambda: house.back_up(tmp_path / "two"))
    assert not list(house.var.glob(f"*/{PINS}"))


def test_another_disk_gets_copies(house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no second name is possible, and only there."""
    link, to = os.link, tmp_path / "copy"

    def link_here(source: Path, target: Path) -> None:
        if Path(target).is_relative_to(to):
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        link(source, target)

    monkeypatch.setattr(os, "link", link_here)
    house.back_up(to)
    manifest.compare(to, manifest.read(to))
    assert all(path.stat().st_nlink == 1 for path in to.rglob("*") if path.is_file())


def test_a_disk_without_links_is_refused(house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files could go while they are copied."""

    def no_link(_: Path, __: Path) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_link)
    assert_is_refused(Code.BACKUP_REFUSED, "stop the frontend and copy", lambda: house.back_up(tmp_path / "copy"))


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("meta_url = oracle+oracledb://u:secret@h/meta", "database of oracle"),
        ("spark.sql.catalog.lake.type = rest", "catalog is one of your own"),
    ],
)
def test_what_is_not_of_this_machine_is_refused(house: House, tmp_path: Path, line: str, words: str) -> None:
    """Its own means save it; no password is told."""
    house.conf.write_text(f"{line}\n")
    with pytest.raises(SyncError, match=words) as raised:
        house.back_up(tmp_path / "copy")
    assert "secret" not in str(raised.value)
    assert_is_refused(Code.RESTORE_REFUSED, words, lambda: house.restore(tmp_path / "copy"))


def test_wrong_folders_are_refused(house: House, tmp_path: Path) -> None:
    """What is there stays as it is."""
    full = tmp_path / "full"
    full.mkdir()
    (full / "a").touch()
    assert_is_refused(Code.BACKUP_REFUSED, "not an empty folder", lambda: house.back_up(full))
    assert_is_refused(Code.BACKUP_REFUSED, "among the files", lambda: house.back_up(house.var / "lake" / "copy"))
    assert_is_refused(Code.BACKUP_REFUSED, "no frontend has run", lambda: House(tmp_path / "x").back_up(tmp_path / "y"))
    assert_is_refused(Code.BACKUP_BROKEN, "backup.json", lambda: house.restore(full))
    house.back_up(tmp_path / "copy")
    assert_is_refused(Code.RESTORE_REFUSED, "there already", lambda: house.restore(tmp_path / "copy"))
    with locked(house.var / "meta"):
        assert_is_refused(Code.META_IN_USE, "in use", lambda: house.restore(tmp_path / "copy"))
    assert house.rows() == [1, 2]


def test_a_backup_that_fails_leaves_nothing_and_may_be_made_again(
    house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its folder is as it was, also after Ctrl-C, so that the next one finds room, and no folder that is not empty."""
    made = tmp_path / "made"
    made.mkdir()

    def fails(error: BaseException) -> None:
        def check(_: Backup) -> None:
            raise error

        monkeypatch.setattr(Backup, "_check", check)

    fails(OSError(errno.ENOSPC, "No space left on device", str(made / "lake")))
    assert_is_refused(Code.BACKUP_FAILED, "/made/lake': No space left on device$", lambda: house.back_up(made))
    assert list(made.iterdir()) == []
    fails(sqlite3.OperationalError("database or disk is full"))
    assert_is_refused(Code.BACKUP_FAILED, r"disk is full \('.*/new'\)", lambda: house.back_up(tmp_path / "new"))
    assert not (tmp_path / "new").exists()
    fails(KeyboardInterrupt())
    conf = ["--conf", str(house.conf)]
    assert main(["backup", str(made), *conf]) == 1
    assert list(made.iterdir()) == []
    monkeypatch.undo()
    house.back_up(made)


def test_another_user_is_told_whose_folders_they_are(
    house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Who may not read or write, who restores as root for somebody else, and who mistypes the folder."""
    house.back_up(tmp_path / "copy")
    assert_is_refused(Code.BACKUP_BROKEN, "there is no such folder", lambda: house.restore(tmp_path / "cpy"))

    def denied(*_: object) -> bytes:
        raise PermissionError(errno.EACCES, "Permission denied", "there")

    values = settings.read(house.conf)
    with monkeypatch.context() as patched:
        patched.setattr(Path, "read_bytes", denied)
        words = r"backup\.json cannot be read: Permission denied; run it as the user who"
        assert_is_refused(Code.BACKUP_BROKEN, words, lambda: restore(values, tmp_path / "copy", quiet))
    with monkeypatch.context() as patched:
        patched.setattr(backup_module, "lock_of", denied)
        words = "'there': Permission denied; run it as the user of the frontend"
        assert_is_refused(Code.BACKUP_FAILED, words, lambda: house.back_up(tmp_path / "other"))
    for user, told in ((0, True), (65534, False)):
        monkeypatch.setattr(os, "geteuid", lambda user=user: user)
        other = House(tmp_path / f"other{user}")
        assert main(["restore", str(tmp_path / "copy"), "--conf", str(other.conf)]) == 0
        assert ("they belong to root, who has run this" in capsys.readouterr().out) == told


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_root_takes_no_backup_from_the_user_of_the_frontend(house: House, tmp_path: Path) -> None:
    """What root's backup leaves in the folders of another user belongs to that user, who can make the next one."""
    for path in (house.var, *house.var.rglob("*")):
        os.chown(path, 65534, 65534)
    house.back_up(tmp_path / "copy")
    assert {path.stat().st_uid for path in (house.var / "meta").iterdir() if path.name == "backup.lock"} == {65534}


def test_two_backups_at_a_time_are_refused(house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second would take the first one's second names away."""
    tried = []

    def try_another(_: object) -> None:
        tried.append(True)
        assert_is_refused(Code.BACKUP_REFUSED, "under way", lambda: house.back_up(tmp_path / "second"))

    monkeypatch.setattr(backup_module, "passing", try_another)
    house.back_up(tmp_path / "first")
    assert tried


@pytest.mark.parametrize("damage", ["cut", "changed", "gone", "newer"])
def test_a_damaged_backup_is_not_restored(house: House, tmp_path: Path, damage: str) -> None:
    """The folders stay empty, so that another backup may be tried at once."""
    copy = tmp_path / "copy"
    house.back_up(copy)
    house.close()
    shutil.rmtree(house.var)
    [path] = copy.glob("lake/**/*.parquet")
    content = path.read_bytes()
    path.unlink()
    if damage == "newer":
        text = (copy / manifest.NAME).read_text()
        (copy / manifest.NAME).write_text(text.replace('"format": 1', '"format": 2'))
    elif damage != "gone":
        path.write_bytes(content[:-1] if damage == "cut" else content[:-1] + b"?")
    assert_is_refused(Code.BACKUP_BROKEN, "a form" if damage == "newer" else path.name, lambda: house.restore(copy))
    assert [path.name for path in house.var.glob("*/*")] in ([], ["lock"])


def test_a_restore_that_fails_leaves_nothing(house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It can be tried again once there is room."""
    house.back_up(tmp_path / "copy")
    house.close()
    shutil.rmtree(house.var)
    copyfile = shutil.copyfile

    def full(source: Path, target: Path) -> object:
        if Path(source).suffix == ".parquet":
            raise OSError(errno.ENOSPC, "No space left on device")
        return copyfile(source, target)

    with monkeypatch.context() as patched:
        patched.setattr(shutil, "copyfile", full)
        assert_is_refused(Code.BACKUP_FAILED, "No space left", lambda: house.restore(tmp_path / "copy"))
    assert [path.name for path in house.var.glob("*/*")] == ["lock"]
    house.restore(tmp_path / "copy")
    assert house.rows() == [1, 2]


@pytest.mark.parametrize("steps", range(6))
def test_an_undoing_that_is_broken_off_leaves_the_mark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, steps: int
) -> None:
    """A second Ctrl-C comes at any place of it: no frontend starts on what is left."""
    meta, lake, staging = (tmp_path / name for name in ("meta", "lake", "staging"))
    for folder in (meta, lake / "shop", staging / "job-1"):
        folder.mkdir(parents=True)
    for file in (meta / LOCK, meta / RESTORING, meta / "meta.db", meta / "secret.key", lake / "catalog.db"):
        file.touch()
    file, catalog = meta / "meta.db", lake / "catalog.db"
    here = Places(meta_dir=meta, meta_file=file, meta_server=None, lake_dir=lake, catalog=catalog, staging_dir=staging)
    left = iter(range(steps))
    for where, name in ((Path, "unlink"), (shutil, "rmtree")):
        real = getattr(where, name)

        def counted(path: Path, real: Callable[[Path], None] = real) -> None:
            if next(left, None) is None:
                raise KeyboardInterrupt
            real(path)

        monkeypatch.setattr(where, name, counted)
    with suppress(KeyboardInterrupt):
        _undo(here)
    assert_is_refused(Code.RESTORE_UNFINISHED, "was interrupted", lambda: refuse_unfinished(meta))


def test_no_frontend_starts_on_half_a_restore(house: House, tmp_path: Path) -> None:
    """It would find tables without jobs; once the folders are empty, the same backup comes back."""
    house.back_up(tmp_path / "copy")
    house.close()
    shutil.rmtree(house.var)
    armed = tmp_path / "crash"
    armed.mkdir()
    (armed / CrashPoint.RESTORE_COPIED).touch()

    def syncmgr(*arguments: str) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-m", "syncmgr", "--conf", str(house.conf), *arguments]
        env = {**os.environ, VARIABLE: str(armed)}
        return subprocess.run(command, env=env, timeout=HANG_SECOND, stderr=subprocess.PIPE, text=True, check=False)

    assert syncmgr("restore", str(tmp_path / "copy")).returncode < 0
    started = syncmgr()
    assert started.returncode == 1
    assert "was interrupted" in started.stderr
    assert_is_refused(Code.RESTORE_UNFINISHED, "was interrupted", lambda: house.restore(tmp_path / "copy"))
    shutil.rmtree(house.var)
    house.restore(tmp_path / "copy")
    assert house.rows() == [1, 2]


def test_the_version_needs_no_fe_conf(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nor does it start anything."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"syncmgr {__version__}\n"
    assert list(tmp_path.iterdir()) == []


def test_the_command_line(house: House, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """0 and what was done, 1 and why not, 2 for a fe.conf that is not there."""
    conf = ["--conf", str(house.conf)]
    assert main(["backup", str(tmp_path / "copy"), *conf]) == 0
    assert "compared" in capsys.readouterr().out
    assert main([*conf, "backup", str(tmp_path / "copy")]) == 1
    assert "not an empty folder" in capsys.readouterr().err
    assert main(["restore", str(tmp_path / "copy"), "--conf", str(tmp_path / "none.conf")]) == 2
    assert "none.conf" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["backup"])
    assert "folder" in capsys.readouterr().err
