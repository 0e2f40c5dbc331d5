import json
import os
import socket
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.exc import OperationalError

from mysqlddl.reading import Modes
from syncmgr.accounts.secret import opens
from syncmgr.accounts.user import Account, Level, Privilege, Scope
from syncmgr.control.users import Users
from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.channel_state import Stop
from syncmgr.job.channel.description import Listed, MappedColumn, PastDdl, Shadow
from syncmgr.job.ddl.ddl_step import DdlRecord, DdlState, DdlStep
from syncmgr.job.ddl.lake_change import AddField, DropField, EmptyTable, MoveField
from syncmgr.job.epoch import Backlog, ChannelCommitted, Epoch, Prepared, StagedFile
from syncmgr.job.failure import FailType
from syncmgr.job.position import Position
from syncmgr.job.rows.dead_letter import DeadLetter, DeadLetterBounds
from syncmgr.job.show_sync import WantedRows
from syncmgr.job.snapshot.chunk import ChunkPlan, Load
from syncmgr.job.snapshot.key_range import KeyRange, widened
from syncmgr.job.snapshot.renewal import Renewal
from syncmgr.job.state import JobEvent, JobState
from syncmgr.job.sync_job import JobId, SyncJob
from syncmgr.job.types.schema import GeneratedColumn, SourceTable, TargetType, UniqueKey
from syncmgr.meta import ddl_log
from syncmgr.meta.channels import Joining
from syncmgr.meta.codec import Vault, channel_json, channel_of
from syncmgr.meta.database.engine import sqlite_url
from syncmgr.meta.ledger import JobLedger
from syncmgr.meta.migrations.versions.v0015_keys import without_doubt
from syncmgr.meta.store import Store
from tests.support import metadata
from tests.support.servers.listening import listening
from tests.support.until import HANG_SECOND
from tests.unit.job.factories import make_canal, make_channel, make_job, make_source_table, with_history

START = Position(gtids="u:1-5", file="binlog.000001", offset=157, server="u")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = metadata.opened(sqlite_url(tmp_path), Vault(tmp_path / "secret.key"))
    yield store
    store.close()


def test_a_job_comes_back_as_it_was(store: Store) -> None:
    """What is stored is read back equal: source, channels, properties, password included."""
    job = store.jobs.add(make_job(properties={"max_retry": "3"}), START, 99.0)
    assert store.jobs.by_id(job.id) == job
    assert store.jobs.by_name("demo", "job1") == job
    assert store.jobs.all("demo") == [job]
    assert job.source.password == "s3cret"


def test_no_password_lies_in_the_clear(store: Store, tmp_path: Path) -> None:
    """The metadata file holds no password; its key is readable by the owner alone."""
    store.jobs.add(make_job(), START, 0.0)
    store.close()
    assert not any(b"s3cret" in path.read_bytes() for path in tmp_path.iterdir())
    assert (tmp_path / "secret.key").stat().st_mode & 0o077 == 0


def test_a_canal_job_comes_back_as_it_was(store: Store) -> None:
    """Another kind of source, and the list by which its columns are mapped."""
    places = (Listed(name="id", type="BIGINT"), Listed(name="passed_over"))
    channel = make_channel(places=places, source=SourceTable(db="shop", name="orders", columns=()))
    job = store.jobs.add(make_job(source=make_canal(), channels=(channel,)), Position(), 99.0)
    assert store.jobs.by_id(job.id) == job


def test_what_rows_told_is_kept(store: Store) -> None:
    """The next worker, and the next frontend, hold the rows against the same columns."""
    channel = make_channel(source=SourceTable(db="shop", name="orders", columns=()))
    job = store.jobs.add(make_job(source=make_canal(), channels=(channel,)), Position(), 99.0)
    JobLedger(store, job.id, lambda: 900.0).learn("token-1", make_source_table())
    found = store.jobs.by_id(job.id)
    assert found is not None
    assert found.channels[0].source == make_source_table()


def test_a_torn_epoch_is_no_consistent_point(store: Store) -> None:
    """Inside a transaction there is nothing that could be read back; the next whole epoch is a point again."""
    job = store.jobs.add(make_job(), START, 0.0)
    for number, whole in ((1, False), (2, True)):
        epoch = Epoch(number=number, end=replace(START, offset=number, whole=whole), last_seq=0)
        store.epochs.add_intent(job.id, epoch)
        committed = {"token-1": ChannelCommitted(snapshot=number)}
        store.epochs.commit(job.id, epoch, committed, at=1.0, keep_since=0.0)
        assert store.epochs.oldest_snapshot("token-1", job.id) == (2 if whole else None)


def test_open_xa_transactions_are_named_by_the_newest_epoch_alone(store: Store) -> None:
    """Whoever reads on from the last epoch knows what was prepared before it; older epochs need it no more."""
    job = store.jobs.add(make_job(), START, 0.0)
    waiting = {
        "X'78',X'',1": Prepared(files={"token-1": (StagedFile(path="/s/xa.parquet", rows=3, bytes=9),)}, bytes=70),
        "X'79',X'',1": Prepared(),
    }
    first = Epoch(number=1, end=START, last_seq=0, prepared=waiting)
    store.epochs.add_intent(job.id, first)
    assert store.epochs.last(job.id) == first
    assert store.epochs.intents(job.id) == [first]
    store.epochs.commit(job.id, first, {}, at=1.0, keep_since=0.0)
    assert store.epochs.last(job.id) == first
    assert store.epochs.figures(job.id).prepared == 1
    second = Epoch(number=2, end=START, last_seq=0)
    store.epochs.add_intent(job.id, second)
    store.epochs.commit(job.id, second, {}, at=2.0, keep_since=0.0)
    assert store.epochs.figures(job.id).prepared == 0
    with store.database.engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM epochs WHERE prepared IS NOT NULL").scalar() == 0


def test_metadata_of_the_version_before_is_brought_up_to_date(tmp_path: Path) -> None:
    """A meta.db without the newest columns opens, and what is in it stays."""
    vault = Vault(tmp_path / "secret.key")
    store = metadata.opened(sqlite_url(tmp_path), vault)
    job = store.jobs.add(make_job(), START, 0.0)
    store.close()
    with closing(sqlite3.connect(tmp_path / "meta.db")) as old:
        for column in ("prepared", "waiting", "ddl"):
            old.execute(f"ALTER TABLE epochs DROP COLUMN {column}")
        for column in ("leaving", "resyncing", "last_sequence", "excerpt", "changes", "stale_since"):
            old.execute(f"ALTER TABLE channels DROP COLUMN {column}")
        old.execute("ALTER TABLE jobs DROP COLUMN synced_until")
        old.execute("ALTER TABLE epochs DROP COLUMN oldest_time")
        old.execute("ALTER TABLE channels ADD COLUMN key_may_exist BOOLEAN NOT NULL DEFAULT 1")
        old.execute("ALTER TABLE jobs DROP COLUMN asked_until")
        for table in ("owner", "users", "grants", "loads", "ddl", "dead_letters"):
            old.execute(f"DROP TABLE {table}")
        old.execute("UPDATE alembic_version SET version_num = '0001'")
        old.commit()
    store = metadata.opened(sqlite_url(tmp_path), vault)
    assert store.jobs.by_id(job.id) == job
    assert store.epochs.last(job.id) == Epoch(number=0, end=START, last_seq=0)
    store.close()


