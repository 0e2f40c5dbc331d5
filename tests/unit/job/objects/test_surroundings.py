import pytest

from mysqlddl.words import ORDINARY, Modes
from mysqlddl.writing import Event
from syncmgr.job.objects.reach import Reach, reach
from syncmgr.job.objects.surroundings import (
    Answers,
    BaseTable,
    Function,
    Gone,
    Hidden,
    Known,
    Shape,
    Triggers,
    Unasked,
    Unreadable,
    View,
    fired_by,
    function,
    shape,
    shows_functions,
    shows_triggers,
    trigger,
    with_answers,
)

SYNCED = (("d", "t"), ("d", "u"))
PLAIN = "CREATE TABLE `x` (`id` int)"


def known(
    shapes: dict[str, str | Shape],
    triggers: dict[str, Triggers] | None = None,
    modes: Modes = ORDINARY,
    functions: dict[str, str | Function] | None = None,
) -> Known:
    """Of objects in d: the text of SHOW CREATE TABLE, or what came of it; bodies of functions."""
    made = {
        ("d", name): shape(each, ("d", name), modes) if isinstance(each, str) else each for name, each in shapes.items()
    }
    of = {("d", name): each for name, each in (triggers or dict.fromkeys(shapes, ())).items()}
    does = {("d", name): runs(each) if isinstance(each, str) else each for name, each in (functions or {}).items()}
    return with_answers(Known(), Answers(at=7, account="'r'@'%'", shapes=made, triggers=of, functions=does))


def runs(body: str) -> Function:
    created = f"CREATE DEFINER=`r`@`%` FUNCTION `f`(`a` int, b varchar(20)) RETURNS decimal(10,2) DETERMINISTIC {body}"
    return function(created, "d", "STRICT_TRANS_TABLES", ORDINARY)


def fires(body: str, event: str = "INSERT") -> Triggers:
    return (trigger("r", event, body, "d", "", ORDINARY),)


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
        "CALL p()",
    ],
)
def test_what_the_text_says_itself_is_not_asked(statement: str) -> None:
    """A synced table, or a text that cannot be read stops without any question."""
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
    facts = known({"w": made, "o": PLAIN}, functions={"f": "BEGIN UPDATE t SET a = 1; RETURN 1; END"})
    found = reach(statement, "d", ORDINARY, SYNCED, facts)
    assert isinstance(found, Reach) is reached
    assert reached or found is None


def test_a_view_of_views_names_each_of_them() -> None:
    """Down to the table of the job, so that somebody can look them up."""
    facts = known({"w": view("select 1 AS `a` from `d`.`x`"), "x": view("select 1 AS `a` from `d`.`t`")})
    found = reach("UPDATE w SET a = 1", "d", ORDINARY, SYNCED, facts)
    assert isinstance(found, Reach)
    assert found.how == "changes 'd.w', a view of 'd.x', a view of 'd.t' of the job"


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("UPDATE t SET a = 1", "trigger r changes 'd.t' of the job"),
        ("BEGIN IF NEW.a > 1 THEN DELETE FROM d.u WHERE id = NEW.a; END IF; END", "of the job"),
        ("BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION INSERT INTO t VALUES (1); SET @x = 1; END", "of the job"),
        ("SET NEW.a = e.g(NEW.a)", "e.g"),
        ("BEGIN INSERT INTO log VALUES (NEW.a); CALL p(); END", "CALL in a body"),
        ("BEGIN SELECT a INTO @x FROM t FOR UPDATE; UPDATE log SET a = 1; REPLACE t VALUES (1); END", "of the job"),
        ("SET STATEMENT sort_buffer_size = 100000 FOR UPDATE t SET a = 99", "of the job"),
        ("INSERT INTO log VALUES (1) ON DUPLICATE KEY UPDATE a = 2", None),
        ("SET NEW.a = REPLACE(NEW.a, 'UPDATE t', (SELECT INSERT('x', 1, 1, a) FROM t LIMIT 1))", None),
        (
            "BEGIN DECLARE d DECIMAL(10,2); WHILE (d < 3) DO SET d = d + 1; END WHILE; INSERT log SELECT * FROM t; END",
            None,
        ),
    ],
)
def test_triggers(body: str, says: str | None) -> None:
    """They do what their bodies do, whichever way these take; one that runs other texts may do anything."""
    facts = known({"o": PLAIN, "log": PLAIN, "t": PLAIN, "u": PLAIN}, {"o": fires(body), "log": ()})
    found = reach("INSERT INTO o VALUES (1)", "d", ORDINARY, SYNCED, facts)
    if says is None:
        assert found is None
    elif isinstance(found, Unasked):
        assert found.functions == {("e", "g")}
    else:
        assert found is not None
        assert says in found.how


