from collections.abc import Iterator
from pathlib import Path

import pytest

from syncmgr.job.alerts.condition import AlertEvent, AlertKey, Condition
from syncmgr.job.alerts.incident import Status
from syncmgr.meta.alerts import outbox
from syncmgr.meta.codec import Vault
from syncmgr.meta.database.engine import sqlite_url
from syncmgr.meta.store import Store
from tests.support import metadata

LAG = Condition(key=AlertKey(event=AlertEvent.LAGGING, job="demo.shop"), text="It is old")
DENIED = Condition(
    key=AlertKey(event=AlertEvent.TABLE_STOPPED, job="demo.shop", subject="shop.😀"), text="no", error=1, advice="GRANT"
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = metadata.opened(sqlite_url(tmp_path), Vault(tmp_path / "secret.key"))
    yield store
    store.close()


def test_an_incident_comes_back_as_it_was(store: Store) -> None:
    """From its beginning to the message about its end."""
    store.alerts.change([LAG, DENIED], [], 10.0)
    lag, denied = store.alerts.unresolved()
    assert (lag.key, lag.text, lag.fired_at, lag.sent_at) == (LAG.key, "It is old", 10.0, None)
    assert (denied.key, denied.error, denied.advice) == (DENIED.key, 1, "GRANT")
    store.alerts.failed(lag.id, "x" * 5000, 11.0)
    [failed, _] = store.alerts.unsent()
    assert (failed.failures, failed.tried_at, len(failed.reason or "")) == (1, 11.0, outbox.LONGEST_REASON)
    store.alerts.sent(lag.id, Status.FIRING, 12.0)
    store.alerts.change([], [lag.id], 20.0)
    [ended, _] = store.alerts.unsent()
    assert (ended.sent_at, ended.resolved_at, ended.failures, ended.reason) == (12.0, 20.0, 0, None)
    assert [each.key for each in store.alerts.unresolved()] == [DENIED.key]
    store.alerts.sent(lag.id, Status.RESOLVED, 21.0)
    assert [each.key for each in store.alerts.unsent()] == [DENIED.key]
    assert [each.resolved_sent_at for each in store.alerts.all()] == [21.0, None]


def test_so_many_are_kept(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest of those that have ended go; what is still the case stays."""
    monkeypatch.setattr(outbox, "MOST_KEPT", 3)
    store.alerts.change([DENIED], [], 1.0)
    for at in range(10):
        store.alerts.change([LAG], [], float(at))
        store.alerts.change([], [each.id for each in store.alerts.unresolved() if each.key == LAG.key], float(at))
    left = store.alerts.all()
    assert [each.key for each in left] == [DENIED.key, LAG.key, LAG.key, LAG.key]
