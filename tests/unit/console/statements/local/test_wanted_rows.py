import datetime as dt

import pytest

from syncmgr.accounts.user import Account
from syncmgr.console.statements.local.local_select import SessionFacts, question
from syncmgr.console.statements.local.wanted_rows import RowBounds

FACTS = SessionFacts(
    connection_id=1,
    user="root",
    account=Account(name="root", host="%"),
    host="localhost",
    db="information_schema",
    now=dt.datetime(2026, 11, 27, 14, tzinfo=dt.UTC),
    variable=lambda _: 1,
    user_variable=lambda _: None,
)
JOB = ("JOB_NAME", "orders")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT * FROM sync_epochs", RowBounds()),
        ("SELECT * FROM sync_epochs WHERE JOB_ID = 5", RowBounds(job=(("JOB_ID", 5),))),
        (
            "SELECT * FROM sync_epochs e WHERE job_schema = 'demo' AND e.job_name = 'orders' AND state = 'INTENT'",
            RowBounds(job=(("JOB_SCHEMA", "demo"), JOB)),
        ),
        ("SELECT * FROM sync_epochs WHERE epoch > 7", RowBounds(epoch=7)),
        ("SELECT * FROM sync_epochs WHERE epoch = 7 LIMIT 1", RowBounds(epoch=7)),
        ("SELECT * FROM sync_epochs LIMIT 10", RowBounds(newest=10)),
        ("SELECT * FROM sync_checks WHERE check_id = 7", RowBounds(check=7)),
        ("SELECT * FROM sync_checks ORDER BY check_id DESC LIMIT 2", RowBounds(newest=2)),
        ("SELECT * FROM sync_checks WHERE check_id = 7 AND result = 'EQUAL' LIMIT 2", RowBounds(check=7)),
        ("SELECT * FROM sync_checks ORDER BY check_id LIMIT 2", RowBounds()),
        ("SELECT * FROM sync_epochs ORDER BY epoch DESC, job_id LIMIT 10 OFFSET 20", RowBounds(newest=30)),
        (
            "SELECT * FROM sync_epochs WHERE job_name = 'orders' ORDER BY epoch DESC LIMIT 3",
            RowBounds(job=(JOB,), newest=3),
        ),
    ],
)
def test_a_query_says_which_rows_it_needs(text: str, expected: RowBounds) -> None:
    """By job, epoch and LIMIT."""
    found = question(text, FACTS)
    assert found is not None
    assert found.bounds == expected


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM sync_epochs WHERE job_id = 5 OR epoch = 1",
        "SELECT * FROM sync_epochs WHERE NOT job_id = 5",
        "SELECT * FROM sync_epochs WHERE job_id <> 5",
        "SELECT * FROM sync_epochs WHERE epoch < 5",
        "SELECT * FROM sync_epochs WHERE job_id = '5'",
        "SELECT * FROM sync_epochs WHERE job_name = 5",
        "SELECT * FROM sync_epochs ORDER BY epoch LIMIT 5",
        "SELECT * FROM sync_epochs ORDER BY change_rows DESC LIMIT 5",
        "SELECT -epoch AS epoch FROM sync_epochs ORDER BY epoch DESC LIMIT 5",
        "SELECT count(*) FROM sync_epochs LIMIT 5",
        "SELECT DISTINCT state FROM sync_epochs LIMIT 5",
        "SELECT state FROM sync_epochs GROUP BY state LIMIT 5",
        "SELECT epoch, row_number() OVER (ORDER BY epoch) FROM sync_epochs LIMIT 5",
        "SELECT * FROM sync_epochs WHERE state = 'INTENT' LIMIT 5",
        "SELECT * FROM sync_epochs WHERE epoch = (SELECT max(epoch) FROM sync_epochs) LIMIT 5",
        "SELECT * FROM sync_epochs JOIN sync_jobs USING (job_id) WHERE job_id = 5 LIMIT 5",
        "SELECT * FROM sync_epochs UNION SELECT * FROM sync_epochs LIMIT 5",
        "SELECT epoch AS e FROM sync_epochs HAVING e > 5 LIMIT 5",
    ],
)
def test_what_does_not_bound_the_rows_is_left_to_the_query(text: str) -> None:
    """It is given all of them, since none can be left out for certain."""
    found = question(text, FACTS)
    assert found is not None
    assert found.bounds == RowBounds()


def test_a_query_says_since_when_commits_are_wanted() -> None:
    """As an expression, which has no column; LIMIT then does not count."""
    text = "SELECT * FROM sync_epochs WHERE commit_time >= now() - INTERVAL 1 HOUR ORDER BY epoch DESC LIMIT 5"
    found = question(text, FACTS)
    assert found is not None
    assert "2026-11-27 14:00:00" in found.bounds.since
    assert found.bounds.newest is None
    other = question("SELECT * FROM sync_epochs WHERE commit_time >= source_time", FACTS)
    assert other is not None
    assert other.bounds == RowBounds()
