from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mysqlddl.words import ORDINARY, Modes
from mysqlddl.writing import Written
from syncmgr.job.objects import invalidation
from syncmgr.job.objects.invalidation import Late, Place, after
from syncmgr.job.objects.reach import Reach, reach
from syncmgr.job.objects.surroundings import (
    FRESH,
    Answers,
    BaseTable,
    Fact,
    Gone,
    Hidden,
    Known,
    Unasked,
    own_tables,
    with_answers,
)
from syncmgr.job.position import Position

ASKED = 100
OBJECTS = (("d", "o"), ("e", "o"), ("d", "w"))
EVERY = with_answers(
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
    ("DROP TRIGGER IF EXISTS e.r", ["e.o"]),
    ("DROP VIEW w", ["d.w"]),
    ("ALTER ALGORITHM=MERGE DEFINER=`a`@`%` VIEW w AS SELECT 1", ["d.w"]),
    ("CREATE OR REPLACE VIEW w AS SELECT 1", ["d.w"]),
    ("DROP TABLE IF EXISTS `o`", ["d.o"]),
    ("RENAME TABLE o TO p, q TO o", ["d.o"]),
    ("ALTER TABLE w RENAME TO x", ["d.w"]),
    ("ALTER TABLE w DROP FOREIGN KEY f", ["d.w"]),
    ("DROP DATABASE e", ["e.o"]),
    ("DROP TABLE 'x", ["d.o", "d.w", "e.o"]),
]


@pytest.mark.parametrize(("statement", "tables"), TAKES_AWAY)
def test_what_was_asked_too_late(statement: str, tables: list[str]) -> None:
    """What the server had run when it was asked, and may have ended a way: what was judged before is not certain."""
    for at in (ASKED - 1, ASKED):
        found = after(EVERY, statement, "d", ORDINARY, Place(at=at))
        assert isinstance(found, Late)
        assert sorted(".".join(table) for table in found.tables) == tables


@pytest.mark.parametrize(("statement", "tables"), TAKES_AWAY)
def test_what_came_after_the_answer_ends_it(statement: str, tables: list[str]) -> None:
    """It is asked anew, if ever; where no trigger of that name was, none has gone."""
    found = after(EVERY, statement, "d", ORDINARY, Place(at=ASKED + 1))
    assert isinstance(found, Known)
    changed = {".".join(table) for table in OBJECTS if found.facts.get(table) != EVERY.facts[table]}
    assert changed == (set() if "TRIGGER" in statement else {*tables})


def test_functions_end_as_tables_do() -> None:
    """By statements about functions alone, since a table may have the name of one; a database takes all with it."""
    answers = Answers(at=ASKED, account="", shapes={}, triggers={}, functions={("d", "f"): Hidden()})
    known = with_answers(Known(), answers)
    for statement in ("DROP FUNCTION f", "CREATE OR REPLACE FUNCTION d.F() RETURNS INT RETURN 1", "DROP DATABASE d"):
        assert after(known, statement, "d", ORDINARY, Place(at=ASKED)) == Late(tables=(("d", "f"),))
        left = after(known, statement, "d", ORDINARY, Place(at=ASKED + 1))
        assert isinstance(left, Known)
        assert left.facts.get(("d", "f"), Fact()).function != Hidden()
    for statement in ("DROP FUNCTION other", "DROP VIEW f", "DROP TRIGGER f", "DROP PROCEDURE f"):
        assert after(known, statement, "d", ORDINARY, Place(at=ASKED)) == known
    made = "CREATE DEFINER=`a`@`%` FUNCTION f() RETURNS INT RETURN 1"
    left = after(known, made, "d", ORDINARY, Place(at=ASKED + 1))
    assert isinstance(left, Known)
    assert isinstance(left.facts[("d", "f")].function, Written)
    left = after(known, "CREATE TABLE f (a INT)", "d", ORDINARY, Place(at=ASKED))
    assert isinstance(left, Known)
    assert left.facts[("d", "f")].function == Hidden()


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
    found = after(EVERY, statement, "d", ORDINARY, Place(at=ASKED))
    assert isinstance(found, Known)
    assert found.facts == EVERY.facts


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER r AFTER INSERT ON d.o FOR EACH ROW SET @a = 1",
        "ALTER TABLE o ADD FOREIGN KEY (a) REFERENCES p (a)",
        "CREATE TABLE o (a INT REFERENCES p (a))",
        "CREATE VIEW IF NOT EXISTS o AS SELECT 1",
        "SET STATEMENT max_statement_time = 1 FOR CREATE TABLE IF NOT EXISTS o (a INT)",
    ],
)
def test_a_way_that_is_made_ends_what_was_known(statement: str) -> None:
    """And nothing that was judged before is wrong."""
    for at in (ASKED, ASKED + 1):
        found = after(EVERY, statement, "d", Modes(mariadb=True), Place(at=at))
        assert isinstance(found, Known)
        assert found.facts.get(("d", "o"), Fact()).shape in {None, FRESH.shape}
        assert isinstance(reach("INSERT INTO o SELECT 1", "d", ORDINARY, [("d", "t")], found), Unasked | None)