def test_metadata_of_a_newer_version_are_refused(tmp_path: Path) -> None:
    """Before anything is read or owned, with both versions; also where they became newer after this one had looked."""
    url = sqlite_url(tmp_path)
    waiting = metadata.opened(url, Vault(tmp_path / "key"))
    with closing(sqlite3.connect(tmp_path / "meta.db")) as db, db:
        db.execute("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(SyncError, match="newer syncmgr \\(schema 9999; this one knows 0") as caught:
        Store(url, Vault(tmp_path / "key"))
    assert caught.value.code is Code.META_NEWER
    with pytest.raises(SyncError, match="schema 9999"):
        waiting.database.take_over("me", None)
    assert waiting.database.owner() is None
    waiting.close()


def test_metadata_of_a_server_that_never_answers_are_given_up(tmp_path: Path) -> None:
    """After the time that it has; each statement that asked for them held a thread forever."""
    answers = threading.Event()

    def serve(_: socket.socket) -> None:
        answers.wait()

    with closing(listening(serve)) as server:
        url = f"mysql+pymysql://me:secret@127.0.0.1:{server.getsockname()[1]}/meta"
        with pytest.raises(OperationalError, match="timed out"):
            Store(url, Vault(tmp_path / "key"), timeout=0.2)
        answers.set()


def test_a_doubt_of_the_version_before_is_forgotten() -> None:
    """A statement that was stored with what no table needs any more keeps its other changes."""
    drop = {"kind": "DropField", "name": "c"}
    step = {"statement": "ALTER TABLE t", "changes": {"a": [drop, {"kind": "DoubtKeys"}], "b": [{"kind": "DoubtKeys"}]}}
    assert without_doubt(step) == {"statement": "ALTER TABLE t", "changes": {"a": [drop], "b": []}}


def test_a_statement_of_the_version_before_keeps_its_doubt() -> None:
    """Its texts were converted to a charset that may lack characters, and to which was not stored."""
    [channel] = make_job().channels
    alter = PastDdl(text="x", db="shop", modes=Modes(strict=True))
    stored = json.loads(
        json.dumps(channel_json(with_history(channel, shadows=(Shadow(db="s", name="t", alters=(alter,)),))))
    )
    for narrow, connection in ((True, "ascii"), (False, "utf8mb4")):
        modes = {"strict": True, "narrow": narrow}
        stored["shadows"][0]["alters"][0]["modes"] = modes
        assert channel_of(stored).history.shadows[0].alters[0].modes == Modes(strict=True, connection=connection)


def test_ddl_is_remembered_with_its_epoch(store: Store) -> None:
    """The intent has the channels and the changes; the committed epoch makes them those of the job, and is told."""
    job = store.jobs.add(make_job(), START, 0.0)
    [before] = job.channels
    alter = PastDdl(text="x", db="shop", modes=Modes(strict=True))
    shadow = Shadow(db="shop", name="_orders_new", alters=(alter,), triggers=(("pt_osc_shop_orders_del", "DELETE"),))
    log = Shadow(db="shop", name="_orders_ghc", log=True)
    after = replace(
        with_history(before, shadows=(shadow, log)), source=replace(before.source, name="other"), takes_new_columns=True
    )
    changes = (
        AddField(name="c", type=TargetType(name="DECIMAL", args=(5, 2)), comment="x", initial='"1.00"'),
        MoveField(name="c", after=None),
        EmptyTable(),
    )
    step = DdlStep(
        statement="ALTER",
        at=5.0,
        channels={after.token: after},
        changes={after.token: changes},
        done={after.token: "d"},
    )
    epoch = Epoch(number=1, end=START, last_seq=0, ddl=step)
    refused = DdlRecord(position=START, at=4.0, table="t", statement="s", state=DdlState.PAUSED, outcome="why")
    store.ddl.refuse(job.id, refused)
    store.ddl.refuse(job.id, refused)
    assert store.ddl.of(job.id) == [refused]
    assert store.ddl.settle(job.id, "ALTER TABLE t ADD c INT")
    assert store.ddl.of(job.id) == [replace(refused, state=DdlState.APPLY, instead="ALTER TABLE t ADD c INT")]
    assert JobLedger(store, job.id, lambda: 900.0).settled(refused.position) == store.ddl.of(job.id)[0]
    assert store.ddl.settle(job.id, None)
    assert store.ddl.of(job.id) == [replace(refused, state=DdlState.SKIP)]
    store.epochs.add_intent(job.id, epoch)
    assert store.epochs.intents(job.id) == [epoch]
    assert store.jobs.by_id(job.id) == job
    store.epochs.commit(job.id, epoch, {}, at=1.0, keep_since=0.0)
    stored = store.jobs.by_id(job.id)
    assert stored is not None
    assert stored.channels == (after,)
    assert store.epochs.last(job.id) == replace(epoch, ddl=None)
    [told] = store.ddl.of(job.id)
    assert (told.table, told.state, told.outcome, told.at) == (before.source.label, DdlState.DONE, "d", 5.0)


def test_a_statement_that_stopped_a_table_is_told_as_past_once_the_table_is_back(store: Store) -> None:
    """RESYNC has brought its rows; not of another table, and not of one that has stopped again meanwhile."""
    lines = make_channel(token="lines", source=make_source_table(name="lines"), target="lines")
    again = make_channel(
        token="again", source=make_source_table(name="again"), target="again", stopped=Stop(reason="why")
    )
    job = store.jobs.add(make_job(channels=(make_channel(), lines, again)), START, 0.0)
    for channel in job.channels:
        store.ddl.note(job.id, stopped_by_ddl(channel.source.label))
    JobLedger(store, job.id, lambda: 900.0).catch_up(["token-1", "again"])
    states = {record.table: record.state for record in store.ddl.of(job.id)}
    assert states == {
        "shop.orders": DdlState.RESYNCED,
        "shop.lines": DdlState.STOPPED,
        "shop.again": DdlState.STOPPED,
    }


def test_a_long_statement_is_recorded_by_its_beginning(store: Store) -> None:
    """A source may have any number of them: the records of its job stay small."""
    job = store.jobs.add(make_job(), START, 0.0)
    store.ddl.note(job.id, replace(stopped_by_ddl("shop.t"), statement="x" * (ddl_log.LONGEST + 5)))
    [told] = store.ddl.of(job.id)
    assert told.statement == "x" * ddl_log.LONGEST + "... (5 more characters)"


def stopped_by_ddl(table: str) -> DdlRecord:
    return DdlRecord(position=START, at=4.0, table=table, statement="s", state=DdlState.STOPPED, outcome="why")


@pytest.mark.parametrize("keep_since", [0.0, 1.5])
@pytest.mark.parametrize(("rows_since", "state"), [(False, DdlState.STOPPED), (True, DdlState.DONE)])
def test_a_statement_after_which_its_table_stops_was_not_followed(
    store: Store, *, rows_since: bool, state: DdlState, keep_since: float
) -> None:
    """Where the very next rows have other columns; rows that were read between them acquit it. `keep_since` 1.5: other
    tables had commits for so long that the statement's epoch is no longer kept.
    """
    job = store.jobs.add(make_job(), START, 0.0)
    step = DdlStep(statement="ALTER", at=5.0, done={"token-1": "nothing to do"})
    store.epochs.add_intent(job.id, Epoch(number=1, end=replace(START, offset=200), last_seq=0, ddl=step))
    [ddl] = store.epochs.intents(job.id)
    store.epochs.commit(job.id, ddl, {}, at=1.0, keep_since=0.0)
    files = {"token-1": (StagedFile(path="/s/2", rows=1, bytes=9),)} if rows_since else {}
    rows = Epoch(number=2, end=replace(START, offset=300), last_seq=1, files=files)
    store.epochs.add_intent(job.id, rows)
    store.epochs.commit(job.id, rows, dict.fromkeys(files, ChannelCommitted(snapshot=1)), at=2.0, keep_since=keep_since)
    JobLedger(store, job.id, lambda: 900.0).overturn("token-1", "column 'a' is gone")
    [told] = store.ddl.of(job.id)
    assert told.state is state
    assert (told.outcome == "nothing to do; then the table stopped: column 'a' is gone") is not rows_since


def test_only_so_much_ddl_is_remembered(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A job keeps its newest records."""
    monkeypatch.setattr(ddl_log, "KEPT", 20)
    job = store.jobs.add(make_job(), START, 0.0)
    token = job.channels[0].token
    for number in range(1, 26):
        epoch = Epoch(number=number, end=START, last_seq=0, ddl=DdlStep(statement=str(number), done={token: "d"}))
        store.epochs.add_intent(job.id, epoch)
        store.epochs.commit(job.id, epoch, {}, at=float(number), keep_since=float(number))
    kept = store.ddl.of(job.id)
    assert (len(kept), kept[0].statement, kept[-1].statement) == (20, "6", "25")


def test_the_second_of_the_newest_answer_is_kept(store: Store) -> None:
    """It only grows, whatever else is stored of the job, until it is settled; other jobs have their own."""
    job, other = store.jobs.add(make_job(), START, 0.0), store.jobs.add(make_job(name="job2", channels=()), START, 0.0)
    ledger = JobLedger(store, job.id, lambda: 900.0)
    assert ledger.asked_until() == 0
    for second in (1_800_000_000, 1_800_000_005, 1_800_000_003):
        ledger.keep_asked(second)
    store.jobs.save(job.on(JobEvent.STARTED, at=1.0))
    assert ledger.asked_until() == 1_800_000_005
    assert store.asked.until(other.id) == 0
    store.asked.settle(job.id)
    assert ledger.asked_until() == 0
    ledger.keep_asked(7)
    assert ledger.asked_until() == 7


def test_a_change_is_compared_and_set(store: Store) -> None:
    """Whoever holds an old version of a job cannot save it over a newer one."""
    job = store.jobs.add(make_job(), START, 0.0)
    store.jobs.save(job.on(JobEvent.STARTED, at=1.0))
    with pytest.raises(SyncError) as raised:
        store.jobs.save(job.on(JobEvent.STOPPED, at=2.0))
    assert raised.value.code is Code.STALE_JOB
    stored = store.jobs.by_id(job.id)
    assert stored is not None
    assert stored.state is JobState.RUNNING


def test_a_name_and_a_target_are_free_again_when_cancelled(store: Store) -> None:
    """A live job's name and targets are taken; a cancelled job's are free, and the live job is found first."""
    job = store.jobs.add(make_job(), START, 0.0)
    with pytest.raises(SyncError, match="already exists"):
        store.jobs.add(make_job(channels=()), START, 0.0)
    with pytest.raises(SyncError, match=r"already the target of sync job 'demo\.job1'"):
        store.jobs.add(make_job(name="job2", channels=(make_channel(token="other"),)), START, 0.0)
    store.jobs.save(job.on(JobEvent.STOPPED, at=1.0))
    again = store.jobs.add(make_job(channels=(make_channel(token="third"),)), START, 0.0)
    assert store.jobs.by_name("demo", "job1").id == again.id
    assert store.jobs.target_of("demo", "orders") == "demo.job1"


def test_reading_goes_on_behind_the_last_intent(store: Store) -> None:
    """The start is epoch 0; an intent is where reading goes on, a committed epoch is what SHOW tells."""
    job = store.jobs.add(make_job(), START, 0.0)
    ledger = JobLedger(store, job.id, lambda: 900.0)
    begin = ledger.last_epoch()
    assert begin is not None
    assert (begin.number, begin.end, begin.last_seq) == (0, START, 0)
    file = StagedFile(path="/staged/1.parquet", rows=3, bytes=70)
    end = Position(gtids="u:1-6", file="binlog.000001", offset=400, server="u")
    epoch = Epoch(number=1, end=end, last_seq=3, files={"token-1": (file,)}, rows=3, bytes=70, source_time=5.0)
    ledger.add_intent(epoch)
    assert ledger.intents() == [epoch]
    assert ledger.last_epoch() == epoch
    assert store.epochs.figures(job.id).position == START
    ledger.commit_epoch(epoch, {"token-1": ChannelCommitted(snapshot=77)})
    assert ledger.intents() == []
    figures = store.epochs.figures(job.id)
    assert (figures.position, figures.rows, figures.bytes, figures.commits) == (end, 3, 70, 1)
    assert ledger.progress()["token-1"].last.snapshot == 77


def test_a_channel_that_is_behind_keeps_its_files_and_has_no_point(store: Store) -> None:
    """An epoch counts without it; there is a consistent point again behind the last one that it has committed."""
    channels = tuple(make_channel(token=token, target=token) for token in ("token-1", "token-2"))
    job = store.jobs.add(make_job(channels=channels), START, 0.0)
    ledger = JobLedger(store, job.id, lambda: -10.0)
    files = {token: (StagedFile(path=f"/staged/{token}", rows=3, bytes=70),) for token in ("token-1", "token-2")}
    for number in (1, 2):
        epoch = Epoch(number=number, end=START, last_seq=number, files=files)
        ledger.add_intent(epoch)
        ledger.commit_epoch(epoch, {"token-1": ChannelCommitted(snapshot=10 + number)})
    assert ledger.intents() == []
    assert [(e.number, set(e.files)) for e in ledger.backlog()] == [(1, {"token-2"}), (2, {"token-2"})]
    assert store.epochs.oldest_snapshot("token-1", job.id) is None
    assert ledger.progress()["token-2"].last.epoch == 0
    for number in (1, 2):
        ledger.commit_channel(number, "token-2", ChannelCommitted(snapshot=20 + number))
    assert ledger.backlog() == []
    assert ledger.progress()["token-2"].last.snapshot == 22
    ledger.add_intent(Epoch(number=3, end=START, last_seq=3))
    ledger.commit_epoch(Epoch(number=3, end=START, last_seq=3), {})
    assert store.epochs.oldest_snapshot("token-2", job.id) == 22


def test_old_points_are_forgotten_and_a_job_with_them(store: Store) -> None:
    """Consistent points live as long as they are kept; forgetting a job leaves nothing of it."""
    job = store.jobs.add(make_job(), START, 0.0)
    ledger = JobLedger(store, job.id, lambda: 900.0)
    for number in (1, 2):
        epoch = Epoch(number=number, end=START, last_seq=0, files={"token-1": ()})
        ledger.add_intent(epoch)
        ledger.commit_epoch(epoch, {"token-1": ChannelCommitted(snapshot=10 + number)})
    assert store.epochs.oldest_snapshot("token-1", job.id) == 11
    JobLedger(store, job.id, lambda: -10.0).add_intent(Epoch(number=3, end=START, last_seq=0))
    JobLedger(store, job.id, lambda: -10.0).commit_epoch(Epoch(number=3, end=START, last_seq=0), {})
    assert store.epochs.oldest_snapshot("token-1", job.id) == 12
    store.jobs.forget(job.id)
    with pytest.raises(SyncError, match="Unknown sync job 'job1' in database 'demo'"):
        store.jobs.by_name("demo", "job1")
    assert ledger.last_epoch() is None


def test_a_failure_is_remembered(store: Store) -> None:
    """Msg, failures and the time of the resume outlive a restart of the frontend."""
    job = store.jobs.add(make_job(), START, 0.0)
    running = store.jobs.save(job.on(JobEvent.STARTED, at=1.0))
    error = SyncError(Code.WORKER_DIED, status=-9)
    failed = store.jobs.save(running.failed(error, FailType.SUBMIT_FAIL, at=2.0))
    assert store.jobs.by_id(job.id) == failed


def test_another_key_is_told_apart(tmp_path: Path) -> None:
    """Metadata copied without its key is refused in words, not with a traceback."""
    sealed = Vault(tmp_path / "a.key").seal("text")
    with pytest.raises(SyncError, match=r"b\.key is not the key that encrypted"):
        Vault(tmp_path / "b.key").open(sealed)


def test_a_key_is_there_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a power failure no empty file stands where the key should be: what was not synced has no name yet."""
    synced = list[str]()
    monkeypatch.setattr(
        os, "fsync", lambda descriptor: synced.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()))
    )
    Vault(tmp_path / "secret.key")
    assert synced == [str(tmp_path / "secret.new"), str(tmp_path)]
    assert (tmp_path / "secret.key").stat().st_mode & 0o777 == 0o600

    def fail(_: int) -> None:
        raise OSError

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError):
        Vault(tmp_path / "other.key")
    assert not (tmp_path / "other.key").exists()


