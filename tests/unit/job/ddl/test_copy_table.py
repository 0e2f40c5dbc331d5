"""Copies that migration tools fill with INSERT IGNORE: which of them may have lost rows."""

from dataclasses import replace

import pytest

from syncmgr.job.ddl.copy_table import refuse_lossy
from syncmgr.job.ddl.evolution import RefusedError
from syncmgr.job.statement import nodes
from syncmgr.job.statement.reading import Modes, read
from syncmgr.job.types.schema import SourceColumn, SourceTable
from tests.unit.job.factories import make_channel

CODES = SourceTable(
    db="shop",
    name="codes",
    columns=(
        SourceColumn(name="id", type="varchar", length=20, charset="utf8mb4", nullable=False, key=1),
        SourceColumn(name="v", type="varchar", length=20, charset="utf8mb4"),
    ),
)
ORDERS = SourceTable(
    db="shop",
    name="orders",
    columns=(
        SourceColumn(name="id", type="int", nullable=False, key=1),
        SourceColumn(name="v", type="varchar", length=20, charset="latin1"),
    ),
)


def refusal(source: SourceTable, clauses: str) -> str | None:
    read_from = replace(make_channel(), source=source)
    parsed = read(f"ALTER TABLE _t_new {clauses}", "shop", Modes())
    assert isinstance(parsed, nodes.AlterTable)
    try:
        refuse_lossy(read_from, parsed.clauses, ("shop", "_t_new"))
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
    ],
)
def test_keys_that_may_become_one_stop_the_table(source: SourceTable, clauses: str) -> None:
    """'a' and 'A' are two keys under one collation and one under another: INSERT IGNORE leaves a row out."""
    assert "under which keys may be equal that were not" in str(refusal(source, clauses))


@pytest.mark.parametrize(
    ("source", "clauses"),
    [
        (CODES, "MODIFY v VARCHAR(20) COLLATE utf8mb4_general_ci"),
        (CODES, "ADD c INT NOT NULL DEFAULT 5"),
        (ORDERS, "CONVERT TO CHARACTER SET utf8mb4"),
        (ORDERS, "MODIFY id BIGINT NOT NULL"),
        (ORDERS, "MODIFY v TEXT"),
    ],
)
def test_keys_that_stay_apart_stop_nothing(source: SourceTable, clauses: str) -> None:
    """The most frequent migrations are followed: numbers of a key that grow, and texts beside the key."""
    assert refusal(source, clauses) is None
