import datetime as dt

import pyarrow as pa
import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.rows.batch import OP
from syncmgr.sources.canal.values.entry import EntryRows, column_headers
from syncmgr.sources.canal.values.fields import MalformedEntryError
from tests.unit.sources.canal.entries import (
    DELETE,
    ID,
    INSERT,
    UPDATE,
    Made,
    change,
    decoded,
    field,
    image,
    schema_of,
    table_of,
)

NAME = Made("name", "varchar(20)")
DAY = Made("day", "date", sql_type=91)
COLUMNS = [ID, NAME, DAY]


def failing(*changes: bytes, columns: tuple[str, ...] = (), made: list[Made] | None = None) -> SyncError:
    with pytest.raises(SyncError) as caught:
        decoded(table_of(made or COLUMNS, *columns), *changes)
    return caught.value


def test_changes_come_in_order_with_their_kind() -> None:
    """Inserts, updates and deletes of several entries; an update that moves the key is a delete and an insert."""
    rows = decoded(
        table_of(COLUMNS),
        change(COLUMNS, INSERT, ["1", "a", "2024-02-29"], ["2", None, None]),
        change(COLUMNS, UPDATE, (["1", "a", None], ["1", "b", None]), (["2", "", None], ["3", "c", None])),
        change(COLUMNS, DELETE, ["3", "c", None]),
    )
    assert rows == [
        {"id": 1, "name": "a", "day": dt.date(2024, 2, 29), OP: 0},
        {"id": 2, "name": None, "day": None, OP: 0},
        {"id": 1, "name": "b", "day": None, OP: 1},
        {"id": 2, "name": "", "day": None, OP: 2},
        {"id": 3, "name": "c", "day": None, OP: 0},
        {"id": 3, "name": "c", "day": None, OP: 2},
    ]


def test_only_wanted_columns_come_in_the_order_asked_for() -> None:
    """Key columns are added behind, once, however their names are cased."""
    table = table_of(COLUMNS, "DAY", keys=["ID"])
    made = EntryRows(table, [change(COLUMNS, INSERT, ["1", "\ufffd", "2024-01-01"])]).decode()
    assert made.column_names == ["DAY", "ID", OP]
    assert made.schema.field("ID").type == pa.int64()
    assert made["DAY"].to_pylist() == [dt.date(2024, 1, 1)]


def test_an_entry_without_rows_is_an_empty_table() -> None:
    """It has the columns all the same."""
    made = EntryRows(table_of(COLUMNS), [field(2, INSERT)]).decode()
    assert made.num_rows == 0
    assert made.schema.types == [pa.int64(), pa.string(), pa.date32(), pa.int8()]


def test_a_column_may_come_and_move_between_entries() -> None:
    """Columns are found by name in each entry, so one that nobody wants shifts nothing."""
    wider = [Made("new", "int"), ID, DAY, NAME]
    rows = decoded(
        table_of(COLUMNS, "id", "name"),
        change(COLUMNS, INSERT, ["1", "a", None]),
        change(wider, INSERT, ["9", "2", None, "b"]),
        change(wider, DELETE, ["9", "2", None, "b"]),
        change(COLUMNS, INSERT, ["3", "c", None]),
    )
    assert [(row["id"], row["name"], row[OP]) for row in rows] == [(1, "a", 0), (2, "b", 0), (2, "b", 2), (3, "c", 0)]


def test_a_wider_type_of_the_same_values_goes_on() -> None:
    """An ALTER that keeps every value, met before or after the schema was read, stops nothing."""
    wider = [ID, Made("name", "varchar(40)"), DAY]
    assert decoded(table_of(COLUMNS), change(wider, INSERT, ["1", "a", None]))[0]["name"] == "a"
    assert decoded(table_of(wider), change(COLUMNS, INSERT, ["1", "a", None]))[0]["name"] == "a"


