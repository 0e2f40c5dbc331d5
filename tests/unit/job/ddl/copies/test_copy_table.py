"""Copies that migration tools fill with INSERT IGNORE: which of them may have lost rows."""

from dataclasses import replace

import pytest

from mysqlddl import nodes
from mysqlddl.reading import Modes, read
from syncmgr.job.ddl.copies.copy_table import refuse_lossy
from syncmgr.job.ddl.terms import RefusedError
from syncmgr.job.types.schema import SourceColumn, SourceTable, UniqueKey

CODES = SourceTable(
    db="shop",
    name="codes",
    columns=(
        SourceColumn(name="id", type="varchar", length=20, charset="utf8mb4", nullable=False, key=1),
        SourceColumn(name="v", type="varchar", length=20, charset="utf8mb4"),
    ),
    unique=(),
)
ORDERS = SourceTable(
    db="shop",
    name="orders",
    columns=(
        SourceColumn(name="id", type="int", nullable=False, key=1),
        SourceColumn(name="v", type="varchar", length=20, charset="latin1"),
    ),
    unique=(),
)
PEOPLE = SourceTable(
    db="shop",
    name="people",
    columns=(
        SourceColumn(name="id", type="int", nullable=False, key=1),
        SourceColumn(name="mail", type="varchar", length=20, charset="utf8mb4"),
        SourceColumn(name="shop", type="int"),
        SourceColumn(name="number", type="int"),
        SourceColumn(name="note", type="text", charset="utf8mb4"),
    ),
    unique=(UniqueKey(name="by_mail", columns=("mail",)), UniqueKey(name="by_number", columns=("shop", "number"))),
)
OLD = replace(PEOPLE, unique=None)
COMPUTED = replace(PEOPLE, unique=(UniqueKey(name="lowered", columns=("",)),))


def refusal(source: SourceTable, clauses: str, copy: str = "_t_new") -> str | None:
    parsed = read(f"ALTER TABLE {copy} {clauses}", "shop", Modes())
    assert isinstance(parsed, nodes.AlterTable)
    try:
        refuse_lossy(source, parsed.clauses, ("shop", copy))
    except RefusedError as error:
        return str(error)
    return None


@pytest.mark.parametrize(
    ("source", "clauses"),
    [
        (CODES, "CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci"),
        (CODES, "MODIFY id VARCHAR(20) COLLATE utf8mb4_general_ci NOT NULL"),
        (CODES, "CHANGE id code VARCHAR(30) NOT NULL"),
        (ORDERS, "MODIFY id SMALLINT NOT NULL"),
        (ORDERS, "MODIFY id VARCHAR(20) NOT NULL"),
        (PEOPLE, "MODIFY mail VARCHAR(20) COLLATE utf8mb4_general_ci"),
        (PEOPLE, "CHANGE mail address VARCHAR(60)"),
        (PEOPLE, "CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci"),
        (PEOPLE, "MODIFY number SMALLINT"),
        (PEOPLE, "DROP COLUMN shop"),
        (PEOPLE, "DROP INDEX by_mail, DROP COLUMN number"),
        (PEOPLE, "DROP CONSTRAINT by_mail, MODIFY mail VARCHAR(60)"),
        (OLD, "MODIFY note VARCHAR(60)"),
        (OLD, "DROP COLUMN number"),
        (OLD, "CONVERT TO CHARACTER SET utf8mb4"),
        (COMPUTED, "MODIFY note VARCHAR(60)"),
    ],
)
def test_keys_that_may_become_one_stop_the_table(source: SourceTable, clauses: str) -> None:
    """'a' and 'A' are two keys under one collation and one under another: INSERT IGNORE leaves a row out.

    Where nobody has told the unique keys, any column may be in one.
    """
    assert "keys may be equal that were not" in str(refusal(source, clauses))


@pytest.mark.parametrize(
    ("copy", "clauses", "stops"),
    [
        ("_t_gho", "ADD CHECK (v > 1)", True),
        ("lhmn_t", "ADD CONSTRAINT f FOREIGN KEY (v) REFERENCES u (id) ON DELETE CASCADE", True),
        ("_t_gho", "MODIFY v INT CHECK (v > 1)", True),
        ("_t_gho", "ADD w INT, PARTITION BY RANGE (id) (PARTITION p VALUES LESS THAN (9))", True),
        ("_t_gho", "ADD w INT, ADD KEY (w)", False),
        ("_t_new", "ADD CHECK (v > 1)", False),
        ("__t_new", "PARTITION BY RANGE (id) (PARTITION p VALUES LESS THAN (9))", False),
    ],
)
def test_constraints_stop_tools_that_heed_no_warnings(copy: str, clauses: str, *, stops: bool) -> None:
    """pt-online-schema-change ends at the warning of a row that is left out, and Spirit compares the tables."""
    assert (refusal(ORDERS, clauses, copy) is not None) is stops


@pytest.mark.parametrize(
    ("source", "clauses"),
    [
        (CODES, "MODIFY v VARCHAR(20) COLLATE utf8mb4_general_ci"),
        (CODES, "ADD c INT NOT NULL DEFAULT 5"),
        (ORDERS, "CONVERT TO CHARACTER SET utf8mb4"),
        (ORDERS, "MODIFY id BIGINT NOT NULL"),
        (ORDERS, "MODIFY v TEXT"),
        (PEOPLE, "MODIFY note TEXT COLLATE utf8mb4_general_ci"),
        (PEOPLE, "MODIFY number BIGINT, MODIFY id BIGINT NOT NULL"),
        (PEOPLE, "DROP COLUMN mail, DROP COLUMN note"),
        (PEOPLE, "MODIFY mail VARCHAR(60), DROP INDEX BY_MAIL"),
        (PEOPLE, "DROP KEY by_number, DROP COLUMN shop"),
        (OLD, "ADD c INT, MODIFY number BIGINT"),
    ],
)
def test_keys_that_stay_apart_stop_nothing(source: SourceTable, clauses: str) -> None:
    """The most frequent migrations are followed: numbers of a key that grow, and texts beside the key."""
    assert refusal(source, clauses) is None
