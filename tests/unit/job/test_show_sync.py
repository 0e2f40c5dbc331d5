import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.channel_state import ChannelState, Shown
from syncmgr.job.epoch import Backlog
from syncmgr.job.failure import FailMsg, FailType
from syncmgr.job.overview import TableOverview
from syncmgr.job.position import Position
from syncmgr.job.show_sync import (
    SHOW_COLUMNS,
    Figures,
    JobStatus,
    behind_facts,
    index_facts,
    pause_facts,
    show_row,
    snapshot_row,
    upkeep_facts,
)
from syncmgr.job.snapshot.chunk import ChunkPlan, Load
from syncmgr.job.snapshot.key_range import KeyRange
from syncmgr.job.state import JobEvent
from tests.unit.job.factories import make_channel, make_job, make_source_table

TABLE = TableOverview(
    channel=make_channel(), shown=Shown(state=ChannelState.STREAMING), synced_until=98.0, lag_second=2.0
)
SILENT = {
    "lag_bytes": None,
    "binlog_left": None,
    "server": None,
    "paused": {},
    "upkeep": {},
    "index": {},
    "snapshot": {},
    "refused": {},
}


def status(figures: Figures, *tables: TableOverview, synced: float | None = None, **told: Any) -> dict[str, Any]:
    given = SILENT | {"needs_operator": False, "lag": None} | told
    found: dict[str, Any] = json.loads(JobStatus(figures=figures, tables=tables, synced=synced, **given).text())
    return found


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


def test_a_warning_stands_beside_what_a_job_says() -> None:
    """It is no error, and takes the place of none."""
    warning = SyncError(Code.SOURCE_PURGES_SOON, address="db1:3306", left="2.0 hours")
    job = make_job().on(JobEvent.STARTED, at=1.0)
    told = show_row(job, "{}", warning=warning)[-1]
    assert told is not None
    assert "may be purged from the binlog of db1:3306 in 2.0 hours" in told
    assert told.endswith("(warning 20147)")
    failed = job.failed(SyncError(Code.INTERNAL, message="x"), FailType.RUN_FAIL, at=2.0)
    assert failed.fail is not None
    assert show_row(failed, "{}", warning=warning)[-1] == f"{failed.fail.text}; {told}"


def test_a_job_that_is_pending_says_what_it_waits_for() -> None:
    """Where its last run has yet to end; else it waits for nothing that has a name."""
    job = make_job()
    assert show_row(job, "{}", is_ending=True)[-1] == "waits for the end of its last run"
    assert show_row(job, "{}")[-1] is None
    assert show_row(job.on(JobEvent.STARTED, at=1.0), "{}", is_ending=True)[-1] is None


def test_a_pause_says_by_whom_and_until_when() -> None:
    """By a user, by an error that passes by itself, or by one that waits for a person; its number while it is tried."""
    running = make_job().on(JobEvent.STARTED, at=1.0)
    assert set(pause_facts(running).values()) == {None}
    assert pause_facts(running.on(JobEvent.PAUSED_BY_USER, at=2.0))["paused_by"] == "user"
    fail = FailMsg(type=FailType.SUBMIT_FAIL, code=20103, message="no grant", at=60.0)
    tried = pause_facts(running.troubled(fail))
    assert (tried["paused_by"], tried["error"], tried["error_at"]) == (None, 20103, "1970-01-01 00:01:00")
    stopped = replace(running.on(JobEvent.FAILED, at=61.0, fail=fail), resume_at=120.0)
    facts = pause_facts(stopped)
    assert (facts["paused_by"], facts["resume_at"], facts["last_error"]) == ("error", "1970-01-01 00:02:00", "no grant")


