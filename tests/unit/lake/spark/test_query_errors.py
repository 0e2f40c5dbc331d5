"""Spark's errors in MySQL's codes."""

import time

import pytest

from syncmgr.errors import Code
from syncmgr.lake.spark.query_errors import (
    LONGEST_HEAD,
    LONGEST_TAIL,
    condition_and_message,
    identifier,
    query_error,
    short,
)


@pytest.mark.parametrize(
    ("text", "parameters", "db", "code", "words"),
    [
        (
            "\nOperation not allowed: TABLESAMPLE(BUCKET x OUT OF y ON colname).\n== SQL (line 1, position 34) ==\n...",
            {},
            None,
            Code.QUERY_FAILED,
            "Operation not allowed: TABLESAMPLE(BUCKET x OUT OF y ON colname).",
        ),
        (
            "[TABLE_OR_VIEW_NOT_FOUND] The table `t` cannot be found. SQLSTATE: 42P01; line 1 pos 14",
            {"relationName": "`t`"},
            "demo",
            Code.NO_SUCH_TABLE,
            "Table 'demo.t' doesn't exist",
        ),
        (
            "[TABLE_OR_VIEW_NOT_FOUND] x SQLSTATE: 42P01",
            {"relationName": "`lake`.`o``dd`.`t`"},
            None,
            Code.NO_SUCH_TABLE,
            "Table 'o`dd.t' doesn't exist",
        ),
        ("[TABLE_OR_VIEW_NOT_FOUND] x SQLSTATE: 42P01", {"relationName": "`t`"}, None, Code.NO_DATABASE, "No database"),
        (
            "[UNRESOLVED_COLUMN.WITH_SUGGESTION] x SQLSTATE: 42703",
            {"objectName": "`a`.`b`"},
            None,
            Code.UNKNOWN_COLUMN,
            "Unknown column 'a.b'",
        ),
        (
            "\n[PARSE_SYNTAX_ERROR] Syntax error at or near 'FRM'. SQLSTATE: 42601 (line 2, pos 7)\n\n== SQL ==\n...",
            {"error": "'FRM'"},
            None,
            Code.SYNTAX,
            "near 'FRM' at line 2, column 8",
        ),
        (
            'Job\norg.X: [DIVIDE_BY_ZERO] Division\nby zero. If necessary set "spark.x" to y SQLSTATE: 22012\n\tat x',
            {},
            None,
            Code.DIVISION_BY_ZERO,
            "Division by zero.",
        ),
        (
            "[UNRESOLVED_ROUTINE] Cannot resolve routine `sleep` on search path [`x`] SQLSTATE: 42883",
            {"routineName": "`demo`.`sleep`"},
            None,
            Code.UNKNOWN_FUNCTION,
            "FUNCTION demo.sleep does not exist",
        ),
        (
            "[WRONG_NUM_ARGS.WITHOUT_SUGGESTION] The `abs` requires 1 parameters SQLSTATE: 42605",
            {},
            None,
            Code.WRONG_PARAMETER_COUNT,
            "The `abs` requires 1 parameters",
        ),
        (
            "[ORDER_BY_POS_OUT_OF_RANGE] ORDER BY position 9 is not in select list SQLSTATE: 42805",
            {"index": "9", "size": "1"},
            None,
            Code.UNKNOWN_COLUMN,
            "Unknown column '9' in 'order clause'",
        ),
        ("[DATATYPE_MISMATCH.X] no SQLSTATE: 42K09", {}, None, Code.QUERY_FAILED, "DATATYPE_MISMATCH.X: no"),
        ("[SPARK_JOB_CANCELLED] Job 3 cancelled SQLSTATE: XXKDA", {}, None, Code.INTERRUPTED, "interrupted"),
        (
            "[INCOMPATIBLE_TABLE_CHANGE_AFTER_ANALYSIS.COLUMNS_MISMATCH] Detected incompatible changes SQLSTATE: 51024",
            {},
            None,
            Code.TABLE_CHANGED,
            "please retry",
        ),
        ("java.lang.StackOverflowError\n\tat x", {}, None, Code.NESTED_TOO_DEEPLY, "nested too deeply"),
        ("[FAILED_TO_PARSE_TOO_COMPLEX] It x SQLSTATE: 54001", {}, None, Code.NESTED_TOO_DEEPLY, "nested too deeply"),
        (
            "Job aborted\norg.X: lost task 0.0: java.lang.OutOfMemoryError: Java heap space\n\tat x",
            {},
            None,
            Code.QUERY_TOO_BIG,
            "more memory",
        ),
        ("[UNABLE_TO_ACQUIRE_MEMORY] 65536 bytes SQLSTATE: 53200", {}, None, Code.QUERY_TOO_BIG, "more memory"),
        (
            "[CAST_INVALID_INPUT] The value 'java.lang.OutOfMemoryError' cannot be cast SQLSTATE: 22018",
            {},
            None,
            Code.WRONG_TEXT_OF_VALUE,
            "cannot be cast",
        ),
        (
            "java.lang.IllegalArgumentException: Cannot find snapshot with ID 18\n\tat x",
            {},
            None,
            Code.QUERY_FAILED,
            "the table has no snapshot 18 any more: it was created again, or its snapshots were expired",
        ),
        ("java.lang.Oops: gone\n\tat x", {}, None, Code.QUERY_FAILED, "gone"),
        (
            "org.apache.spark.SparkException: Exception in awaitResult: \njava.lang.Oops: no XML\norg.xml.sax.X: null",
            {},
            None,
            Code.QUERY_FAILED,
            "no XML",
        ),
    ],
)
def test_query_errors(text: str, parameters: dict[str, str], db: str | None, code: Code, words: str) -> None:
    """Each has MySQL's code where it has one, and never a stack."""
    error = query_error(text, parameters, db)
    assert code is error.code
    assert words in str(error)
    assert "\tat" not in str(error)
    assert ".Oops" not in str(error)


