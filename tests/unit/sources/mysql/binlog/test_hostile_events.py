"""Events that say what no server has: an error of ours at once, never a value, a hang, or memory without end."""

import contextlib
import struct
import time
import tracemalloc
from typing import Final
from unittest import mock

import pytest

from mysqlddl import words
from mysqlddl.reading import Modes
from mysqlddl.words import UnclearError
from syncmgr.job.position import MAX_TEXT, GtidSet, MariadbGtids, Position
from syncmgr.job.types.schema import SourceColumn, SourceTable
from syncmgr.sources.mysql import wire
from syncmgr.sources.mysql.binlog.continuation import gtid_events
from syncmgr.sources.mysql.binlog.continuation.gtid_events import MAX_GTID_BYTES
from syncmgr.sources.mysql.binlog.router import Limits, Router
from syncmgr.sources.mysql.binlog.routing import executed_gtids
from syncmgr.sources.mysql.binlog.subscriptions import Subscription, Subscriptions
from syncmgr.sources.mysql.values import json_text, table_map
from syncmgr.sources.mysql.values.cells import PADDING
from syncmgr.sources.mysql.values.decoder import RowEvents, RowsDecoder, WantedCells
from syncmgr.sources.mysql.wire import MalformedEventError, OversizeError
from tests.support.until import PROMPT_SECOND
from tests.unit.sources.mysql.binlog.test_router import event, unlogged

TABLE: Final = SourceTable(db="d", name="t", columns=(SourceColumn(name="a", type="int"),))
UUID: Final = "3e11fa47-71ca-11e1-9e33-c80aa9429562"


def of_table() -> Router:
    wanted = {("d", "t"): Subscription(columns=("a",), schema=TABLE)}
    start = Position(file="b.000001", offset=4, server="s")
    return Router(Subscriptions(wanted, "db1:3306", unlogged()), Limits(), start, "db1:3306", {})


def feed(to: Router, told: bytes) -> None:
    to.feed(memoryview(told), [(0, len(told))], 0)


@pytest.mark.parametrize("count", [4097, 1 << 32, (1 << 64) - 1])
def test_a_table_map_of_too_many_columns(count: int) -> None:
    """Whether their types are there or not."""
    body = b"\x01d\0\x01t\0\xfe" + struct.pack("<Q", count) + b"\x03" * 5000
    with pytest.raises(MalformedEventError):
        table_map.parse(body, mariadb=False)
    with pytest.raises(MalformedEventError):
        feed(of_table(), event(wire.TABLE_MAP, 100, bytes(8) + body))


@pytest.mark.parametrize(("precision", "scale"), [(255, 0), (255, 255), (66, 0), (0, 0), (10, 11), (65, 39)])
def test_a_decimal_of_too_many_digits(precision: int, scale: int) -> None:
    """In a table map, and in JSON."""
    with pytest.raises(MalformedEventError):
        table_map.parse(b"\x01d\0\x01t\0\x01\xf6\x02" + bytes([precision, scale]) + b"\x01", mariadb=False)
    body = bytes([precision, scale]) + b"\x80" * 120
    with pytest.raises(MalformedEventError):
        json_text.text(bytes([json_text.OPAQUE, json_text.DECIMAL, len(body)]) + body)


def test_an_event_of_very_many_tiny_rows() -> None:
    """A byte of a row takes a hundred times as much memory: rows are counted as they are passed, and beyond the bound
    nothing is made of them.
    """
    fields = table_map.parse(b"\x01d\0\x01t\0\x01\x03\0\x01", mariadb=False)
    wanted = [WantedCells(place=0, column=TABLE.columns[0], name="a", key=False)]
    decoder = RowsDecoder(fields, wanted, "db1:3306", most_cells=10_000)
    head = struct.pack("<IBIIIH", 0, wire.WRITE_V2, 1, 0, 0, 0) + bytes(8) + b"\x02\0\x01\xff"
    for count, refused in ((10_000, False), (8_000_000, True)):
        data = bytearray(head + b"\xff" * count)
        events = RowEvents(data=data + bytes(PADDING), ends=[len(data)])
        tracemalloc.start()
        begun = time.monotonic()
        try:
            with pytest.raises(OversizeError, match="max_source_event_cells") if refused else contextlib.nullcontext():
                assert decoder.decode(events).num_rows == count
            assert tracemalloc.get_traced_memory()[1] < 128 << 20
            assert time.monotonic() - begun < PROMPT_SECOND
        finally:
            tracemalloc.stop()


