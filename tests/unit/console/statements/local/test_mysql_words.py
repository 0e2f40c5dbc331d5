"""What a person or a tool types to be called: MySQL's words about times, texts and Status, asked of SQLite."""

import datetime as dt
from pathlib import Path
from typing import Final

import pytest

from syncmgr.console.statements.local.local_select import question
from syncmgr.console.statements.local.sqlite_engine import SqliteEngine
from syncmgr.errors import Code, SyncError
from tests.unit.console.statements.local.test_local_select import asker

PAGE: Final = (Path(__file__).parents[5] / "docs" / "first_night.md").read_text()
STATUS: Final = (
    '{"lag_second": 75.5, "needs_operator": true, "torn": false, "server": "db:3306", "advice": "Fix \\"it\\"", '
    '"resume_at": null, "stopped": {"a.b": {"error": 20112}}, "behind": {}, "list": [1, {"b": 3}], "text": "5"}'
)
QUIET: Final = '{"lag_second": null, "needs_operator": false, "stopped": {}}'
COLUMNS: Final = (
    ("JOB_NAME", "TEXT COLLATE NOCASE"),
    ("STATUS", "TEXT COLLATE NOCASE"),
    ("MSG", "TEXT COLLATE NOCASE"),
    ("CREATE_TIME", "TEXT COLLATE NOCASE"),
    ("RATE", "REAL"),
)
ROWS: Final = [
    ("job1", STATUS, "A long message", "2026-01-02 03:00:05.250000", 1234.5),
    ("quiet", QUIET, None, None, None),
]


def asked(sql: str, **facts: object) -> list[tuple[object, ...]]:
    """At 2026-01-02 03:04:05."""
    found = question(sql, asker(**facts))
    assert found is not None
    with SqliteEngine() as lite:
        lite.attach("information_schema")
        lite.add('"information_schema"."sync_jobs"', COLUMNS, ROWS)
        return lite.ask(found.sql)[1]


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ("LEFT(job_name, 2) = 'jo'", True),
        ("RIGHT(job_name, 2) = 'b1'", True),
        ("RIGHT(msg, 0) = ''", True),
        ("MID(msg, 3, 4) = 'long'", True),
        ("msg LIKE '%LONG%'", True),
        # Status: a number compares as one, true is true, however it is taken out
        ("status->'$.lag_second' > 60", True),
        ("status->'$.lag_second' > 100", False),
        ("status->>'$.lag_second' > 60", True),
        ("status->>'$.lag_second' > '100'", False),
        ("'60' < status->>'$.lag_second'", True),
        ("JSON_EXTRACT(status, '$.lag_second') BETWEEN 60 AND 80", True),
        ("JSON_VALUE(status, '$.lag_second') > 60", True),
        ("JSON_EXTRACT(status, '$.needs_operator') = true", True),
        ("JSON_EXTRACT(status, '$.needs_operator')", True),
        ("JSON_EXTRACT(status, '$.torn') = false", True),
        ("status->>'$.needs_operator' = 'true'", True),
        ("'true' = status->>'$.needs_operator'", True),
        ("status->>'$.torn' <> 'true'", True),
        ("status->>'$.needs_operator' IN ('true')", True),
        ("JSON_UNQUOTE(JSON_EXTRACT(status, '$.needs_operator')) = 'true'", True),
        ("JSON_UNQUOTE(JSON_EXTRACT(status, '$.advice')) = 'Fix \"it\"'", True),
        ("status->'$.server' = 'db:3306' AND NOT JSON_EXTRACT(status, '$.torn')", True),
        ("status->'$.list[1].b' > 2", True),
        ("status->'$.text' = '5'", True),
        ("status->>'$.stopped.\"a.b\".error' = 20112", True),
        ("IFNULL(status->'$.lag_second', 0) > 60", True),
        ("JSON_LENGTH(status, '$.stopped') > 0", True),
        ("JSON_LENGTH(status->'$.stopped') = 1", True),
        ("JSON_KEYS(status->'$.stopped') = '[\"a.b\"]'", True),
        # times
        ("create_time > NOW() - INTERVAL 5 MINUTE", True),
        ("create_time > NOW() - INTERVAL 3 MINUTE", False),
        ("create_time < NOW() - INTERVAL '3' MINUTE", True),
        ("create_time + INTERVAL 1 HOUR > NOW()", True),
        ("INTERVAL 1 SECOND + create_time < NOW()", True),
        ("create_time > DATE_SUB(NOW(), INTERVAL 5 MINUTE)", True),
        ("create_time > DATE_SUB(NOW(), INTERVAL 3 MINUTE)", False),
        ("create_time > DATE_ADD(NOW(3), INTERVAL -3 MINUTE)", False),
        ("create_time > TIMESTAMPADD(MINUTE, -5, NOW())", True),
        ("create_time > ADDDATE(CURDATE(), 1)", False),
        ("create_time > SUBDATE(CURDATE(), INTERVAL 1 MONTH)", True),
        ("create_time >= CURDATE()", True),
        ("create_time BETWEEN NOW() - INTERVAL 1 DAY AND NOW()", True),
        ("TIMESTAMPDIFF(SECOND, create_time, NOW()) = 239", True),
        ("TIMESTAMPDIFF(MINUTE, create_time, UTC_TIMESTAMP()) = 3", True),
        ("TIMESTAMPDIFF(MINUTE, NOW(), create_time) = -3", True),
        ("UNIX_TIMESTAMP() - UNIX_TIMESTAMP(create_time) = 239.75", True),
        ("UNIX_TIMESTAMP(create_time) > UNIX_TIMESTAMP(NOW() - INTERVAL 5 MINUTE)", True),
        ("TIME_TO_SEC(TIMEDIFF(NOW(), create_time)) > 200", True),
        ("TIMEDIFF(NOW(), create_time) > '00:03:00'", True),
        ("HOUR(create_time) = 3 AND EXTRACT(MINUTE FROM create_time) = 0 AND DAYOFWEEK(create_time) = 6", True),
        ("DATE_FORMAT(create_time, '%H:%i %b') = '03:00 Jan'", True),
        ("DATEDIFF('2026-01-03 01:00:00', create_time) = 1", True),
        ("DATE(create_time) = CURDATE()", True),
    ],
)
def test_an_alert_means_what_is_typed(condition: str, *, found: bool) -> None:
    """One of two jobs is found, or none."""
    assert asked(f"SELECT job_name FROM information_schema.sync_jobs WHERE {condition}") == [("job1",)] * found


