"""Queries whose text hides what they do: what runs is what was checked."""

import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.rows.batch import ChangeKind
from syncmgr.lake.spark.queries.queries import Queries
from tests.support.spark_session import SPARK, Tables

pytestmark = SPARK
Refuse = Callable[[tuple[str, str] | None], None]
TRANSFORM = "SELECT a FROM (SELECT TRANSFORM(id) USING 'touch {file}; echo x' AS (a STRING) FROM range(1))"


def asked(queries: Queries, sql: str, refuse: Refuse) -> list[tuple[object, ...]]:
    query = queries.query(sql, None, uuid.uuid4().hex, refuse)
    return [tuple(row) for batch in query.batches() for row in batch]


def allow(_name: tuple[str, str] | None) -> None:
    pass


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT id, v FROM {t} -- explain\n UNION ALL SELECT id, v FROM {u}",
        "EXPLAIN SELECT id FROM {t} -- explain\n UNION ALL SELECT id FROM {u}",
    ],
)
def test_a_comment_hides_no_table(queries: Queries, tables: Tables, sql: str) -> None:
    """The word EXPLAIN in it let the text after it run unchecked."""
    named = {}
    for name in "tu":
        table = tables.make(name=name)
        table.commit([(ChangeKind.INSERT, 1, 1)])
        named[name] = f"{tables.db}.{table.name}"

    def refuse(name: tuple[str, str] | None) -> None:
        if name != (tables.db, "t"):
            raise SyncError(Code.PRIVILEGE_NEEDED, privilege="any")

    with pytest.raises(SyncError) as caught:
        asked(queries, sql.format(**named), refuse)
    assert caught.value.code is Code.PRIVILEGE_NEEDED


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 'x' FROM range(1) -- explain\n UNION ALL {transform}",
        "SELECT count(*) OVER w FROM range(1) WINDOW w AS (PARTITION BY ({transform}))",
        "SELECT * FROM IDENTIFIER('explode')(array(({transform})))",
    ],
)
def test_no_command_is_run(queries: Queries, tmp_path: Path, sql: str) -> None:
    """Wherever TRANSFORM stands in a text."""
    file = tmp_path / "touched"
    with suppress(SyncError):
        asked(queries, sql.format(transform=TRANSFORM.format(file=file)), allow)
    assert not file.exists()


def test_nothing_is_written(queries: Queries, tmp_path: Path) -> None:
    """INSERT OVERWRITE DIRECTORY would replace any folder of the frontend's user."""
    folder = tmp_path / "written"
    sql = f"WITH x AS (SELECT 1 AS a) -- explain\n INSERT OVERWRITE DIRECTORY '{folder}' USING csv\nSELECT * FROM x"
    with pytest.raises(SyncError):
        asked(queries, sql, allow)
    assert not folder.exists()


def test_a_column_may_be_called_explain(queries: Queries) -> None:
    """The word means something only at the start; comments may stand before it."""
    assert asked(queries, "SELECT 1 AS explain FROM range(1)", allow) == [(1,)]
    [(plan,)] = asked(queries, "/* why */ EXPLAIN FORMATTED SELECT 1 FROM range(1)", allow)
    assert "Physical Plan" in str(plan)


def test_an_error_names_nothing_of_a_hidden_table(queries: Queries, tables: Tables) -> None:
    """Before Spark's words about the columns of a table are shown, the user is asked to be allowed to read it."""
    name = f"{tables.db}.{tables.make(name='hidden').name}"
    found = list[tuple[str, str] | None]()
    window = f"WINDOW w AS (PARTITION BY (SELECT array(1) + v FROM {name}))"
    with pytest.raises(SyncError):
        asked(queries, f"SELECT count(*) OVER w FROM range(1) {window}", found.append)
    assert found