def test_users_come_back_as_they_were(store: Store, tmp_path: Path) -> None:
    """Accounts, secrets and grants outlive the frontend; a dropped account leaves nothing."""
    users = Users(store.accounts)
    alice, bob = Account(name="alice"), Account(name="bob", host="10.%")
    for account in (alice, bob):
        users.create(account, password="s3cret", plugin=None, if_not_exists=False)
    users.grant(alice, [Privilege.SELECT, Privilege.LOAD], Scope(level=Level.DATABASE, db="demo"))
    users.grant(alice, [Privilege.LOAD], Scope(level=Level.JOB, db="demo", name="job1"))
    users.revoke(alice, [Privilege.LOAD], Scope(level=Level.DATABASE, db="demo"))
    users.drop(bob, if_exists=False)
    again = Users(store.accounts)
    again.load()
    assert again.accounts() == users.accounts()
    assert again.rights(alice) == users.rights(alice)
    found = again.find("alice", "10.0.0.1")
    assert found is not None
    assert opens("s3cret", found.secret)
    assert not any(b"s3cret" in path.read_bytes() for path in tmp_path.iterdir())


PLAN = ChunkPlan(id="p", key=("a", "b"), bounds=(("1", "x'41'"), ("2", "x'42'")), rows=30)


def test_a_snapshot_comes_back_as_it_was(store: Store) -> None:
    """Its plan, the chunks that are in the lake, each counted once, and its upper bound; then it is consistent."""
    channels = (make_channel(), make_channel(token="token-2", target="lines"))
    job = store.jobs.add(make_job(channels=channels), START, 0.0, frozenset({"token-1"}))
    ledger = JobLedger(store, job.id, lambda: 900.0)
    begun_at = ledger.loads()["token-1"].begun_at
    load = Load(token="token-1", stale_since=0.0, begun_at=begun_at)
    assert ledger.loads() == {"token-1": load}
    assert begun_at is not None
    ledger.plan_load("token-1", PLAN)
    ledger.add_chunk("token-1", 3, ChannelCommitted(snapshot=7, rows=10))
    ledger.add_chunk("token-1", 3, ChannelCommitted(snapshot=7, passed_over=True, rows=10))
    ledger.add_chunk("token-1", 1, ChannelCommitted(snapshot=None, passed_over=True))
    assert ledger.loads()["token-1"] == replace(load, plan=PLAN, done=frozenset({1, 3}), rows=10)
    assert ledger.progress()["token-1"].last.snapshot == 7
    assert (store.epochs.figures(job.id).rows, store.epochs.figures(job.id).commits) == (10, 2)
    ledger.end_loads(["token-1"], START)
    assert store.epochs.oldest_snapshot("token-1", job.id) is None
    ledger.catch_up(["token-1"])
    load = ledger.loads()["token-1"]
    assert (load.upper, load.caught_up) == (START, True)
    assert store.epochs.oldest_snapshot("token-1", job.id) == 7
    store.jobs.forget(job.id)
    assert store.loads.of(job.id) == {}


