"""Rows events whose images have not all of the columns: MariaDB from 11.8.9 on leaves generated ones out of some."""

import random
import struct
from collections.abc import Sequence
from typing import Any

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.rows.batch import OP, ChangeKind
from syncmgr.job.types.schema import SourceColumn
from syncmgr.sources.mysql import wire
from syncmgr.sources.mysql.values.cells import PADDING
from syncmgr.sources.mysql.values.decoder import RowEvents, RowsDecoder, WantedCells
from syncmgr.sources.mysql.values.table_map import Field, TableMap

Row = dict[str, Any]
COLUMNS = {  # g is generated, and so is d, which tells its own length
    "id": Field(code=wire.LONG, nullable=False, unsigned=False, name="id"),
    "g": Field(code=wire.LONG, unsigned=False, name="g"),
    "v": Field(code=wire.VARCHAR, meta=40, collation=45, name="v"),
    "d": Field(code=wire.VARCHAR, meta=40, collation=45, name="d"),
    "w": Field(code=wire.LONG, unsigned=False, name="w"),
}
SOURCE = {
    "v": SourceColumn(name="v", type="varchar", length=10, charset="utf8mb4"),
    "d": SourceColumn(name="d", type="varchar", length=10, charset="utf8mb4"),
}
TABLE = TableMap(db="shop", name="t", fields=tuple(COLUMNS.values()), full=True)
ALL = tuple(COLUMNS)
STORED = ("id", "v", "w")
INSERTED, DELETED, UPDATED = wire.WRITE_V2, wire.DELETE_V2, wire.UPDATE_V2
ONE: Row = {"id": 1, "g": 10, "v": "one", "d": "eins", "w": None}
TWO: Row = {"id": 2, "g": None, "v": None, "d": "zwei", "w": 20}


def decoder(*names: str) -> RowsDecoder:
    wanted = [
        WantedCells(
            place=ALL.index(name),
            column=SOURCE.get(name, SourceColumn(name=name, type="int", nullable=name != "id")),
            name=name,
            key=name == "id",
        )
        for name in names
    ]
    return RowsDecoder(TABLE, wanted, "db1:3306")


def bitmap(bits: Sequence[bool]) -> bytes:
    value = sum(1 << place for place, bit in enumerate(bits) if bit)
    return value.to_bytes((len(bits) + 7) // 8, "little")


def image(row: Row, columns: Sequence[str]) -> bytes:
    made = bitmap([row[name] is None for name in columns])
    for name in columns:
        value = row[name]
        if isinstance(value, str):
            made += bytes([len(value)]) + value.encode()
        elif value is not None:
            made += struct.pack("<i", value)
    return made


def event(kind: int, rows: Sequence[Row], before: Sequence[str] = ALL, after: Sequence[str] | None = None) -> bytes:
    """`rows` of an update: those before and after it in turn."""
    columns = [before, before if after is None else after] if kind == UPDATED else [before]
    head = bytes(4) + bytes([kind]) + bytes(wire.HEADER - 5) + bytes(8) + struct.pack("<H", 2) + bytes([len(ALL)])
    present = b"".join(bitmap([name in each for name in ALL]) for each in columns)
    return head + present + b"".join(image(row, columns[place % len(columns)]) for place, row in enumerate(rows))


def decoded(events: Sequence[bytes], *names: str) -> list[Row]:
    data, ends = bytearray(), []
    for each in events:
        data += each
        ends.append(len(data))
    rows: list[Row] = decoder(*names).decode(RowEvents(data=data + bytes(PADDING), ends=ends)).to_pylist()
    return rows


def change(kind: ChangeKind, row: Row, *names: str) -> Row:
    return {name: row[name] for name in names} | {OP: kind}


def test_columns_that_nobody_wants_may_lack_in_some_images() -> None:
    """Inserted rows are whole, updates and deletes are not; each row is what it is beside all others, in order."""
    moved = ONE | {"id": 3, "v": "three"}
    later = TWO | {"v": "two", "w": None}
    events = [
        event(INSERTED, [ONE, TWO]),
        event(UPDATED, [TWO, later, ONE, moved], STORED),
        event(INSERTED, [ONE]),
        event(DELETED, [later, ONE], STORED),
        event(UPDATED, [moved, moved | {"w": 7}], STORED, ALL),
        event(UPDATED, [moved, moved | {"w": 8}], ALL, STORED),
    ]
    rows = decoded(events, *STORED)
    deleted = [{"id": row["id"], OP: row[OP]} for row in rows if row[OP] == ChangeKind.DELETE]
    assert deleted == [{"id": number, OP: ChangeKind.DELETE} for number in (1, 2, 1)]
    assert [row for row in rows if row[OP] != ChangeKind.DELETE] == [
        change(ChangeKind.INSERT, ONE, *STORED),
        change(ChangeKind.INSERT, TWO, *STORED),
        change(ChangeKind.UPDATE, later, *STORED),
        change(ChangeKind.INSERT, moved, *STORED),
        change(ChangeKind.INSERT, ONE, *STORED),
        change(ChangeKind.UPDATE, moved | {"w": 7}, *STORED),
        change(ChangeKind.UPDATE, moved | {"w": 8}, *STORED),
    ]
    assert [row["id"] for row in rows] == [1, 2, 2, 1, 3, 1, 2, 1, 3, 3]


@pytest.mark.parametrize("seed", range(20))
def test_any_mixture_of_images_is_what_whole_images_are(seed: int) -> None:
    """Whatever columns are left out of which image, the rows are those of the same events with all columns."""
    chance = random.Random(seed)
    whole, cut = [], []
    for _ in range(60):
        kind = chance.choice([INSERTED, UPDATED, DELETED])
        count = chance.randint(1, 3) * (2 if kind == UPDATED else 1)
        rows = [
            {
                "id": chance.randint(-9, 9),
                "g": chance.choice([None, 1]),
                "v": chance.choice([None, "", "text"]),
                "d": chance.choice([None, "d"]),
                "w": chance.choice([None, -2]),
            }
            for _ in range(count)
        ]
        left = [tuple(name for name in ALL if name in STORED or chance.random() < 0.5) for _ in range(2)]
        whole.append(event(kind, rows))
        cut.append(event(kind, rows, *left))
    assert decoded(cut, *STORED) == decoded(whole, *STORED)


@pytest.mark.parametrize("kind", [UPDATED, DELETED, INSERTED])
def test_a_wanted_column_that_lacks_is_named(kind: int) -> None:
    """In whichever image; beside whole events, too, and only those that are wanted."""
    rows = [ONE, ONE | {"w": 4}] if kind == UPDATED else [ONE]
    for events in ([event(kind, rows, STORED)], [event(INSERTED, [TWO]), event(kind, rows, STORED)]):
        with pytest.raises(SyncError, match=r"changed shop\.t: rows lack g, d on the MySQL server") as raised:
            decoded(events, *ALL)
        assert raised.value.code is Code.SOURCE_ROW_IMAGE
        with pytest.raises(SyncError, match=r"rows lack d on"):
            decoded(events, "id", "d", "w")
        assert decoded(events, "id")
    with pytest.raises(SyncError, match="rows lack id on"):
        decoded([event(kind, rows, ("v", "w"))], "id")
    if kind == UPDATED:
        for before, after in ((STORED, ALL), (ALL, STORED)):
            with pytest.raises(SyncError, match="rows lack g on"):
                decoded([event(UPDATED, rows, before, after)], "id", "g")
