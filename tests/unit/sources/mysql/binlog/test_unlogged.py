import pytest

from mysqlddl.reading import ORDINARY, Modes
from syncmgr.errors import Code, SyncError
from syncmgr.job.objects.surroundings import Answers, BaseTable, Hidden, Shape, Unasked, Unreadable
from syncmgr.sources.mysql.binlog.events import Query
from syncmgr.sources.mysql.binlog.unlogged import Unlogged

SYNCED = (("d", "t"), ("d", "u"))
ASKED = 100


class Server:
    """Answers for plain tables at second ASKED, `at_once` of them; remembers the questions."""

    def __init__(self, at_once: int = 99, shape: Shape | None = None) -> None:
        self.asked: list[Unasked] = []
        self._at_once = at_once
        self._shape = shape or BaseTable()

    def __call__(self, unasked: Unasked, _modes: Modes) -> Answers:
        self.asked.append(unasked)
        shapes = dict.fromkeys(sorted(unasked.shapes)[: self._at_once], self._shape)
        triggers = dict.fromkeys(sorted(unasked.triggers)[: self._at_once], ())
        functions = dict.fromkeys(sorted(unasked.functions)[: self._at_once], Hidden())
        return Answers(at=ASKED, account="'r'@'%'", shapes=shapes, triggers=triggers, functions=functions)


def heed(unlogged: Unlogged, text: str, at: int = ASKED) -> bool:
    return unlogged.heed(Query("d", text), ORDINARY, SYNCED, at)


@pytest.mark.parametrize(
    "text",
    ["ALTER TABLE t ADD a INT", "CREATE TABLE x (a INT)", "DROP TRIGGER r", "CREATE VIEW w AS SELECT 1", "SET @a = 1"],
)
def test_nothing_is_asked_for_ddl(text: str) -> None:
    """However much of it comes."""
    server = Server()
    assert not heed(Unlogged("db1", server), text)
    assert not server.asked


@pytest.mark.parametrize("at_once", [1, 99])
def test_what_was_asked_is_not_asked_again(at_once: int) -> None:
    """Not by the next statement, nor where the server had time for a part of the questions alone."""
    server = Server(at_once)
    unlogged = Unlogged("db1", server)
    for _ in range(3):
        assert heed(unlogged, "REPLACE INTO o SELECT COUNT(*) FROM t JOIN v")
    shapes = [table for each in server.asked for table in each.shapes]
    assert set(shapes) == {("d", "o"), ("d", "v"), *SYNCED}
    if at_once == 99:
        assert len(shapes) == len(set(shapes))
    asked = len(server.asked)
    assert heed(unlogged, "DELETE FROM o")
    assert len(server.asked) == asked


def test_a_synced_table_that_is_written_is_named() -> None:
    """In the error's context, so that others can go on, whatever the server then says of the others."""
    server = Server()
    with pytest.raises(SyncError) as raised:
        heed(Unlogged("db1", server), "UPDATE t JOIN o ON 1 SET t.a = 1")
    assert raised.value.code is Code.SOURCE_NOT_ROW
    assert raised.value.context["tables"] == (("d", "t"),)


def test_a_table_that_is_made_of_a_query_may_call_a_function() -> None:
    """A session that is not in ROW format writes no rows for it."""
    with pytest.raises(SyncError, match=r"calls 'd\.f'"):
        heed(Unlogged("db1", Server()), "CREATE TEMPORARY TABLE x (a INT, KEY k (a)) AS SELECT d.f(1)")
    for text in (
        "SET STATEMENT sort_buffer_size = 1000 FOR CREATE TABLE x AS SELECT d.f(1)",
        "CREATE TABLE x (a INT) VALUES (d.f(1))",
        "CREATE TABLE x IGNORE (WITH c AS (SELECT 1) SELECT d.f(1) FROM c)",
    ):
        with pytest.raises(SyncError, match=r"calls 'd\.f'"):
            Unlogged("db1", Server()).heed(Query("d", text), Modes(mariadb=True), SYNCED, ASKED)
    assert not heed(Unlogged("db1", Server()), "CREATE TABLE x (a INT, KEY k (a)) AS SELECT COUNT(*) FROM t")
    plain = (
        "CREATE TABLE x (a INT) WITH SYSTEM VERSIONING PARTITION BY RANGE (a) (PARTITION p VALUES LESS THAN (d.f(1)))"
    )
    assert not heed(Unlogged("db1", Server()), plain)
    assert not heed(Unlogged("db1", Server()), "CREATE TRIGGER x AFTER INSERT ON o FOR EACH ROW SET @a = (SELECT f())")


