"""Questions about metadata: MySQL's functions, and what they may take."""

import itertools
import re
import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncmgr.console.limits import MiB
from syncmgr.console.statements.local import spilled
from syncmgr.console.statements.local import sqlite_engine as lite_module
from syncmgr.console.statements.local.spilled import on_disk
from syncmgr.console.statements.local.sqlite_engine import SqliteEngine
from syncmgr.console.statements.local.sqlite_texts import CONCAT_BY, MAX_VALUE
from syncmgr.errors import Code, SyncError
from tests.support.until import HANG_SECOND, PROMPT_SECOND

HALF = "x" * (MAX_VALUE // 2)


def value(sql: str, *parameters: object) -> object:
    with SqliteEngine() as lite:
        [(found,)] = lite.ask(f"SELECT {sql}", parameters)[1]
        return found


def test_no_function_of_sqlite_is_known_unless_it_is_listed() -> None:
    """Whatever a newer SQLite brings is refused by its name until somebody has looked at it."""
    with sqlite3.connect(":memory:") as db:
        own = db.execute("SELECT name, narg FROM pragma_function_list WHERE builtin").fetchall()
    unlisted = [(name, count) for name, count in own if name not in lite_module._ALLOWED]
    assert len(unlisted) > 20
    for name, count in unlisted:
        with SqliteEngine() as lite, pytest.raises(SyncError) as caught:
            lite.ask(f'SELECT "{name}"({", ".join(["NULL"] * (2 if count < 0 else count))})')
        assert f"there is no function {name}" in str(caught.value)


@pytest.mark.parametrize("name", ["hex(1)", "log(2)", "random()", "json_patch('{}', '{}')", "printf('%100d', 1)"])
def test_what_is_another_function_in_mysql_is_refused(name: str) -> None:
    """HEX of a number, LOG to another base, RANDOM: SQLite would answer another value than MySQL."""
    with SqliteEngine() as lite, pytest.raises(SyncError, match="there is no function"):
        lite.ask(f"SELECT {name}")


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("'Orders' LIKE 'ord%'", 1),
        ("'orders' LIKE '%der%s'", 1),
        ("'orders' LIKE 'o_d__s'", 1),
        ("'orders' LIKE '%o%o%'", 0),
        ("'a' LIKE 'a%a'", 0),
        (r"'a_b' LIKE 'a\_b'", 1),
        (r"'axb' LIKE 'a\_b'", 0),
        ("'a%b' LIKE 'a|%b' ESCAPE '|'", 1),
        ("NULL LIKE 'a'", None),
        ("'' LIKE '%'", 1),
        ("INSTR('Orders', 'DER')", 3),
        ("INSTR('a', NULL)", None),
        ("REPLACE('aAa', 'a', 'bc')", "bcAbc"),
        ("REPLACE('a', '', 'b')", "a"),
        ("TRIM('xyaxy', 'xy')", "a"),
        ("LTRIM('xxax', 'x')", "ax"),
        ("RTRIM('xaxx', 'x')", "xa"),
        ("TRIM('aaa', 'aa')", "a"),
        ("SUBSTRING_INDEX('a.b.c', '.', 2)", "a.b"),
        ("SUBSTRING_INDEX('a.b.c', '.', -2)", "b.c"),
        ("SUBSTRING_INDEX('a.b.c', '.', 9)", "a.b.c"),
        ("SUBSTRING_INDEX('a.b.c', '.', -9)", "a.b.c"),
        ("CONCAT_WS('-', 'a', NULL, 'b')", "a-b"),
        ("TIME_FORMAT('01:02:03', '%H%i')", "0102"),
    ],
)
def test_functions_are_mysqls(sql: str, expected: object) -> None:
    """What tools ask with them is answered as MySQL answers it; LIKE knows no case, and has the backslash."""
    assert value(sql) == expected


ABC = st.text("ab_%", max_size=8)


@given(ABC, st.text("ab", max_size=8))
def test_like_is_that_of_a_plain_comparison(pattern: str, text: str) -> None:
    """For any % and _, wherever they stand."""
    wanted = re.fullmatch(pattern.replace("_", ".").replace("%", ".*"), text) is not None
    assert value("? LIKE ?", text, pattern) == wanted