@pytest.mark.parametrize(
    ("statement", "fired"),
    [
        ("INSERT INTO o VALUES (1)", {"INSERT"}),
        ("INSERT INTO w VALUES (1)", {"INSERT"}),
        ("INSERT IGNORE INTO o VALUES (1) ON DUPLICATE KEY UPDATE a = 2", {"INSERT", "UPDATE"}),
        ("REPLACE INTO o VALUES (1)", {"INSERT", "DELETE"}),
        ("LOAD DATA INFILE 'x' IGNORE INTO TABLE o (a)", {"INSERT"}),
        ("LOAD DATA INFILE 'x' REPLACE INTO TABLE o (a)", {"INSERT", "DELETE"}),
        ("UPDATE o SET a = 1", {"UPDATE"}),
        ("UPDATE w SET a = 1", {"UPDATE"}),
        ("UPDATE o JOIN p ON 1 SET p.a = 1", set()),
        ("UPDATE o, p SET o.a = 1, p.a = 2", {"UPDATE"}),
        ("DELETE FROM o", {"DELETE"}),
        ("DELETE p FROM p JOIN o ON 1", set()),
        ("DELETE FROM o FOR PORTION OF e FROM '2026-01-01' TO '2026-02-01'", {"INSERT", "UPDATE", "DELETE"}),
        ("SELECT f(1)", {"INSERT", "DELETE"}),
        ("SELECT COUNT(*) FROM o", set()),
        ("DELETE FROM parent", set()),
    ],
)
def test_triggers_of_other_events_do_nothing(statement: str, fired: set[str]) -> None:
    """Each event has its own triggers; a cascade fires none."""
    shapes: dict[str, str | Shape] = {"p": PLAIN, "t": PLAIN, "u": PLAIN, "parent": PLAIN}
    shapes |= {"o": child("`parent`", "ON DELETE CASCADE"), "w": view("select `d`.`o`.`a` AS `a` from `d`.`o`")}
    runs_both = {"f": "BEGIN INSERT INTO o VALUES (1); DELETE FROM o; RETURN 1; END"}
    for event in ("INSERT", "UPDATE", "DELETE"):
        triggers = {**dict.fromkeys(shapes, ()), "o": fires("UPDATE t SET a = 1", event)}
        facts = known(shapes, triggers, functions=runs_both)
        found = reach(statement, "d", ORDINARY, SYNCED, facts)
        assert isinstance(found, Reach) is (event in fired), (event, found)


def test_a_trigger_of_several_events_is_fired_by_each() -> None:
    """Where its events are told in words that nobody knows, by any."""
    assert fired_by("INSERT") == {Event.INSERT}
    assert fired_by("INSERT OR UPDATE") == fired_by("INSERT,UPDATE") == {Event.INSERT, Event.UPDATE}
    assert fired_by("UPDATE OF a") == fired_by("") == {*Event}


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("BEGIN UPDATE t SET a = 1; RETURN 1; END", "calls 'd.f', which changes 'd.t'"),
        ("RETURN (SELECT MAX(a) FROM t)", None),
        ("BEGIN INSERT INTO o VALUES (1); RETURN f(a - 1); END", None),
        ("BEGIN DELETE FROM p WHERE id = a; RETURN 1; END", "by foreign keys 'd.t'"),
        ("BEGIN EXECUTE s; RETURN 1; END", "EXECUTE in a body"),
        ("BEGIN SET @x = `return`(1); RETURN (@x); END", "d.return"),
        ("BEGIN RETURN EXISTS (SELECT 1 FROM o FETCH FIRST 1 ROWS ONLY) AND (SELECT x FROM v); END", "d.v"),
        ("LANGUAGE JAVASCRIPT AS $$ return 1 $$", "not written in SQL"),
    ],
)
def test_functions(body: str, says: str | None) -> None:
    """A call is what the body does, foreign keys and the calls in it included."""
    shapes: dict[str, str | Shape] = {"o": PLAIN, "p": PLAIN, "t": child("`p`", "ON DELETE CASCADE"), "u": PLAIN}
    found = reach("SELECT F(1)", "d", ORDINARY, SYNCED, known(shapes, functions={"f": body}))
    if isinstance(found, Unasked):
        assert [".".join(name) for name in (*found.functions, *found.shapes)] == [says]
    elif says is None:
        assert found is None
    else:
        assert found is not None
        assert says in found.how


