import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncmgr.control.statement_text import excerpt
from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.description import MappedColumn
from syncmgr.job.snapshot.key_range import KeyRange
from syncmgr.job.types.schema import SourceColumn, TargetColumn, TargetType
from syncsql import Expression, ResyncTable, parse
from tests.unit.job.factories import make_channel, make_source_table, make_target

SOURCE = make_source_table(
    columns=(
        SourceColumn(name="id", type="bigint", nullable=False),
        SourceColumn(name="price", type="decimal", precision=12, scale=2, nullable=False),
        SourceColumn(name="who", type="varchar", length=9, charset="latin1", nullable=False),
        SourceColumn(name="odd", type="varchar", length=9, charset="sjis", nullable=False),
        SourceColumn(name="day", type="date", nullable=False),
        SourceColumn(name="at", type="timestamp", precision=6, nullable=False),
        SourceColumn(name="clock", type="datetime", nullable=False),
        SourceColumn(name="ip", type="varbinary", length=16, nullable=False),
        SourceColumn(name="kind", type="enum", members=("a", "b"), nullable=False),
        SourceColumn(name="since", type="year", nullable=False),
        SourceColumn(name="took", type="time", nullable=False),
        SourceColumn(name="status", type="varchar", length=9, charset="utf8mb4"),
    )
)
TYPES = {
    "id": TargetType(name="BIGINT"),
    "price": TargetType(name="DECIMAL", args=(30, 10)),
    "who": TargetType(name="VARCHAR", args=(9,)),
    "odd": TargetType(name="STRING"),
    "day": TargetType(name="DATE"),
    "at": TargetType(name="TIMESTAMP"),
    "clock": TargetType(name="DATETIME"),
    "ip": TargetType(name="BINARY"),
    "kind": TargetType(name="VARCHAR", args=(9,)),
    "since": TargetType(name="INT"),
    "took": TargetType(name="STRING"),
}
KEYS = tuple(TYPES)
COLUMNS = tuple(MappedColumn(target=name, expression=f"`{name}`") for name in KEYS)
CHANNEL = make_channel(source=SOURCE, keys=KEYS, source_keys=KEYS, columns=COLUMNS)
TARGET = make_target(
    columns=tuple(TargetColumn(name=name, type=kind, nullable=False) for name, kind in TYPES.items()), keys=KEYS
)


def condition(text: str) -> Expression:
    [parsed] = parse(f"ALTER SYNC JOB j RESYNC TABLE t WHERE {text}")
    assert isinstance(parsed.statement, ResyncTable)
    assert parsed.statement.where is not None
    return parsed.statement.where


def judged(text: str, **changes: Any) -> KeyRange:
    return excerpt(replace(CHANNEL, **changes), TARGET, condition(text))


@pytest.mark.parametrize(
    ("text", "in_lake", "at_source"),
    [
        ("id > 5", "`id` > 5", "`id` > 5"),
        ("-05.50 >= ID", "`id` <= -5.5", "`id` <= -5.5"),
        ("NOT id IN (1, 2)", "`id` NOT IN (1, 2)", "`id` NOT IN (1, 2)"),
        ("id IS NOT NULL OR day IS NULL", "(TRUE) OR (FALSE)", "(TRUE) OR (FALSE)"),
        ("day = '2024-02-29'", "`day` IN (DATE'2024-02-29')", "`day` IN (DATE'2024-02-29')"),
        (
            "at < '2024-02-29'",
            "`at` < TIMESTAMP'2024-02-29 00:00:00.000000+00:00'",
            "`at` < TIMESTAMP'2024-02-29 00:00:00.000000'",
        ),
        (
            "clock < TIMESTAMP '2024-02-29 01:02:03.5'",
            "`clock` < TIMESTAMP_NTZ'2024-02-29 01:02:03.500000'",
            "`clock` < TIMESTAMP'2024-02-29 01:02:03.500000'",
        ),
        ("who = 'it''s'", "`who` IN (CAST(X'69742773' AS STRING))", "`who` IN (_utf8mb4 X'69742773')"),
        (
            "NOT who = 'a'",
            "`who` NOT IN (CAST(X'61' AS STRING))",
            "CAST(CONVERT(`who` USING utf8mb4) AS BINARY) NOT IN (X'61')",
        ),
        (
            "who = 'ä'",
            "`who` IN (CAST(X'c3a4' AS STRING))",
            "CAST(CONVERT(`who` USING utf8mb4) AS BINARY) IN (X'c3a4')",
        ),
        ("odd = 'a'", "`odd` IN (CAST(X'61' AS STRING))", "CAST(CONVERT(`odd` USING utf8mb4) AS BINARY) IN (X'61')"),
        (
            "kind = 'a'",
            "`kind` IN (CAST(X'61' AS STRING))",
            "CAST(CONVERT(CAST(`kind` AS CHAR) USING utf8mb4) AS BINARY) IN (X'61')",
        ),
        ("since = 70", "`since` IN (70)", "CAST(`since` AS UNSIGNED) IN (70)"),
        ("ip >= 0x7f00", "`ip` >= X'7f00'", "`ip` >= X'7f00'"),
    ],
)
def test_a_condition_is_said_twice(text: str, in_lake: str, at_source: str) -> None:
    """What the target has and what the server is asked for; texts are compared by their bytes, or for being equal."""
    found = judged(text)
    assert (found.lake, found.source) == (in_lake, at_source)
    assert found.fits(CHANNEL)