@pytest.mark.parametrize(
    "sql",
    [
        f"CONCAT({', '.join(['?1'] * 100)})",
        f"CONCAT_WS(?1, {', '.join(['?1'] * 100)})",
        f"FIELD(1, {', '.join(['?1'] * 100)})",
        "REPLACE(?1, 'x', ?1)",
        "TIME_FORMAT('1:2:3', ?1)",
        "'a' LIKE ?1",
        "?1 LIKE '%" + "_x" * 200 + "%'",
        "?1 || ?1 || ?1",
        f"(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT {CONCAT_BY}(?1, 1, 0, ',') FROM n)",
        "(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT GROUP_CONCAT(?1) FROM n)",
        "?1 GLOB '*a*a*'",
    ],
)
def test_a_value_that_is_too_much_is_refused(sql: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before it is made."""
    monkeypatch.setattr(lite_module, "SECONDS", 0.2)
    with pytest.raises(SyncError) as caught:
        value(sql, HALF)
    assert caught.value.code in {Code.QUERY_FAILED, Code.TIMED_OUT}


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("INSTR(?1, ?2)", 0),
        ("REPLACE(?1, ?2, 'a') = ?1", 1),
        ("LENGTH(TRIM(?1 || 'y', 'x'))", 1),
        ("?1 LIKE '%" + "x%" * 400 + "y'", 0),
        ("SUBSTRING_INDEX(?1, 'x', 1000000)", None),
        ("SUBSTRING_INDEX(?1, ?2, 1000000) = ?1", 1),
    ],
)
def test_no_function_takes_the_square_of_a_length(sql: str, expected: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a value in half of that, which SQLite's own functions would compare for minutes."""
    monkeypatch.setattr(lite_module, "SECONDS", PROMPT_SECOND)
    found = value(sql, *[HALF, "x" * (MAX_VALUE // 4) + "y"][: 1 + ("?2" in sql)])
    assert expected is None or found == expected


def test_a_question_ends_in_time_whatever_its_functions_take(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock is looked at often enough for functions that take milliseconds each."""
    monkeypatch.setattr(lite_module, "SECONDS", 0.2)
    many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(INSTR(?1, 'y' || i)) FROM n"
    with SqliteEngine() as lite, pytest.raises(SyncError) as caught:
        lite.ask(many, (HALF,))
    assert caught.value.code is Code.TIMED_OUT


def test_many_long_values_are_refused() -> None:
    """SQLite would hold all columns of a row at one time."""
    columns = ", ".join(f"?1 || {number}" for number in range(400))
    with SqliteEngine() as lite, pytest.raises(SyncError) as caught:
        lite.ask(f"SELECT {columns}", (HALF,))
    assert caught.value.code is Code.QUERY_FAILED
    stars = ", ".join(itertools.repeat("t.*", 200))
    with SqliteEngine() as lite, pytest.raises(SyncError) as caught:
        lite.ask(f"SELECT {stars} FROM (SELECT 1, 2, 3) AS t")
    assert caught.value.code is Code.QUERY_FAILED


SORTED = (
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i, v || i AS w FROM n,"
    " (SELECT group_concat(x, '') AS v FROM t) ORDER BY w DESC"
)


def spills(bound: int) -> SyncError:
    """How a question ends that sorts without end; nothing of it stays on the disk."""
    with SqliteEngine(spill=bound) as lite:
        lite.add("t", [("x", "TEXT")], [("x" * 1000,) for _ in range(200)])
        with pytest.raises(SyncError) as caught:
            lite.ask(SORTED)
    assert on_disk() == 0
    return caught.value


def test_what_a_question_spills_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends with the setting's name as soon as all questions have more on the disk than they may."""
    monkeypatch.setattr(lite_module, "SECONDS", HANG_SECOND)
    error = spills(20 * MiB)
    assert error.code is Code.QUERY_FAILED
    assert "question_spill_bytes" in str(error)


def test_a_question_that_spills_little_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever else fills the disk: the one that ends is the one that has written much."""
    monkeypatch.setattr(lite_module, "SECONDS", HANG_SECOND)
    monkeypatch.setattr(spilled, "on_disk", lambda: 10 * MiB)
    with SqliteEngine(spill=9 * MiB) as lite:
        lite.add("t", [("x", "TEXT")], [("x",) for _ in range(20_000)])
        assert len(lite.ask("SELECT x FROM t ORDER BY x")[1]) == 20_000
    with SqliteEngine(spill=9 * MiB) as lite:
        lite.add("t", [("x", "TEXT")], [("x" * 1000,) for _ in range(200)])
        with pytest.raises(SyncError, match="question_spill_bytes"):
            lite.ask(SORTED)
