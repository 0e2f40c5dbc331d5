"""What SHOW and DESCRIBE say: columns and rows as values.

Owns: MySQL's column names of every form, and the filters of SHOW.
Must not know: where the facts come from, packets.
"""

import datetime as dt
import socket
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from syncmgr import __version__
from syncmgr.accounts.user import ANYWHERE_ONLY, Privilege
from syncmgr.console.statements.local.sqlite_engine import SqliteEngine, quoted
from syncmgr.console.statements.show.create_text import type_text
from syncmgr.console.wire.charset import CHARSETS
from syncmgr.console.wire.protocol import FieldType
from syncmgr.console.wire.results import Column, Row, Rows, at_once
from syncmgr.errors import Code, Diagnostic, SyncError
from syncmgr.job.types.folding import folded_name
from syncmgr.job.types.schema import TargetColumn, TargetTable
from syncmgr.lake.registry import FORMAT
from syncsql import Filter, Limit, MetaKind, OrderItem

ENGINE: Final = FORMAT.name.upper()
ENGINE_COMMENT: Final = f"{FORMAT.name} tables, written and read by Spark"
COLLATION: Final = "utf8mb4_0900_bin"  # Spark compares texts by their bytes
COLLATIONS: Final = (("utf8mb4_0900_ai_ci", "utf8mb4", 255, "Yes"), (COLLATION, "utf8mb4", 309, ""))
INFO_SHOWN: Final = 100  # characters of a statement in SHOW PROCESSLIST without FULL
EVERYTHING: Final = Filter()


@dataclass(frozen=True, kw_only=True, slots=True)
class Listing:
    """A table in memory; `like` names the column that LIKE applies to."""

    columns: tuple[Column, ...]
    rows: list[Row]
    like: str

    def result(self) -> Rows:
        return Rows(columns=self.columns, batches=at_once(self.rows))


def listing(names: Sequence[str], rows: Iterable[Row], *, numbers: Sequence[str] = (), like: str = "") -> Listing:
    return Listing(columns=_columns(tuple(names), tuple(numbers)), rows=list(rows), like=like or names[0])


@lru_cache(64)
def _columns(names: tuple[str, ...], numbers: tuple[str, ...]) -> tuple[Column, ...]:
    return tuple(
        Column(name=name, type=FieldType.LONGLONG if name in numbers else FieldType.VAR_STRING) for name in names
    )


def filtered(
    shown: Listing, choice: Filter = EVERYTHING, *, order: Sequence[OrderItem] = (), limit: Limit | None = None
) -> Listing:
    """The requested rows, in the requested order. Raises UNKNOWN_COLUMN."""
    if choice == EVERYTHING and not order and limit is None:
        return shown
    names = [column.name for column in shown.columns]
    sql, parameters = _selection(names, shown.like, choice, order, limit)
    with SqliteEngine() as lite:
        # NUMERIC: a text that is a number compares and sorts as one, as it does in MySQL
        columns = [(name, "NUMERIC COLLATE NOCASE") for name in names] + [(_PLACE, "INTEGER")]
        lite.add("shown", columns, ((*map(_plain, row), place) for place, row in enumerate(shown.rows)))
        _, places = lite.ask(sql, parameters)
    rows = [shown.rows[int(str(place))] for (place,) in places]
    return Listing(columns=shown.columns, rows=rows, like=shown.like)


_PLACE: Final = "place among the rows"


def _plain(value: object) -> object:
    return value if isinstance(value, int | float | str | bytes | None) else str(value)


def _selection(
    names: Sequence[str], like: str, choice: Filter, order: Sequence[OrderItem], limit: Limit | None
) -> tuple[str, list[object]]:
    known = {name.casefold(): name for name in names}
    conditions = ["1"]
    parameters: list[object] = []
    if choice.like is not None:
        conditions.append(f"{quoted(like)} LIKE ? ESCAPE '\\'")
        parameters.append(choice.like)
    if choice.where is not None:
        for column in choice.where.columns():
            _known(known, column, "where clause")
        conditions.append(f"({choice.where.sqlite()})")
    by = [f"{quoted(_known(known, item.column, 'order clause'))}{' DESC' * item.descending}" for item in order]
    sql = f"SELECT {quoted(_PLACE)} FROM shown WHERE {' AND '.join(conditions)}"  # noqa: S608 - quoted, and guarded
    sql += f" ORDER BY {', '.join([*by, quoted(_PLACE)])}"
    return sql + ("" if limit is None else f" LIMIT {limit.rows} OFFSET {limit.offset}"), parameters