def test_an_answer_that_came_too_late_is_told() -> None:
    """The server had dropped a trigger when it was asked: nobody knows what the statement before did."""
    unlogged = Unlogged("db1", Server())
    heed(unlogged, "INSERT INTO o VALUES (1)")
    with pytest.raises(SyncError, match=r"have written 'd\.o' before.* may have changed.*RESYNC TABLE") as raised:
        heed(unlogged, "DROP TRIGGER r", at=ASKED - 10)
    assert raised.value.code is Code.SOURCE_LATE
    assert not heed(unlogged, "DROP TRIGGER r", at=ASKED + 1)


def test_that_an_answer_was_given_is_kept_before_it_is_used() -> None:
    """Once for each second; where that fails, the statement is not passed."""
    kept: list[int] = []

    def keep(second: int) -> None:
        kept.append(second)
        raise SyncError(Code.META_DOWN, reason="away")

    unlogged = Unlogged("db1", Server(), keep)
    for _ in range(2):
        with pytest.raises(SyncError, match="away"):
            heed(unlogged, "INSERT INTO o VALUES (1)")
    assert kept == [ASKED, ASKED]
    unlogged = Unlogged("db1", Server(), kept.append)
    assert heed(unlogged, "DELETE FROM o")
    assert kept == [ASKED, ASKED, ASKED]


def test_what_an_earlier_life_was_told_too_late_is_told() -> None:
    """Its answers are gone, and with them of what they were; nothing is kept that is older."""
    kept: list[int] = []
    unlogged = Unlogged("db1", Server(), kept.append, asked_until=ASKED + 5)
    heed(unlogged, "INSERT INTO o VALUES (1)")
    assert not kept
    with pytest.raises(SyncError, match="objects that are not known any more") as raised:
        heed(unlogged, "DROP TRIGGER r", at=ASKED + 5)
    assert raised.value.code is Code.SOURCE_LATE
    assert not heed(unlogged, "DROP TRIGGER r", at=ASKED + 6)


def test_tables_that_are_read_after_it_are_nobodys_concern() -> None:
    """Nor is what was asked for earlier statements; a table that the stream has shown to be made stays known."""
    server = Server()
    unlogged = Unlogged("db1", server, asked_until=ASKED)
    heed(unlogged, "INSERT INTO o VALUES (1)")
    asked = len(server.asked)
    for text in ("DROP TRIGGER r", "CREATE TABLE x (a INT)", "DROP VIEW w"):
        assert not unlogged.heed(Query("d", text), ORDINARY, (), ASKED - 1)
    assert heed(unlogged, "INSERT INTO x VALUES (1)")
    assert len(server.asked) == asked
    assert not heed(unlogged, "DROP TRIGGER r", at=ASKED - 1)


def test_rows_alone_ask_and_keep_nothing() -> None:
    """A server that logs no statement in place of rows is as it was."""
    server, kept = Server(), list[int]()
    unlogged = Unlogged("db1", server, kept.append)
    for text in ("DROP TRIGGER r", "DROP TABLE o", "RENAME TABLE o TO p", "DROP DATABASE e", "DROP FUNCTION f", "'"):
        assert not heed(unlogged, text, at=1)
    assert not server.asked
    assert not kept


def test_a_table_that_is_replaced_by_a_query_is_not_too_late_for_itself() -> None:
    """What its query reads is asked once the statement has been met, and judged by what comes after it."""
    unlogged = Unlogged("db1", Server())
    modes = Modes(mariadb=True)
    text = "CREATE OR REPLACE TABLE x AS SELECT * FROM y"
    assert not unlogged.heed(Query("d", text), modes, SYNCED, ASKED - 1)
    with pytest.raises(SyncError, match=r"'d\.y'"):
        unlogged.heed(Query("d", "DROP VIEW y"), modes, SYNCED, ASKED - 1)


def test_an_object_that_cannot_be_read_stops() -> None:
    """A view that is invalid may have led anywhere."""
    with pytest.raises(SyncError, match="cannot be read") as raised:
        heed(Unlogged("db1", Server(shape=Unreadable(reason="x"))), "INSERT INTO o VALUES (1)")
    assert raised.value.code is Code.SOURCE_NOT_ROW
