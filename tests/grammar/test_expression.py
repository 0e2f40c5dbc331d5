import pytest

from syncsql import Expression, ShowDatabases, SqlSyntaxError, parse

BITS = "bit operators give unsigned numbers in MySQL alone; only & with a number has an equal in Spark"
FORMATS = "only the formats %Y %y %m %c %d %e %H %i %s and signs between them are known in Spark"
NINES = "9" * 5000  # more than Python takes for an integer
POSITION = "SUBSTRING needs a number above 0 as its position in Spark; LEFT, RIGHT and SUBSTRING_INDEX have none"


def expression(text: str) -> Expression:
    (parsed,) = parse(f"SHOW DATABASES WHERE {text}")
    assert isinstance(parsed.statement, ShowDatabases)
    where = parsed.statement.filter.where
    assert where is not None
    return where


@pytest.mark.parametrize(
    ("mysql", "spark"),
    [
        ('a > 5 AND b = "it\'s"', "`a` > 5 AND `b` = 'it\\'s'"),
        ("`a b` IS NULL", "`a b` IS NULL"),
        ("a || b", "`a` OR `b`"),
        ("a <=> b", "`a` IS NOT DISTINCT FROM `b`"),
        ("a LIKE '5\\%'", "`a` LIKE '5\\\\%'"),
        ("a REGEXP '^x'", "`a` RLIKE '^x'"),
        ("ifnull(a, 0)", "COALESCE(`a`, 0)"),
        ("if(a, b, c)", "IF(`a`, `b`, `c`)"),
        ("CASE a WHEN 1 THEN 'x' ELSE 'y' END", "CASE `a` WHEN 1 THEN 'x' ELSE 'y' END"),
        ("concat(a, '-', b)", "CONCAT(`a`, '-', `b`)"),
        ("char_length(a)", "LENGTH(`a`)"),
        ("length(a)", "OCTET_LENGTH(`a`)"),
        ("a / b", "`a` / NULLIF(`b`, 0)"),
        ("a / 2", "`a` / 2"),
        ("a / 0", "`a` / NULLIF(0, 0)"),
        ("a DIV b", "`a` DIV NULLIF(`b`, 0)"),
        ("a % b", "`a` % NULLIF(`b`, 0)"),
        ("a / (b - c)", "`a` / NULLIF((`b` - `c`), 0)"),
        ("CAST(a AS CHAR)", "CAST(`a` AS STRING)"),
        ("CAST(a AS CHAR(5))", "LEFT(CAST(`a` AS STRING), 5)"),
        ("CAST(a AS DECIMAL(10, 2))", "CAST(`a` AS DECIMAL(10, 2))"),
        ("CAST(a AS DATETIME)", "CAST(`a` AS TIMESTAMP_NTZ)"),
        ("CAST(CAST(a AS CHAR(5)) AS DATE)", "CAST(LEFT(CAST(`a` AS STRING), 5) AS DATE)"),
        ("DATE '2020-01-01'", "CAST('2020-01-01' AS DATE)"),
        ("date_add(a, INTERVAL 1 HOUR)", "(`a` + INTERVAL '1' HOUR)"),
        ("date_sub(a, INTERVAL 2 DAY)", "(`a` - INTERVAL '2' DAY)"),
        ("a + INTERVAL 1 DAY", "`a` + INTERVAL '1' DAY"),
        ("date_format(a, '%Y-%m')", "DATE_FORMAT(CAST(`a` AS TIMESTAMP), 'yyyy-MM')"),
        ("doc->>'$.a'", "GET_JSON_OBJECT(`doc`, '$.a')"),
        ("flags & 4", "`flags` & 4"),
        ("substring(a, 2, 3)", "SUBSTRING(`a`, 2, 3)"),
        (f"substring(a, {NINES})", f"SUBSTRING(`a`, {NINES})"),
        ("greatest(a, b)", "IF(`a` IS NULL OR `b` IS NULL, NULL, GREATEST(`a`, `b`))"),
        ("sqrt(a)", "IF(`a` < 0, NULL, SQRT(`a`))"),
        ("round(a, 1)", "IF(TYPEOF(`a`) IN ('double', 'float'), BROUND(`a`, 1), ROUND(`a`, 1))"),
        ("my_function(a)", "MY_FUNCTION(`a`)"),
    ],
)
def test_an_expression_is_said_in_sparks_words(mysql: str, spark: str) -> None:
    """What means the same in Spark is translated, and what only looks the same is said differently."""
    assert spark == expression(mysql).spark()


