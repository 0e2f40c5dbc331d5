from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncmgr.job.objects import invalidation
from syncmgr.job.objects.invalidation import Late, after
from syncmgr.job.objects.reach import reach
from syncmgr.job.objects.surroundings import FRESH, Answers, BaseTable, Fact, Gone, Hidden, Known, Unasked, told
from syncmgr.job.statement.words import ORDINARY, Modes

ASKED = 100
OBJECTS = (("d", "o"), ("e", "o"), ("d", "w"))
EVERY = told(
    Known(),
    Answers(
        at=ASKED,
        account="",
        shapes=dict.fromkeys(OBJECTS, BaseTable()),
        triggers=dict.fromkeys(OBJECTS, ()),
    ),
)
TAKES_AWAY = [
    ("DROP TRIGGER r", ["d.o", "d.w"]),
    ("DROP TRIGGER IF EXISTS e.r", ["d.o", "d.w", "e.o"]),
    ("DROP VIEW w", ["d.w"]),
    ("ALTER ALGORITHM=MERGE DEFINER=`a`@`%` VIEW w AS SELECT 1", ["d.w"]),
    ("CREATE OR REPLACE VIEW w AS SELECT 1", ["d.w"]),
    ("DROP TABLE IF EXISTS `o`", ["d.o", "e.o"]),
    ("RENAME TABLE o TO p, q TO o", ["d.o", "e.o"]),
    ("ALTER TABLE w RENAME TO x", ["d.w"]),
    ("ALTER TABLE w DROP FOREIGN KEY f", ["d.w"]),
    ("DROP DATABASE e", ["d.o", "d.w", "e.o"]),
    ("DROP TABLE 'x", ["d.o", "d.w", "e.o"]),
]


@pytest.mark.parametrize(("statement", "tables"), TAKES_AWAY)
def test_what_was_asked_too_late(statement: str, tables: list[str]) -> None:
    """What the server had run when it was asked, and may have ended a way: what was judged before is not certain."""
    for at in (ASKED - 1, ASKED):
        found = after(EVERY, statement, "d", ORDINARY, at=at)
        assert isinstance(found, Late)
        assert sorted(".".join(table) for table in found.tables) == tables


@pytest.mark.parametrize(("statement", "tables"), TAKES_AWAY)
def test_what_came_after_the_answer_ends_it(statement: str, tables: list[str]) -> None:
    """It is asked anew, if ever."""
    found = after(EVERY, statement, "d", ORDINARY, at=ASKED + 1)
    assert isinstance(found, Known)
    assert {".".join(table) for table in OBJECTS} - {".".join(table) for table in found.facts} <= {*tables}
    assert all(found.facts.get(table) != EVERY.facts[table] for table in OBJECTS if ".".join(table) in tables)


