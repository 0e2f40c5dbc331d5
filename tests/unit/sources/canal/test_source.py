"""What a canal source claims of itself between the answers of its server."""

from typing import Final

import pytest

from syncmgr.job.position import Position
from syncmgr.job.rows.batch import Batch
from syncmgr.sources.canal.connector import Endpoint
from syncmgr.sources.canal.packet import Delivery
from syncmgr.sources.canal.source import KEPT_BYTES, CanalSource
from tests.unit.sources.canal.binlog import TABLE, Binlog, FakeTruth

NOTHING: Final = Delivery(-1, ())
ENDPOINT: Final = Endpoint(
    host="canal", port=11111, destination="d", user="", password="", connect_timeout=1.0, read_timeout=1.0
)


class Server:
    """In place of a connection: it gives these, and then nothing."""

    def __init__(self, *deliveries: Delivery) -> None:
        self._left = list(deliveries)
        self.acked: list[int] = []

    def local_address(self) -> str:
        return ""

    def ask(self, _fetch_size: int, _timeout: int) -> None: ...

    def receive(self, _until: float) -> Delivery:
        return self._left.pop(0) if self._left else NOTHING

    def acknowledge(self, batch_id: int) -> None:
        self.acked.append(batch_id)

    def close(self) -> None: ...


class Nobody:
    """Who else might read."""

    def locate(self) -> Endpoint:
        return ENDPOINT

    def connected(self, local_address: str) -> None: ...

    def lost(self) -> bool:
        return False

    def close(self) -> None: ...


def reading(monkeypatch: pytest.MonkeyPatch, *deliveries: Delivery) -> tuple[CanalSource, Server]:
    server = Server(*deliveries)
    monkeypatch.setattr("syncmgr.sources.canal.source.Connector", lambda *_: server)
    source = CanalSource(Nobody(), "", Position(), {TABLE: FakeTruth(TABLE)}, label="canal:11111/d")
    return source, server


def batches(source: CanalSource, answers: int) -> list[Batch]:
    """What so many GETs bring."""
    return [batch for batch in (source.get(0) for _ in range(answers)) if batch is not None]


def test_an_empty_answer_of_a_full_ring_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Canal gives no more until it is acked, whatever its server has: only what leaves it room is no reason."""
    log = Binlog()
    large = log.transaction("x" * KEPT_BYTES)
    source, server = reading(monkeypatch, Delivery(1, tuple(large)))
    [batch] = batches(source, 10)
    assert source.caught_up_at() == 0.0
    assert batch.end is not None
    source.ack(batch.end)
    assert not batches(source, 2)
    assert server.acked == [1]
    assert source.caught_up_at(), "what was asked behind the acknowledgement"


def test_a_small_batch_that_is_kept_back_leaves_canal_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty answer behind it says that there is no more."""
    source, server = reading(monkeypatch, Delivery(1, tuple(Binlog().transaction("x"))))
    assert len(batches(source, 10)) == 1
    assert source.caught_up_at()
    assert not server.acked