@pytest.mark.parametrize("made", ["TRIGGER r AFTER INSERT ON w FOR EACH ROW SET @a = 1", "VIEW x AS SELECT * FROM o"])
def test_a_way_that_is_made_hides_none_that_is_taken_away(made: str) -> None:
    """The answer came after both, and what was judged by it stays uncertain, though it is asked anew."""
    found = after(EVERY, f"CREATE {made}", "d", ORDINARY, Place(at=ASKED - 2))
    assert isinstance(found, Known)
    late = after(found, "DROP TRIGGER s", "d", ORDINARY, Place(at=ASKED - 1))
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
        (["CREATE TABLE s (a INT)", "CREATE TRIGGER IF NOT EXISTS r AFTER INSERT ON s FOR EACH ROW SET @a = 1"], False),
        (["CREATE TABLE s (a INT)", "DROP TABLE s", "CREATE VIEW IF NOT EXISTS s AS SELECT * FROM t"], False),
        (
            ["CREATE TABLE s (a INT)", "CREATE TRIGGER r AFTER INSERT ON s FOR EACH ROW SET @a = 1", "DROP TRIGGER r"],
            True,
        ),
        (["CREATE TABLE s (a INT) ENGINE=MERGE UNION=(t)"], False),
        (["CREATE TABLE s (a INT)", "ALTER TABLE s ENGINE=MERGE UNION=(t)"], False),
        (
            ["DROP DATABASE IF EXISTS d", "CREATE DATABASE IF NOT EXISTS d", "CREATE TABLE IF NOT EXISTS s (a INT)"],
            True,
        ),
        (["CREATE TABLE s (a INT)", "ALTER TABLE s ADD b INT"], True),
        (["CREATE TEMPORARY TABLE s (a INT)", "DROP TABLE s"], False),
    ],
)
def test_a_table_that_the_stream_makes_is_known(statements: list[str], *, fresh: bool) -> None:
    """It leads nowhere until the stream says more, so that a table that is gone by now is not asked."""
    known = Known()
    for statement in statements:
        found = after(known, statement, "d", ORDINARY, Place(at=1))
        assert isinstance(found, Known)
        known = found
    assert (known.facts.get(("d", "s")) == FRESH) is fresh
    passed = reach("INSERT INTO s VALUES (1)", "d", ORDINARY, [("d", "t")], known)
    assert passed is None if fresh else isinstance(passed, Unasked)


def followed(known: Known, *statements: str, at: int = ASKED + 1) -> Known:
    for statement in statements:
        found = after(known, statement, "x", ORDINARY, Place(at=at))
        assert isinstance(found, Known)
        known = found
    return known


TABLE_O = "CREATE TABLE o (a INT)"
FIRED = "ON o FOR EACH ROW DELETE FROM d.t"
WITH_T = Known(facts={("d", "t"): Fact(shape=BaseTable())})


