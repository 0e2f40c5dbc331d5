import json
from types import SimpleNamespace

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.chunk import ChunkPlan, Load
from syncmgr.job.excerpt import Excerpt
from syncmgr.job.position import Position
from syncmgr.job.state import JobEvent
from syncmgr.job.status import (
    SHOW_COLUMNS,
    Figures,
    Reading,
    behind_facts,
    index_facts,
    lag_second,
    last_upkeep,
    show_row,
    snapshot_row,
    status_json,
)
from tests.unit.job.factories import make_channel, make_job

CAUGHT_UP = {
    "heard_at": 99.0,
    "read_time": 50.0,
    "idle": True,
    "waiting_since": None,
    "drained": True,
    "committed_time": 10.0,
    "silence_second": 5.0,
}


@pytest.mark.parametrize(
    ("why", "changes", "expected"),
    [
        ("caught up and in touch", {}, 0.0),
        ("caught up long ago, and heartbeats stopped", {"heard_at": 80.0}, 20.0),
        ("rows of other tables of long ago are still being read", {"idle": False}, 50.0),
        ("reading has begun, and nothing is known of its place", {"idle": False, "read_time": 0.0}, 90.0),
        ("rows of other tables of just now are being read", {"idle": False, "read_time": 97.0}, 0.0),
        ("a row waits for its commit", {"waiting_since": 97.5}, 2.5),
        ("there is more to read", {"drained": False}, 90.0),
        ("a source whose clock is ahead", {"waiting_since": 101.0}, 0.0),
    ],
)
def test_lag_is_honest(why: str, changes: dict[str, float], expected: float) -> None:
    """Lag is 0 only when caught up and in touch; silence of the source counts only when its heartbeats stop."""
    assert lag_second(Reading(**(CAUGHT_UP | changes)), 100.0) == expected, why


def test_a_row_has_the_twelve_columns_of_doris() -> None:
    """Names, order, formats and NULLs are those of Doris' SHOW SYNC JOB."""
    row = dict(zip(SHOW_COLUMNS, show_row(make_job().on(JobEvent.STARTED, at=1_600_000_000.0), "{}"), strict=True))
    assert row == {
        "JobId": "1",
        "JobName": "job1",
        "Type": "MYSQL",
        "State": "RUNNING",
        "Channel": "shop.orders->orders",
        "Status": "{}",
        "JobConfig": "address:db1:3306,user:repl,server_id:0,start:latest",
        "CreateTime": "1970-01-01 00:16:40",
        "LastStartTime": "2020-09-13 12:26:40",
        "LastStopTime": None,
        "FinishTime": None,
        "Msg": None,
    }


@pytest.mark.parametrize(("ordinal", "torn"), [(0, False), (1, True), (40, True)])
def test_a_position_inside_a_transaction_is_torn(ordinal: int, *, torn: bool) -> None:
    """From its first row on."""
    figures = Figures(position=Position(ordinal=ordinal), rows=0, bytes=0, commits=0)
    shown = status_json(
        figures,
        lag=None,
        server=None,
        last_error=None,
        advised=None,
        behind={},
        upkeep={},
        index={},
        snapshot={},
    )
    assert json.loads(shown)["torn"] is torn


def test_status_is_json() -> None:
    """Status tells position, figures, lag, the last error and upkeep in names that a script can read."""
    figures = Figures(
        position=Position(gtids="u:1-5", file="b.000001", offset=4),
        rows=7,
        bytes=90,
        commits=2,
        prepared=3,
        dead_letters=2,
    )
    folded = SimpleNamespace(kind="fold", at=1_600_000_000.0)
    standing = SimpleNamespace(
        state="ready", reason=None, rows=10, bytes=160, snapshot=7, equality_deletes=0, missing=0
    )
    index = {"orders": index_facts(standing)}
    upkeep = {"orders": last_upkeep([SimpleNamespace(kind="fold", at=0.0), folded])}
    snapshot = {"orders": {"phase": "snapshot", "rows": 3}}
    assert json.loads(
        status_json(
            figures,
            lag=1.23456,
            server="db1:3306",
            last_error=None,
            advised=None,
            behind={},
            upkeep=upkeep,
            index=index,
            snapshot=snapshot,
        )
    ) == {
        "position": {"gtid": "u:1-5", "file": "b.000001", "offset": 4},
        "torn": False,
        "server": "db1:3306",
        "consumed_rows": 7,
        "consumed_bytes": 90,
        "commits": 2,
        "prepared_xa": 3,
        "dead_letters": 2,
        "lag_second": 1.235,
        "last_error": None,
        "advice": None,
        "behind": {},
        "upkeep": {"orders": {"fold": "2020-09-13 12:26:40"}},
        "index": {
            "orders": {
                "state": "ready",
                "reason": None,
                "rows": 10,
                "bytes": 160,
                "snapshot": 7,
                "equality_deletes": 0,
                "missing": 0,
            },
        },
        "snapshot": snapshot,
    }


def test_what_is_behind_is_told_with_its_reason_and_what_to_do() -> None:
    """Number, words and advice while a table stands still; none of them while it catches up."""
    full = SyncError(Code.LAKE_FULL, reason="No space left on device")
    still = SimpleNamespace(table="demo.t", epochs=3, bytes=700, since=1_600_000_000.0, error=full)
    assert behind_facts(still) == {
        "epochs": 3,
        "bytes": 700,
        "since": "2020-09-13 12:26:40",
        "error": 20223,
        "reason": "No space left where the lake lies: No space left on device",
        "advice": "Make room where the lake lies; the job goes on by itself.",
    }
    moving = SimpleNamespace(table="demo.t", epochs=1, bytes=200, since=1_600_000_000.0, error=None)
    facts = behind_facts(moving)
    assert (facts["error"], facts["reason"], facts["advice"]) == (None, None, None)


def test_a_snapshot_is_told_by_its_tables() -> None:
    """One row for each target: from where, into what, and how far."""
    plan = ChunkPlan(id="p", key=("id",), bounds=(("9",),), rows=20)
    row = snapshot_row(make_channel(), Load(token="token-1", plan=plan, done=frozenset({1}), rows=10), 5.0, None)
    assert row == ("shop", "orders", "demo", "orders", "snapshot", 10, 20, 2, 1, 5, 2.0, None, None)
    excerpt = Excerpt(way="", text="`id` > 5", columns=("id",), lake="", source="")
    shown = snapshot_row(make_channel(), Load(token="token-1", replaces=True, excerpt=excerpt), None, None)
    assert shown[4:] == ("snapshot", 0, None, None, 0, None, None, None, "`id` > 5")