def test_a_name_that_one_server_has_itself_is_asked_of_the_other() -> None:
    """A stored function of the name is judged; where there is none, it was the server's own in that version."""
    assert reach("SELECT NVL(1, 2)", "d", Modes(mariadb=True), SYNCED, Known()) is None
    wanted = Unasked(functions=frozenset({("d", "nvl")}))
    assert reach("SELECT NVL(1, 2)", "d", ORDINARY, SYNCED, Known()) == wanted
    assert reach("SELECT NVL(1, 2)", "d", ORDINARY, SYNCED, known({}, functions={"nvl": Gone()})) is None
    assert isinstance(reach("SELECT f(1)", "d", ORDINARY, SYNCED, known({}, functions={"f": Gone()})), Reach)


def test_a_common_table_may_have_the_name_of_a_view() -> None:
    """In its own query that is the view; where there is none, nothing is behind it."""
    statement = "INSERT INTO o WITH v AS (SELECT * FROM v) SELECT a FROM v"
    calls = view("select `f`(1) AS `a`")
    facts = known({"o": PLAIN, "v": calls}, functions={"f": "BEGIN UPDATE t SET a = 1; RETURN 1; END"})
    assert isinstance(reach(statement, "d", ORDINARY, SYNCED, facts), Reach)
    assert reach(statement, "d", ORDINARY, SYNCED, known({"o": PLAIN, "v": Gone()})) is None


def test_a_common_table_hides_no_table_of_another_statement() -> None:
    """A name that is common in the statement is a table in the body of its trigger, and the other way round."""
    statement = "INSERT INTO o WITH v AS (SELECT 1 AS a) SELECT a FROM v"
    reads = {"o": fires("SET @x = (SELECT MAX(a) FROM v)")}
    found = reach(statement, "d", ORDINARY, SYNCED, known({"o": PLAIN, "v": Gone()}, reads))
    assert isinstance(found, Reach)
    assert "'d.v' is gone" in found.unknown

    both = {"o": fires("SET @x = (WITH v AS (SELECT 1 AS a) SELECT a FROM v); SET @y = (SELECT a FROM v)")}
    found = reach("INSERT INTO o VALUES (1)", "d", ORDINARY, SYNCED, known({"o": PLAIN, "v": Gone()}, both))
    assert isinstance(found, Reach)
    one = {"o": fires("SET @x = (WITH v AS (SELECT 1 AS a) SELECT a FROM v)")}
    assert reach("INSERT INTO o VALUES (1)", "d", ORDINARY, SYNCED, known({"o": PLAIN, "v": Gone()}, one)) is None


def test_a_view_has_common_tables_of_its_own() -> None:
    """They are not asked of the server; the tables behind them are."""
    shows = view("with `c` as (select `d`.`p`.`a` AS `a` from `d`.`p`) select `c`.`a` AS `a` from `c`")
    facts = known({"o": PLAIN, "w": shows, "p": PLAIN})
    assert reach("INSERT INTO o SELECT a FROM w", "d", ORDINARY, SYNCED, facts) is None


def test_grants_that_show_functions() -> None:
    """Otherwise one that is not shown may be there."""
    shown = [
        "GRANT SELECT ON *.* TO `r`@`%`",
        "GRANT SHOW_ROUTINE ON *.* TO `r`@`%`",
        "GRANT SELECT ON `mysql`.`proc` TO r",
    ]
    assert [shows_functions([line]) for line in shown] == [True] * 3
    assert not shows_functions(["GRANT SELECT, EXECUTE ON `d`.* TO `r`@`%`", "GRANT USAGE ON *.* TO `r`@`%`"])


def test_a_table_that_is_read_first_and_then_written_counts_as_written() -> None:
    """By its own trigger: the function that reads it comes before it in the statement."""
    facts = known(
        {"x": PLAIN, "o": PLAIN}, {"x": fires("DELETE FROM t"), "o": ()}, functions={"f": "RETURN (SELECT 1 FROM x)"}
    )
    assert isinstance(reach("INSERT INTO x VALUES (f(1))", "d", ORDINARY, SYNCED, facts), Reach)


def test_a_function_that_is_not_shown_is_not_guessed() -> None:
    """The reason has what shows it, in the words of the server."""
    for modes, grant in ((ORDINARY, "SHOW_ROUTINE ON *.*"), (Modes(mariadb=True), "SELECT ON mysql.proc")):
        found = reach("SELECT f(1)", "d", modes, SYNCED, known({}, functions={"f": Hidden()}))
        assert isinstance(found, Reach)
        assert f"GRANT {grant} TO 'r'@'%'" in found.unknown


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