@pytest.mark.parametrize(
    ("made", "statement", "reaches"),
    [
        (["CREATE VIEW v AS SELECT * FROM d.t"], "UPDATE v SET a = 1", True),
        (
            ["CREATE OR REPLACE DEFINER=`r`@`%` SQL SECURITY INVOKER VIEW v (a) AS (SELECT 1 FROM d.t)"],
            "DELETE FROM v",
            True,
        ),
        ([TABLE_O, "CREATE VIEW v AS SELECT * FROM o"], "UPDATE v SET a = 1", False),
        ([TABLE_O, f"CREATE TRIGGER r AFTER INSERT {FIRED}"], "INSERT o VALUES (1)", True),
        ([TABLE_O, f"CREATE TRIGGER x.r BEFORE DELETE {FIRED}"], "INSERT o VALUES (1)", False),
        ([TABLE_O, "CREATE TRIGGER r AFTER INSERT ON o FOR EACH ROW CALL p()"], "INSERT o VALUES (1)", True),
        (["CREATE FUNCTION f() RETURNS INT BEGIN DELETE FROM d.t; RETURN 1; END"], "SELECT f()", True),
        (["CREATE FUNCTION f() RETURNS INT RETURN 1"], "SELECT f()", False),
        (
            [TABLE_O, "CREATE TABLE c (a INT, FOREIGN KEY (a) REFERENCES o (a) ON DELETE CASCADE)"],
            "INSERT c TABLE o",
            False,
        ),
    ],
)
def test_what_the_stream_makes_is_known_by_its_text(made: list[str], statement: str, *, reaches: bool) -> None:
    """Of views, triggers, functions and tables with foreign keys nobody is asked, so that nobody is asked too late."""
    known = followed(WITH_T, *made)
    found = reach(statement, "x", ORDINARY, [("d", "t")], known)
    assert isinstance(found, Reach) if reaches else found is None
    taken = ["DROP TRIGGER IF EXISTS r", "DROP VIEW IF EXISTS v", "DROP TABLE IF EXISTS o", "DROP FUNCTION IF EXISTS f"]
    followed(known, *taken, "DROP DATABASE x", at=1)


def test_a_function_that_the_server_may_have_loaded_is_asked_for() -> None:
    """Its text says nothing."""
    known = followed(Known(), "CREATE FUNCTION f RETURNS STRING SONAME 'f.so'")
    assert isinstance(reach("SELECT f()", "x", ORDINARY, [("d", "t")], known), Unasked)


def test_nothing_of_another_database_was_asked_too_late() -> None:
    """Not an object of the same name, nor one that a text only names, nor by what leaves every way as it was."""
    for statement in (
        "DROP TABLE e.w",
        "DROP VIEW x.w, x.o",
        "DROP TRIGGER x.r",
        "DROP DATABASE x",
        "RENAME TABLE e.w TO e.v",
        "CREATE OR REPLACE VIEW x.v AS SELECT * FROM d.o JOIN d.w",
        "ALTER DATABASE d CHARACTER SET utf8mb4",
        "ALTER FUNCTION o COMMENT 'o'",
    ):
        for db in ("d", "o", ""):
            found = after(EVERY, statement, db, ORDINARY, Place(at=ASKED))
            assert isinstance(found, Known), (statement, db)
            assert {table: found.facts[table] for table in OBJECTS} == EVERY.facts


READ = with_answers(Known(), Answers(at=ASKED, account="", shapes=dict.fromkeys(OBJECTS, BaseTable()), triggers={}))


@pytest.mark.parametrize("statement", ["DROP TABLE o", "DROP TABLE IF EXISTS o, w", "ALTER TABLE o DROP FOREIGN KEY f"])
def test_a_base_table_that_was_only_read_led_nowhere(statement: str) -> None:
    """As pt-table-checksum reads every table of a server. Where it is written, or may have been a view, it counts."""
    assert isinstance(after(READ, statement, "d", ORDINARY, Place(at=ASKED)), Known)
    for other in ("DROP VIEW o", "RENAME TABLE o TO p", "CREATE OR REPLACE VIEW o AS SELECT 1"):
        assert isinstance(after(READ, other, "d", ORDINARY, Place(at=ASKED)), Late)
    left = after(READ, "DROP TABLE IF EXISTS o", "d", ORDINARY, Place(at=ASKED - 2))
    assert isinstance(left, Known)
    assert isinstance(after(left, "DROP VIEW o", "d", ORDINARY, Place(at=ASKED - 1)), Late)


def test_a_foreign_key_that_may_have_led_to_a_synced_table_counts() -> None:
    """Whose parents are only looked at: they may have been others."""
    shapes = {("d", "t"): BaseTable(parents=frozenset({("d", "o")})), ("d", "o"): BaseTable()}
    known = with_answers(Known(), Answers(at=ASKED, account="", shapes=shapes, triggers={}))
    place = Place(at=ASKED)
    assert isinstance(after(known, "ALTER TABLE o DROP FOREIGN KEY f", "d", ORDINARY, place, [("d", "t")]), Late)
    assert isinstance(after(known, "ALTER TABLE o DROP FOREIGN KEY f", "d", ORDINARY, place, [("d", "u")]), Known)


