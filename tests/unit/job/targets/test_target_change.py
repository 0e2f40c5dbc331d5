from collections.abc import Callable, Mapping
from typing import Any

import pytest

import syncsql
from syncmgr.control.alter.altered_target import altered
from syncmgr.errors import Code, SyncError
from syncmgr.job.ddl.lake_change import (
    AddField,
    CommentField,
    DropField,
    MoveField,
    RelaxField,
    RenameField,
    RetypeField,
)
from syncmgr.job.targets.target_change import TargetChange
from syncmgr.job.types.derived_type import widens
from syncmgr.job.types.schema import TargetColumn, TargetTable, TargetType
from syncmgr.job.types.target import parse_type
from syncmgr.lake.registry import FORMAT
from tests.unit.job.factories import make_target

TYPES = {"id": "INT", "region": "VARCHAR(8)", "n": "INT", "note": "VARCHAR(8)", "spare": "INT"}
TABLE = make_target(
    name="t",
    columns=tuple(
        TargetColumn(name=n, type=parse_type(t), nullable=n not in {"id", "region"}) for n, t in TYPES.items()
    ),
    keys=("id", "region"),
    partition=("region",),
)
FILLED = dict.fromkeys(("id", "region", "n"), "demo.job1")


def of(clauses: str, table: TargetTable = TABLE, filled: Mapping[str, str] = FILLED) -> TargetChange:
    [parsed] = syncsql.parse(f"ALTER TABLE demo.t {clauses}")
    assert isinstance(parsed.statement, syncsql.AlterTable)
    return altered(parsed.statement, table, filled, FORMAT.properties, FORMAT.fixed)


def columns(change: TargetChange) -> list[str]:
    return [f"{each.name} {each.type.text}" for each in change.result.columns]


def test_columns_that_no_job_fills_come_and_go() -> None:
    """All clauses of a statement at once, each as one change of the lake, and the table that results."""
    change = of("ADD COLUMN seen DATETIME COMMENT 'by us' AFTER id, DROP COLUMN spare, RENAME COLUMN note TO remark")
    kind = TargetType(name="DATETIME")
    assert change.changes == (
        AddField(name="seen", type=kind, comment="by us"),
        MoveField(name="seen", after="id"),
        DropField(name="spare"),
        RenameField(old="note", new="remark"),
    )
    assert columns(change) == ["id INT", "seen DATETIME", "region VARCHAR(8)", "n INT", "remark VARCHAR(8)"]


def test_what_only_accepts_more_may_be_done_to_columns_of_a_job() -> None:
    """Wider types, NULL, comments and places: the job's rows fit as before."""
    change = of(
        "MODIFY COLUMN n BIGINT COMMENT 'wide' FIRST, MODIFY COLUMN note STRING, MODIFY COLUMN id COMMENT 'key'"
    )
    assert change.changes == (
        RetypeField(name="n", type=TargetType(name="BIGINT")),
        CommentField(name="n", comment="wide"),
        MoveField(name="n", after=None),
        RetypeField(name="note", type=TargetType(name="STRING")),
        CommentField(name="id", comment="key"),
    )
    assert columns(change)[0] == "n BIGINT"
    strict = make_target(keys=(), columns=(TargetColumn(name="v", type=parse_type("INT"), nullable=False),))
    assert of("MODIFY COLUMN v INT NULL", strict, {"v": "demo.job1"}).changes == (RelaxField(name="v"),)
    assert of("MODIFY COLUMN v INT", strict).changes == ()


def test_the_table_itself() -> None:
    """Its comment and the properties that an operator may set; the others stay."""
    table = make_target(keys=(), columns=TABLE.columns, properties=(("write.parquet.compression-codec", "gzip"),))
    change = of('COMMENT = "all orders", SET ("write.target-file-size-bytes" = "2097152")', table)
    assert (change.changes, change.result.comment) == ((), "all orders")
    assert dict(change.result.properties) == {
        "write.parquet.compression-codec": "gzip",
        "write.target-file-size-bytes": "2097152",
    }


