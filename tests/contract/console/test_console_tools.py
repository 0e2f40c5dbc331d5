"""What the tools of operators and analysts send by themselves: every statement gets an answer, without the lake.

The statements of `tools/*.sql`, one a line, are those that the tools' public sources and logs show: at the connect, and
to show what there is.
"""

from collections.abc import Iterator
from pathlib import Path

import pymysql
import pytest

from tests.unit.console.running import Running, running

FILES = sorted((Path(__file__).parent / "tools").glob("*.sql"))


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("tls")) as it:
        yield it


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_tool_is_answered(console: Running, file: Path) -> None:
    """In one connection and in order, as the tool does it; nothing of it reaches the lake."""
    refused: list[str] = []
    asked = len(console.frontend.queries.asked)
    with console.connect(database="demo") as connection, connection.cursor() as cursor:
        for statement in file.read_text().splitlines():
            try:
                cursor.execute(statement)
                cursor.fetchall()
            except pymysql.err.MySQLError as error:
                refused.append(f"{error.args}: {statement}")
    assert not refused, "\n".join(refused)
    assert console.frontend.queries.asked[asked:] == []


def test_what_the_tools_are_told(console: Running) -> None:
    """The answers that a tool draws its tree from are right, not only there."""
    offset = "SELECT time_format(timediff(now(), convert_tz(now(), @@GLOBAL.time_zone, '+00:00')), '%H:%i')"
    assert console.ask(offset) == (("00:00",),)
    order = "SELECT schema_name FROM information_schema.schemata ORDER BY if(schema() = schema_name, 1, 2), schema_name"
    assert [name for (name,) in console.ask(order, database="empty")] == ["empty", "demo", "information_schema"]
    is_default = "SELECT is_default COLLATE utf8_general_ci = 'Yes' FROM information_schema.collations WHERE id = 255"
    assert console.ask(is_default) == ((1,),)
    shown = console.ask("SELECT DISTINCT TABLE_SCHEMA FROM information_schema.TABLES WHERE TABLE_TYPE != 'SYSTEM VIEW'")
    assert shown == (("demo",),)
