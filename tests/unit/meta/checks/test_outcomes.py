from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from syncmgr.job.position import Position
from syncmgr.meta.checks.outcomes import Outcome
from syncmgr.meta.codec import Vault
from syncmgr.meta.database.engine import sqlite_url
from syncmgr.meta.store import Store
from tests.support import metadata
from tests.unit.job.factories import make_job


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = metadata.opened(sqlite_url(tmp_path), Vault(tmp_path / "secret.key"))
    yield store
    store.close()


def test_outcomes_come_back_as_they_were_until_they_are_forgotten(store: Store) -> None:
    job = store.jobs.add(make_job(), Position(offset=4), 0.0)
    first = Outcome(check=1, place=0, job_id=job.id, row=(1, "demo", None, 1.5), found=())
    other = replace(first, place=1)
    store.checks.begin([first, other], [])
    over = replace(first, row=(1, "demo", "EQUAL", 2.5), found=(("é", None), ("b", 2)), over=True)
    store.checks.change(over)
    assert store.checks.all() == [over, other]
    second = replace(first, check=2)
    store.checks.begin([second], [1])
    assert store.checks.all() == [second]