def test_a_parent_that_is_renamed_is_its_childs_under_the_new_name() -> None:
    """The server keeps the foreign key, which the child's text would now tell otherwise."""
    shapes = {("d", "t"): BaseTable(parents=frozenset({("d", "top")})), ("d", "top"): BaseTable()}
    shapes[("d", "root")] = BaseTable()
    known = with_answers(Known(), Answers(at=ASKED, account="", shapes=shapes, triggers={("d", "root"): ()}))
    for statement in ("RENAME TABLE top TO root", "ALTER TABLE top RENAME TO root"):
        found = after(known, statement, "d", ORDINARY, Place(at=ASKED + 1))
        assert isinstance(found, Known)
        assert found.facts[("d", "t")].shape is None


def test_the_binlog_tells_what_the_seconds_do_not() -> None:
    """A statement of the same second that stands behind the end of the binlog, as it was after the answer."""
    asked_by = Position(file="binlog.000001", offset=500, server="s")
    answers = Answers(at=ASKED, account="", shapes={("d", "o"): BaseTable()}, triggers={("d", "o"): ()}, by=asked_by)
    known = with_answers(Known(), answers)
    for offset, late in ((499, True), (500, False), (900, False)):
        before = replace(asked_by, offset=offset)
        found = after(known, "DROP TABLE o", "d", ORDINARY, Place(at=ASKED, before=before))
        assert isinstance(found, Late) is late
    elsewhere = replace(asked_by, offset=900, server="other")
    assert isinstance(after(known, "DROP TABLE o", "d", ORDINARY, Place(at=ASKED, before=elsewhere)), Late)


def test_what_a_schema_has_that_the_stream_made_is_remembered() -> None:
    """Whatever was asked of one of its name in an earlier life was of another."""
    made = followed(AGO, "CREATE DATABASE x", at=ASKED)
    followed(made, "DROP TRIGGER r", "DROP VIEW IF EXISTS v", "DROP DATABASE x", at=ASKED)
    assert isinstance(after(AGO, "DROP DATABASE x", "x", ORDINARY, Place(at=ASKED)), Late)
    maybe = followed(AGO, "CREATE DATABASE IF NOT EXISTS x", at=ASKED)
    assert isinstance(after(maybe, "DROP VIEW v", "x", ORDINARY, Place(at=ASKED)), Late)
    moved = followed(made, "RENAME TABLE d.o TO x.o", at=ASKED + 1)
    assert isinstance(reach("INSERT INTO o VALUES (1)", "x", ORDINARY, [("d", "t")], moved), Unasked)
    unknown = followed(moved, "CREATE TABLE IF NOT EXISTS x.o (a INT)")
    assert isinstance(reach("INSERT INTO o VALUES (1)", "x", ORDINARY, [("d", "t")], unknown), Unasked)


def test_a_temporary_table_is_its_sessions_own() -> None:
    """That nobody else sees it says nothing; of another session's statement it does."""
    made = after(Known(), "CREATE TEMPORARY TABLE s (a INT)", "d", ORDINARY, Place(at=1, session=(1, 5)))
    assert isinstance(made, Known)
    gone = Answers(at=9, account="", shapes={("d", "s"): Gone()}, triggers={("d", "s"): ()})
    made = with_answers(made, gone)
    insert = "INSERT INTO s VALUES (1)"
    assert reach(insert, "d", ORDINARY, [("d", "t")], made, own_tables(made, (1, 5))) is None
    assert reach(insert, "d", ORDINARY, [("d", "t")], made, own_tables(made, (2, 5))) is not None
    ended = after(made, "DROP TEMPORARY TABLE IF EXISTS `s`", "d", ORDINARY, Place(at=2, session=(1, 5)))
    assert isinstance(ended, Known)
    assert not ended.temporary