def test_functions_end_as_tables_do() -> None:
    """By statements about functions alone, since a table may have the name of one; a database takes all with it."""
    answers = Answers(at=ASKED, account="", shapes={}, triggers={}, functions={("d", "f"): Hidden()})
    known = told(Known(), answers)
    for statement in ("DROP FUNCTION f", "CREATE OR REPLACE FUNCTION d.F() RETURNS INT RETURN 1", "DROP DATABASE d"):
        assert after(known, statement, "d", ORDINARY, at=ASKED) == Late(tables=(("d", "f"),))
        assert after(known, statement, "d", ORDINARY, at=ASKED + 1) == Known()
    for statement in ("DROP FUNCTION other", "DROP VIEW f", "DROP TRIGGER f", "DROP PROCEDURE f"):
        assert after(known, statement, "d", ORDINARY, at=ASKED) == known
    made = "CREATE DEFINER=`a`@`%` FUNCTION f() RETURNS INT RETURN 1"
    assert after(known, made, "d", ORDINARY, at=ASKED + 1) == Known()
    assert after(known, "CREATE TABLE f (a INT)", "d", ORDINARY, at=ASKED) == known


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE o ADD a INT, DROP COLUMN b, RENAME COLUMN c TO d",
        "CREATE INDEX o ON o (a)",
        "CREATE PROCEDURE o() DROP TABLE o",
        "DROP FUNCTION o",
        "CREATE TEMPORARY TABLE o (a INT)",
        "DROP TEMPORARY TABLE IF EXISTS o",
        "TRUNCATE o",
        "GRANT SELECT ON d.o TO r",
        "SET PASSWORD = 'o'",
        "DROP VIEW other",
    ],
)
def test_what_leads_where_it_led(statement: str) -> None:
    """Columns, routines, users and tables of one session change nothing of what is known."""
    found = after(EVERY, statement, "d", ORDINARY, at=ASKED)
    assert isinstance(found, Known)
    assert found.facts == EVERY.facts


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER r AFTER INSERT ON d.o FOR EACH ROW SET @a = 1",
        "ALTER TABLE o ADD FOREIGN KEY (a) REFERENCES p (a)",
        "CREATE TABLE o (a INT REFERENCES p (a))",
        "CREATE VIEW o AS SELECT 1",
        "SET STATEMENT max_statement_time = 1 FOR CREATE TABLE IF NOT EXISTS o (a INT)",
    ],
)
def test_a_way_that_is_made_ends_what_was_known(statement: str) -> None:
    """And nothing that was judged before is wrong."""
    for at in (ASKED, ASKED + 1):
        found = after(EVERY, statement, "d", Modes(mariadb=True), at=at)
        assert isinstance(found, Known)
        assert found.facts.get(("d", "o"), Fact()).shape in {None, FRESH.shape}
        assert isinstance(reach("INSERT INTO o SELECT 1", "d", ORDINARY, [("d", "t")], found), Unasked | None)


@pytest.mark.parametrize("made", ["TRIGGER r AFTER INSERT ON w FOR EACH ROW SET @a = 1", "VIEW x AS SELECT * FROM o"])
def test_a_way_that_is_made_hides_none_that_is_taken_away(made: str) -> None:
    """The answer came after both, and what was judged by it stays uncertain, though it is asked anew."""
    found = after(EVERY, f"CREATE {made}", "d", ORDINARY, at=ASKED - 2)
    assert isinstance(found, Known)
    assert found.facts[("d", "o")] == Fact(asked_at=ASKED)
    late = after(found, "DROP TRIGGER s", "d", ORDINARY, at=ASKED - 1)
    assert isinstance(late, Late)
    assert ("d", "o") in late.tables


@pytest.mark.parametrize(
    ("statements", "fresh"),
    [
        (["CREATE TABLE s (a INT)"], True),
        (["CREATE TABLE s LIKE o"], True),
        (["CREATE TABLE IF NOT EXISTS s (a INT)"], False),
        (["DROP TABLE s", "CREATE TABLE IF NOT EXISTS s (a INT)"], True),
        (["DROP TABLE IF EXISTS s"], False),
        (["DROP TABLE IF EXISTS s", "CREATE TABLE s SELECT 1"], True),
        (["CREATE TABLE s (a INT)", "CREATE TRIGGER r AFTER INSERT ON s FOR EACH ROW SET @a = 1"], False),
        (["CREATE TABLE s (a INT)", "DROP TABLE s", "CREATE VIEW s AS SELECT * FROM t"], False),
        (["CREATE TABLE s (a INT)", "ALTER TABLE s ADD b INT"], True),
        (["CREATE TEMPORARY TABLE s (a INT)", "DROP TABLE s"], False),
    ],
)
def test_a_table_that_the_stream_makes_is_known(statements: list[str], *, fresh: bool) -> None:
    """It leads nowhere until the stream says more, so that a table that is gone by now is not asked."""
    known = Known()
    for statement in statements:
        found = after(known, statement, "d", ORDINARY, at=1)
        assert isinstance(found, Known)
        known = found
    assert (known.facts.get(("d", "s")) == FRESH) is fresh
    passed = reach("INSERT INTO s VALUES (1)", "d", ORDINARY, [("d", "t")], known)
    assert passed is None if fresh else isinstance(passed, Unasked)