FILE_START = replace(START, gtids="")
LETTER = DeadLetter(
    token="token-1", change="INSERT", column="c", value="v", reason="r", row="{}", at=5.0, file="b.1", offset=9
)


def test_dead_letters_count_once_their_epoch_does(store: Store) -> None:
    """They are stored with the intent, shown with the commit, and forgotten with the job."""
    job = store.jobs.add(make_job(), START, 0.0)
    ledger = JobLedger(store, job.id, lambda: 900.0, lambda: DeadLetterBounds(count=2, bytes=10**6))
    epoch = Epoch(number=1, end=START, last_seq=0, dead=(LETTER,))
    ledger.add_intent(epoch)
    assert store.dead_letters.of(job.id) == []
    [again] = ledger.intents()
    ledger.commit_epoch(again, {})
    assert store.dead_letters.of(job.id) == [(1, LETTER)]
    assert store.epochs.figures(job.id).dead_letters == 1
    with pytest.raises(SyncError, match="max_dead_letters"):
        ledger.add_intent(replace(epoch, number=2, dead=(LETTER, LETTER)))
    assert ledger.intents() == []
    store.jobs.forget(job.id)
    assert store.dead_letters.of(job.id) == []


def test_dead_letters_are_asked_for_by_channel_epoch_and_limit(store: Store) -> None:
    """In order, whatever is left out; a job may have thousands of them."""
    job = store.jobs.add(make_job(), START, 0.0)
    for number in (1, 2, 3):
        dead = tuple(replace(LETTER, value=f"{number}{part}") for part in "ab")
        epoch = Epoch(number=number, end=START, last_seq=1, dead=(*dead, replace(LETTER, token="left")))
        store.epochs.add_intent(job.id, epoch)
        if number < 3:
            store.epochs.commit(job.id, epoch, {}, at=1.0, keep_since=0.0)

    def values(**wanted: Any) -> list[str | None]:
        found = store.dead_letters.wanted(job.id, [LETTER.token], WantedRows(**wanted))
        return [letter.value for _, letter in found]

    assert values() == ["1a", "1b", "2a", "2b"]
    assert values(epoch=2) == ["2a", "2b"]
    assert values(newest=3) == ["1b", "2a", "2b"]


