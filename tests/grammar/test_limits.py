import pickle
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncsql import CreateSync, NestedTooDeeplyError, Select, Set, SqlSyntaxError, TooLargeError, parse
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


DEEP_QUERIES = {
    "brackets": "SELECT " + "(" * 200_000 + "1" + ")" * 200_000,
    "subqueries": "SELECT * FROM (" * 200 + "t" + ") x" * 200,
    "cases": "SELECT " + "CASE WHEN x THEN " * 200 + "1" + " END" * 200,
    "nots": "SELECT " + "NOT " * 5_000 + "x",
    "signs": "SELECT " + "- " * 5_000 + "x",
    "sum": "SELECT " + "+".join(["x"] * 5_000),
    "unions": " UNION ALL ".join(["SELECT 1, 2"] * 1_000),
    "joins": "SELECT * FROM t" + ", u JOIN v" * 1_000,
    "types": "SELECT CAST(x AS " + "ARRAY<" * 500 + "INT" + ">" * 500 + ")",
    "a hint": "SELECT /*+ " + "(" * 500 + " */ 1",
    "behind a raw string": r"SELECT r'\' " + "(" * 500 + " ' FROM t",
    "in a conditional comment": "SELECT /*!40101 " + "(" * 500 + "1" + ")" * 500 + " */",
    "behind another": "SELECT 1; SELECT " + "(" * 500 + "1" + ")" * 500,
}


@pytest.mark.parametrize("text", DEEP_QUERIES.values(), ids=DEEP_QUERIES.keys())
def test_deep_queries_are_refused(text: str) -> None:
    """Whatever Spark would descend into, before Spark sees it: with its place, its limit and what to do, at once."""
    begun = time.process_time()
    with pytest.raises(NestedTooDeeplyError, match=r"more than \d+ .*; write it flatter"):
        parse(text)
    assert time.process_time() - begun < 1


FLAT_QUERIES = [
    f"SELECT * FROM t WHERE id IN ({', '.join(map(str, range(100_000, 115_000)))}) AND x = 1",
    f"SELECT * FROM t WHERE {' OR '.join(f'id = {n}' for n in range(5_000))}",
    f"SELECT CASE {' '.join(f'WHEN x = {n} THEN {n}' for n in range(3_000))} END",
    f"SELECT {', '.join(f't.column_{n} AS c{n}' for n in range(5_000))} FROM t",
    f"SELECT '{'(' * 5_000}' FROM t -- {'(' * 5_000}",
    f"VALUES {','.join(map(str, range(1_000)))}",
    "SELECT " + "(" * 60 + "1" + ")" * 60,
]


@pytest.mark.parametrize("text", FLAT_QUERIES, ids=lambda text: text[:20])
def test_long_queries_are_read(text: str) -> None:
    """Length alone is no depth: a query comes out as it was typed, its long lists too."""
    (parsed,) = parse(text + ";")
    assert parsed.statement == Select(text=text.partition(" -- ")[0])


def test_a_list_behind_a_query_stays() -> None:
    """Numbers are passed over where the text is one query alone, not in what is ours to read."""
    many = ", ".join(map(str, range(200)))
    _, job_parsed = parse(f"SELECT 1; {job(f'x IN ({many})')}")
    assert isinstance(job_parsed.statement, CreateSync)
    assert many in job_parsed.statement.sql()


def test_tokens_are_counted_before_they_are_made() -> None:
    """Of a text of 5 MB nothing is built before its end is known to be too far."""
    text = "SELECT * FROM t WHERE id IN (" + ",".join(map(str, range(700_000))) + ")"
    tracemalloc.start()
    try:
        with pytest.raises(TooLargeError, match="more than 200000 words, signs and values"):
            parse(text)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


