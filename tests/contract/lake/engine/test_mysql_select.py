"""SELECT in MySQL's words: each query of the corpus, asked of a MySQL server and of the lake on the same rows."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import pymysql
import pytest
from pymysql.cursors import Cursor

from syncmgr.accounts.user import Account
from syncmgr.console.statements.execution.dialect import SparkText, in_spark
from syncmgr.console.statements.local.local_select import SessionFacts
from syncmgr.console.statements.row_limit import with_offsets
from syncmgr.console.wire.lake_types import converted
from syncmgr.console.wire.results import text_of
from syncmgr.errors import SyncError
from syncmgr.lake.lake import Lake
from syncmgr.lake.spark.jvm import JAVA_ERRORS
from syncmgr.lake.spark.queries import answer
from syncmgr.lake.spark.queries.frame import SparkOfQueries, SparkSessionOfQueries
from syncmgr.lake.spark.queries.queries import UTC
from syncmgr.lake.spark.queries.sessions import SETTINGS
from tests.support import select_corpus
from tests.support.select_corpus import DATABASE, Asked
from tests.support.servers.mysql import MysqlServer
from tests.support.spark_session import SPARK, Tables

pytestmark = [*SPARK, pytest.mark.mysql]

# Of tables of a few rows a compiler of expressions is the most that a query costs.
CHEAP: Final = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.leafNodeDefaultParallelism": "1",
    "spark.sql.session.timeZone": UTC,
    "spark.sql.shuffle.partitions": "1",
}
LEAST: Final = 300  # queries
MOST_REFUSED: Final = 0.08

Cell = bytes | None


@dataclass(frozen=True, slots=True)
class Answer:
    """As the client sees it. `decimals`: the places of DECIMAL columns."""

    names: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    decimals: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Both:
    """One query on both sides; None: it was refused."""

    asked: Asked
    server: Answer | None
    lake: Answer | None

    @property
    def is_equal(self) -> bool:
        if self.server is None or self.lake is None:
            return False
        numbers = self.lake.decimals
        ours, theirs = (_with_numbers(each.rows, numbers) for each in (self.lake, self.server))
        return (list(self.lake.names), ours) == (list(self.server.names), theirs)


def _with_numbers(rows: Sequence[Sequence[Cell]], places: frozenset[int]) -> list[tuple[Any, ...]]:
    """A DECIMAL is the same with more zeros at its end: MySQL leaves them out in some rows of IF and CASE."""
    return [
        tuple(
            Decimal(cell.decode()) if cell is not None and place in places else cell for place, cell in enumerate(row)
        )
        for row in rows
    ]


class LakeSide:
    """The way of a SELECT, with a session of Spark in which tiny queries are cheap."""

    def __init__(self, tables: Tables, session: SparkSessionOfQueries) -> None:
        self._catalog, self._session = tables.catalog, session
        self._facts = SessionFacts(
            connection_id=1,
            user="u",
            account=Account(name="u", host="%"),
            host="h",
            db=DATABASE,
            now=None,  # type: ignore[arg-type]  # Spark has its own clock
            variable=lambda _: 0,
            user_variable=lambda _: None,
        )

    def ask(self, sql: str) -> Answer | None:
        try:
            text = in_spark(sql, self._catalog, self._facts) or SparkText(with_offsets(sql))
            query = self._session.sql(text.sql)
            fields = query.schema().fields
            rows = [tuple(row) for batch, _ in answer.batches(query) for row in batch]
        except (SyncError, *JAVA_ERRORS):
            return None
        kinds = [field.dataType.simpleString() for field in fields]
        sent = [tuple(None if cell is None else _bytes(cell) for cell in row) for row in converted(rows, kinds)]
        decimals = frozenset(place for place, kind in enumerate(kinds) if kind.startswith("decimal"))
        return Answer(text.names or [field.name for field in fields], sent, decimals)


def _bytes(cell: object) -> bytes:
    return bytes(cell) if isinstance(cell, bytes | bytearray) else text_of(cell).encode()


def _on_server(server: MysqlServer, asked: Sequence[Asked]) -> Iterator[Answer | None]:
    options = {"database": DATABASE, "conv": {}, "use_unicode": False, "init_command": "SET time_zone = '+00:00'"}
    with closing(server.connect(**options)) as connection, closing(connection.cursor()) as cursor:
        for each in asked:
            # MySQL compares the text of ->> with a literal in no two collations that end with _bin
            collation = "utf8mb4_0900_ai_ci" if "->>" in each.sql else select_corpus.COLLATION
            cursor.execute(f"SET collation_connection = '{collation}'")
            yield _answer(cursor, each.sql)


def _answer(cursor: Cursor, sql: str) -> Answer | None:
    try:
        cursor.execute(sql)
    except pymysql.err.MySQLError:
        return None
    assert cursor.description is not None
    names = [name if isinstance(name, str) else name.decode() for name, *_ in cursor.description]
    return Answer(names, list(cursor.fetchall()))


@pytest.fixture(scope="module")
def both(lake: Lake, mysql_server: MysqlServer, tmp_path_factory: pytest.TempPathFactory) -> list[Both]:
    """The whole corpus, once."""
    select_corpus.fill_server(mysql_server)
    tables = select_corpus.fill_lake(lake, mysql_server, tmp_path_factory.mktemp("corpus"))
    first = lake.iceberg().spark
    spark = SparkOfQueries(first._jvm, first._jsparkSession)
    session = spark.new_session({**SETTINGS, **CHEAP}, DATABASE)
    for name in select_corpus.NAMES:
        session.java.sql(f"CACHE TABLE {name} AS SELECT * FROM lake.{DATABASE}.{name} ORDER BY id")
    side, asked = LakeSide(tables, session), list(select_corpus.corpus())
    pairs = zip(asked, _on_server(mysql_server, asked), strict=True)
    found = [Both(each, theirs, side.ask(each.sql)) for each, theirs in pairs]
    for name in select_corpus.NAMES:
        session.java.sql(f"UNCACHE TABLE {name}")
    return found


def test_no_query_gives_other_rows(both: list[Both]) -> None:
    """Rows and headers are those of MySQL, as the client sees them, or the query is refused."""
    different = [
        f"{each.asked.file}: {each.asked.sql}\n  MySQL: {each.server}\n  lake:  {each.lake}"
        for each in both
        if each.lake is not None and not each.is_equal
    ]
    assert not different, "\n".join(different)


def test_few_queries_are_refused(both: list[Both]) -> None:
    """Of those that MySQL answers: what the tools and the manual ask for is answered."""
    answered = [each for each in both if each.server is not None]
    refused = [each.asked.sql for each in answered if each.lake is None]
    assert len(both) >= LEAST
    assert len(refused) <= MOST_REFUSED * len(answered), "\n".join(refused)
    print(f"{len(both)} queries: {len(answered) - len(refused)} of {len(answered)} equal, {len(refused)} refused")


def test_each_query_says_where_it_is_from() -> None:
    """So that it can be looked up what a tool sends now."""
    assert not [each.sql for each in select_corpus.corpus(Path(select_corpus.FOLDER)) if not each.origin]
