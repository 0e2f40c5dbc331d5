"""A transaction that is larger than a batch is handed on in parts, and none of them has an end."""

import struct
from itertools import pairwise
from typing import Final
from unittest import mock

import pytest

from syncmgr.errors import SyncError
from syncmgr.job.position import Position
from syncmgr.job.types.schema import SourceColumn, SourceTable
from syncmgr.sources.mysql import wire
from syncmgr.sources.mysql.address import MysqlAddress
from syncmgr.sources.mysql.binlog.dump.packets import Chunk
from syncmgr.sources.mysql.binlog.router import Limits, Router
from syncmgr.sources.mysql.binlog.subscriptions import Subscription, Subscriptions
from syncmgr.sources.mysql.server.server_settings import ServerSettings
from syncmgr.sources.mysql.source import MysqlSource, SourceOptions
from tests.unit.sources.mysql.binlog.test_router import event, head, transaction, unlogged

TABLE: Final = SourceTable(db="d", name="t", columns=(SourceColumn(name="a", type="int"),))
MAP: Final = event(wire.TABLE_MAP, 0, b"\x07" + bytes(7) + b"\x01d\0\x01t\0\x01\x03\x00\x01")
ROW: Final = b"\x07" + bytes(7) + b"\x02\x00\x01\xff\x00" + struct.pack("<i", 1)
START: Final = Position(file="b.000001", offset=4, server="s")


def router() -> Router:
    """Two events are a batch."""
    wanted = {("d", "t"): Subscription(columns=("a",), schema=TABLE)}
    return Router(Subscriptions(wanted, "db1:3306", unlogged()), Limits(events=2), START, "db1:3306", {})


def feed(to: Router, *told: bytes) -> None:
    for each in told:
        to.feed(memoryview(each), [(0, len(each))], 0)


def test_the_position_before_a_torn_transaction_is_none_to_stop_at() -> None:
    """A transaction of other tables has moved the position, and then one comes in parts. Who took the position for an
    end would commit the first parts alone, and read their rows again.
    """
    torn = router()
    feed(torn, *transaction(1000), event(wire.ANONYMOUS_GTID, 1031, bytes(25)), MAP)
    feed(torn, *(event(wire.WRITE_V2, end, ROW) for end in (1100, 1200)))
    first = torn.take()
    assert (first.open, first.end, first.events) == (True, None, 2)
    assert not torn.moved
    feed(torn, event(wire.WRITE_V2, 1300, ROW), event(wire.XID, 1331, bytes(8)))
    assert torn.moved
    last = torn.take()
    assert (last.open, last.events) == (False, 1)
    assert last.end is not None
    assert last.end.offset == 1331


def test_a_transaction_that_a_crash_has_cut_off_has_no_rows() -> None:
    """MariaDB leaves its begin in the file, and has undone it when it begins the next one."""
    torn = router()
    begin = event(wire.MARIADB_GTID, 300, struct.pack("<QIB", 7, 0, 0) + bytes(6)), MAP, event(wire.WRITE_V2, 400, ROW)
    start = event(wire.ROTATE, 0, struct.pack("<Q", 4) + b"b.000002"), head(1_700_000_000)
    feed(torn, *begin, *start, *begin, event(wire.XID, 500, bytes(8)))
    assert torn.take().events == 1
    torn = router()
    feed(torn, *begin, event(wire.WRITE_V2, 500, ROW))
    assert torn.take().open
    with pytest.raises(SyncError, match=r"a transaction that a crash has undone, with rows of d\.t") as caught:
        feed(torn, *start)
    assert caught.value.context["table"] == "d.t"


class Server:
    """In place of a stream: what each read brings, and then nothing."""

    settings = ServerSettings(id="s", named=True, system_zone="UTC", logs_cascades=True, keys_beside=False)
    begun, place = None, 4
    received = asked_at = 0

    def __init__(self, *reads: tuple[bytes, ...]) -> None:
        self._reads = list(reads)

    def read(self, _timeout: float) -> Chunk | None:
        if not self._reads:
            return None
        events = self._reads.pop(0)
        ends = [sum(map(len, events[:count])) for count in range(len(events) + 1)]
        return Chunk(memoryview(b"".join(events)), list(pairwise(ends)))

    def now(self) -> float:
        return 0.0

    def close(self) -> None:
        pass


def test_nothing_is_an_end_while_a_torn_transaction_is_on_its_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long the server takes, and whatever it did before: nor where its stream ends in an error."""
    rows = [event(wire.WRITE_V2, end, ROW) for end in (1100, 1200)]
    reads = (*transaction(1000), event(wire.ANONYMOUS_GTID, 1031, bytes(25)), MAP, *rows), (event(200, 1300),)
    server = Server(*reads)
    monkeypatch.setattr("syncmgr.sources.mysql.source.BinlogStream", lambda *_: server)
    monkeypatch.setattr("syncmgr.sources.mysql.source.UnloggedAlters", mock.Mock())
    wanted = {("d", "t"): Subscription(columns=("a",), schema=TABLE)}
    address = MysqlAddress(host="db1", port=3306, user="u", password="p")
    options = SourceOptions(limits=Limits(events=2), position_interval=0.0)
    source = MysqlSource([address], 4711, START, wanted, options=options)
    first = source.get(0)
    assert first is not None
    assert (first.open, first.events) == (True, 2)
    with pytest.raises(SyncError, match="events of type 200"):
        source.get(0)


def test_a_name_means_what_the_server_of_now_means_by_it() -> None:
    """After a failover to one that compares names without case, what came before as another table is the synced one."""
    subscriptions = Subscriptions({("d", "t"): Subscription(columns=("a",), schema=TABLE)}, "db1:3306", unlogged())
    spelt = MAP[27:].replace(b"\x01t\0", b"\x01T\0")
    subscriptions.connected(ServerSettings(), None)
    assert subscriptions.of(spelt) is None
    subscriptions.connected(ServerSettings(folds=True), None)
    assert subscriptions.of(spelt) is not None