def test_the_target_may_call_its_columns_otherwise() -> None:
    """A condition names columns of the source."""
    columns = (MappedColumn(target="id", expression="`since`"), MappedColumn(target="price", expression="`id`"))
    found = judged("since = 1 AND id = 2", columns=columns)
    assert (found.columns, found.lake) == (("since", "id"), "(`id` IN (1)) AND (`price` IN (2))")


def test_a_shard_means_its_own_rows_alone() -> None:
    """Other channels have the same keys in the same target."""
    shard = MappedColumn(target="db", expression="'it\\'s'", constant="it's")
    found = judged("id > 1 OR id = 0", columns=(*COLUMNS, shard), keys=("db", *KEYS))
    assert found.lake == r"`db` = 'it\'s' AND ((`id` > 1) OR (`id` IN (0)))"
    assert found.source == "(`id` > 1) OR (`id` IN (0))"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("status = 'a'", "column 'status' is not in the key of the target: .* leave WHERE out"),
        ("id > 5 AND upper(who) = 'A'", "only comparisons of a column with constants .* not UPPER"),
        ("who LIKE 'a%'", "only comparisons"),
        ("id > since", "only comparisons"),
        ("id + 1 > 5", "only comparisons"),
        ("id = NULL", "only comparisons .* not NULL"),
        ("took = '01:00:00'", "column 'took' .time, in the target STRING. may compare differently"),
        ("id = '5'", "'5' cannot be compared with column 'id'; write a number with digits alone"),
        ("id = 1e5", "write a number with digits alone"),
        ("who = 5", "write a text in quotes"),
        ("ip = '127'", "write bytes as X'4d5a'"),
        ("day = '2024-02-30'", "write a date as 'YYYY-MM-DD'"),
        ("day = '2024-02-29 01:00:00'", "write a date"),
        ("at = '24:00'", "write a moment as 'YYYY-MM-DD hh:mm:ss.ffffff', in UTC"),
        ("at = '2024-02-29 25:00:00'", "write a moment"),
        (f"price > 0.{'1' * 19}", "more digits than can be compared"),
    ],
)
def test_what_may_mean_other_rows_on_either_side_is_refused(text: str, reason: str) -> None:
    """With the reason, and what to write."""
    with pytest.raises(SyncError, match=reason) as raised:
        judged(text)
    assert raised.value.code is Code.RESYNC_WHERE


def test_a_long_number_is_judged_in_time_by_its_length() -> None:
    """Nobody else is answered meanwhile."""
    begun = time.process_time()
    for text in (f"0.{'0' * 200_000}1", f"{'0' * 200_000}1e5"):
        with pytest.raises(SyncError):
            judged(f"price > {text}")
    assert time.process_time() - begun < 5


def test_an_unknown_column_is_told_as_in_create_sync() -> None:
    """With the one that may be meant."""
    with pytest.raises(SyncError, match="no column 'sinse'; did you mean 'since'") as raised:
        judged("sinse = 1")
    assert raised.value.code is Code.SOURCE_UNKNOWN_COLUMN


NUMBERS = ("-7", "0", "1", "1.0", "2.5", "3", "99999999999")
_LEAVES = st.builds(
    str.format,
    st.sampled_from(
        [
            *("{0} = {1}", "{0} <> {1}", "{0} < {1}", "{1} <= {0}", "{1} > {0}", "{0} >= {1}", "{0} IN ({1}, {2})"),
            *("{0} NOT IN ({2}, {1})", "{0} BETWEEN {1} AND {2}", "{0} NOT BETWEEN {1} AND {2}", "{0} IS NOT NULL"),
        ]
    ),
    st.sampled_from(["id", "price"]),
    st.sampled_from(NUMBERS),
    st.sampled_from(NUMBERS),
)


def _grown(smaller: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    either = st.builds("({} {} {})".format, smaller, st.sampled_from(["AND", "OR"]), smaller)
    return either | st.builds("NOT ({})".format, smaller) | st.builds("NOT {}".format, smaller)


@pytest.fixture(scope="module")
def numbers() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE t (id INTEGER, price NUMERIC)")
        rows = [(number, price) for number in (-8, -7, 0, 1, 2, 3, 4) for price in (-7, 0, 1, 2.25, 2.5, 3)]
        connection.executemany("INSERT INTO t VALUES (?, ?)", rows)
        yield connection


@given(text=st.recursive(_LEAVES, _grown, max_leaves=6))
def test_what_is_said_is_what_was_typed(numbers: sqlite3.Connection, text: str) -> None:
    """Whatever stands below whatever: both texts mean the rows that the condition means."""
    typed, said = condition(text), judged(text)
    found = [
        numbers.execute(f"SELECT rowid FROM t WHERE {one}").fetchall()
        for one in (typed.sqlite(), said.lake, said.source)
    ]
    assert found[0] == found[1] == found[2]
