from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mysqlddl.words import ORDINARY, Modes, UnclearError
from mysqlddl.writing import Event, stands_for_rows, written

MARIADB = Modes(mariadb=True)


@pytest.mark.parametrize(
    ("statement", "tables"),
    [
        ("INSERT INTO t (a, b) SELECT a, b FROM x.u", ["d.t"]),
        ("INSERT LOW_PRIORITY IGNORE x.t VALUES (1)", ["x.t"]),
        ("REPLACE INTO `p`.`c` (a) SELECT COUNT(*) FROM d.t", ["p.c"]),
        ("LOAD DATA LOCAL INFILE '/x' REPLACE INTO TABLE `x`.`t` FIELDS TERMINATED BY ',' (a, @b)", ["x.t"]),
        ("UPDATE t SET a = (SELECT MAX(a) FROM u)", ["d.t"]),
        ("UPDATE t AS one JOIN x.u two ON one.a = two.a SET two.b = 1 WHERE one.c = 3", ["x.u"]),
        ("UPDATE t, x.u SET b = 1", ["d.t", "x.u"]),
        ("UPDATE (t JOIN x.u ON t.a = u.a) LEFT JOIN (SELECT 1) AS v ON 1 SET t.a = 1, x.u.b = 2", ["d.t", "x.u"]),
        ("DELETE FROM x.t WHERE a IN (SELECT a FROM u)", ["x.t"]),
        ("DELETE a FROM t AS a JOIN x.u WHERE 1", ["d.t"]),
        ("DELETE FROM a, x.u.* USING t AS a JOIN x.u WHERE 1", ["d.t", "x.u"]),
        ("WITH c (n) AS (SELECT 1) UPDATE t JOIN c SET t.a = c.n", ["d.t"]),
        ("SELECT COUNT(*) FROM t", []),
        ("SET STATEMENT max_statement_time = 4 FOR INSERT INTO t VALUES (1)", ["d.t"]),
        ("ANALYZE FORMAT = JSON UPDATE t SET a = 1", ["d.t"]),
    ],
)
def test_what_a_statement_writes(statement: str, tables: list[str]) -> None:
    """Its targets, by whatever alias, and nothing that it only reads."""
    assert stands_for_rows(statement, MARIADB)
    assert [".".join(table) for table in written(statement, "d", MARIADB).events] == tables


@pytest.mark.parametrize(
    ("statement", "events"),
    [
        ("INSERT INTO t SELECT REPLACE(a, 'x', 'y') FROM u", "INSERT"),
        ("INSERT INTO t VALUES (1) ON DUPLICATE KEY UPDATE a = 1", "INSERT UPDATE"),
        ("REPLACE t VALUES (1)", "INSERT DELETE"),
        ("LOAD DATA LOCAL INFILE 'REPLACE' INTO TABLE t", "INSERT"),
        ("LOAD XML INFILE 'x' REPLACE INTO TABLE t", "INSERT DELETE"),
        ("UPDATE t SET a = 1", "UPDATE"),
        ("UPDATE t FOR PORTION OF p FROM '2026-01-01' TO '2026-02-01' SET a = 1", "INSERT UPDATE DELETE"),
        ("WITH c AS (SELECT 1) DELETE FROM t", "DELETE"),
    ],
)
def test_what_a_statement_does_to_rows(statement: str, events: str) -> None:
    """By its verb, and what its words let it do besides."""
    assert written(statement, "d", MARIADB).events == {("d", "t"): frozenset(map(Event, events.split()))}


@pytest.mark.parametrize(
    ("statement", "calls"),
    [
        ("INSERT INTO f (a) VALUES (CONCAT('x', CAST(NOW() AS CHAR(9))))", []),
        ("INSERT INTO t SELECT f(a) FROM u", ["d.f"]),
        ("DO x.count(1)", ["x.count"]),
        ("SELECT `x`.`f`()", ["x.f"]),
        ("SELECT COUNT (1)", ["d.COUNT"]),
        ("INSERT INTO t VALUES (nextval('o'), NVL2(1, 2, 3), sha2('x', 256))", ["d.nextval", "d.NVL2"]),
        ("WITH f AS (SELECT 1 x) SELECT x, f(x) FROM f", ["d.f"]),
        ("UPDATE t SET a = INSERT('a', 1, 1, 'b'), b = `lower`('A')", ["d.lower"]),
        ("WITH c (n) AS (SELECT 1) UPDATE t JOIN c SET t.a = c.n", []),
        ("INSERT INTO t VALUES (1) AS new (a) ON DUPLICATE KEY UPDATE b = new.a", []),
    ],
)
def test_what_a_statement_calls(statement: str, calls: list[str]) -> None:
    """Whatever is not surely a function of the server itself."""
    assert [".".join(name) for name in written(statement, "d", ORDINARY).calls] == calls