def _known(known: dict[str, str], column: str, where: str) -> str:
    try:
        return known[column.casefold()]
    except KeyError:
        raise SyncError(Code.UNKNOWN_COLUMN, column=column, where=where) from None


def databases(names: Sequence[str]) -> Listing:
    return listing(("Database",), [(name,) for name in ("information_schema", *names)])


def tables(db: str, names: Sequence[str], *, full: bool, kind: str = "BASE TABLE") -> Listing:
    first = f"Tables_in_{db}"
    if full:
        return listing((first, "Table_type"), [(name, kind) for name in names])
    return listing((first,), [(name,) for name in names])


def type_of(column: TargetColumn) -> str:
    return type_text(column.type.name, column.type.args)


def _key(table: TargetTable, column: TargetColumn) -> str:
    return "PRI" if folded_name(column.name) in {folded_name(key) for key in table.keys} else ""


def columns(table: TargetTable, *, full: bool) -> Listing:
    """DESCRIBE and SHOW COLUMNS."""
    if not full:
        names: tuple[str, ...] = ("Field", "Type", "Null", "Key", "Default", "Extra")
        return listing(names, [_described(table, column) for column in table.columns])
    names = ("Field", "Type", "Collation", "Null", "Key", "Default", "Extra", "Privileges", "Comment")
    return listing(names, [_described_fully(table, column) for column in table.columns])


def _described(table: TargetTable, column: TargetColumn) -> Row:
    return column.name, type_of(column), "YES" if column.nullable else "NO", _key(table, column), None, ""


def _described_fully(table: TargetTable, column: TargetColumn) -> Row:
    name, kind, null, key, default, extra = _described(table, column)
    collation = COLLATION if column.type.name in {"CHAR", "VARCHAR", "STRING"} else None
    return name, kind, collation, null, key, default, extra, "select", column.comment


def index(table: TargetTable) -> Listing:
    names = (
        "Table",
        "Non_unique",
        "Key_name",
        "Seq_in_index",
        "Column_name",
        "Collation",
        "Cardinality",
        "Sub_part",
        "Packed",
        "Null",
        "Index_type",
        "Comment",
        "Index_comment",
        "Visible",
        "Expression",
    )
    rows = [
        (table.name, 0, "PRIMARY", place, key, "A", None, None, None, "", "KEY", "", "", "YES", None)
        for place, key in enumerate(table.keys, 1)
    ]
    return listing(names, rows, numbers=("Non_unique", "Seq_in_index", "Cardinality"), like="Key_name")


def table_status(found: Sequence[TargetTable]) -> Listing:
    names = (
        "Name",
        "Engine",
        "Version",
        "Row_format",
        "Rows",
        "Avg_row_length",
        "Data_length",
        "Max_data_length",
        "Index_length",
        "Data_free",
        "Auto_increment",
        "Create_time",
        "Update_time",
        "Check_time",
        "Collation",
        "Checksum",
        "Create_options",
        "Comment",
    )
    rows = [
        (table.name, ENGINE, 10, FORMAT.files, *sizes(table), *(None,) * 6, COLLATION, None, "", table.comment)
        for table in found
    ]
    numbers = ("Version", "Rows", "Avg_row_length", "Data_length", "Index_length")
    return listing(names, rows, numbers=numbers)


