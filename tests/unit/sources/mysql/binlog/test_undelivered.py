from itertools import pairwise
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncmgr.sources.mysql.binlog.subscriptions import Subscribed
from syncmgr.sources.mysql.binlog.undelivered import RowBuffer, TableBuffer
from syncmgr.sources.mysql.values.cells import PADDING

A = Subscribed(("shop", "a"), cast("Any", None), None)
B = Subscribed(("shop", "b"), cast("Any", None), None)


A_AGAIN = Subscribed(("shop", "a"), cast("Any", None), None)  # by another table map
FILE = "binlog.000001"


def add(waiting: RowBuffer, *events: str, table: Subscribed = A, xid: str | None = None, file: str = FILE) -> None:
    for event in events:
        waiting.add(table, xid, file, memoryview(event.encode()))


def shown(lanes: list[TableBuffer]) -> list[tuple[str, str | None, list[str]]]:
    """Table, xid and events of each."""
    found = []
    for lane in lanes:
        edges = [0, *lane.ends]
        parts = [lane.data[begin:end].decode() for begin, end in pairwise(edges)]
        found.append((lane.table.table[1], lane.xid, parts))
    return found


def test_whole_transactions_are_taken_and_the_open_one_waits() -> None:
    """In the order of each table's first event; what comes behind is not lost."""
    waiting = RowBuffer(1000, 1 << 20)
    add(waiting, "b1", table=B)
    add(waiting, "a1", "a2")
    waiting.end_transaction()
    add(waiting, "a3")
    add(waiting, "b2", table=B)
    assert (waiting.events, waiting.bytes) == (5, 10)
    assert shown(waiting.take_whole()) == [("b", None, ["b1"]), ("a", None, ["a1", "a2"])]
    assert (waiting.events, waiting.bytes, waiting.any_whole) == (2, 4, False)
    assert shown(waiting.take_whole()) == []
    waiting.end_transaction()
    assert waiting.any_whole
    assert shown(waiting.take_whole()) == [("a", None, ["a3"]), ("b", None, ["b2"])]
    assert (waiting.events, waiting.bytes, waiting.any_whole) == (0, 0, False)


def test_an_open_transaction_may_be_taken_in_parts() -> None:
    """What was taken does not come again with the rest."""
    waiting = RowBuffer(1000, 1 << 20)
    add(waiting, "a1", "a2")
    assert shown(waiting.take_all()) == [("a", None, ["a1", "a2"])]
    add(waiting, "a3")
    waiting.end_transaction()
    assert shown(waiting.take_whole()) == [("a", None, ["a3"])]


def test_a_new_stream_brings_the_open_transaction_again() -> None:
    """Whole ones stay, in all lanes; numbers go on behind them."""
    waiting = RowBuffer(1000, 1 << 20)
    add(waiting, "a1")
    add(waiting, "x1", xid="x")
    waiting.end_transaction()
    add(waiting, "lost", "lost")
    add(waiting, "lost", table=B)
    waiting.forget_open()
    assert (waiting.events, waiting.bytes) == (2, 4)
    add(waiting, "a2")
    waiting.end_transaction()
    assert shown(waiting.take_whole()) == [("a", None, ["a1", "a2"]), ("a", "x", ["x1"])]


def test_rows_of_an_xa_transaction_keep_apart_until_they_are_released() -> None:
    """Then they stand behind everything that was committed before."""
    waiting = RowBuffer(1000, 1 << 20)
    add(waiting, "x1", "x2", xid="x")
    add(waiting, "y1", xid="y")
    waiting.end_transaction()
    add(waiting, "a1", "a2")
    waiting.end_transaction()
    waiting.release("x", ())
    assert (waiting.events, waiting.bytes) == (5, 10)
    waiting.end_transaction()
    add(waiting, "open")
    assert shown(waiting.take_whole()) == [("a", "y", ["y1"]), ("a", None, ["a1", "a2", "x1", "x2"])]


def test_released_rows_of_a_table_that_had_none_come_too() -> None:
    """Each table of the transaction, none of another one."""
    waiting = RowBuffer(1000, 1 << 20)
    add(waiting, "x1", xid="x")
    add(waiting, "xb", table=B, xid="x")
    waiting.end_transaction()
    waiting.release("x", ())
    assert not waiting.any_whole, "they belong to the transaction that commits them"
    waiting.end_transaction()
    assert shown(waiting.take_whole()) == [("a", None, ["x1"]), ("b", None, ["xb"])]