def test_the_bytes_of_dead_letters_are_bounded(store: Store) -> None:
    """Those of epochs, under way or not, and of chunks together; none of those that are too many is stored."""
    job = store.jobs.add(make_job(), FILE_START, 0.0, frozenset({LETTER.token}))
    large = [replace(LETTER, row='{"id": "' + each * 400 + '"}', column="é") for each in "äbc"]
    assert [letter.bytes for letter in large] == [2 + 10 + 800, 412, 412]
    most = DeadLetterBounds(count=9, bytes=812 + 412)
    ledger = JobLedger(store, job.id, lambda: 900.0, lambda: most)
    ledger.plan_load(LETTER.token, ChunkPlan(id="p", key=("id",), bounds=(), rows=1))
    ledger.add_intent(Epoch(number=1, end=START, last_seq=0, dead=(large[0],)))
    assert store.dead_letters.bytes(job.id) == 812
    ledger.add_chunk(LETTER.token, 1, ChannelCommitted(snapshot=1, rows=1, bytes=1, dead=(large[1],)))
    assert store.dead_letters.bytes(job.id) == 1224
    for store_more in (
        lambda: ledger.add_intent(Epoch(number=2, end=START, last_seq=0, dead=(large[2],))),
        lambda: ledger.add_chunk(LETTER.token, 2, ChannelCommitted(snapshot=2, rows=1, bytes=1, dead=(large[2],))),
    ):
        with pytest.raises(SyncError, match=r"1636 bytes of dead letters, more than max_dead_letter_bytes \(1224\)"):
            store_more()
    assert store.dead_letters.bytes(job.id) == 1224
    assert store.dead_letters.count(job.id) == 2


def test_a_dead_letter_of_a_snapshot_and_of_the_binlog_is_one(store: Store) -> None:
    """As long as the binlog brings what the snapshot had seen; the same value written again later is another."""
    token = LETTER.token
    job = store.jobs.add(make_job(), FILE_START, 0.0, frozenset({token}))
    ledger = JobLedger(store, job.id, lambda: 900.0, lambda: DeadLetterBounds(count=2, bytes=10**6))
    read, written = replace(LETTER, file="", offset=0), replace(LETTER, row='{"id": 2}')
    ledger.plan_load(token, ChunkPlan(id="p", key=("id",), bounds=(), rows=1))
    ledger.add_chunk(token, 1, ChannelCommitted(snapshot=1, rows=3, bytes=1000, dead=(read,)))
    ledger.end_loads([token], replace(FILE_START, offset=FILE_START.offset + 1000))
    epoch = Epoch(number=1, end=FILE_START, last_seq=0, dead=(LETTER, written))
    ledger.add_intent(epoch)
    ledger.commit_epoch(epoch, {})
    assert store.dead_letters.of(job.id) == [(0, read), (1, written)]
    assert store.epochs.figures(job.id).bytes == 1000
    ledger.catch_up([token])
    ledger.add_chunk(token, 2, ChannelCommitted(snapshot=2, rows=3, dead=(read, replace(written, file="", offset=0))))
    assert store.epochs.figures(job.id).dead_letters == 2
    with pytest.raises(SyncError, match="max_dead_letters"):
        ledger.add_intent(replace(epoch, number=2, dead=(LETTER,)))


def test_a_dead_letter_of_an_epoch_under_way_and_of_a_chunk_is_one(store: Store) -> None:
    """The rows of a table that joins are read while epochs are committed, which may bring the same change."""
    token = LETTER.token
    job = store.jobs.add(make_job(), FILE_START, 0.0, frozenset({token}))
    ledger = JobLedger(store, job.id, lambda: 900.0, lambda: DeadLetterBounds(count=9, bytes=10**6))
    ledger.plan_load(token, ChunkPlan(id="p", key=("id",), bounds=(("5",),), rows=1))
    epoch = Epoch(number=1, end=FILE_START, last_seq=0, dead=(LETTER,))
    ledger.add_intent(epoch)
    ledger.add_chunk(token, 1, ChannelCommitted(snapshot=1, rows=3, dead=(replace(LETTER, file="", offset=0),)))
    ledger.commit_epoch(epoch, {})
    assert store.dead_letters.of(job.id) == [(1, LETTER)]


