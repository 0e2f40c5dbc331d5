"""Names that a database server may take for one another: it may compare regardless of case, accents and last spaces."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

import pytest

from syncmgr.accounts.user import Account, Privilege, database
from syncmgr.errors import Code, SyncError
from syncmgr.job.ddl.ddl_step import DdlRecord, DdlState
from syncmgr.job.epoch import Epoch
from syncmgr.job.position import Position
from syncmgr.job.sync_job import SyncJob
from syncmgr.meta.accounts import StoredUser
from syncmgr.meta.codec import Vault
from syncmgr.meta.store import Store
from tests.support import metadata
from tests.support.servers.databases import Make
from tests.support.slow import DATABASES, on_servers
from tests.unit.job.factories import make_channel, make_job

pytestmark = pytest.mark.mysql

ALIKE: Final = [("Demo", "job1"), ("demo", "JOB1"), ("démo", "job1"), ("demo", "job1 ")]


@pytest.fixture
def store(make: Make, tmp_path: Path) -> Iterator[Store]:
    with closing(metadata.opened(make(), Vault(tmp_path / "secret.key"))) as opened:
        yield opened


@on_servers("mysql", fixture="make", among=DATABASES)
def test_a_job_is_found_by_its_own_name_alone(store: Store) -> None:
    """A right on one database, or one job, is none on another whose name differs in a letter's case."""
    own = store.jobs.add(make_job(db="demo", name="job1"), Position(), 1.0)
    for db, name in ALIKE:
        with pytest.raises(SyncError) as raised:
            store.jobs.by_name(db, name)
        assert raised.value.code is Code.UNKNOWN_JOB
    assert store.jobs.all("Demo") == []
    channel = make_channel(token="c2", target="other")
    other = store.jobs.add(make_job(db="Demo", name="job1", channels=(channel,)), Position(), 1.0)
    assert [store.jobs.by_name(db, "job1").id for db in ("demo", "Demo")] == [own.id, other.id]
    assert [job.id for job in store.jobs.all("Demo")] == [other.id]


def user(name: str, secret: str, *dbs: str) -> StoredUser:
    grants = {database(db): frozenset({Privilege.LOAD}) for db in dbs}
    return StoredUser(account=Account(name=name), plugin="p", secret=secret, grants=grants)


@pytest.mark.slow
@on_servers("mysql", fixture="make", among=DATABASES)
def test_an_account_is_never_that_of_another(store: Store) -> None:
    """One that the server takes for another is refused, and leaves the other its password and its grants."""
    alice = user("alice", "hers", "demo")
    store.accounts.put(alice)
    for other in (user("ALICE", "other"), user("alicé", "other"), user("alice", "hers", "demo", "Demo")):
        try:
            store.accounts.put(other)
        except SyncError as error:
            assert error.code is Code.META_UNFIT  # noqa: PT017 - another server tells them apart
            assert store.accounts.all() == [alice]
        else:
            assert other in store.accounts.all()
            store.accounts.drop(other.account)
            store.accounts.put(alice)


TABLES: Final = ("shop.t", "shop.T", "shop.té", "shop.te", "shop.te ")


def record(table: str, state: DdlState, offset: int) -> DdlRecord:
    position = Position(file="b.000001", offset=offset)
    return DdlRecord(position=position, at=1.0, table=table, statement="ALTER", state=state, outcome="o")


def states(store: Store, job: SyncJob) -> dict[str, DdlState]:
    return {each.table: each.state for each in store.ddl.of(job.id)}


@pytest.mark.slow
@on_servers("mysql", fixture="make", among=DATABASES)
def test_what_is_recorded_of_a_table_is_not_taken_for_that_of_another(store: Store) -> None:
    """A source tells Orders from orders: one that was refused, is gone, or was read again says nothing of the other."""
    label = make_channel().source.label
    job = store.jobs.add(make_job(db="demo", name="job1"), Position(), 1.0)
    for number, table in enumerate(TABLES):
        store.ddl.note(job.id, record(table, DdlState.REFUSED, number))
    assert [each.table for each in store.ddl.refused(job.id)] == [*TABLES]
    store.ddl.mark_gone(job.id, but=TABLES[1:])
    assert states(store, job) == dict.fromkeys(TABLES, DdlState.REFUSED) | {"shop.t": DdlState.GONE}
    for number, table in enumerate((label, label.upper(), f"{label} ")):
        store.ddl.note(job.id, record(table, DdlState.STOPPED, 10 + number))
    store.ddl.cure(job.id, [job.channels[0].token])
    told = states(store, job)
    assert [told[each] for each in (label, label.upper(), f"{label} ")] == ["RESYNCED", "STOPPED", "STOPPED"]
    for table, state in ((label, DdlState.DONE), (label.upper(), DdlState.REFUSED)):
        store.ddl.note(job.id, record(table, state, 20))
    store.epochs.add_intent(job.id, Epoch(number=1, end=Position(file="b.000001", offset=20), last_seq=0))
    store.ddl.overturn(job.id, job.channels[0].token, "other columns")
    assert store.ddl.of(job.id)[-2].state is DdlState.STOPPED