def test_the_last_condition_is_the_cause() -> None:
    """Of a chain of errors the innermost tells what happened."""
    text = "[FAILED_READ_FILE] file x SQLSTATE: KD001\nCaused by: [CAST_OVERFLOW] too big SQLSTATE: 22003"
    assert condition_and_message(text) == ("CAST_OVERFLOW", "too big")


def test_identifiers() -> None:
    """Quoted parts, with their backticks undone."""
    assert identifier("`a`.`b``c`") == ["a", "b`c"]


@pytest.mark.parametrize(
    ("uri", "shown"),
    [
        ("jdbc:postgresql://db:5/x?user=a&password=geheim", "jdbc:postgresql://db:5/x?user=a&password=********"),
        ("jdbc:mysql://a:ge#h,eim@db:3306/x?ssl=1", "jdbc:mysql://a:********@db:3306/x?ssl=1"),
        ("jdbc:mysql://a:geheim@db:3306/x?ssl=1", "jdbc:mysql://a:********@db:3306/x?ssl=1"),
        ("jdbc:sqlserver://db;sslPassword=geheim;user=a", "jdbc:sqlserver://db;sslPassword=********;user=a"),
        ("jdbc:mysql://address=(host=db)(password=geheim)/x", "jdbc:mysql://address=(host=db)(password=********"),
        ("http://catalog:8181/v1", "http://catalog:8181/v1"),
    ],
)
def test_a_password_in_a_uri_is_not_shown(uri: str, shown: str) -> None:
    """Iceberg quotes the whole URI of a catalog that it cannot reach."""
    assert short(f"Failed to connect: {uri}") == f"Failed to connect: {shown}"
    assert short(short(uri)) == short(uri)
    assert shown in str(query_error(f"org.apache.iceberg.jdbc.UncheckedSQLException: Failed: {uri}", {}, None))


@pytest.mark.parametrize(
    "part", [" ", "x", "//", "//a:", "?password", "&token=", "[A] ", "[A] x SQLSTATE", "value ", "java.", "`", "\n"]
)
def test_a_message_is_read_in_no_time(part: str) -> None:
    """Whatever a value in it is: nobody else is answered meanwhile."""
    text = f"[USER_RAISED_EXCEPTION] {part * 2_000_000} SQLSTATE: P0001"
    begun = time.process_time()
    assert query_error(text, {}, None).code is Code.QUERY_FAILED
    assert time.process_time() - begun < 2


def test_a_long_message_keeps_its_ends() -> None:
    """What it is about, and its SQLSTATE."""
    text = f"[CAST_INVALID_INPUT] {'x' * 100_000} SQLSTATE: 22018"
    assert short(text).startswith("[CAST_INVALID_INPUT] xxx")
    assert short(text).endswith("xxx SQLSTATE: 22018")
    assert len(short(text)) == LONGEST_HEAD + LONGEST_TAIL + 3
    assert condition_and_message(text)[0] == "CAST_INVALID_INPUT"
    assert short("short") == "short"
