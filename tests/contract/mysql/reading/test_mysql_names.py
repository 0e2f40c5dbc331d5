"""Names and texts of tables that are longer than a server has them, from one that makes them up."""

import contextlib
import struct
from collections.abc import Iterable, Mapping
from typing import Final

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.types.schema import MOST_TABLE_SIZE
from syncmgr.sources.mysql.address import MysqlAddress, connect, naming_failures
from syncmgr.sources.mysql.factory import survey
from syncmgr.sources.mysql.server.tables import LONGEST_NAME, schema_of
from tests.contract.mysql.reading.test_mysql_hostile import described
from tests.support.servers.hostile import EOF, OK, HostileServer, Talk, answering, column
from tests.support.until import HANG_SECOND

LONG: Final = "n" * (LONGEST_NAME + 1)
COLUMN: Final[Mapping[str, str | None]] = {
    "db": "shop",
    "tab": "t",
    "name": "id",
    "word": "int",
    "full": "int",
    "length": None,
    "digits": "10",
    "scale": "0",
    "fraction": None,
    "charset": None,
    "nullable": "NO",
    "expression": "",
    "extra": "",
}
KEY: Final[Mapping[str, str | None]] = {"name": "PRIMARY", "col": "id", "nullable": ""}
FOUND: Final[Mapping[str, str | None]] = {"db": "shop", "name": "t", "row_count": "1", "size": "1", "comment": ""}
NONE: Final = b"\xfb"


def cell(value: str | None) -> bytes:
    said = b"" if value is None else value.encode()
    return NONE if value is None else b"\xfe" + struct.pack("<Q", len(said)) + said


def told(answers: Iterable[Mapping[str, str | None]]) -> Iterable[bytes]:
    """The packets of a result, whose values may be long."""
    found = list(answers)
    yield bytes([len(found[0])])
    yield from (column(name.encode()) for name in found[0])
    yield EOF
    for row in found:
        yield b"".join(map(cell, row.values()))
    yield EOF


def server(
    columns: Iterable[Mapping[str, str | None]] = (COLUMN,),
    keys: Iterable[Mapping[str, str | None]] = (KEY,),
    tables: Iterable[Mapping[str, str | None]] = (FOUND,),
) -> HostileServer:
    """One that says this of a table."""

    def answer(talk: Talk, question: bytes) -> None:
        if b"STATISTICS" in question:
            talk.send(*told(keys))
        elif b"TABLE_COLLATION" in question:
            talk.send(*told([{"collation": "utf8mb4_bin"}]))
        elif b"SCHEMATA" in question:
            talk.send(*told([{"db": "shop"}]))
        elif b"COLUMN_COMMENT" in question:
            talk.send(*told([{"db": "shop", "name": "t", "col": "id", "comment": "c"}]))
        elif b"TABLE_ROWS" in question:
            talk.send(*told(tables))
        elif b"information_schema.COLUMNS" in question:
            talk.send(*told(columns))
        else:
            talk.send(OK)

    return HostileServer(answering(answer))


def looked_at(there: HostileServer) -> object:
    with there:
        address = MysqlAddress(host="127.0.0.1", port=there.port, user="repl", password="p")
        with naming_failures(address), contextlib.closing(connect(address)) as connection:
            return schema_of(connection, ("shop", "t"))


def surveyed(there: HostileServer) -> object:
    with there:
        return survey(described("127.0.0.1", there.port), ["%"], connect_timeout=HANG_SECOND)


def test_what_a_server_may_say_is_taken() -> None:
    """The names of its own limit, and more."""
    name = "ä" * LONGEST_NAME
    assert "SourceTable" in str(looked_at(server(columns=[{**COLUMN, "name": name}], keys=[{**KEY, "col": name}])))
    assert list(surveyed(server(tables=[{**FOUND, "name": name}]))) == [("shop", name)]  # type: ignore[call-overload]


@pytest.mark.parametrize("part", ["db", "tab", "name"])
def test_a_name_that_no_server_has_is_refused(part: str) -> None:
    """That of a database, a table or a column, before anything of it is stored; it is not repeated."""
    with pytest.raises(SyncError) as caught:
        looked_at(server(columns=[{**COLUMN, part: LONG}]))
    _refused(caught.value)


def test_a_name_of_a_key_that_no_server_has_is_refused() -> None:
    """It is stored with the table."""
    with pytest.raises(SyncError) as caught:
        looked_at(server(keys=[{**KEY, "name": LONG}]))
    _refused(caught.value)


@pytest.mark.parametrize("part", ["db", "name"])
def test_a_whole_database_has_no_name_that_no_server_has(part: str) -> None:
    """As its tables are listed."""
    with pytest.raises(SyncError) as caught:
        surveyed(server(tables=[{**FOUND, part: LONG}]))
    _refused(caught.value)


def _refused(error: SyncError) -> None:
    assert error.code is Code.SOURCE_TOO_LARGE
    assert f"a name of {len(LONG)} characters" in str(error)
    assert LONG not in str(error)


def test_a_table_is_taken_up_to_its_bound() -> None:
    """Labels without end, in columns that each may be."""
    labels = "','".join(f"{number:08}" for number in range(MOST_TABLE_SIZE // 80))
    columns = [{**COLUMN, "name": f"c{n}", "word": "enum", "full": f"enum('{labels}')"} for n in range(12)]
    with pytest.raises(SyncError) as caught:
        looked_at(server(columns=[COLUMN, *columns]))
    assert caught.value.code is Code.SOURCE_TOO_LARGE
    assert "columns and labels of table shop.t" in str(caught.value)