def test_json_nested_without_end() -> None:
    """Deeper than MySQL allows, up to what is beyond Python's stack."""
    for depth in (102, 100_000):
        document = bytes([json_text.LARGE_ARRAY])
        for _ in range(depth):
            document += struct.pack("<II", 1, 13) + bytes([json_text.LARGE_ARRAY]) + struct.pack("<I", 13)
        document += struct.pack("<II", 0, 8)
        with pytest.raises(MalformedEventError):
            json_text.text(document)


def test_shapes_of_json_that_are_large_are_not_kept() -> None:
    """Documents with ever other long keys fill no memory."""
    json_text._SHAPES.clear()
    key = b"k" * 60_000
    body = (
        struct.pack("<HH", 1, 11 + len(key)) + struct.pack("<HH", 11, len(key)) + b"\x04" + struct.pack("<H", 0) + key
    )
    assert json_text.text(bytes([json_text.SMALL_OBJECT]) + body) == '{"' + key.decode() + '": null}'
    assert not json_text._SHAPES


def test_sets_of_gtids_are_bounded() -> None:
    """In events, in answers, and by what transactions add."""
    previous = event(wire.PREVIOUS_GTIDS, 100, struct.pack("<Q", 1) + bytes(MAX_GTID_BYTES))
    with pytest.raises(OversizeError):
        gtid_events.previous_gtids(previous)
    with pytest.raises(OversizeError):
        gtid_events.mariadb_gtid_list(previous)
    for kind in (GtidSet, MariadbGtids):
        with pytest.raises(ValueError, match="GTIDs of"):
            kind.parse("0" * (MAX_TEXT + 1))
    start = Position(gtids=f"{UUID}:1-5", file="b.000001", offset=4, server="s")
    scattered = Router(Subscriptions({}, "db1:3306", unlogged()), Limits(), start, "db1:3306", {})
    for number in range(200):
        feed(scattered, event(wire.GTID, 0, b"\0" + bytes(16) + struct.pack("<Q", 2 * number + 1) + bytes(2)))
        feed(scattered, event(wire.XID, 0, bytes(8)))
    assert scattered.position().gtids
    with mock.patch.object(executed_gtids, "MAX_PIECES", 100), pytest.raises(OversizeError, match="201 pieces"):
        scattered.position()


def test_ids_of_servers_are_not_kept_without_end() -> None:
    """A stream may name ever other ones."""
    many = Router(Subscriptions({}, "db1:3306", unlogged()), Limits(), Position(), "db1:3306", {})
    with mock.patch.object(executed_gtids, "MAX_SIDS", 10):
        for number in range(100):
            feed(many, event(wire.GTID, 0, b"\0" + struct.pack("<QQ", number, 1) + struct.pack("<Q", 1) + bytes(2)))
    assert len(many._transactions.gtids._sids) <= 10


def test_brackets_without_end_around_a_default() -> None:
    """Each was read anew with all that is in it: 1,000 took minutes. What is in them is no constant for us."""
    text = b"ALTER TABLE t ADD COLUMN b INT DEFAULT " + b"(" * 1000 + b"1" + b")" * 1000
    asked, begun = of_table(), time.monotonic()
    feed(asked, event(wire.QUERY, 9000, struct.pack("<IIBHH", 1, 0, 1, 0, 0) + b"d\0" + text))
    assert asked.take().ddl is not None
    assert time.monotonic() - begun < PROMPT_SECOND


def test_a_statement_of_too_many_words_is_unclear() -> None:
    """Which stops the table that it may be about, as any other that cannot be read."""
    with mock.patch.object(words, "MAX_TOKENS", 1000):
        assert len(words.scan("(" * 1000, Modes())) == 1001
        with pytest.raises(UnclearError, match="more than 1000 words"):
            words.scan("(" * 1001, Modes())
