import pytest

from syncmgr.job.statement.words import ORDINARY, Modes
from syncmgr.job.surroundings import (
    Answers,
    BaseTable,
    Gone,
    Hidden,
    Known,
    Reach,
    Shape,
    Triggers,
    Unasked,
    Unreadable,
    View,
    reach,
    shape,
    shows_triggers,
    told,
)

SYNCED = (("d", "t"), ("d", "u"))
PLAIN = "CREATE TABLE `x` (`id` int)"


def known(
    shapes: dict[str, str | Shape], triggers: dict[str, Triggers] | None = None, modes: Modes = ORDINARY
) -> Known:
    """Of objects in d: the text of SHOW CREATE TABLE, or what came of it."""
    made = {
        ("d", name): shape(each, ("d", name), modes) if isinstance(each, str) else each for name, each in shapes.items()
    }
    of = {("d", name): each for name, each in (triggers or dict.fromkeys(shapes, ())).items()}
    return told(Known(), Answers(at=7, account="'r'@'%'", shapes=made, triggers=of))


def view(query: str) -> str:
    return f"CREATE ALGORITHM=UNDEFINED DEFINER=`r`@`%` SQL SECURITY DEFINER VIEW `d`.`w` (`a`,`b`) AS {query}"


def child(parent: str, action: str) -> str:
    key = f"CONSTRAINT `f` FOREIGN KEY (`p`) REFERENCES {parent} (`id`) {action}"
    return f"CREATE TABLE `x` (`p` int COMMENT 'REFERENCES', KEY (`p`), {key}, CONSTRAINT `c` CHECK ((`p` > 0)))"


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE t SET a = 1",
        "UPDATE o JOIN u ON 1 SET o.a = 1, u.a = 2",
        "SELECT f()",
        "CALL p()",
        "INSERT INTO o SELECT d.f()",
    ],
)
def test_what_the_text_says_itself_is_not_asked(statement: str) -> None:
    """A synced table, a function, or a text that cannot be read stops without any question."""
    found = reach(statement, "d", ORDINARY, SYNCED, Known())
    assert isinstance(found, Reach)
    assert not found.unknown


@pytest.mark.parametrize(
    ("statement", "shapes"),
    [
        ("INSERT INTO o SELECT * FROM t", [("d", "o")]),
        ("INSERT INTO o SELECT * FROM t, e.v, information_schema.TABLES", [("d", "o"), ("e", "v")]),
        ("SELECT COUNT(*) FROM t", []),
    ],
)
def test_what_is_asked(statement: str, shapes: list[tuple[str, str]]) -> None:
    """What it writes and reads by name, but nothing of the synced tables that it only reads."""
    found = reach(statement, "d", ORDINARY, SYNCED, Known())
    assert found == (Unasked(shapes=frozenset(shapes)) if shapes else None)


def test_triggers_are_asked_of_tables_that_are_written() -> None:
    """Not of views, and not of what is only read: the question costs a server more than the others."""
    facts = known({"o": PLAIN, "v": PLAIN, "w": view("select 1 AS `a` from `d`.`x`"), "x": PLAIN}, {"o": ()})
    assert reach("INSERT INTO o SELECT * FROM v", "d", ORDINARY, SYNCED, facts) is None
    wanted = Unasked(triggers=frozenset({("d", "x")}))
    assert reach("INSERT INTO w VALUES (1)", "d", ORDINARY, SYNCED, facts) == wanted


def test_foreign_keys_are_asked_only_where_rows_may_change() -> None:
    """Of the synced tables, and then of their parents; rows that only come change no child."""
    facts = known({"o": PLAIN})
    assert reach("INSERT INTO o VALUES (1)", "d", ORDINARY, SYNCED, facts) is None
    assert reach("REPLACE INTO o VALUES (1)", "d", ORDINARY, SYNCED, facts) == Unasked(shapes=frozenset(SYNCED))
    facts = known({"o": PLAIN, "t": child("`p`", "ON DELETE CASCADE"), "u": PLAIN})
    assert reach("DELETE FROM o", "d", ORDINARY, SYNCED, facts) == Unasked(shapes=frozenset({("d", "p")}))


@pytest.mark.parametrize(
    ("action", "tables"),
    [
        ("ON DELETE CASCADE", (("d", "t"),)),
        ("ON UPDATE SET NULL ON DELETE RESTRICT", (("d", "t"),)),
        ("ON DELETE RESTRICT ON UPDATE NO ACTION", None),
        ("", None),
    ],
)
def test_foreign_keys(action: str, tables: tuple[tuple[str, str], ...] | None) -> None:
    """Through any number of tables, where each passes a change on."""
    shapes: dict[str, str | Shape] = {"o": PLAIN, "p": child("`d`.`o`", "ON DELETE CASCADE"), "u": PLAIN}
    found = reach("DELETE FROM o", "d", ORDINARY, SYNCED, known({**shapes, "t": child("`p`", action)}))
    assert (found.tables if isinstance(found, Reach) else found) == tables


