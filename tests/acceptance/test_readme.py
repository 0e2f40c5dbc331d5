"""README.md shows what a client is answered: each statement of its session is typed, and each answer compared."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pymysql
import pytest

from tests.acceptance.frontend import ROOT, FrontendProcess
from tests.support.servers.mysql import MysqlServer
from tests.support.until import until

pytestmark = [pytest.mark.mysql, pytest.mark.spark]

PROMPT = re.compile(r"^mysql> ", re.MULTILINE)
CONTINUED = re.compile(r"^ +-> ", re.MULTILINE)
DONE = re.compile(r"Query OK, (\d+) rows? affected")
ERROR = re.compile(r"ERROR (\d+) \((\w+)\): (.*)")
VARIES = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?")
NAMES = {"shop": "readme_shop", "sales": "readme_sales"}
SOURCE = (
    "CREATE DATABASE shop",
    (
        "CREATE TABLE shop.orders (id BIGINT PRIMARY KEY, customer VARCHAR(40), amount DECIMAL(12,2), state TEXT,"
        " changed_at DATETIME(6) DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6))"
    ),
    "CREATE USER syncmgr IDENTIFIED BY 'a password'",
    "GRANT SELECT, LOCK TABLES, REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO syncmgr",
)
CHANGES = (
    (
        "INSERT INTO shop.orders (id, customer, amount, state) VALUES"
        " (1, 'Ada', 10.50, 'new'), (2, 'Bob', 7, 'new'), (3, 'Cid', 99, 'new'), (4, 'Ada', 3.10, 'new')"
    ),
    "UPDATE shop.orders SET state = 'paid' WHERE id IN (1, 3)",
    "DELETE FROM shop.orders WHERE id = 2",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Typed:
    """A statement of the session, and the text below it."""

    statement: str
    answer: str


def ours(text: str) -> str:
    for name, own in NAMES.items():
        text = re.sub(rf"\b{name}\b", own, text)
    return text


def session() -> list[Typed]:
    """That of README.md, under names that no other test uses."""
    block = next(block for block in (ROOT / "README.md").read_text().split("```") if "mysql> " in block)
    found = []
    for part in PROMPT.split(ours(CONTINUED.sub("", block)))[1:]:
        statement, _, answer = part.partition("\n")
        while statement.count("(") > statement.count(")") or (answer and not is_answer(answer)):
            line, _, answer = answer.partition("\n")
            statement += f" {line}"
        found.append(Typed(statement=statement.rstrip(";"), answer=answer.strip()))
    return found


def is_answer(text: str) -> bool:
    return text.startswith(("Query OK", "Database changed", "ERROR ", "+-", "***", "\n"))


def masked(text: str) -> str:
    return VARIES.sub("a time", text)


def table_of(answer: str) -> list[list[str]]:
    """Its header and its rows."""
    rows = (line for line in answer.splitlines() if line.startswith("|"))
    return [[masked(cell.strip()) for cell in row.strip("|").split("|")] for row in rows]


def record_of(answer: str) -> dict[str, str]:
    r"""Of one row that \\G shows."""
    lines = (line.partition(":") for line in answer.splitlines() if re.match(r" *\w+: ?", line))
    return {name.strip(): value.strip() for name, _, value in lines}


def shape(value: Any) -> Any:
    """The keys of a JSON value, at every depth."""
    return {key: shape(each) for key, each in value.items()} if isinstance(value, dict) else None


@pytest.fixture
def typed(mysql_server: MysqlServer, frontend: FrontendProcess) -> Iterator["pymysql.cursors.DictCursor"]:
    mysql_server.run(*map(ours, SOURCE))
    with frontend.connect() as connection, connection.cursor() as cursor:
        yield cursor


def test_the_session_of_the_readme(
    typed: "pymysql.cursors.DictCursor", mysql_server: MysqlServer, frontend: FrontendProcess
) -> None:
    """Statement by statement: counts, columns, rows, errors, and every key of Status."""
    statements = session()
    assert len(statements) == 11
    for each in statements:
        if each.statement.startswith("SHOW SYNC JOB"):
            mysql_server.run(*map(ours, CHANGES))
            until(lambda: frontend.job(NAMES["sales"])["Status"]["consumed_rows"] >= 7, why="the rows")
        text = each.statement.replace('"3306"', f'"{mysql_server.port}"')
        if error := ERROR.match(each.answer):
            number, _state, words = error.groups()
            with pytest.raises(pymysql.err.MySQLError) as caught:
                typed.execute(text)
            assert caught.value.args == (int(number), words), text
            continue
        count = typed.execute(text.removesuffix("\\G"))
        compare(each, count, list(typed.fetchall()))


def compare(typed: Typed, count: int, rows: list[dict[str, Any]]) -> None:
    if done := DONE.match(typed.answer):
        assert count == int(done[1]), typed.statement
    elif typed.answer.startswith("+"):
        cells = [[masked("NULL" if cell is None else str(cell)) for cell in row.values()] for row in rows]
        assert [list(rows[0]), *cells] == table_of(typed.answer)
    elif typed.answer.startswith("*"):
        [row], shown = rows, record_of(typed.answer)
        assert list(row) == list(shown)
        for name in ("JobName", "Type", "State", "Channel", "Msg"):
            assert str(row[name] or "NULL") == shown[name]
        assert shape(json.loads(row["Status"])) == shape(json.loads(shown["Status"]))
        assert list(settings(row["JobConfig"])) == list(settings(shown["JobConfig"]))
    else:
        assert typed.answer == "Database changed"


def settings(text: str) -> dict[str, str]:
    return dict(pair.split(":", 1) for pair in text.split(","))