@pytest.mark.parametrize(
    ("told", "said"),
    [
        (Made("name", "int", sql_type=4), "column 'name' was varchar(20) and canal says int"),
        (Made("name", "varchar(20)", key=True), "was varchar(20) and canal says varchar(20) in the primary key"),
        (Made("name", ""), "column 'name' was varchar(20) and canal says no type"),
        (Made("name", "uuid"), "column 'name' was varchar(20) and canal says uuid"),
        (Made("nom", "varchar(20)"), "without column 'name' (they have id, nom, day)"),
    ],
)
def test_an_entry_that_contradicts_the_schema_stops_the_table(told: Made, said: str) -> None:
    """Both are printed; nothing is guessed."""
    other = change([ID, told, DAY], INSERT, ["1", "2", None])
    for changes in ([other], [change(COLUMNS, INSERT, ["1", "a", None]), other]):  # at once and in the midst of a batch
        error = failing(*changes)
        assert error.code is Code.SOURCE_SCHEMA
        assert said in str(error)
        assert "d.t" in str(error)


@pytest.mark.parametrize(
    ("stored", "told"),
    [
        ("int", "int unsigned"),
        ("decimal(10,2)", "decimal(10,3)"),
        ("decimal(50,2)", "decimal(50,3)"),
        ("time(3)", "time(6)"),
        ("enum('a','b')", "enum('b','a')"),
        ("char(5)", "binary(5)"),
        ("datetime", "timestamp"),
    ],
)
def test_a_type_of_other_values_is_a_contradiction(stored: str, told: str) -> None:
    """Another sign, scale, precision of a text or order of labels means other values."""
    error = failing(change([ID, Made("v", told)], INSERT, ["1", None]), made=[ID, Made("v", stored)])
    assert error.code is Code.SOURCE_SCHEMA
    assert told in str(error)
    assert stored in str(error)


def test_a_row_image_with_less_than_the_row_stops_the_table() -> None:
    """A wanted column that a session leaves out is never taken for NULL."""
    minimal = field(2, UPDATE) + field(12, image([ID], ["1"], 1) + image([NAME], ["x"], 2))
    assert "without column 'name'" in str(failing(minimal))
    noblob = field(2, UPDATE) + field(12, image(COLUMNS, ["1", "a", None], 1) + image([ID, DAY], ["1", None], 2))
    error = failing(noblob, columns=("id", "name"))
    assert error.code is Code.SOURCE_SCHEMA
    assert "binlog_row_image" in str(error)


def test_what_nobody_looks_at_may_be_unholdable() -> None:
    """A zero date of a deleted row is NULL, except in its key; anywhere else it names column, table and value."""
    deleted = change(COLUMNS, DELETE, ["1", "a", "0000-00-00"], ["2", "b", "2024-01-01"])
    for table in (table_of(COLUMNS), table_of(COLUMNS, keys=[])):
        assert [row["day"] for row in decoded(table, deleted)] == [None, dt.date(2024, 1, 1)]
    for seen in (
        change(COLUMNS, INSERT, ["1", "a", "0000-00-00"]),
        change(COLUMNS, UPDATE, (["1", "a", None], ["2", "a", "0000-00-00"])),
    ):
        error = failing(seen)
        assert error.code is Code.SOURCE_VALUE
        assert error.context["column"] == "day"
        assert error.context["table"] == "d.t"
        assert error.context["value"] == "0000-00-00"


def test_a_value_that_is_neither_null_nor_there_is_an_error() -> None:
    """An absent value is not taken for an empty one."""
    whole = change([ID], INSERT, [None]).replace(b"\x30\x01", b"\x30\x00")
    assert failing(whole, made=[ID]).code is Code.CANAL_PROTOCOL


def test_text_that_is_not_utf8_is_an_error() -> None:
    """It is no text that canal wrote."""
    whole = change([ID, NAME], INSERT, ["1", "ab"]).replace(b"ab", b"\xff\xfe")
    assert failing(whole, made=[ID, NAME]).code is Code.CANAL_PROTOCOL


def test_headers_tell_the_table() -> None:
    """Names, types and primary key come from the first image of an entry, and only from one with rows."""
    headers = column_headers(change(COLUMNS, DELETE, ["1", "a", None]))
    assert [(h.name, h.type, h.sql_type, h.key) for h in headers] == [
        ("id", "bigint", -5, True),
        ("name", "varchar(20)", 12, False),
        ("day", "date", 91, False),
    ]
    assert [(c.name, c.text, c.key) for c in schema_of(COLUMNS).columns] == [
        ("id", "bigint", 1),
        ("name", "varchar(20)", 0),
        ("day", "date", 0),
    ]
    with pytest.raises(MalformedEntryError):
        column_headers(field(2, INSERT))
