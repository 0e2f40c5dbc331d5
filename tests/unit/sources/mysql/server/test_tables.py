import time
from typing import Any, Final

import pytest

from mysqlddl.nodes import AlterTable
from mysqlddl.reading import read
from syncmgr.errors import Code, SyncError
from syncmgr.job.ddl.alteration import altered
from syncmgr.job.types.schema import SourceColumn, SourceTable
from syncmgr.meta import codec
from syncmgr.sources.mysql import wire
from syncmgr.sources.mysql.server import tables
from syncmgr.sources.mysql.server.tables import schema_of
from syncmgr.sources.mysql.values.schema import agreed
from syncmgr.sources.mysql.values.table_map import Field, TableMap
from tests.unit.job.factories import make_channel

UTF8_GENERAL_CI: Final = 33
ID: Final = Field(code=wire.LONG)
TEXT: Final = Field(code=wire.VARCHAR, meta=30, collation=UTF8_GENERAL_CI)


def told(monkeypatch: pytest.MonkeyPatch, collation: str | None) -> SourceTable:
    """What is understood of a server that tells this collation of a table of one number."""
    column = {"name": "id", "word": "int", "full": "int", "length": None, "digits": 10, "scale": 0, "fraction": None}
    answers: dict[str, list[dict[str, Any]]] = {
        "COLUMNS": [
            column | {"db": "shop", "tab": "t", "charset": None, "nullable": "NO", "expression": None, "extra": ""}
        ],
        "TABLES": [{"collation": collation, "charset": collation and collation.partition("_")[0]}],
        "STATISTICS": [],
    }
    monkeypatch.setattr(
        tables, "query", lambda _, sql, *__: next(rows for name, rows in answers.items() if f"schema.{name} " in sql)
    )
    found = schema_of(None, ("shop", "t"))  # type: ignore[arg-type]
    assert found is not None
    return found


def test_a_server_describes_tables_of_a_bounded_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it says is stored with each job on the table, and read again with it."""
    labels = ",".join(f"'{number:0200}'" for number in range(tables.MOST_TABLE_SIZE // 200 + 1))
    column = {"name": "e", "word": "enum", "full": f"enum({labels})", "length": 200, "digits": None, "scale": None}
    column |= {"db": "shop", "tab": "t", "charset": "utf8mb4", "nullable": "NO", "expression": None, "extra": ""}
    answers: dict[str, list[dict[str, Any]]] = {
        "COLUMNS": [column | {"fraction": None}],
        "TABLES": [],
        "STATISTICS": [],
    }
    monkeypatch.setattr(
        tables, "query", lambda _, sql, *__: next(rows for name, rows in answers.items() if f"schema.{name} " in sql)
    )
    connection = tables.Connection("db1:3306")
    with pytest.raises(SyncError, match="characters; 4194304 are taken") as raised:
        schema_of(connection, ("shop", "t"))
    assert raised.value.code is Code.SOURCE_TOO_LARGE


def with_a_text(table: SourceTable) -> SourceTable:
    statement = read("ALTER TABLE t ADD c VARCHAR(10)", "shop")
    assert isinstance(statement, AlterTable)
    return altered(table, statement.clauses).table


@pytest.mark.parametrize("collation", ["utf8_general_ci", "utf8mb3_general_ci", "utf8mb3_uca1400_ai_ci"])
def test_a_new_column_has_the_charset_of_its_table_under_its_name_of_today(
    monkeypatch: pytest.MonkeyPatch, collation: str
) -> None:
    """Older servers say utf8; the rows that follow are read, and do not stop the table."""
    table = with_a_text(told(monkeypatch, collation))
    assert table.columns[-1].charset == "utf8mb3"
    rows = TableMap(db="shop", name="t", fields=(ID, TEXT))
    assert agreed(rows, table, mariadb=False) == table


@pytest.mark.parametrize(
    ("collation", "charset"),
    [("utf8mb4_0900_ai_ci", "utf8mb4"), ("latin1_swedish_ci", "latin1"), ("binary", "binary"), (None, None)],
)
def test_the_charset_of_a_table_is_that_of_its_collation(
    monkeypatch: pytest.MonkeyPatch, collation: str | None, charset: str | None
) -> None:
    """A view has none."""
    assert told(monkeypatch, collation).charset == charset


def test_a_stored_table_gets_the_name_of_today() -> None:
    """Earlier versions stored what the server said, of a table and of the columns that it got."""
    text = SourceColumn(name="c", type="varchar", length=10, charset="utf8")
    columns = (SourceColumn(name="id", type="int", nullable=False), text)
    channel = make_channel(source=SourceTable(db="shop", name="t", columns=columns, charset="utf8"))
    table = codec.channel_of(codec.channel_json(channel)).source
    assert (table.charset, [column.charset for column in table.columns]) == ("utf8mb3", [None, "utf8mb3"])
    assert agreed(TableMap(db="shop", name="t", fields=(ID, TEXT)), table, mariadb=False) == table
    assert (
        with_a_text(SourceTable(db="shop", name="t", columns=(), charset=table.charset)).columns[0] == table.columns[1]
    )


@pytest.mark.parametrize(
    ("definition", "expected"),
    [
        ("  CONSTRAINT `a` FOREIGN KEY (`b`) REFERENCES `c` (`d`) ON DELETE CASCADE", True),
        ("  CONSTRAINT `a` FOREIGN KEY (`b`) REFERENCES `c` (`d`) ON DELETE RESTRICT ON UPDATE SET NULL", True),
        ("  CONSTRAINT ` FOREIGN KEY ` FOREIGN KEY (`b`) REFERENCES ` ON x` (`d`) ON UPDATE CASCADE,\n", True),
        ("  CONSTRAINT `a` FOREIGN KEY (`b`) REFERENCES `c` (`d`) ON DELETE RESTRICT", False),
        ("  CONSTRAINT `a` FOREIGN KEY (`b`) REFERENCES `c` (`d`)\n  x ON DELETE CASCADE", False),
        ("  CONSTRAINT `a` CHECK (`b` <> ' ON DELETE CASCADE')", False),
        ("  CONSTRAINT " + " FOREIGN KEY " * 50_000 + " ON DELETE " * 50_000, False),
    ],
)
def test_a_foreign_key_that_changes_rows_is_found(
    monkeypatch: pytest.MonkeyPatch, definition: str, *, expected: bool
) -> None:
    """In the definition that a server sends, in time by its length: nobody else is answered meanwhile."""
    shown = f"CREATE TABLE `t` (\n{definition}\n) ENGINE=InnoDB"
    monkeypatch.setattr(tables, "query", lambda *_: [{"Create Table": shown}])
    begun = time.process_time()
    assert tables.cascades(None, ("shop", "t")) is expected  # type: ignore[arg-type]
    assert time.process_time() - begun < 5