@pytest.mark.parametrize(
    ("clauses", "code", "words"),
    [
        ("DROP COLUMN n", Code.COLUMN_BUSY, "demo.job1"),
        ("RENAME COLUMN n TO m", Code.COLUMN_BUSY, "cannot be renamed"),
        ("DROP COLUMN none", Code.UNKNOWN_COLUMN, "none"),
        ("ADD COLUMN N INT", Code.DUPLICATE_COLUMN, "N"),
        ("RENAME COLUMN note TO SPARE", Code.DUPLICATE_COLUMN, "SPARE"),
        ("ADD COLUMN a INT NOT NULL", Code.BAD_ALTER, "must accept NULL"),
        ("ADD COLUMN a INT DEFAULT 5", Code.NOT_SUPPORTED, "DEFAULT"),
        ("ADD COLUMN _op INT", Code.BAD_ALTER, "reserved"),
        ("ADD COLUMN syncmgr_x INT", Code.BAD_ALTER, "reserved"),
        (f"ADD COLUMN `{'a' * 65}` INT", Code.BAD_NAME, "64"),
        ("ADD COLUMN a INT, DROP COLUMN a", Code.BAD_ALTER, "two clauses"),
        ("MODIFY n BIGINT, MODIFY COLUMN N COMMENT 'x'", Code.BAD_ALTER, "two clauses"),
        ("ADD COLUMN a INT AFTER none", Code.UNKNOWN_COLUMN, "none"),
        ("ADD COLUMN a INT AFTER a", Code.UNKNOWN_COLUMN, "AFTER"),
        ("MODIFY COLUMN n SMALLINT", Code.BAD_ALTER, "it is INT"),
        ("MODIFY COLUMN note VARCHAR(4)", Code.BAD_ALTER, "can only grow"),
        ("MODIFY COLUMN note BIGINT", Code.BAD_ALTER, "can only grow"),
        ("MODIFY COLUMN n INT NOT NULL", Code.BAD_ALTER, "accepts NULL"),
        ("MODIFY COLUMN id BIGINT", Code.BAD_ALTER, "key"),
        ("MODIFY COLUMN id INT NULL", Code.BAD_ALTER, "must be NOT NULL"),
        ("MODIFY COLUMN region STRING", Code.BAD_ALTER, "partitions"),
        ('SET ("format-version" = "2")', Code.BAD_ALTER, "for good"),
        ('SET ("syncmgr.unique-key" = "1")', Code.PROPERTY_UNKNOWN, "syncmgr.unique-key"),
        ('SET ("write.target-file-size-bytes" = "1")', Code.PROPERTY_WRONG, "1048576"),
    ],
)
def test_what_would_break_a_job_or_a_table_is_refused(clauses: str, code: Code, words: str) -> None:
    """With the reason."""
    with pytest.raises(SyncError) as caught:
        of(clauses)
    assert (caught.value.code, words in str(caught.value)) == (code, True), str(caught.value)


@pytest.mark.parametrize("clause", ["DROP COLUMN id", "DROP COLUMN region", "RENAME COLUMN region TO r"])
def test_keys_and_partitions_stay_without_a_job_too(clause: str) -> None:
    """A table without its key could not be updated any more."""
    with pytest.raises(SyncError) as caught:
        of(clause, filled={})
    assert caught.value.code is Code.BAD_ALTER


def test_a_table_keeps_a_column() -> None:
    single = make_target(keys=(), columns=TABLE.columns[2:3])
    with pytest.raises(SyncError, match="no columns"):
        of("DROP COLUMN n", single, {})


WIDER: list[tuple[str, str, bool]] = [
    ("TINYINT", "SMALLINT", True),
    ("SMALLINT", "TINYINT", False),
    ("INT", "LARGEINT", False),
    ("FLOAT", "DOUBLE", True),
    ("DOUBLE", "FLOAT", False),
    ("DECIMAL(10,2)", "DECIMAL(12,2)", True),
    ("DECIMAL(10,2)", "DECIMAL(12,3)", False),
    ("VARCHAR(8)", "VARCHAR(9)", True),
    ("VARCHAR(8)", "CHAR(9)", False),
    ("CHAR(8)", "VARCHAR(8)", True),
    ("VARCHAR(8)", "STRING", True),
    ("STRING", "VARCHAR(8)", False),
    ("STRING", "JSON", False),
    ("JSON", "STRING", True),
    ("BINARY(4)", "BINARY(8)", True),
    ("BINARY", "BINARY(8)", False),
    ("DATETIME(3)", "DATETIME(6)", True),
    ("DATETIME(6)", "DATETIME(3)", False),
    ("DATETIME", "TIMESTAMP", False),
    ("DATE", "DATETIME", False),
    ("BOOLEAN", "INT", False),
]


@pytest.mark.parametrize(("old", "new", "grows"), WIDER)
def test_which_types_grow_into_which(old: str, new: str, grows: bool) -> None:  # noqa: FBT001 - a column of the table
    """Those whose values are all values of the other, in files as they are."""
    assert widens(parse_type(old), parse_type(new)) is grows
    same: Callable[[Any, Any], bool] = widens
    assert same(parse_type(old), parse_type(old))