@pytest.mark.parametrize("call", ["PARSE_JSON(a)", "TO_NUMBER(a, '9')", "TO_CHAR(a, 'x')", "DATE_TRUNC('HOUR', a)"])
def test_a_function_that_mysql_does_not_have_is_not_exchanged(call: str) -> None:
    """Its name in another dialect is known to the parser, which would write the nearest thing of MySQL."""
    with pytest.raises(SqlSyntaxError, match="is no function of MySQL's"):
        expression(f"b = {call}")


@pytest.mark.parametrize(
    ("mysql", "reason", "near"),
    [
        ("a = (b XOR c)", "XOR has no equal in Spark; write (a AND NOT b) OR (b AND NOT a)", "`b` XOR `c`"),
        (
            "doc->'$.a'",
            "-> and JSON_EXTRACT give quoted JSON, which Spark has not; use ->>",
            "JSON_EXTRACT(`doc`, '$.a')",
        ),
        ("a COLLATE utf8mb4_bin = 'x'", "COLLATE has no equal in Spark", "`a` COLLATE utf8mb4_bin"),
        ("CAST(a AS UNSIGNED)", "a CAST to this type has no equal in Spark", "CAST(`a` AS UNSIGNED)"),
        ("CAST(a AS TIME)", "a CAST to this type has no equal in Spark", "CAST(`a` AS TIME)"),
        ("CAST(a AS BINARY(5))", "CAST AS BINARY(n) has no equal in Spark", "CAST(`a` AS BINARY(5))"),
        ("a = (b | 4)", BITS, "`b` | 4"),
        ("a = (b & c)", BITS, "`b` & `c`"),
        ("a = b'101'", "a bit literal is bytes in MySQL and a number in Spark; write the number", "b'101'"),
        ("unix_timestamp(a) > 5", "UNIX_TIMESTAMP means something else in Spark", "UNIX_TIMESTAMP(`a`)"),
        ("date_format(a, '%W') = b", FORMATS, "DATE_FORMAT(`a`, '%W')"),
        ("substring(a, -2) = b", POSITION, "SUBSTRING(`a`, -2)"),
        ("substring(a, 00) = b", POSITION, "SUBSTRING(`a`, 00)"),
        ("to_days(a) > 5", "the years before 1000 are counted differently in Spark", "DATEDIFF(`a`, '0000-01-01')"),
        ("soundex(a)", "SOUNDEX has no known equal in Spark", "SOUNDEX(`a`)"),
        ("MATCH(a) AGAINST ('x')", "MATCH AGAINST has no equal in Spark", "MATCH(`a`) AGAINST('x')"),
    ],
)
def test_what_spark_cannot_say_is_refused(mysql: str, reason: str, near: str) -> None:
    """An expression without an equal in Spark is refused at its place, never translated by its looks."""
    with pytest.raises(SqlSyntaxError) as caught:
        expression(mysql).spark()
    assert reason == caught.value.reason
    assert near == caught.value.near
    assert (caught.value.line, caught.value.column) == (1, 22)


def test_an_expression_names_its_columns() -> None:
    """Every column that an expression reads is named once, in the order of appearance."""
    assert expression("b + a > if(b, `c d`, 5)").columns() == ("b", "a", "c d")


def test_an_expression_is_equal_by_its_meaning_not_its_text() -> None:
    """Blanks, case of keywords and quoting of names make no other expression; the typed text is kept beside."""
    left, right = expression("a>5   and B"), expression("`a` > 5 AND B")
    assert left == right
    assert (left.text, right.text) == ("a>5   and B", "`a` > 5 AND B")


def test_a_condition_of_show_is_said_for_sqlite() -> None:
    """SHOW filters its rows on SQLite, with SQLite's quotes."""
    assert expression("State = 'it\\'s' AND Msg IS NOT NULL").sqlite() == "\"State\" = 'it''s' AND NOT \"Msg\" IS NULL"