@pytest.mark.parametrize(
    ("statement", "made", "reached"),
    [
        ("UPDATE w SET a = 1", view("select `d`.`t`.`a` AS `a` from `d`.`t` where (`d`.`t`.`a` > 1)"), True),
        ("UPDATE w SET a = 1", view("select `x`.`a` AS `a` from (`d`.`o` `x` join `d`.`t` on((1 = 1)))"), True),
        ("INSERT INTO w VALUES (1)", view("select `d`.`o`.`a` AS `a` from `d`.`o` WITH CASCADED CHECK OPTION"), False),
        ("INSERT INTO o SELECT * FROM w", view("select `d`.`t`.`a` AS `a` from `d`.`t`"), False),
        ("INSERT INTO o SELECT * FROM w", view("select `d`.`f`(1) AS `a` from `d`.`t`"), True),
        ("INSERT INTO w VALUES (1)", Unreadable(reason="it is invalid"), True),
    ],
)
def test_views(statement: str, made: str | Shape, *, reached: bool) -> None:
    """They write what they show, and call what they call; one that cannot be read may do anything."""
    found = reach(statement, "d", ORDINARY, SYNCED, known({"w": made, "o": PLAIN}))
    assert isinstance(found, Reach) is reached
    assert reached or found is None


def test_triggers() -> None:
    """One of the table that is written may change any other."""
    found = reach("INSERT INTO o VALUES (1)", "d", ORDINARY, SYNCED, known({"o": PLAIN}, {"o": ("r",)}))
    assert isinstance(found, Reach)
    assert "trigger r" in found.how


@pytest.mark.parametrize(
    ("shapes", "triggers", "says"),
    [
        ({"o": Hidden()}, {"o": Hidden()}, "GRANT SELECT, SHOW VIEW, TRIGGER ON `d`.* TO 'r'@'%'"),
        ({"o": PLAIN}, {"o": Hidden()}, "GRANT SELECT, SHOW VIEW, TRIGGER ON `d`.* TO 'r'@'%'"),
        ({"o": Gone()}, {"o": ()}, "'d.o' is gone"),
    ],
)
def test_what_nobody_can_say(shapes: dict[str, str | Shape], triggers: dict[str, Triggers], says: str) -> None:
    """It is not guessed, and the reason has the remedy."""
    found = reach("INSERT INTO o VALUES (1)", "d", ORDINARY, SYNCED, known(shapes, triggers))
    assert isinstance(found, Reach)
    assert says in found.unknown


def test_a_read_object_needs_no_grant_that_shows_rows() -> None:
    """pt-table-checksum reads every table of a server, and the job's user may be let into one database alone."""
    found = reach("INSERT INTO o SELECT * FROM v", "d", ORDINARY, SYNCED, known({"o": PLAIN, "v": Hidden()}))
    assert isinstance(found, Reach)
    assert "GRANT SHOW VIEW ON `d`.* TO 'r'@'%'" in found.unknown


def test_names_are_compared_as_the_server_does() -> None:
    """Where it folds names, another case is the same table."""
    folds = Modes(folds=True)
    assert isinstance(reach("DELETE FROM D.T", "x", ORDINARY, SYNCED, Known()), Unasked)
    assert isinstance(reach("DELETE FROM D.T", "x", folds, SYNCED, Known()), Reach)


def test_what_cannot_be_read_of_an_object_is_said() -> None:
    """A text that no rule takes is no table without ways."""
    assert isinstance(shape("CREATE TABLE `x` ('", ("d", "x"), ORDINARY), Unreadable)
    assert shape("CREATE SEQUENCE `x` start with 1", ("d", "x"), ORDINARY) == BaseTable()
    assert isinstance(shape(view("select 1 AS `a`"), ("d", "w"), ORDINARY), View)


def test_grants_that_show_triggers() -> None:
    """Of everything, a database or the table; a partial revoke takes it away again."""
    every = ["GRANT SELECT, TRIGGER ON *.* TO `r`@`%`", "REVOKE TRIGGER ON `x`.* FROM `r`@`%`"]
    assert (shows_triggers(every, ("d", "t")), shows_triggers(every, ("x", "t"))) == (True, False)
    one = ["GRANT SELECT ON *.* TO `r`@`%`", "GRANT TRIGGER ON `a\\_b`.* TO `r`@`%`", "GRANT TRIGGER ON `d`.`t` TO `r`"]
    shown = [shows_triggers(one, table) for table in (("a_b", "t"), ("d", "t"), ("d", "u"))]
    assert shown == [True, True, False]
    assert shows_triggers(["GRANT ALL PRIVILEGES ON *.* TO `r`@`%` WITH GRANT OPTION"], ("d", "t"))
