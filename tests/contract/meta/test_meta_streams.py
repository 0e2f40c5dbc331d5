"""Searches that end with the first epochs, on each server that the metadata may be in."""

from pathlib import Path

import pytest

from syncmgr.job.epoch import ChannelCommitted, Epoch
from syncmgr.job.show_sync import WantedRows
from syncmgr.meta.codec import Vault
from tests.support import metadata
from tests.support.servers.databases import Make
from tests.support.slow import DATABASES, on_servers
from tests.unit.job.factories import make_job
from tests.unit.meta.test_store import START

pytestmark = pytest.mark.mysql


@pytest.mark.slow
@on_servers("mariadb", fixture="make", among=DATABASES)
def test_a_search_that_ends_early_leaves_the_connection_as_it_was(make: Make, tmp_path: Path) -> None:
    """With rows of it not fetched yet, and no warning of the driver: the next question is answered."""
    store = metadata.opened(make(), Vault(tmp_path / "secret.key"))
    job = store.jobs.add(make_job(), START, 0.0)
    for number in range(1, 302):
        epoch = Epoch(number=number, end=START, last_seq=1, files={})
        store.epochs.add_intent(job.id, epoch)
        store.epochs.commit(job.id, epoch, {"token-1": ChannelCommitted(snapshot=number)}, at=5.0, keep_since=0.0)
    for _ in range(3):
        newest = store.epochs.point(job.id, None)
        assert newest is not None
        assert newest.epoch.number == 301
        assert store.epochs.oldest_snapshot("token-1", job.id) == 1
        assert store.epochs.oldest_snapshot("no such token", job.id) is None
    assert [each.epoch.number for each in store.epochs.of(job.id, WantedRows(newest=2))] == [300, 301]
    store.close()
