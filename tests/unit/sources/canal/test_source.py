"""What a canal source claims of itself between the answers of its server."""

from typing import Final

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.backoff import Retry
from syncmgr.job.position import Position
from syncmgr.job.rows.batch import Batch
from syncmgr.sources.canal.answers.starvation import FULL_BYTES, KEPT_BYTES, SILENT_GETS
from syncmgr.sources.canal.connector import CanalLostError, Endpoint
from syncmgr.sources.canal.packet import Delivery
from syncmgr.sources.canal.source import CanalSource, SourceOptions
from tests.unit.sources.canal.binlog import LENGTH, TABLE, Binlog, FakeTruth, values

NOTHING: Final = Delivery(-1, ())
ENDPOINT: Final = Endpoint(
    host="canal", port=11111, destination="d", user="", password="", connect_timeout=1.0, read_timeout=1.0
)


class Server:
    """In place of a connection: it gives these, and then nothing."""

    def __init__(self, *deliveries: Delivery | CanalLostError) -> None:
        self._left = list(deliveries)
        self.acked: list[int] = []

    def local_address(self) -> str:
        return ""

    def ask(self, _fetch_size: int, _timeout: int) -> None: ...

    def receive(self, _until: float) -> Delivery:
        answer = self._left.pop(0) if self._left else NOTHING
        if isinstance(answer, CanalLostError):
            raise answer
        return answer

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


def reading(
    monkeypatch: pytest.MonkeyPatch, *deliveries: Delivery | CanalLostError, options: SourceOptions | None = None
) -> tuple[CanalSource, Server]:
    server = Server(*deliveries)
    monkeypatch.setattr("syncmgr.sources.canal.source.Connector", lambda *_: server)
    source = CanalSource(Nobody(), "", Position(), {TABLE: FakeTruth(TABLE)}, label="canal:11111/d", options=options)
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


LARGE: Final = "x" * FULL_BYTES
IN_PARTS: Final = SourceOptions(max_open_bytes=1, retry=Retry(first=0.0))
LOST: Final = CanalLostError(SyncError(Code.CANAL_UNREACHABLE, address="canal:11111/d", reason="gone"))


def test_a_full_ring_is_never_committed_as_of_before_what_was_handed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """A transaction that is not committed yet, and a part of the next one: the position that is asked to be committed
    is behind all rows that were handed on, and says that it is none of the source's states.
    """
    log = Binlog()
    first, second = log.transaction("a"), log.transaction("b", LARGE, "c")
    source, server = reading(monkeypatch, Delivery(1, (*first, *second[:3])), options=IN_PARTS)
    whole, part, *asked = batches(source, 2 * SILENT_GETS)
    assert (values([whole]), whole.open, len(values([part])), part.end) == (["a"], False, 2, None)
    [torn] = [batch for batch in asked if batch.end is not None]
    assert whole.end is not None
    assert torn.end is not None
    assert (torn.open, torn.starved, torn.end.ordinal, torn.end.whole) == (True, True, 1, False)
    assert torn.end.offset == whole.end.offset + 2 * LENGTH, "of the last row"
    source.ack(torn.end)
    batches(source, 1)
    assert not server.acked, "the newest is kept back"


def test_what_is_torn_stays_where_it_was_while_nothing_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Canal comes back, and needs some seconds to give anything: the job's place is not forgotten meanwhile."""
    log = Binlog()
    entries = log.transaction("a", LARGE, "c")
    nothing = [NOTHING] * SILENT_GETS
    deliveries = (Delivery(1, tuple(entries[:3])), *nothing, LOST, *nothing, *nothing, Delivery(1, tuple(entries)))
    source, _ = reading(monkeypatch, *deliveries, options=IN_PARTS)
    received = []
    for _ in range(len(deliveries) + SILENT_GETS):
        batch = source.get(0)
        if batch is not None:
            received.append(batch)
            if batch.end is not None:
                source.ack(batch.end)
    assert [value[:1] for value in values(received)] == ["a", "x", "c"], "each once"
    assert {batch.end.file for batch in received if batch.end is not None} == {log.file}