@pytest.mark.parametrize(
    ("statement", "mariadb", "own"),
    [
        ("ALTER TABLE s RENAME TO x", False, {"x"}),
        ("ALTER TABLE s RENAME x, RENAME TO y", False, {"y"}),
        ("ALTER TABLE o RENAME TO x", False, {"s"}),
        ("RENAME TABLE s TO x", False, {"s"}),
        ("RENAME TABLE s TO x", True, {"x"}),
        ("RENAME TABLE o TO w, s TO x, x TO y", True, {"y"}),
        ("DROP /*!40005 TEMPORARY */ TABLE IF EXISTS `s`", False, set[str]()),
        ("TRUNCATE s", False, {"s"}),
        ("CREATE TABLE s (a INT)", False, {"s"}),
    ],
)
def test_a_temporary_table_keeps_its_session(statement: str, own: set[str], *, mariadb: bool) -> None:
    """Whatever it is called; MySQL renames none by RENAME TABLE."""
    made = after(Known(), "CREATE TEMPORARY TABLE s (a INT)", "d", ORDINARY, Place(at=1, session=(1, 5)))
    assert isinstance(made, Known)
    place = Place(at=2, session=(1, 5), temporary=True)
    found = after(made, statement, "d", replace(ORDINARY, mariadb=mariadb), place)
    assert isinstance(found, Known)
    assert own_tables(found, (1, 5)) == {("d", name) for name in own}


def test_what_happens_to_a_temporary_table_ends_nothing_that_is_known() -> None:
    """The other of its name is what it was, but where the binlog does not show that it was meant."""
    made = after(EVERY, "CREATE TEMPORARY TABLE o (a INT)", "d", ORDINARY, Place(at=1, session=(1, 5)))
    assert isinstance(made, Known)
    place = Place(at=ASKED, session=(1, 5), temporary=True)
    found = after(made, "ALTER TABLE o RENAME TO x", "d", ORDINARY, place)
    assert isinstance(found, Known)
    assert found.facts == EVERY.facts
    for others in (replace(place, temporary=False), replace(place, session=(1, 6))):
        assert isinstance(after(made, "ALTER TABLE o RENAME TO x", "d", ORDINARY, others), Late)
    assert isinstance(after(made, "RENAME TABLE o TO x", "d", ORDINARY, place), Late)


def test_what_is_known_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The newest answers stay; that there were others is remembered."""
    monkeypatch.setattr(invalidation, "MOST", 4)
    found = after(EVERY, "CREATE TABLE s (a INT)", "d", ORDINARY, Place(at=1))
    assert isinstance(found, Known)
    found = after(found, "CREATE TABLE s2 (a INT)", "d", ORDINARY, Place(at=1))
    assert isinstance(found, Known)
    assert len(found.facts) == 2
    assert all(fact.asked_at == ASKED for fact in found.facts.values())
    assert after(found, "DROP TABLE x", "d", ORDINARY, Place(at=ASKED)) == Late(tables=())


AGO = Known(forgotten=ASKED)


@pytest.mark.parametrize("statement", [statement for statement, _ in TAKES_AWAY])
def test_an_answer_that_is_not_known_any_more_may_have_come_too_late(statement: str) -> None:
    """Whatever may have ended a way is taken for the end of one, up to the second of the newest such answer."""
    for at in (ASKED - 1, ASKED):
        assert after(AGO, statement, "d", ORDINARY, Place(at=at)) == Late(tables=())
    assert isinstance(after(AGO, statement, "d", ORDINARY, Place(at=ASKED + 1)), Known)
    assert isinstance(after(Known(), statement, "d", ORDINARY, Place(at=0)), Known)


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
        known = after(known, statement, "d", ORDINARY, Place(at=ASKED - 1))
    assert isinstance(known, Known)


def test_an_answer_that_is_given_again_is_known() -> None:
    """It was given before the statement that takes its table away, and so was every earlier one about it."""
    later = Answers(at=ASKED + 1, account="", shapes={("d", "x"): BaseTable()}, triggers={("d", "x"): ()})
    known = replace(with_answers(AGO, later), forgotten=ASKED + 9)
    assert isinstance(after(known, "DROP TABLE x", "d", ORDINARY, Place(at=ASKED + 2)), Known)
    assert after(known, "DROP TABLE x", "d", ORDINARY, Place(at=ASKED + 1)) == Late(tables=(("d", "x"),))
    assert after(known, "DROP TABLE x, y", "d", ORDINARY, Place(at=ASKED + 2)) == Late(tables=())


@given(st.sampled_from(["", "DROP ", "CREATE TABLE o ", "ALTER TABLE o ", "RENAME "]), st.text())
def test_no_text_breaks_it(begin: str, text: str) -> None:
    """Whatever stands in a binlog ends what was known, or leaves it."""
    assert isinstance(after(EVERY, begin + text, "d", ORDINARY, Place(at=ASKED)), Known | Late)