def test_a_temporary_table_is_its_sessions_own() -> None:
    """That nobody else sees it says nothing; of another session's statement it does."""
    made = after(Known(), "CREATE TEMPORARY TABLE s (a INT)", "d", ORDINARY, at=1, thread=5)
    assert isinstance(made, Known)
    gone = Answers(at=9, account="", shapes={("d", "s"): Gone()}, triggers={("d", "s"): ()})
    made = told(made, gone)
    insert = "INSERT INTO s VALUES (1)"
    assert reach(insert, "d", ORDINARY, [("d", "t")], made, thread=5) is None
    assert reach(insert, "d", ORDINARY, [("d", "t")], made, thread=6) is not None
    ended = after(made, "DROP TEMPORARY TABLE IF EXISTS `s`", "d", ORDINARY, at=2, thread=5)
    assert isinstance(ended, Known)
    assert not ended.temporary


def test_what_is_known_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The newest answers stay; that there were others is remembered."""
    monkeypatch.setattr(invalidation, "MOST", 4)
    found = after(EVERY, "CREATE TABLE s (a INT)", "d", ORDINARY, at=1)
    assert isinstance(found, Known)
    found = after(found, "CREATE TABLE s2 (a INT)", "d", ORDINARY, at=1)
    assert isinstance(found, Known)
    assert len(found.facts) == 2
    assert all(fact.asked_at == ASKED for fact in found.facts.values())
    assert after(found, "DROP TABLE x", "d", ORDINARY, at=ASKED) == Late(tables=())


AGO = Known(forgotten=ASKED)


@pytest.mark.parametrize("statement", [statement for statement, _ in TAKES_AWAY])
def test_an_answer_that_is_not_known_any_more_may_have_come_too_late(statement: str) -> None:
    """Whatever may have ended a way is taken for the end of one, up to the second of the newest such answer."""
    for at in (ASKED - 1, ASKED):
        assert after(AGO, statement, "d", ORDINARY, at=at) == Late(tables=())
    assert isinstance(after(AGO, statement, "d", ORDINARY, at=ASKED + 1), Known)
    assert isinstance(after(Known(), statement, "d", ORDINARY, at=0), Known)


@pytest.mark.parametrize(
    "statements",
    [
        ["CREATE TABLE s (a INT)", "DROP TABLE s"],
        ["CREATE TABLE s (a INT)", "CREATE TABLE s2 (a INT)", "DROP TABLE IF EXISTS s, d.s2"],
        ["CREATE TEMPORARY TABLE s (a INT)", "DROP TABLE s"],
        ["DROP TEMPORARY TABLE s"],
        ["ALTER TABLE o ADD a INT, DROP COLUMN b"],
        ["CREATE TRIGGER r AFTER INSERT ON o FOR EACH ROW SET @a = 1"],
        ["DROP USER o"],
        ["DROP TABLESPACE o"],
        ["DROP PROCEDURE o"],
        ["TRUNCATE o"],
    ],
)
def test_what_was_never_asked_before_is_taken_away(statements: list[str]) -> None:
    """A table that the stream has shown to be made since, one of a session, and what leads nowhere stop nothing."""
    known: Known | Late = AGO
    for statement in statements:
        assert isinstance(known, Known)
        known = after(known, statement, "d", ORDINARY, at=ASKED - 1)
    assert isinstance(known, Known)


def test_an_answer_that_is_given_again_is_known() -> None:
    """It was given before the statement that takes its table away, and so was every earlier one about it."""
    later = Answers(at=ASKED + 1, account="", shapes={("d", "x"): BaseTable()}, triggers={("d", "x"): ()})
    known = replace(told(AGO, later), forgotten=ASKED + 9)
    assert isinstance(after(known, "DROP TABLE x", "d", ORDINARY, at=ASKED + 2), Known)
    assert after(known, "DROP TABLE x", "d", ORDINARY, at=ASKED + 1) == Late(tables=(("d", "x"),))
    assert after(known, "DROP TABLE x, y", "d", ORDINARY, at=ASKED + 2) == Late(tables=())


@given(st.sampled_from(["", "DROP ", "CREATE TABLE o ", "ALTER TABLE o ", "RENAME "]), st.text())
def test_no_text_breaks_it(begin: str, text: str) -> None:
    """Whatever stands in a binlog ends what was known, or leaves it."""
    assert isinstance(after(EVERY, begin + text, "d", ORDINARY, at=ASKED), Known | Late)