def test_an_epoch_and_a_chunk_do_not_tell_one_dead_letter_at_one_time(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each looks at what is told before it tells it: one of them has to come first."""
    token, known = LETTER.token, store.dead_letters.of
    job = store.jobs.add(make_job(), FILE_START, 0.0, frozenset({token}))
    ledger = JobLedger(store, job.id, lambda: 900.0, lambda: DeadLetterBounds(count=9, bytes=10**6))
    ledger.plan_load(token, ChunkPlan(id="p", key=("id",), bounds=(), rows=1))
    epoch = Epoch(number=1, end=FILE_START, last_seq=0, dead=(LETTER,))
    beside = threading.Thread(target=ledger.add_intent, args=(epoch,))

    def looking(*args: Any, **named: Any) -> list[tuple[int, DeadLetter]]:
        found = known(*args, **named)
        if threading.current_thread() is not beside:
            beside.start()
            beside.join(1.0)
        return found

    monkeypatch.setattr(store.dead_letters, "of", looking)
    ledger.add_chunk(token, 1, ChannelCommitted(snapshot=1, rows=3, dead=(LETTER,)))
    beside.join(HANG_SECOND)
    ledger.commit_epoch(epoch, {})
    monkeypatch.undo()
    assert store.dead_letters.of(job.id) == [(0, LETTER)]


@pytest.mark.parametrize("keys", [(), ("id",)], ids=["without a key", "behind"])
def test_a_dead_letter_after_what_the_snapshot_saw_is_another(store: Store, keys: tuple[str, ...]) -> None:
    """Of a table without a key, which has a point of its own, and of one whose commits fail, so that it never catches
    up: each change counts.
    """
    token, place = LETTER.token, FILE_START.offset + 10
    job = store.jobs.add(
        make_job(channels=(make_channel(token=token, keys=keys),)), FILE_START, 0.0, frozenset({token})
    )
    ledger = JobLedger(store, job.id, lambda: 900.0, lambda: DeadLetterBounds(count=9, bytes=10**6))
    ledger.plan_load(token, ChunkPlan(id="p", key=keys, bounds=(), rows=1, point=None if keys else FILE_START))
    ledger.add_chunk(token, 1, ChannelCommitted(snapshot=1, rows=3, dead=(replace(LETTER, file="", offset=0),)))
    ledger.end_loads([token], replace(FILE_START, offset=place))
    for number, dead in ((1, ()), (2, (LETTER, LETTER))):
        epoch = Epoch(number=number, end=replace(FILE_START, offset=place + number), last_seq=0, dead=dead)
        ledger.add_intent(epoch)
        ledger.commit_epoch(epoch, {})
    assert [number for number, _ in store.dead_letters.of(job.id)] == [0, 2, 2]


def test_dead_letters_of_a_chunk_are_told_once(store: Store) -> None:
    """However often the chunk is said to be in the lake."""
    job = store.jobs.add(make_job(), START, 0.0, frozenset({"token-1"}))
    ledger = JobLedger(store, job.id, lambda: 900.0, lambda: DeadLetterBounds(count=9, bytes=10**6))
    for _ in range(2):
        ledger.add_chunk("token-1", 1, ChannelCommitted(snapshot=7, rows=3, dead=(LETTER,)))
    assert store.dead_letters.of(job.id) == [(0, LETTER)]


def test_dead_letters_of_a_prepared_transaction_are_remembered(store: Store) -> None:
    """Whoever reads on has them."""
    job = store.jobs.add(make_job(), START, 0.0)
    ledger = JobLedger(store, job.id, lambda: 900.0)
    ledger.add_intent(Epoch(number=1, end=START, last_seq=0, prepared={"x": Prepared(bytes=3, dead=(LETTER,))}))
    last = ledger.last_epoch()
    assert last is not None
    assert last.prepared["x"].dead == (LETTER,)


def test_a_channel_is_known_as_long_as_its_job(store: Store) -> None:
    """Also when that was cancelled: what it wrote into a table is ours."""
    job = store.jobs.add(make_job(), START, 0.0)
    assert store.jobs.has_channel("token-1")
    assert not store.jobs.has_channel("theirs")
    store.jobs.forget(job.id)
    assert not store.jobs.has_channel("token-1")


def test_a_channel_joins_a_job(store: Store) -> None:
    """Behind those that it has, with a snapshot of its own; where its target is taken nothing is stored."""
    job = store.jobs.add(make_job(), START, 0.0)
    late = make_channel(token="late", target="lines", after=replace(START, offset=200))
    after = job.with_statement("CREATE SYNC with lines")
    store.jobs.alter(after, joining=Joining(channels=(late,), loading=frozenset({"late"})))
    found = store.jobs.by_id(job.id)
    assert found == replace(after, channels=(*job.channels, late))
    load = store.loads.of(job.id)["late"]
    assert load == Load(token="late", stale_since=0.0, begun_at=load.begun_at)
    again = Joining(channels=(replace(late, token="again"),))
    with pytest.raises(SyncError) as raised:
        store.jobs.alter(after.with_statement("CREATE SYNC with lines twice"), joining=again)
    assert raised.value.code is Code.TARGET_IN_USE
    assert store.jobs.by_id(job.id) == found


def test_a_channel_leaves_a_job_with_all_that_waits_for_it(store: Store) -> None:
    """Until the run has ended it is there; then neither intents, XA transactions nor dead letters know it any more."""
    stays, leaves = make_channel(), make_channel(token="leaves", target="lines")
    job = store.jobs.add(make_job(channels=(stays, leaves)), START, 0.0)
    files = {token: (StagedFile(path=f"/s/{token}", rows=1, bytes=1),) for token in ("token-1", "leaves")}
    letters = (LETTER, replace(LETTER, token="leaves"))
    prepared = {"x": Prepared(files=files, bytes=3, dead=letters)}
    committed = Epoch(number=1, end=START, last_seq=2, files=files, prepared=prepared, dead=letters)
    store.epochs.add_intent(job.id, committed)
    store.epochs.commit(job.id, committed, {"token-1": ChannelCommitted(snapshot=5)}, at=1.0, keep_since=0.0)
    assert store.epochs.backlog(job.id) != []
    step = DdlStep(
        statement="TRUNCATE",
        channels={"leaves": leaves, "token-1": stays},
        changes={"leaves": (EmptyTable(),)},
        done={"leaves": "emptied"},
    )
    store.epochs.add_intent(job.id, Epoch(number=2, end=START, last_seq=2, prepared=prepared, ddl=step))

    after = job.with_statement("CREATE SYNC without lines")
    store.jobs.alter(after, leaving=("leaves",))
    assert store.jobs.by_id(job.id) == after
    assert store.jobs.target_of("demo", "lines") == "demo.job1"
    store.jobs.apply_pending(job.id)
    assert store.jobs.by_id(job.id) == replace(after, channels=(stays,))
    assert store.jobs.target_of("demo", "lines") is None
    assert store.epochs.backlog(job.id) == []
    assert store.dead_letters.of(job.id) == [(1, LETTER)]
    last = store.epochs.last(job.id)
    assert last is not None
    assert last.prepared == {"x": Prepared(files={"token-1": files["token-1"]}, bytes=3, dead=(LETTER,))}
    assert last.ddl == DdlStep(statement="TRUNCATE", channels={"token-1": stays})


def test_what_waits_for_a_channel_is_gathered(store: Store) -> None:
    """Its files of several epochs wait with the last of them, in order; those of other channels stay where they are."""
    job = store.jobs.add(make_job(channels=(make_channel(), make_channel(token="b", target="lines"))), START, 0.0)
    for number, tokens in ((1, ("b",)), (2, ("b", "token-1")), (3, ("b",)), (4, ("b",))):
        files = {token: (StagedFile(path=f"/s/{number}-{token}", rows=1, bytes=1),) for token in tokens}
        epoch = Epoch(number=number, end=START, last_seq=number, files=files)
        store.epochs.add_intent(job.id, epoch)
        store.epochs.commit(job.id, epoch, {}, at=1.0, keep_since=0.0)
    store.epochs.gather(job.id, "b", [1, 2, 3])
    left = {e.number: {t: [f.path for f in s] for t, s in e.files.items()} for e in store.epochs.backlog(job.id)}
    assert left == {
        2: {"token-1": ["/s/2-token-1"]},
        3: {"b": ["/s/1-b", "/s/2-b", "/s/3-b"]},
        4: {"b": ["/s/4-b"]},
    }


def opened(store: Store, job: SyncJob, **facts: Any) -> Load:
    """A reading that replaces the rows, which has just begun."""
    known = store.loads.of(job.id)["token-1"]
    return Load(token="token-1", replaces=True, begun_at=known.begun_at, generation=known.generation, **facts)


def test_each_reading_of_a_table_has_its_number(store: Store) -> None:
    """Whoever begins it: RESYNC, or a statement that is met while the rows are read."""
    job = store.jobs.add(make_job(), START, 0.0, frozenset({"token-1"}))
    found = [store.loads.of(job.id)["token-1"].generation]
    store.jobs.alter(job.with_statement(job.statement), resyncing={"token-1": None})
    store.jobs.apply_pending(job.id)
    found.append(store.loads.of(job.id)["token-1"].generation)
    store.loads.begin_anew({"token-1": None})
    found.append(store.loads.of(job.id)["token-1"].generation)
    assert found == [0, 1, 2]


def test_a_healthy_table_that_is_read_anew_is_as_fresh_as_the_others(store: Store) -> None:
    """Unless its rows were never all there: then nobody can say, however often the reading begins."""
    job = store.jobs.add(make_job(), START, 0.0, frozenset({"token-1"}))
    ledger = JobLedger(store, job.id, lambda: 900.0)
    store.jobs.alter(job.with_statement(job.statement), resyncing={"token-1": None})
    store.jobs.apply_pending(job.id)
    assert store.loads.of(job.id)["token-1"].stale_since == 0.0
    ledger.end_loads(["token-1"], START)
    ledger.catch_up(["token-1"])
    found = store.jobs.by_id(job.id)
    assert found is not None
    store.jobs.alter(found.with_statement(job.statement), resyncing={"token-1": None})
    store.jobs.apply_pending(job.id)
    assert store.loads.of(job.id)["token-1"].stale_since is None


def test_a_stop_of_an_earlier_version_has_its_reason(store: Store) -> None:
    """Which was all that it stored; a newer one has its number and times, too, through every restart."""
    job = store.jobs.add(make_job(), START, 0.0)
    stop = Stop(reason="why", error=20109, since=5.0, synced_until=4.0)
    store.jobs.describe(with_history(job.channels[0], stopped=stop))
    found = store.jobs.by_id(job.id)
    assert found is not None
    assert found.channels[0].history.stopped == stop
    stored = channel_json(job.channels[0])
    assert channel_of(stored | {"stopped": "why"}).history.stopped == Stop(reason="why")
    for nothing in ("", None):
        assert channel_of(stored | {"stopped": nothing}).history.stopped is None
    del stored["stopped"]
    assert channel_of(stored).history.stopped is None


def test_what_waits_is_told_by_channel(store: Store) -> None:
    """Of a job that does not run, from what is stored of its epochs."""
    channels = (make_channel(token="a"), make_channel(token="b", target="lines"))
    job = store.jobs.add(make_job(channels=channels), START, 0.0)
    file = StagedFile(path="/s/1", rows=1, bytes=9)
    epoch = Epoch(number=1, end=START, last_seq=1, files={"a": (file,), "b": (file,)}, source_time=7.0)
    store.epochs.add_intent(job.id, epoch)
    store.epochs.commit(job.id, epoch, {"a": ChannelCommitted(snapshot=1)}, at=8.0, keep_since=0.0)
    assert store.epochs.waiting(job.id) == {"b": Backlog(epochs=1, bytes=9, since=7.0)}
    assert store.epochs.figures(job.id).synced_until == 7.0


def test_jobs_that_have_ended_are_told_apart(store: Store) -> None:
    """Whoever looks after jobs reads none that nobody looks after; each has its own channels, in their order."""
    channels = (make_channel(token="b", target="b"), make_channel(token="a", target="a"))
    lives = store.jobs.add(make_job(name="lives", channels=channels), START, 0.0)
    made = store.jobs.add(make_job(name="ended", channels=(make_channel(token="c", target="c"),)), START, 0.0)
    ended = store.jobs.save(made.on(JobEvent.STOPPED, at=9.0))
    assert store.jobs.all() == [lives, ended]
    assert store.jobs.all(live=True) == [lives]
    assert store.jobs.ended() == [(ended.id, 9.0, None)]
    assert store.jobs.labels() == [(each.id, each.db, each.name) for each in (lives, ended)]
    assert [each.id for each in store.jobs.labels("demo", live=True)] == [lives.id]
    assert store.jobs.labels("Demo") == []
    assert store.jobs.of([ended.id, JobId(99), lives.id]) == [lives, ended]
    assert [channel.token for channel in store.jobs.all()[0].channels] == ["b", "a"]


def test_how_fresh_a_quiet_source_was_is_kept(store: Store) -> None:
    """It never falls, and whoever changes the job meanwhile is not refused."""
    job = store.jobs.add(make_job(), START, 0.0)
    for at, kept in ((50.0, 50.0), (40.0, 50.0), (60.0, 60.0)):
        store.jobs.keep_synced_until(job.id, at)
        assert store.jobs.by_name(job.db, job.name).synced_until == kept
    store.jobs.save(job.on(JobEvent.STARTED, at=70.0))


def test_what_was_gathered_is_as_old_as_the_oldest_of_it(store: Store) -> None:
    """Up to there a table that is behind has all."""
    job = store.jobs.add(make_job(), START, 0.0)
    file = StagedFile(path="/s/1", rows=1, bytes=9)
    for number in (1, 2):
        times = {"source_time": 10.0 * number, "oldest_time": 10.0 * number - 5}
        store.epochs.add_intent(
            job.id, Epoch(number=number, end=START, last_seq=1, files={"token-1": (file,)}, **times)
        )
        store.epochs.commit(job.id, store.epochs.all(job.id)[number].epoch, {}, at=8.0, keep_since=0.0)
    assert store.epochs.waiting(job.id)["token-1"].since == 5.0
    store.epochs.gather(job.id, "token-1", [1, 2])
    assert store.epochs.waiting(job.id)["token-1"].since == 5.0


def test_a_table_that_waits_for_its_rows_is_stale_until_then(store: Store) -> None:
    """Though neither it nor its target changes: before the next run, and in it."""
    job = store.jobs.add(make_job(), START, 0.0, frozenset({"token-1"}))
    JobLedger(store, job.id, lambda: 900.0).end_loads(["token-1"], START)
    store.jobs.alter(job.with_statement(job.statement), resyncing={"token-1": None}, stale={"token-1": 40.0})
    assert store.epochs.progress(job.id)["token-1"].stale_since == 40.0
    store.jobs.apply_pending(job.id)
    assert store.loads.of(job.id)["token-1"].stale == 40.0


def test_a_channel_is_read_anew(store: Store) -> None:
    """From the next run on; then its snapshot is open."""
    job = store.jobs.add(make_job(), START, 0.0, frozenset({"token-1"}))
    JobLedger(store, job.id, lambda: 900.0).end_loads(["token-1"], START)
    again, changes = (
        with_history(job.channels[0], after=START),
        (DropField(name="c"),),
    )
    renewal = Renewal(channel=again, changes=changes, stale_since=40.0)
    store.jobs.alter(job.with_statement(job.statement), resyncing={"token-1": None}, changed=(renewal,))
    assert store.loads.of(job.id)["token-1"].upper == START
    assert (
        store.epochs.progress(job.id)["token-1"].resyncing,
        store.epochs.progress(job.id)["token-1"].stale_since,
    ) == (True, 40.0)
    for _ in range(2):
        store.jobs.apply_pending(job.id)
        assert store.loads.of(job.id) == {"token-1": opened(store, job, changes=changes, stale_since=40.0)}
    store.loads.begin_anew({"token-1": None})  # what has not been made is still to be made
    load = store.loads.of(job.id)["token-1"]
    assert (load.changes, load.stale_since) == (changes, 40.0)
    assert not store.epochs.progress(job.id)["token-1"].resyncing
    found = store.jobs.by_id(job.id)
    assert found is not None
    assert found.channels == (again,)


def test_channels_of_one_table_stand_at_its_newest_snapshot(store: Store) -> None:
    """In whatever order their commits are told; a consistent point has the rows of all, and another table its own."""
    constant = MappedColumn(target="db", expression="'a'", constant="a")
    shared = [make_channel(token=token, columns=(constant,)) for token in ("a", "b")]
    job = store.jobs.add(make_job(channels=(*shared, make_channel(token="c", target="other"))), START, 0.0)
    epoch = Epoch(number=1, end=START, last_seq=1)
    store.epochs.add_intent(job.id, epoch)
    outcomes = {
        "b": ChannelCommitted(snapshot=12, sequence=2, shared=True),
        "a": ChannelCommitted(snapshot=11, sequence=1, shared=True),
        "c": ChannelCommitted(snapshot=13, sequence=9),
    }
    store.epochs.commit(job.id, epoch, outcomes, at=1.0, keep_since=0.0)
    assert store.epochs.progress(job.id)["c"].last.sequence == 9
    assert {token: one.last.snapshot for token, one in store.epochs.progress(job.id).items()} == {
        "a": 12,
        "b": 12,
        "c": 13,
    }
    assert store.epochs.all(job.id)[-1].snapshots == {"a": 12, "b": 12, "c": 13}
    with pytest.raises(SyncError) as raised:
        store.jobs.alter(job.with_statement(""), joining=Joining(channels=[make_channel(token="d", target="other")]))
    assert raised.value.code is Code.TARGET_IN_USE
    store.jobs.alter(job.with_statement(""), joining=Joining(channels=[make_channel(token="d", columns=(constant,))]))


def test_a_part_of_a_channel_is_read_anew(store: Store) -> None:
    """Through restarts; several parts are read together, and never less than what is being read already."""
    job = store.jobs.add(make_job(), START, 0.0)
    way = job.channels[0].mapping_fingerprint
    one, other = (KeyRange(way=way, text=text, columns=("id",), lake=text, source=text) for text in ("a", "b"))
    ledger = JobLedger(store, job.id, lambda: 900.0)

    def told(*excerpts: KeyRange | None) -> KeyRange | None:
        nonlocal job
        for excerpt in excerpts:
            job = job.with_statement(job.statement)
            store.jobs.alter(job, resyncing={"token-1": excerpt})
        store.jobs.apply_pending(job.id)
        load = store.loads.of(job.id)["token-1"]
        assert (load.plan, load.upper, load.replaces) == (None, None, True)
        return load.excerpt

    def passed() -> None:
        """The binlog has passed the end of the read."""
        ledger.end_loads(["token-1"], START)
        store.loads.catch_up(job.id, ["token-1"])

    assert told(one, one) == one
    plan = ChunkPlan(id="p", key=(), bounds=(), rows=1, replaces=True, way=way, excerpt=one)
    ledger.plan_load("token-1", plan)
    assert store.loads.of(job.id)["token-1"].plan == plan
    assert told(other) == widened(one, other)
    assert told(None) is None
    assert told(one) is None
    passed()
    assert told(other, one) == widened(other, one)
    passed()
    assert told(one, None, one) is None
    passed()
    assert told(replace(one, way="of other columns")) is None
    ledger.begin_loads({"token-1": other})
    assert store.loads.of(job.id) == {"token-1": opened(store, job, excerpt=other)}


def test_unique_keys_and_generated_columns_are_stored_and_not_known_of_earlier_versions(store: Store) -> None:
    """Tables are equal without them, as rows do not tell them; a job that was stored before has none to go by."""
    channel = store.jobs.add(make_job(), START, 0.0).channels[0]
    keys = (UniqueKey(name="by_mail", columns=("mail", "")),)
    generated = (GeneratedColumn(name="day", reads=("at", "zone")),)
    source = replace(channel.source, unique=keys, generated=generated)
    stored = json.loads(json.dumps(channel_json(replace(channel, source=source))))
    assert channel_of(stored).source.unique == keys
    assert channel_of(stored).source.generated == generated
    del stored["source"]["unique"], stored["source"]["generated"]
    assert channel_of(stored).source.unique is None
    assert channel_of(stored).source.generated is None


def test_epochs_are_asked_for_by_number_time_and_limit(store: Store) -> None:
    """In order, whatever is left out; a consistent point by its number, or the newest."""
    job = store.jobs.add(make_job(), START, 0.0)
    for number in range(1, 6):
        epoch = Epoch(number=number, end=START, last_seq=1, files={})
        store.epochs.add_intent(job.id, epoch)
        consistent = number in {2, 4}
        committed = {"token-1": ChannelCommitted(snapshot=number)}
        store.epochs.commit(job.id, epoch, committed, at=10.0 * number, keep_since=0.0, consistent=consistent)
    store.epochs.add_intent(job.id, Epoch(number=6, end=START, last_seq=1, files={}))

    def numbers(**wanted: Any) -> list[int]:
        return [each.epoch.number for each in store.epochs.of(job.id, WantedRows(**wanted))]

    assert numbers() == [0, 1, 2, 3, 4, 5, 6]
    assert numbers(epoch=4) == [4, 5, 6]
    assert numbers(since=30.0) == [0, 3, 4, 5]  # the first one is of now
    assert numbers(newest=2) == [5, 6]
    assert numbers(since=50.0, newest=1) == [5]
    found = [store.epochs.point(job.id, number) for number in (None, 2, 4, 3, 6, 9)]
    assert [each and each.epoch.number for each in found] == [4, 2, 4, None, None, None]