@pytest.mark.parametrize(
    ("item", "value"),
    [
        ("status->'$.lag_second' AS lag", 75.5),
        ("MAX(status->'$.lag_second')", 75.5),
        ("SUM(status->>'$.needs_operator')", 1),
        ("CASE WHEN MAX(status->'$.lag_second') > 60 THEN 'late' ELSE 'ok' END", "late"),
        ("TIMESTAMPDIFF(MONTH, '2025-01-31', '2025-02-28')", 0),
        ("TIMESTAMPDIFF(YEAR, '2024-02-29 00:00:00', '2026-02-28 23:59:59')", 1),
        ("CONVERT_TZ('2026-01-02 23:00:00', '+00:00', '+05:30')", "2026-01-03 04:30:00"),
        ("CONVERT_TZ('2026-01-02 23:00:00', '-01:00', 'UTC')", "2026-01-03 00:00:00"),
        ("CONVERT_TZ('2026-01-02 23:00:00', 'UTC', 'Mars/One')", None),
        ("'2025-01-31' + INTERVAL 1 MONTH", "2025-02-28"),
        ("'2025-01-31' + INTERVAL 90 MINUTE", "2025-01-31 01:30:00"),
        ("NOW() + INTERVAL 0.5 SECOND", "2026-01-02 03:04:05.500000"),
        ("'9999-12-31' + INTERVAL 1 DAY", None),
        ("'no time' - INTERVAL 1 DAY", None),
        ("FROM_UNIXTIME(1700000000)", "2023-11-14 22:13:20"),
        ("SEC_TO_TIME(75)", "00:01:15"),
        ("CURTIME()", "03:04:05"),
        ("FORMAT(MAX(rate), 0)", "1,234"),
        ("CONVERT('a' USING utf8mb4)", "a"),
        ("JSON_LENGTH(NULL)", None),
    ],
)
def test_what_is_computed_is_that_of_mysql(item: str, value: object) -> None:
    """Of all jobs together, or of none."""
    assert asked(f"SELECT {item} FROM information_schema.sync_jobs LIMIT 1") == [(value,)]


def test_an_alias_compares_as_its_value() -> None:
    """As text, every lag would be above every bound, and `null` the latest of all."""
    lag = "SELECT job_name, status->'$.lag_second' AS lag FROM information_schema.sync_jobs"
    assert asked(f"{lag} HAVING lag > 60 ORDER BY lag DESC") == [("job1", 75.5)]
    assert asked(f"{lag} HAVING lag > 100") == []
    assert [name for name, _ in asked(f"{lag} ORDER BY lag DESC")] == ["job1", "quiet"]


