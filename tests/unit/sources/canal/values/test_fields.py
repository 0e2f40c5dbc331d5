from collections.abc import Iterator
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncmgr.errors import Code, SyncError
from syncmgr.sources.canal.proto import entry_pb2
from syncmgr.sources.canal.values import columns, fields
from syncmgr.sources.canal.values.columns import Expected, cells_of
from syncmgr.sources.canal.values.fields import MalformedEntryError
from tests.unit.sources.canal.entries import DELETE, ID, INSERT, UPDATE, Cell, Made, change, decoded, field, table_of

COLUMNS = [ID, Made("v", "varchar(20000)"), Made("unsigned", "int unsigned", sql_type=4)]
CELLS = st.none() | st.text(max_size=5) | st.integers(100, 20000).map(lambda size: "é" * size)
IMAGE = st.lists(CELLS, min_size=3, max_size=3)
CHANGE = st.one_of(
    st.tuples(st.just(INSERT), st.lists(IMAGE, max_size=4)),
    st.tuples(st.just(DELETE), st.lists(IMAGE, max_size=4)),
    st.tuples(st.just(UPDATE), st.lists(st.tuples(IMAGE, IMAGE), max_size=4)),
)


@pytest.fixture(params=[(0, 0), (fields.FEW, columns.LIKES)], ids=["step", "whole"], scope="module", autouse=True)
def few(request: pytest.FixtureRequest) -> Iterator[None]:
    """Both ways of reading messages, whatever their number."""
    few, likes = request.param
    with mock.patch.object(fields, "FEW", few), mock.patch.object(columns, "LIKES", likes):
        yield


def expected(column: Made) -> Expected:
    return Expected(column.name.encode(), column.type.encode(), column.key)


def read(changes: list[bytes], place: int) -> list[Cell]:
    """One column of all images as the lockstep reader finds it."""
    rows = fields.rows_of(changes)
    begins, ends, fits = fields.columns(rows, len(COLUMNS), [place])
    assert fits.all()
    (cells,) = cells_of(rows.data, begins, ends, [expected(COLUMNS[place])])
    assert cells.fits.all()
    found = zip(cells.start.tolist(), cells.size.tolist(), cells.null.tolist(), strict=True)
    data = rows.data.tobytes()
    return [None if null else data[start : start + size].decode() for start, size, null in found]


@given(st.lists(CHANGE, max_size=5))
def test_every_cell_is_found(made: list[tuple[int, list[list[Cell]]]]) -> None:
    """Whatever events are mixed and however long the values are, each image has its own."""
    changes = [change(COLUMNS, event, *rows) for event, rows in made]
    images = [image for event, rows in made for row in rows for image in (row if event == UPDATE else [row])]
    for place in range(3):
        assert read(changes, place) == [image[place] for image in images]


@given(st.lists(CHANGE, min_size=1, max_size=3))
def test_the_protobuf_library_reads_the_same(made: list[tuple[int, list[list[Cell]]]]) -> None:
    """Rows, events and values are those of an independent decoder."""
    changes = [change(COLUMNS, event, *rows) for event, rows in made]
    messages = [entry_pb2.RowChange.FromString(each) for each in changes]
    images = [side for m in messages for row in m.rowDatas for side in (row.beforeColumns, row.afterColumns) if side]
    assert read(changes, 1) == [None if image[1].isNull else image[1].value for image in images]
    assert fields.rows_of(changes).event.tolist() == [m.eventType for m in messages for _ in m.rowDatas]


def test_rows_of_other_columns_are_told_apart() -> None:
    """One column more, one less, another side, or something behind the columns: such a row does not fit."""
    one = change(COLUMNS[:2], INSERT, ["1", "a"])
    three = change(COLUMNS, INSERT, ["1", "a", "2"])
    two = change(COLUMNS[:2], INSERT, ["2", "b"], ["3", "c"])
    props = field(2, INSERT) + field(12, field(2, b"\x08\x00") + field(2, b"\x08\x01") + field(3, b""))
    moved = field(2, UPDATE) + field(12, field(2, b"\x08\x00") * 2 + field(1, b"\x08\x01") * 2)
    rows = fields.rows_of([one, three, two, props, moved, change(COLUMNS[:1], INSERT, ["1"]), one])
    _, _, fits = fields.columns(rows, 2, [0])
    assert fits.tolist() == [True, False, True, True, False, False, False, True]


@pytest.mark.parametrize(
    "broken",
    [
        field(2, INSERT) + b"\x62\x05\x12",  # a row longer than its entry
        field(2, INSERT) + b"\x62" + b"\xff" * 10,  # a length without end
        field(2, INSERT) + b"\x65abcd",  # a fixed32, which canal never writes
        field(12, b"\x12\x00"),  # rows of no event
        field(2, 7) + field(12, b"\x12\x00"),  # rows of a QUERY
        b"\x10",
    ],
)
def test_broken_entries_are_typed_errors(broken: bytes) -> None:
    """Bytes that are no rows end in CANAL_PROTOCOL, with the table named."""
    with pytest.raises(SyncError) as caught:
        decoded(table_of(COLUMNS), broken)
    assert caught.value.code is Code.CANAL_PROTOCOL
    assert "d.t" in str(caught.value)


@pytest.mark.parametrize(
    "column",
    [
        b"\x42\xff\xff\xff\xff\xff\xff\xff\xff\x7f",  # a value of 2^63 - 1 bytes
        b"\x42\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",  # of -1 bytes
        b"\x42\x05ab",
        b"\x0d1234",
        b"\x82\x01\x00",
        b"\x08\x00" * 65,
    ],
)
def test_broken_columns_are_typed_errors(column: bytes) -> None:
    """No length leads out of the message, and no number of fields keeps the reader busy."""
    rows = fields.rows_of([field(2, INSERT) + field(12, field(2, column))])
    begins, ends, _ = fields.columns(rows, 1, [0])
    with pytest.raises(MalformedEntryError):
        cells_of(rows.data, begins, ends, [expected(ID)])


@given(st.data())
def test_damaged_entries_decode_or_are_typed_errors(data: st.DataObject) -> None:
    """A flipped, cut or foreign piece gives rows or a SyncError, never another exception."""
    event, rows = data.draw(CHANGE)
    whole = bytearray(change(COLUMNS, event, *rows))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(whole) - 1))
        whole[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
        if not whole:
            break
    try:
        decoded(table_of(COLUMNS), bytes(whole))
    except SyncError:
        return


@given(st.binary(max_size=200))
def test_any_bytes_decode_or_are_typed_errors(junk: bytes) -> None:
    """The same for bytes that were never an entry."""
    try:
        decoded(table_of(COLUMNS), field(2, INSERT) + field(12, junk), junk)
    except SyncError:
        return
