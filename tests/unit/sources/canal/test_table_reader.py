"""What a synced table's first rows are held against, where a statement stands before them."""

from dataclasses import replace

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.description import Reshaped
from syncmgr.job.objects.any_reading import concern
from syncmgr.sources.canal.synced import Altered
from syncmgr.sources.canal.table_reader import LearnedTable
from tests.contract.canal_reader import channel
from tests.unit.sources.canal.entries import ID, INSERT, Made, change

ROW = change([ID, Made("a", "int", sql_type=4), Made("b", "int", sql_type=4)], INSERT, ["1", "11", "22"])


def altered(statement: str) -> Altered:
    found = concern(statement, "d", [("d", "t")])
    assert found is not None
    return Altered(statement, found.columns, found.clauses)


def unread() -> LearnedTable:
    """A table of which no row has come."""
    return LearnedTable(channel(("d", "t"), "id BIGINT, a INT, b INT"), time_zone="UTC", address="canal")


@pytest.mark.parametrize(
    "statements",
    [
        ["ALTER TABLE t MODIFY b INT AFTER id"],
        ["ALTER TABLE t CHANGE b a2 INT FIRST"],
        ["ALTER TABLE t DROP COLUMN a, ADD COLUMN c INT"],
        ["ALTER TABLE t DROP COLUMN a", "ALTER TABLE t ADD COLUMN c INT AFTER id"],
        ["ALTER TABLE t ADD COLUMN c INT", "ALTER TABLE t DROP COLUMN a"],
    ],
)
def test_columns_that_change_places_before_the_first_rows_stop(statements: list[str]) -> None:
    """A list names columns by place: one that has taken the place of another would bring its values as those of it."""
    table = unread()
    for statement in statements[:-1]:
        table.changes([], altered(statement)).decode()
    with pytest.raises(SyncError) as raised:
        table.changes([], altered(statements[-1])).decode()
    assert raised.value.code is Code.SOURCE_DDL
    assert statements[-1] in str(raised.value)


def test_what_was_done_before_the_first_rows_is_known_in_the_next_life() -> None:
    """The one that adds a column and the one that drops another may come to two workers."""
    wanted = channel(("d", "t"), "id BIGINT, a INT, b INT")
    table = LearnedTable(wanted, time_zone="UTC", address="canal")
    first = table.changes([], altered("ALTER TABLE t ADD COLUMN c INT"))
    first.decode()
    assert first.learned == Reshaped(added=True)
    again = LearnedTable(replace(wanted, reshaped=Reshaped(added=True)), time_zone="UTC", address="canal")
    with pytest.raises(SyncError, match="changed places before the first rows"):
        again.changes([], altered("ALTER TABLE t DROP COLUMN a")).decode()


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE t ADD COLUMN b INT",
        "ALTER TABLE t ADD COLUMN a INT AFTER id",
        "ALTER TABLE t DROP COLUMN z",
        "ALTER TABLE t MODIFY b INT",
        "ALTER TABLE t ADD INDEX i (b)",
    ],
)
def test_what_the_count_of_columns_tells_goes_on(statement: str) -> None:
    """A list that names as many columns as the first rows have was written for the table behind the statement."""
    rows = unread().changes([ROW], altered(statement)).decode().to_pylist()
    assert [(row["id"], row["a"], row["b"]) for row in rows] == [(1, 11, 22)]


@pytest.mark.parametrize("name", ["mass", "maß", "ΜΑΣς"])
def test_what_a_statement_may_have_changed_of_a_column_stops_however_it_is_written(name: str) -> None:
    """A session that is not strict may have cut values, of which canal sends no row."""
    table = LearnedTable(channel(("d", "t"), "id BIGINT, m INT"), time_zone="UTC", address="canal")
    rows = change([ID, Made(name, "int", sql_type=4)], INSERT, ["1", "11"])
    table.changes([rows], None).decode()
    with pytest.raises(SyncError, match=f"changes column '{name}' from int to smallint") as raised:
        table.changes([], altered(f"ALTER TABLE t MODIFY `{name}` SMALLINT")).decode()
    assert raised.value.code is Code.SOURCE_DDL