@pytest.mark.parametrize(
    ("state", "status", "made", "alerts"),
    [
        ("RUNNING", '{"needs_operator": false, "lag_second": 5}', "2026-01-01 00:00:00", False),
        ("RUNNING", '{"needs_operator": false, "lag_second": 601}', "2026-01-02 03:00:00", True),
        ("PAUSED", '{"needs_operator": true, "lag_second": null}', "2026-01-02 03:00:00", True),
        ("RUNNING", QUIET, "2026-01-02 03:00:00", False),
        ("RUNNING", QUIET, "2026-01-02 02:00:00", True),
        ("CANCELLED", QUIET, "2026-01-02 02:00:00", False),
        ("CANCELLED", '{"needs_operator": false, "lag_second": 601}', "2026-01-02 02:00:00", False),
    ],
)
def test_the_alert_of_the_first_night(state: str, status: str, made: str, *, alerts: bool) -> None:
    """As the page has it: also of a job whose first rows do not come, which has no lag yet."""
    alert = PAGE.partition("```sql alert.sql\n")[2].partition("```")[0]
    names = ("JOB_SCHEMA", "JOB_NAME", "STATE", "STATUS", "CREATE_TIME")
    found = question(alert.rstrip().removesuffix(";"), asker())
    assert found is not None
    with SqliteEngine() as lite:
        lite.attach("information_schema")
        columns = tuple((name, "TEXT COLLATE NOCASE") for name in names)
        lite.add('"information_schema"."sync_jobs"', columns, [("demo", "job1", state, status, made)])
        assert len(lite.ask(found.sql)[1]) == alerts


def test_now_is_of_the_clock_of_what_is_shown() -> None:
    """All times of information_schema are UTC, whatever the session's zone is."""
    now = dt.datetime(2026, 1, 2, 11, 4, 5, tzinfo=dt.timezone(dt.timedelta(hours=8)))
    query = "SELECT job_name FROM information_schema.sync_jobs WHERE create_time > NOW() - INTERVAL 5 MINUTE"
    assert asked(query, now=now) == [("job1",)]


@pytest.mark.parametrize(
    ("item", "words"),
    [
        ("REGEXP_REPLACE(msg, 'a', 'b')", "there is no function REGEXP_REPLACE; docs/sql.md"),
        ("msg REGEXP 'a'", "there is no function REGEXP; docs/sql.md"),
        ("TRUNCATE(1.29, 1)", "TRUNCATE is not supported"),
        ("NOW() - 300", "a number cannot be added to a time; write INTERVAL 300 SECOND"),
        ("300 + (CURDATE())", "a number cannot be added to a time"),
        ("DATE_FORMAT(NOW(), '%D')", "%D is not supported in DATE_FORMAT"),
        ("JSON_EXTRACT(status, '$.stopped.*.error')", "wildcards in a JSON path"),
        ("status->>'$**.error'", "wildcards in a JSON path"),
        ("NOW() - INTERVAL '1:30' HOUR_MINUTE", "unknown unit of time HOUR_MINUTE; supported are DAY, HOUR, "),
    ],
)
def test_what_is_not_known_is_refused_with_what_is(item: str, words: str) -> None:
    """In words of ours."""
    with pytest.raises(SyncError) as caught:
        asked(f"SELECT {item} FROM information_schema.sync_jobs")
    assert caught.value.code is Code.QUERY_FAILED
    assert words in str(caught.value)


@pytest.mark.parametrize("name", ["json_patch", "jsonb_patch", "glob", "load_extension"])
def test_what_cannot_be_interrupted_is_not_called(name: str) -> None:
    """Whatever SQLite has."""
    with SqliteEngine() as lite, pytest.raises(SyncError):
        lite.ask(f"SELECT {name}('{{}}', '{{}}')")


def test_json_is_parsed_up_to_a_size() -> None:
    """Nobody else is answered meanwhile."""
    with SqliteEngine() as lite:
        assert lite.ask("SELECT JSON_LENGTH(?)", ("[" + "1," * 1000 + "1]",))[1] == [(1001,)]
        with pytest.raises(SyncError):
            lite.ask("SELECT JSON_LENGTH(?)", ("[" + "1," * (1 << 19) + "1]",))
