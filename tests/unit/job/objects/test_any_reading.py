from dataclasses import replace

import pytest

from syncmgr.job.objects.any_reading import concern, doubts
from syncmgr.job.types.schema import SourceColumn, SourceTable

TABLE = SourceTable(
    db="shop",
    name="orders",
    columns=(
        SourceColumn(name="id", type="bigint", key=1),
        SourceColumn(name="v", type="int"),
        SourceColumn(name="t", type="varchar", length=10),
        SourceColumn(name="c", type="char", length=10),
        SourceColumn(name="e", type="enum", members=("a", "b")),
        SourceColumn(name="ts", type="timestamp"),
    ),
)
SYNCED = (("shop", "orders"), ("shop", "items"))


def doubted(clauses: str) -> dict[str, str]:
    found = concern(f"ALTER TABLE orders {clauses}", "shop", SYNCED)
    assert found is not None
    assert found.rows_survive
    return doubts(TABLE, found.clauses)


@pytest.mark.parametrize(
    ("clauses", "column", "how"),
    [
        ("MODIFY v INT NOT NULL", "v", "makes column 'v' NOT NULL"),
        ("CHANGE v v SMALLINT", "v", "changes column 'v' from int to smallint"),
        ("MODIFY t VARCHAR(9)", "t", "from varchar(10) to varchar(9)"),
        ("MODIFY t VARCHAR(10) CHARACTER SET ascii", "t", "changes column 't'"),
        ("MODIFY c VARCHAR(10)", "c", "changes column 'c'"),
        ("MODIFY e ENUM('b','a')", "e", "changes column 'e'"),
        ("MODIFY ts TIMESTAMP", "ts", "makes column 'ts' NOT NULL"),
        ("CONVERT TO CHARACTER SET latin1", "t", "converts column 't' to latin1"),
        ("CONVERT TO CHARACTER SET DEFAULT", "e", "converts column 'e' to the database's charset"),
        ("/*M! MODIFY v INT NOT NULL */", "v", "makes column 'v' NOT NULL"),
    ],
)
def test_what_a_session_that_is_not_strict_may_change(clauses: str, column: str, how: str) -> None:
    """NULL becomes 0, numbers and texts are cut, characters become question marks."""
    assert how in doubted(clauses)[column]
    assert "sql_mode is not known" in doubted(clauses)[column]


@pytest.mark.parametrize(
    "clauses",
    [
        "MODIFY v BIGINT",
        "MODIFY t VARCHAR(300)",
        "MODIFY t TEXT CHARACTER SET utf8mb4",
        "MODIFY id BIGINT NOT NULL",
        "MODIFY ts TIMESTAMP NULL",
        "MODIFY e ENUM('a','b','c')",
        "MODIFY unknown INT NOT NULL",
        "CONVERT TO CHARACTER SET utf8mb4",
        "ADD INDEX (v), COMMENT 'x'",
    ],
)
def test_what_no_session_changes(clauses: str) -> None:
    """Wider types, and charsets that have every character."""
    assert doubted(clauses) == {}


def test_a_text_is_read_as_every_server_may_have_read_it() -> None:
    """What is a comment for MySQL is a statement of MariaDB."""
    found = concern("ALTER TABLE orders /*M! DROP COLUMN v */", "shop", SYNCED)
    assert found is not None
    assert (found.tables, found.rows_survive, found.columns) == (SYNCED[:1], True, {"v"})
    truncated = concern("/*M!100100 TRUNCATE orders */", "shop", SYNCED)
    assert truncated is not None
    assert (truncated.tables, truncated.rows_survive) == (SYNCED[:1], False)
    assert concern("/* TRUNCATE orders */ FLUSH TABLES", "shop", SYNCED) is None


def test_a_column_that_is_not_null_stays_so() -> None:
    """Where that is known of the table."""
    known = replace(TABLE, columns=tuple(replace(column, nullable=False) for column in TABLE.columns))
    found = concern("ALTER TABLE orders MODIFY v BIGINT NOT NULL", "shop", SYNCED)
    assert found is not None
    assert doubts(known, found.clauses) == {}


def test_a_key_that_may_cascade_changes_rows_unseen() -> None:
    """Nobody told whether the server logs what it changes."""
    for clause in (
        "ADD FOREIGN KEY (a) REFERENCES p (id) ON DELETE CASCADE",
        "ADD c INT REFERENCES p (id) ON UPDATE CASCADE",
    ):
        found = concern(f"ALTER TABLE orders {clause}", "shop", SYNCED)
        assert found is not None
        assert not found.rows_survive
        kept = concern(f"ALTER TABLE orders {clause.replace('CASCADE', 'RESTRICT')}", "shop", SYNCED)
        assert kept is not None
        assert kept.rows_survive
