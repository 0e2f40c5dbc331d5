"""SELECT in MySQL's words, as the text that Spark is given. That it means the same, the corpus shows on servers."""

import pytest

from mysqlselect import (
    Kind,
    NotSupportedRefusal,
    ParameterCountRefusal,
    Refusal,
    Shape,
    Translation,
    Type,
    UnfinishedRefusal,
    UnknownFunctionRefusal,
    WrongValueRefusal,
    translate,
)

COLUMNS = (
    ("id", Type(Kind.INT, 10)),
    ("name", Type(Kind.TEXT)),
    ("price", Type(Kind.DECIMAL, 10, 2)),
    ("day", Type(Kind.DATE)),
    ("at", Type(Kind.DATETIME)),
)


def columns_of(_db: str | None, table: str) -> Shape | None:
    return COLUMNS if table == "t" else None


def translated(sql: str) -> Translation:
    found = translate(sql, columns_of, lambda node: {"x": 5, "DATABASE": "shop"}.get(node.name))
    assert found is not None, sql
    return found


@pytest.mark.parametrize(
    ("mysql", "spark"),
    [
        ("id = '5'", "(`id` = 5)"),
        ("day >= '2024-1-5'", "(`day` >= DATE'2024-01-05')"),
        ("name LIKE 'a\\_%' OR NOT id", "((`name` LIKE 'a\\\\_%') OR (NOT (`id` <> 0)))"),
        ("name NOT LIKE 'x'", "(`name` NOT LIKE 'x')"),
        ("id DIV 2", "((`id` DIV nullif(2, 0)) <> 0)"),
        ("id <=> @x", "(`id` <=> 5)"),
        ("name = DATABASE()", "(`name` = 'shop')"),
        ("id IN (1, '2', 3)", "(`id` IN (1, 2, 3))"),
    ],
)
def test_conditions(mysql: str, spark: str) -> None:
    """A comparison is of the type in which MySQL compares."""
    assert translated(f"SELECT id FROM t WHERE {mysql}").sql == f"SELECT `id` FROM `t` WHERE {spark}"


def test_a_quotient_has_the_digits_of_mysql() -> None:
    """Four more than the dividend; by zero it is NULL."""
    assert translated("SELECT price / id FROM t").sql == (
        "SELECT CAST(try_divide(CAST(`price` AS DECIMAL(10,2)), CAST(`id` AS DECIMAL(10,0))) AS DECIMAL(14,6)) FROM `t`"
    )


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("SELECT COUNT(*),  price *  2, name n, 'text', t.ID FROM t", ("COUNT(*)", "price *  2", "n", "text", "ID")),
        ("SELECT SQL_NO_CACHE DISTINCT id+1 FROM t", ("id+1",)),
        ("SELECT *, id + 1 FROM t", ("id", "name", "price", "day", "at", "id + 1")),
        ("WITH q AS (SELECT 1 AS a) SELECT a + 1 FROM q", ("a + 1",)),
        ("(SELECT id-1 FROM t) UNION SELECT 2", ("id-1",)),
        ("SELECT (SELECT max(id) FROM t) FROM t LIMIT 1, 2", ("(SELECT max(id) FROM t)",)),
        ("SELECT /*+ MAX_EXECUTION_TIME(1000) */ count(*) FROM t", ("count(*)",)),
        ("SELECT * FROM unknown", ()),
        ("SELECT * FROM t FOR VERSION AS OF 5", ()),
    ],
)
def test_headers_are_the_text_as_typed(sql: str, names: tuple[str, ...]) -> None:
    """As MySQL has them; none where only Spark knows the columns."""
    assert translated(sql).names == names


@pytest.mark.parametrize(
    ("item", "refusal"),
    [
        ("SOUNDEX(name)", UnknownFunctionRefusal),
        ("LEFT(name)", ParameterCountRefusal),
        ("@a := id", NotSupportedRefusal),
        ("id << 2", NotSupportedRefusal),
        ("day = 'never'", WrongValueRefusal),
        ("name REGEXP '[[:alpha:]]'", NotSupportedRefusal),
        ("name REGEXP name", NotSupportedRefusal),
        ("name->'$[0].a'", NotSupportedRefusal),
        ("name = 'a' COLLATE utf8mb4_0900_ai_ci", NotSupportedRefusal),
        ("DATE_FORMAT(at, name)", NotSupportedRefusal),
        ("SUBSTRING( FROM 4)", NotSupportedRefusal),
        ("GROUP_CONCAT(id, ':',  ORDER BY id)", NotSupportedRefusal),
    ],
)
def test_what_has_no_equal_is_refused(item: str, refusal: type[Refusal]) -> None:
    """It never gives something else."""
    with pytest.raises(refusal):
        translated(f"SELECT {item} FROM t")


@pytest.mark.parametrize("end", ["WHERE", "WHERE id > 1 AND", "ORDER BY", "JOIN"])
def test_a_text_that_ends_too_early(end: str) -> None:
    """Spark would take WHERE for an alias of the table, and return all rows."""
    with pytest.raises(UnfinishedRefusal):
        translated(f"SELECT id FROM t {end}")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a[0] FROM t",
        "SELECT transform(a, x -> x + 1) FROM t",
        "SELECT * FROM t LATERAL VIEW explode(a) x",
        "SELECT count(*) FILTER (WHERE id > 1) FROM t",
        "VALUES (1)",
        "SELECT id FROM t ORDER BY ALL",
        "SELECT max_by(name, id) FROM t",
    ],
)
def test_what_is_not_mysql_is_left_to_spark(sql: str) -> None:
    """As typed."""
    assert translate(sql, columns_of, lambda _: None) is None


def test_functions_that_mysql_has_not_are_those_of_spark() -> None:
    """Also among functions of MySQL."""
    assert translated("SELECT date_trunc('month', at), id DIV 2 FROM t").sql == (
        "SELECT DATE_TRUNC('month', `at`), (`id` DIV nullif(2, 0)) FROM `t`"
    )
