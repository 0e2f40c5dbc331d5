"""The rules of CREATE TABLE."""

from dataclasses import replace

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.rows.batch import OP, PLACE, SEQ
from syncmgr.job.types import table_rules
from syncmgr.job.types.schema import TargetColumn, TargetTable, TargetType
from syncmgr.sources.mysql.values.decoder import IMAGE


def table(**changes: object) -> TargetTable:
    columns = (
        TargetColumn(name="id", type=TargetType(name="BIGINT"), nullable=False),
        TargetColumn(name="at", type=TargetType(name="DATETIME"), nullable=False),
        TargetColumn(name="v", type=TargetType(name="DOUBLE")),
    )
    made = TargetTable(db="demo", name="t", columns=columns, keys=("id",), reserved_columns=frozenset({"_pos"}))
    return replace(made, **changes)  # type: ignore[arg-type]


def test_a_good_table_is_accepted() -> None:
    """Keys anywhere in the column list, partitions on key columns."""
    table_rules.check(table())
    table_rules.check(table(keys=("at", "id"), partition=("day(at)", "bucket(4, id)")))
    table_rules.check(table(keys=(), duplicate_key=("v",), partition=("hour(at)",)))


BAD = [
    ({"columns": ()}, Code.BAD_TABLE),
    ({"name": "a/b"}, Code.BAD_NAME),
    ({"db": ".."}, Code.BAD_NAME),
    ({"keys": ("nope",)}, Code.UNKNOWN_COLUMN),
    ({"keys": ("id", "ID")}, Code.BAD_TABLE),
    ({"keys": ("v",)}, Code.BAD_TABLE),
    ({"duplicate_key": ("nope",), "keys": ()}, Code.UNKNOWN_COLUMN),
    ({"partition": ("day(at)",)}, Code.BAD_TABLE),
    ({"partition": ("day(id)",)}, Code.BAD_TABLE),
    ({"partition": ("at",), "keys": ("at",)}, Code.BAD_TABLE),
    ({"partition": ("bucket(4, nope)",)}, Code.UNKNOWN_COLUMN),
    ({"partition": ("bucket(4, id)", "bucket(8, id)")}, Code.BAD_TABLE),
    ({"partition": ("day(at)", "hour(at)"), "keys": ("at",)}, Code.BAD_TABLE),
]


@pytest.mark.parametrize(("changes", "code"), BAD)
def test_a_bad_table_is_refused(changes: dict[str, object], code: Code) -> None:
    """Each rule of CREATE TABLE has its own error."""
    with pytest.raises(SyncError) as caught:
        table_rules.check(table(**changes))
    assert caught.value.code is code


@pytest.mark.parametrize(
    ("columns", "code"),
    [
        (("id", "ID"), Code.DUPLICATE_COLUMN),
        (("id", "\u0130d"), Code.DUPLICATE_COLUMN),
        (("id", "\u03c3", "\u03c2"), Code.DUPLICATE_COLUMN),
        (("id", "\u00b5", "\u03bc"), Code.DUPLICATE_COLUMN),
        (("id", "syncmgr_kind"), Code.BAD_TABLE),
        (("id", "_file"), Code.BAD_TABLE),
        (("id", "_POS"), Code.BAD_TABLE),
        (("id", "a\nb"), Code.BAD_NAME),
        (("id", "x" * 65), Code.BAD_NAME),
    ],
)
def test_bad_column_names_are_refused(columns: tuple[str, ...], code: Code) -> None:
    """Doubled, reserved, or with characters that no client shows."""
    made = tuple(TargetColumn(name=name, type=TargetType(name="INT"), nullable=False) for name in columns)
    with pytest.raises(SyncError) as caught:
        table_rules.check(table(columns=made))
    assert caught.value.code is code


def test_no_column_has_a_name_of_staged_rows() -> None:
    """Its values would be those of ours."""
    assert {OP, SEQ, *PLACE, IMAGE} <= table_rules.STAGED


def test_names_that_are_two_everywhere_are_accepted() -> None:
    """To MySQL and to Spark a sharp s is not two of them, and each has its own place in the key."""
    names = ("id", "stra\u00dfe", "strasse")
    made = tuple(TargetColumn(name=name, type=TargetType(name="INT"), nullable=False) for name in names)
    table_rules.check(table(columns=made, keys=names, partition=("stra\u00dfe", "strasse")))


def test_a_nullable_key_is_refused() -> None:
    """Equality with NULL finds nothing, so a key column takes none."""
    made = (TargetColumn(name="id", type=TargetType(name="INT")),)
    with pytest.raises(SyncError, match="must be NOT NULL"):
        table_rules.check(table(columns=made))


@pytest.mark.parametrize("text", ["region", "bucket(4, id)", "truncate(2, a, b)", "day(at)", "odd(name)"])
def test_transforms_read_back(text: str) -> None:
    """A transform's text parses to the same transform, whatever the column is called."""
    assert text == table_rules.parse_transform(text).text