@given(values=st.lists(st.integers(0, 999), min_size=40, max_size=200), spaces=st.sampled_from(["", " ", "\n "]))
def test_no_list_changes_a_query(values: list[int], spaces: str) -> None:
    """Where a list of numbers begins and ends in a query, the text that Spark gets is the one that was typed."""
    text = f"SELECT x FROM t WHERE a IN ({f',{spaces}'.join(map(str, values))}{spaces})"
    assert [each.text for each in parse(text)] == [text]


LONG_TEXTS = {
    "escapes": "SET @v = '" + r"\n" * 1_500_000 + "'",
    "doubled quotes": "SET @v = '" + "''" * 1_500_000 + "'",
    "one escape": r"SET @v = '\n" + "x" * 3_000_000 + "'",
    "lines": "SET @v = ''" + "\n" * 3_000_000,
    "blanks": "SET @v = ''" + " " * 3_000_000,
    "a comment": "SET @v = '' /*" + "x " * 1_500_000 + "*/",
    "a line of comment": "SET @v = '' # " + "x " * 1_500_000,
}


@pytest.mark.parametrize("text", LONG_TEXTS.values(), ids=LONG_TEXTS.keys())
def test_long_literals_are_read_at_once(text: str) -> None:
    """Whatever 3 MB of one literal, of blanks or of a comment hold: each keeps the process that commits from its work,
    and sqlglot alone would take up to 25 times as long for it as we do.
    """
    plain = "SET @v = '" + "x" * 3_000_000 + "'"

    def seconds(text: str) -> float:
        begun = time.process_time()
        parse(text)
        return time.process_time() - begun

    assert min(seconds(text) for _ in range(3)) < 12 * max(0.02, min(seconds(plain) for _ in range(3)))


def test_comments_count_as_words() -> None:
    """What is nothing has to be read, too."""
    with pytest.raises(TooLargeError):
        parse("SET @v = 1" + "/**/" * 200_000)


@given(
    quote=st.sampled_from("'\""),
    pieces=st.lists(st.sampled_from([*"nbZ0%_xa' \"\n", "''", '""', "é", *(f"\\{c}" for c in "nbZ0%_xa'\"\\\n")])),
)
def test_a_long_literal_means_what_a_short_one_does(quote: str, pieces: list[str]) -> None:
    """Whatever escapes are in it, in either quotes."""
    inner = "".join(piece for piece in pieces if piece != quote)
    short, long = (
        parse(f"SET @v = {quote}{inner}{'x' * padding}{quote}, @w = 'after'")[0].statement for padding in (0, 2_000)
    )
    assert isinstance(short, Set)
    assert isinstance(long, Set)
    values = [(item.value.text, item.value.kind) for item in short.items]
    assert [(item.value.text.replace("x" * 2_000, ""), item.value.kind) for item in long.items] == values


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


@pytest.mark.parametrize(
    "text",
    ["/*!" * 60_000 + "*/ 1", "/*!50000" * 30_000 + "1*/", "/*! '" + "\\'" * 60_000 + "*/ 1"],
    ids=["comments", "versions", "quotes"],
)
def test_what_a_conditional_comment_begins_is_searched_once(text: str) -> None:
    """For its end, which may be that of the comment around it: each search would hold the whole interpreter."""
    begun = time.process_time()
    with pytest.raises(SqlSyntaxError, match="unterminated"):
        parse(f"SELECT {text}")
    assert time.process_time() - begun < 5


@pytest.mark.parametrize("show", ["SHOW DATABASES", "SHOW SYNC JOB", "SHOW VARIABLES", "SHOW COLUMNS FROM t"])
def test_a_filter_of_show_counts_its_values(show: str) -> None:
    """Every account may send one, and each value takes a hundred times its size while it is parsed, again and again."""
    few = ", ".join("1" * (LONGEST // 2 - 5))
    assert parse(f"{show} WHERE a IN ({few})")
    with pytest.raises(NestedTooDeeplyError, match="too long"):
        parse(f"{show} WHERE a IN ({few}, 1, 1, 1, 1, 1, 1)")