@pytest.mark.parametrize(("ordinal", "torn"), [(0, False), (1, True), (40, True)])
def test_a_position_inside_a_transaction_is_torn(ordinal: int, *, torn: bool) -> None:
    """From its first row on."""
    figures = Figures(position=Position(ordinal=ordinal), rows=0, bytes=0, commits=0)
    assert status(figures)["torn"] is torn


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
    upkeep = {"orders": upkeep_facts([SimpleNamespace(kind="fold", at=0.0), folded], "upkeep: no space")}
    snapshot = {"orders": {"phase": "snapshot", "rows": 3}}
    told = {"server": "db1:3306", "upkeep": upkeep, "index": index, "snapshot": snapshot}
    assert status(figures, TABLE, synced=98.76543, lag=1.23457, lag_bytes=77, binlog_left=3600.7, **told) == {
        "position": {"gtid": "u:1-5", "file": "b.000001", "offset": 4},
        "torn": False,
        "server": "db1:3306",
        "consumed_rows": 7,
        "consumed_bytes": 90,
        "commits": 2,
        "prepared_xa": 3,
        "dead_letters": 2,
        "synced_until": "1970-01-01 00:01:38",
        "lag_second": 1.235,
        "lag_bytes": 77,
        "binlog_left_second": 3601,
        "needs_operator": False,
        "stopped": {},
        "refused": {},
        "behind": {},
        "upkeep": {"orders": {"fold": "2020-09-13 12:26:40", "error": "upkeep: no space"}},
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
    """Each table that does not stream, with its source, what waits, and number, words and advice while it stands still:
    messages about what was read name the source.
    """
    full = Shown(state=ChannelState.BEHIND, since=1_600_000_000.0, error=20223, reason="No space", advice="Make room.")
    still = TableOverview(
        channel=make_channel(),
        shown=full,
        synced_until=9.0,
        lag_second=91.0,
        backlog=Backlog(epochs=3, bytes=700, since=9.0),
    )
    assert behind_facts([still, TABLE]) == {
        "demo.orders": {
            "source": "shop.orders",
            "state": "BEHIND",
            "epochs": 3,
            "bytes": 700,
            "since": "2020-09-13 12:26:40",
            "error": 20223,
            "reason": "No space",
            "advice": "Make room.",
        }
    }


def test_all_tables_that_are_not_read_are_told() -> None:
    """By the name that RESYNC TABLE takes; they are no fresher than the others in `behind`."""
    shown = Shown(state=ChannelState.STOPPED, since=1_600_000_000.0, error=20109, reason="why", advice="RESYNC.")
    lines = make_channel(source=make_source_table(name="lines"), target="lines")
    stopped = TableOverview(channel=make_channel(), shown=shown, synced_until=9.0, lag_second=91.0)
    tables = [TABLE, stopped, replace(stopped, channel=lines)]
    told = status(Figures(position=None, rows=0, bytes=0, commits=0), *tables, synced=9.0, lag=91.0)
    facts = {"since": "2020-09-13 12:26:40", "error": 20109, "reason": "why", "advice": "RESYNC."}
    assert told["stopped"] == {"shop.orders": facts, "shop.lines": facts}
    assert {each["state"] for each in told["behind"].values()} == {"STOPPED"}
    assert told["lag_second"] == 91.0


def test_a_snapshot_is_told_by_its_tables() -> None:
    """One row for each target: from where, into what, and how far."""
    plan = ChunkPlan(id="p", key=("id",), bounds=(("9",),), rows=20)
    load = Load(token="token-1", plan=plan, done=frozenset({1}), rows=10)
    reads = replace(TABLE, shown=Shown(state=ChannelState.SNAPSHOT, reason="its rows are being read"))
    row = snapshot_row(reads, {"token-1": load}, {"token-1": 5.0})
    assert row == ("shop", "orders", "demo", "orders", "snapshot", 10, 20, 2, 1, 5, 2.0, None, None)
    excerpt = KeyRange(way="", text="`id` > 5", columns=("id",), lake="", source="")
    part = {"token-1": Load(token="token-1", replaces=True, excerpt=excerpt)}
    assert snapshot_row(reads, part, {})[4:] == ("snapshot", 0, None, None, 0, None, None, None, "`id` > 5")


@pytest.mark.parametrize(
    ("shown", "phase", "reason"),
    [
        (Shown(state=ChannelState.STOPPED, error=20109, reason="why"), "stopped", "why"),
        (Shown(state=ChannelState.SNAPSHOT, error=20142, reason="denied"), "snapshot", "denied"),
        (Shown(state=ChannelState.BEHIND, error=20223, reason="no space"), "snapshot", None),
    ],
)
def test_a_reading_of_a_stopped_table_has_no_phase(shown: Shown, phase: str, reason: str | None) -> None:
    """Nothing of it goes on; a reason is one of the reading, or of the stop."""
    row = snapshot_row(replace(TABLE, shown=shown), {"token-1": Load(token="token-1")}, {})
    assert (row[4], row[-2]) == (phase, reason)