@pytest.mark.parametrize(
    ("statement", "names"),
    [
        ("INSERT INTO t SELECT a, b FROM x.u, v AS w WHERE EXISTS (SELECT 1 FROM `y`)", ["d.v", "d.y", "x.u"]),
        ("INSERT INTO t SELECT TRIM('x' FROM a), EXTRACT(DAY FROM b) FROM u", ["d.u"]),
        ("INSERT INTO t SELECT a FROM u ON DUPLICATE KEY UPDATE a = 1, b = 2", ["d.u"]),
        ("INSERT INTO t SELECT a FROM u GROUP BY a, b HAVING c > 1 ORDER BY d, e LIMIT 1, 2", ["d.u"]),
        ("INSERT INTO t SELECT 1 FROM DUAL UNION SELECT a, b FROM u FORCE INDEX (p) JOIN v USING (q)", ["d.u", "d.v"]),
        ("UPDATE t, (u LEFT JOIN v ON u.a = v.a AND u.b IN (1, 2)) SET t.a = 1, b = 2", ["d.t", "d.u", "d.v"]),
        ("DELETE FROM a USING t AS a JOIN x.u", ["d.t", "x.u"]),
        ("DELETE FROM t WHERE a = (SELECT b FROM u)", ["d.u"]),
        ("WITH c AS (SELECT * FROM u), e (n) AS (SELECT 1) INSERT INTO t SELECT * FROM c, e", ["d.c", "d.e", "d.u"]),
        ("INSERT INTO t SELECT * FROM (SELECT * FROM u) x JOIN JSON_TABLE(a, '$' COLUMNS (b INT PATH '$')) j", ["d.u"]),
        ("INSERT INTO t TABLE u", ["d.u"]),
        ("INSERT INTO t WITH v AS (SELECT * FROM v) SELECT x FROM v", ["d.v"]),
        ("INSERT INTO t SELECT 1 FROM u duplicate, v", ["d.u", "d.v"]),
        (
            "INSERT INTO t SELECT 1 FROM u USE INDEX FOR ORDER BY (k) JOIN v ON u.limit = 1 JOIN w",
            ["d.u", "d.v", "d.w"],
        ),
        ("INSERT INTO t SELECT 1 FROM `dual`, DUAL", ["d.dual"]),
        ("INSERT INTO mid (SELECT x FROM v)", ["d.v"]),
        ("LOAD DATA INFILE 'x' INTO TABLE t (a, b)", []),
        ("INSERT INTO t SELECT f.a FROM u FOR SYSTEM_TIME AS OF TIMESTAMP '2026-01-01' JOIN v", ["d.u", "d.v"]),
    ],
)
def test_what_a_statement_names(statement: str, names: list[str]) -> None:
    """Tables and views that it reads, in every subquery, by their own names, and nothing that is a column or alias."""
    assert sorted(".".join(table) for table in written(statement, "d", MARIADB).names) == names


@pytest.mark.parametrize(
    "statement",
    [
        *("CALL p()", "UPDATE t SET", "DELETE z FROM t JOIN u", "UPDATE { OJ t LEFT JOIN u ON 1 } SET a = 1"),
        *("INSERT 'x", "/*!*/ INSERT 'x", "/*M!100100 INSERT 'x", "/**/(/*! INSERT */ 'x"),
    ],
)
def test_what_cannot_be_read_is_not_guessed(statement: str) -> None:
    """It counts as a change of rows, and says that it is not clear."""
    assert stands_for_rows(statement, ORDINARY)
    with pytest.raises(UnclearError):
        written(statement, "d", ORDINARY)


@pytest.mark.parametrize(
    "statement",
    [
        *("ALTER TABLE t ADD a INT", "ANALYZE TABLE t", "SET PASSWORD = 'x'", "", "'"),
        "/**/" * 1_000 + "'",  # in as many ways to part it as there are comments it would never end
    ],
)
def test_what_stands_for_no_rows(statement: str) -> None:
    """DDL and maintenance are judged elsewhere."""
    assert not stands_for_rows(statement, MARIADB)


def test_without_brackets_in_sql_mode_oracle() -> None:
    """There a bare name may be a call, so nothing is certain."""
    with pytest.raises(UnclearError):
        written("INSERT INTO t SELECT f FROM DUAL", "d", Modes(mariadb=True, oracle=True))


@given(st.sampled_from(["", "UPDATE ", "DELETE FROM ", "INSERT INTO t ", "WITH "]), st.text())
def test_no_text_breaks_it(begin: str, text: str) -> None:
    """Whatever stands in a binlog is read, or is not clear."""
    stands_for_rows(begin + text, ORDINARY)
    with suppress(UnclearError):
        written(begin + text, "d", ORDINARY)
