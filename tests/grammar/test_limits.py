import pickle
import sys
import threading
import time
from collections.abc import Callable

import pytest

from syncsql import CreateSync, NestedTooDeeplyError, Select, SqlSyntaxError, parse
from syncsql.expression import LONGEST


def job(where: str) -> str:
    return f'CREATE SYNC j (FROM a.b INTO c WHERE {where}) FROM BINLOG ("type" = "mysql")'


@pytest.mark.parametrize(
    "where",
    [
        "(" * 5_000 + "x" + ")" * 5_000,
        "NOT " * 5_000 + "x",
        "- " * 5_000 + "x",
        "CASE WHEN x THEN " * 1_000 + "1" + " END" * 1_000,
        "+".join(["x"] * LONGEST),
        "f(" * 1_000 + "x" + ")" * 1_000,
        "x IN (" * 1_000 + "x" + ")" * 1_000,
    ],
    ids=lambda where: where[:6],
)
def test_deep_expressions_are_refused(where: str) -> None:
    """Nesting that no parser survives is a typed error with its place, never a RecursionError."""
    with pytest.raises(NestedTooDeeplyError) as caught:
        parse(job(where))
    assert caught.value.line == 1
    assert caught.value.column > 37


def test_an_expression_that_is_too_deep_for_the_stack_that_is_left_is_refused() -> None:
    """However little of the stack a caller leaves, the error is typed."""
    caught: list[Exception] = []

    def descend(levels: int) -> None:
        if levels:
            descend(levels - 1)
            return
        try:
            parse(job("(" * 20 + "x" + ")" * 20))
        except SqlSyntaxError as error:
            caught.append(error)

    thread = threading.Thread(target=descend, args=(sys.getrecursionlimit() - 150,))
    thread.start()
    thread.join(timeout=30)
    assert not caught or isinstance(caught[0], NestedTooDeeplyError)


def test_long_lists_are_no_deep_expressions() -> None:
    """An IN list of more values than an expression may have words, and 1,000 conditions in a row, are read."""
    many = ", ".join(map(str, range(LONGEST + 1)))
    (parsed,) = parse(job(f"x IN ({many})"))
    assert isinstance(parsed.statement, CreateSync)
    parse(job(" AND ".join(["x"] * 1_000)))


def test_deep_queries_are_none_of_ours() -> None:
    """A query is only cut into words, so its depth is Spark's affair."""
    text = "SELECT " + "(" * 5_000 + "1" + ")" * 5_000
    (parsed,) = parse(text)
    assert Select(text=text) == parsed.statement


def many_channels(count: int) -> None:
    channels = ", ".join(f"FROM db.t{n} INTO t{n} (a, b, c = a + 1) WHERE a > {n}" for n in range(count))
    parse(f'CREATE SYNC j ({channels}) FROM BINLOG ("type" = "mysql")')


def long_query(count: int) -> None:
    parse("SELECT " + ", ".join(["'x'"] * count * 50))


@pytest.mark.parametrize("read", [many_channels, long_query])
def test_the_time_grows_with_the_length_of_a_text(read: Callable[[int], None]) -> None:
    """Eight times as many channels, or columns of a query, take about eight times as long, and not sixty-four."""

    def seconds(count: int) -> float:
        started = time.process_time()
        read(count)
        return time.process_time() - started

    seconds(10)  # what is made once
    assert min(seconds(80) for _ in range(2)) < 24 * min(seconds(10) for _ in range(3))


def test_an_error_travels_between_processes() -> None:
    """A long text may be parsed in another process: its error arrives with its place."""
    with pytest.raises(SqlSyntaxError) as caught:
        parse("USE\n a b")
    again = pickle.loads(pickle.dumps(caught.value))
    assert (
        again.reason,
        again.near,
        again.line,
        again.column,
    ) == ("unexpected input after the end of the statement", "b", 2, 4)
    assert str(again) == "unexpected input after the end of the statement near 'b' at line 2, column 4"


def test_a_statement_travels_between_processes() -> None:
    """Statements are plain values."""
    (parsed,) = parse(job("x = 1"))
    assert parsed == pickle.loads(pickle.dumps(parsed))


def test_passwords_stay_out_of_what_is_shown() -> None:
    """Neither the repr of a statement nor its masked print tells a password; its own print keeps it."""
    (parsed,) = parse('CREATE SYNC j (FROM a.b INTO c) FROM BINLOG ("type" = "mysql", "mysql.password" = "secret")')
    assert isinstance(parsed.statement, CreateSync)
    assert "secret" not in repr(parsed.statement)
    assert "secret" not in parsed.statement.masked().sql()
    assert "secret" in parsed.statement.sql()


@pytest.mark.parametrize(
    "properties",
    ['"mysql.password" "secret"', '"mysql.password" = "a" "secret"', '"mysql.password" = x "secret"'],
)
def test_passwords_stay_out_of_errors(properties: str) -> None:
    """A forgotten sign near a password does not put it into the error."""
    with pytest.raises(SqlSyntaxError) as caught:
        parse(f"CREATE SYNC j (FROM a.b INTO c) FROM BINLOG ({properties})")
    assert caught.value.near == "******"