def test_dropped_rows_are_gone() -> None:
    """And count no more."""
    waiting = RowBuffer(1000, 1 << 20)
    add(waiting, "x1", xid="x")
    add(waiting, "y1", "y2", xid="y")
    waiting.end_transaction()
    assert shown(waiting.drop("x")) == [("a", "x", ["x1"])]
    assert waiting.drop("x") == []
    assert (waiting.events, waiting.bytes) == (2, 4)
    assert shown(waiting.take_whole()) == [("a", "y", ["y1", "y2"])]


@pytest.mark.parametrize(
    ("below", "taken", "left"), [(0, None, 3), (1, ["a1"], 2), (2, ["a1"], 2), (9, ["a1", "a22", "a3"], 0)]
)
def test_a_lane_is_cut_by_number(below: int, taken: list[str] | None, left: int) -> None:
    """Numbers may have gaps; bytes go with their events."""
    lane = TableBuffer(A, "x", "f", bytearray(b"a1a22a3"), [2, 5, 7], [0, 2, 5])
    cut = lane.cut(below)
    assert (None if cut is None else shown([cut])[0][1:]) == (None if taken is None else ("x", taken))
    assert (len(lane.ends), len(lane.numbers)) == (left, left)
    assert b"".join(part.encode() for part in (taken or [])) + bytes(lane.data) == b"a1a22a3"
    assert lane.ends == [end - (7 - len(lane.data)) for end in [2, 5, 7][3 - left :]]


def test_decoders_may_read_beyond_the_last_event() -> None:
    """So the bytes are padded, and the ends are not."""
    rows = TableBuffer(A, None, "f", bytearray(b"a1"), [2], [0]).rows()
    assert bytes(rows.data) == b"a1" + bytes(PADDING)
    assert rows.ends == [2]


def in_order(waiting: RowBuffer) -> list[str]:
    """All events of the table a that are not of XA transactions, as they are delivered."""
    return [part for table, xid, parts in shown(waiting.take_all()) if (table, xid) == ("a", None) for part in parts]


def test_rows_of_an_xa_transaction_come_after_rows_of_a_later_file() -> None:
    """It was prepared in a file before theirs, and is committed after them."""
    waiting = RowBuffer(1000, 1 << 20)
    add(waiting, "x1", xid="x")
    add(waiting, "a1", file="binlog.000002")
    waiting.release("x", ())
    add(waiting, "a2", file="binlog.000002")
    assert in_order(waiting) == ["a1", "x1", "a2"]


def test_a_table_map_that_comes_back_begins_anew() -> None:
    """As where names of columns are written, are not, and are again: an older stretch takes no newer row."""
    waiting = RowBuffer(1000, 1 << 20)
    add(waiting, "a1")
    add(waiting, "a2", table=A_AGAIN)
    add(waiting, "a3")
    assert in_order(waiting) == ["a1", "a2", "a3"]


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.sampled_from([A, A_AGAIN]), st.sampled_from([None, "x", "y"]), st.integers(1, 3)),
        st.tuples(st.just("release"), st.sampled_from(["x", "y"])),
        st.just(("end",)),
        st.just(("take",)),
    ),
    max_size=30,
)


@given(STEPS)
def test_rows_of_a_table_are_delivered_in_order(steps: list[tuple[Any, ...]]) -> None:
    """Whatever maps, files and XA transactions alternate: ordinary rows as they came, and those of an XA transaction
    where it is committed.
    """
    waiting, number, expected, found = RowBuffer(1000, 1 << 20), 0, list[str](), list[str]()
    prepared: dict[str, list[str]] = {}
    for step in steps:
        match step:
            case "add", table, xid, file:
                number += 1
                add(waiting, f"{number:04}", table=table, xid=xid, file=f"binlog.{file}")
                (expected if xid is None else prepared.setdefault(xid, [])).append(f"{number:04}")
            case "release", xid:
                waiting.release(xid, ())
                expected += prepared.pop(xid, [])
            case ("end",):
                waiting.end_transaction()
            case ("take",):
                lanes = shown(waiting.take_all())
                found += [part for _, xid, parts in lanes if xid is None for part in parts]
                prepared.clear()  # they went out, too
    assert found + in_order(waiting) == expected