def sizes(table: TargetTable) -> tuple[int | None, int | None, int | None, None]:
    """Rows, bytes of one on average, bytes, and no maximum."""
    size = table.size
    return (None,) * 4 if size is None else (size.rows, size.bytes // max(size.rows, 1), size.bytes, None)


def processlist(rows: Iterable[Row], *, full: bool) -> Listing:
    """`rows`: Id, User, Host, db, Command, Time, State, Info."""
    names = ("Id", "User", "Host", "db", "Command", "Time", "State", "Info")
    shown = rows if full else [(*row[:-1], None if row[-1] is None else str(row[-1])[:INFO_SHOWN]) for row in rows]
    return listing(names, shown, numbers=("Id", "Time"))


def remarks(kind: MetaKind, diagnostics: Iterable[Diagnostic]) -> Listing:
    """SHOW WARNINGS, SHOW ERRORS, and the count of either."""
    of_errors = kind in {MetaKind.ERRORS, MetaKind.COUNT_ERRORS}
    rows = [(each.level, each.code.number, each.text) for each in diagnostics if each.level == "Error" or not of_errors]
    if kind in {MetaKind.WARNINGS, MetaKind.ERRORS}:
        return listing(("Level", "Code", "Message"), rows, numbers=("Code",))
    name = f"@@session.{'error' if of_errors else 'warning'}_count"
    return listing((name,), [(len(rows),)], numbers=(name,))


def _engines() -> Listing:
    names = ("Engine", "Support", "Comment", "Transactions", "XA", "Savepoints")
    return listing(names, [(ENGINE, "DEFAULT", ENGINE_COMMENT, "NO", "NO", "NO")])


def frontend(port: int, *, started: dt.datetime) -> Listing:
    """Doris' columns, as far as they apply; the only frontend is the one that answers."""
    names = ("Name", "Host", "QueryPort", "Role", "IsMaster", "Alive", "LastStartTime", "Version", "CurrentConnected")
    host = socket.gethostname()
    at = started.strftime("%Y-%m-%d %H:%M:%S")
    return listing(names, [(host, host, port, "FOLLOWER", "true", "true", at, __version__, "Yes")])


def _collations() -> Listing:
    names = ("Collation", "Charset", "Id", "Default", "Compiled", "Sortlen", "Pad_attribute")
    rows: list[Row] = [(*each, "Yes", 0, "NO PAD") for each in COLLATIONS]
    rows += [
        (row.collation_name, row.name, row.collation, "" if row.name == "utf8mb4" else "Yes", "Yes", 1, "PAD SPACE")
        for row in CHARSETS.values()
        if row.name != "utf8"
    ]
    return listing(names, rows, numbers=("Id", "Sortlen"))


def _charsets() -> Listing:
    names = ("Charset", "Description", "Default collation", "Maxlen")
    rows = [(row.name, row.name, row.collation_name, row.width) for row in CHARSETS.values() if row.name != "utf8"]
    return listing(names, rows, numbers=("Maxlen",))


def _privileges() -> Listing:
    context = {each: "Server Admin" if each in ANYWHERE_ONLY else "Databases,Tables" for each in Privilege}
    context[Privilege.LOAD] += ",Jobs"
    return listing(("Privilege", "Context", "Comment"), [(each.value, context[each], "") for each in Privilege])


def _nothing(*names: str) -> Callable[[], Listing]:
    return lambda: listing(names, ())


# what has the same answer for everyone
CONSTANT: Final[dict[MetaKind, Callable[[], Listing]]] = {
    MetaKind.ENGINES: _engines,
    MetaKind.COLLATION: _collations,
    MetaKind.CHARACTER_SET: _charsets,
    MetaKind.PLUGINS: _nothing("Name", "Status", "Type", "Library", "License"),
    MetaKind.PRIVILEGES: _privileges,
    MetaKind.OPEN_TABLES: _nothing("Database", "Table", "In_use", "Name_locked"),
    MetaKind.TRIGGERS: _nothing("Trigger", "Event", "Table", "Statement", "Timing", "Created", "sql_mode", "Definer"),
    MetaKind.EVENTS: _nothing("Db", "Name", "Definer", "Time zone", "Type", "Status"),
    MetaKind.PROCEDURE_STATUS: _nothing("Db", "Name", "Type", "Definer", "Modified", "Created", "Comment"),
    MetaKind.FUNCTION_STATUS: _nothing("Db", "Name", "Type", "Definer", "Modified", "Created", "Comment"),
}
