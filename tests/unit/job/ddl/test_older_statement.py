import pytest

from mysqlddl.nodes import AlterTable
from mysqlddl.reading import ORDINARY, read
from syncmgr.job.ddl.older_statement import behind, has_other_key, makes_key
from syncmgr.job.types.schema import SourceColumn, SourceTable

ORDERS = SourceTable(
    db="d",
    name="t",
    columns=(SourceColumn(name="id", type="int", nullable=False, key=1), SourceColumn(name="v", type="int")),
)
KNOWN = {("d", "t"): ORDERS, ("d", "u"): ORDERS}


@pytest.mark.parametrize(
    ("statement", "type_"),
    [
        ("ALTER TABLE t MODIFY v BIGINT", "bigint"),
        ("ALTER TABLE t ADD INDEX (v), COMMENT 'x'", "int"),
        ("CREATE INDEX i ON t (v)", "int"),
        ("ALTER TABLE u MODIFY v BIGINT", "int"),
        ("TRUNCATE TABLE t", None),
        ("ALTER TABLE t MODIFY v BIGINT, RENAME TO w", None),
        ("RENAME TABLE t TO w", None),
        ("ALTER TABLE t MODIFY zzz INT", None),
        ("ALTER TABLE t MODIFY v INT nobody reads this", None),
        ("DROP DATABASE d", None),
    ],
)
def test_what_is_known_behind_a_statement(statement: str, type_: str | None) -> None:
    """Its own words say it, where they leave the table where it was; else the next rows do."""
    left = behind(KNOWN, statement, "d", ORDINARY).get(("d", "t"))
    column = None if left is None else left.column("v")
    assert (None if column is None else column.type) == type_


@pytest.mark.parametrize(
    ("then", "now", "keys", "other"),
    [
        (["id"], ["id"], ["id"], False),
        (["id", "v"], ["id"], ["ID"], True),
        ([], ["id"], ["id"], True),
        (["v"], ["id", "v"], ["id", "v"], False),
        (["v"], ["id"], ["v"], False),
        (["id"], [], ["v"], False),
    ],
)
def test_rows_of_another_key(then: list[str], now: list[str], keys: list[str], *, other: bool) -> None:
    """Two of them may share a key of the target, where the primary key of now stands for it."""
    assert has_other_key(keyed(then), keyed(now), keys) is other


@pytest.mark.parametrize(
    ("clause", "seen", "stops"),
    [
        ("ADD UNIQUE (v)", ["id"], True),
        ("ADD UNIQUE KEY u (V)", None, True),
        ("ADD UNIQUE (v), ADD INDEX (id)", [], True),
        ("DROP PRIMARY KEY, ADD PRIMARY KEY (v)", ["id"], True),
        ("MODIFY v INT UNIQUE", ["id"], True),
        ("ADD UNIQUE (v)", ["v"], False),
        ("ADD UNIQUE (v, id)", ["id"], False),
        ("ADD INDEX (v)", ["id"], False),
        ("DROP INDEX u", ["id"], False),
    ],
)
def test_a_key_that_is_made_says_that_there_was_none(clause: str, seen: list[str] | None, *, stops: bool) -> None:
    """Rows from before it may have been two where the target has one, but for a primary key within it, as rows tell."""
    statement = read(f"ALTER TABLE t {clause}", "d", ORDINARY)
    assert isinstance(statement, AlterTable)
    before = None if seen is None else keyed(seen)
    why = makes_key(statement.clauses, keyed(["id"]), before, ["V"])
    assert (why is not None) is stops
    assert makes_key(statement.clauses, keyed(["v"]), before, ["v"]) is None


def keyed(names: list[str]) -> SourceTable:
    columns = [SourceColumn(name=n, type="int", key=names.index(n) + 1 if n in names else 0) for n in ("id", "v")]
    return SourceTable(db="d", name="t", columns=tuple(columns))
