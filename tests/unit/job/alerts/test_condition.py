from collections.abc import Mapping
from typing import Any, Final

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.alerts.condition import AlertEvent, AlertKey, Condition, Thresholds, conditions
from syncmgr.job.channel.channel_state import ChannelState
from syncmgr.job.metrics.sample import JobSample, Trouble
from syncmgr.job.show_sync import Figures
from syncmgr.job.state import JobState
from tests.unit.job.metrics.factories import make_job_sample, make_sample

LIMITS = Thresholds(lag_second=60, for_second=120, disk_bytes=1 << 30)
DENIED = Trouble(error=20103, message="User 'u' lacks SELECT", advice="Run the GRANT")
NONE = dict.fromkeys(ChannelState, 0)


def found(*jobs: JobSample, **fields: Any) -> Mapping[AlertKey, Condition]:
    return conditions(make_sample(*jobs, **({"disk_free": {}} | fields)), LIMITS)


@pytest.mark.parametrize(
    ("fields", "event"),
    [
        ({}, None),
        ({"needs_operator": True, "trouble": DENIED, "state": JobState.PAUSED_BY_ERROR}, AlertEvent.NEEDS_OPERATOR),
        ({"failures": 3, "trouble": DENIED, "state": JobState.PAUSED_BY_ERROR}, AlertEvent.PAUSED),
        ({"failures": 2, "trouble": DENIED, "state": JobState.PAUSED_BY_ERROR}, None),
        ({"state": JobState.CANCELLED, "trouble": DENIED}, AlertEvent.CANCELLED),
        ({"state": JobState.CANCELLED}, None),
        ({"state": JobState.CANCELLED, "lag_second": 1e6, "needs_operator": True}, None),
        ({"lag_second": 61.0}, AlertEvent.LAGGING),
        ({"lag_second": 60.0}, None),
        ({"lag_second": None}, None),
        ({"tables": NONE | {ChannelState.BEHIND: 1}}, AlertEvent.TABLE_BEHIND),
        ({"figures": Figures(position=None, rows=0, bytes=0, commits=0, dead_letters=1)}, AlertEvent.DEAD_LETTERS),
    ],
)
def test_what_is_an_alert(fields: dict[str, Any], event: AlertEvent | None) -> None:
    """One condition at most of a job that has one fault; what a user has stopped is none."""
    assert [key.event for key in found(make_job_sample(**fields))] == ([] if event is None else [event])


def test_a_stopped_table_is_told_once() -> None:
    """By its own name, and not by its job as well, unless that stands still, too."""
    stopped = {"shop.orders": Trouble(error=20112, message="DROP COLUMN", advice="RESYNC TABLE")}
    running = make_job_sample(needs_operator=True, stopped=stopped, trouble=DENIED)
    [key] = found(running)
    assert (key.event, key.job, key.subject) == (AlertEvent.TABLE_STOPPED, "demo.shop", "shop.orders")
    paused = make_job_sample(needs_operator=True, stopped=stopped, trouble=DENIED, state=JobState.PAUSED_BY_ERROR)
    assert {each.event for each in found(paused)} == {AlertEvent.TABLE_STOPPED, AlertEvent.NEEDS_OPERATOR}


@pytest.mark.parametrize(("free", "count"), [((1 << 30) - 1, 1), (1 << 30, 0)])
def test_a_full_disk_is_an_alert(free: int, count: int) -> None:
    """Of each folder by itself."""
    assert len(found(disk_free={"lake_dir": free, "log_dir": 1 << 40})) == count


def test_the_text_says_what_and_why() -> None:
    """With the number, and what to do beside it."""
    [told] = found(make_job_sample(needs_operator=True, trouble=DENIED)).values()
    assert told.text == "demo.shop needs an operator: error 20103: User 'u' lacks SELECT"
    assert (told.error, told.advice) == (20103, "Run the GRANT")


VALUE: Final = SyncError(Code.SOURCE_VALUE, column="pin", table="shop.t", value="1234", reason="why")


@pytest.mark.parametrize(
    "error",
    [
        VALUE,
        SyncError(Code.BACKLOG_STUCK, table="t", bytes=2, limit=1, reason=VALUE),
        SyncError(Code.BAD_EXPRESSION, expression="CAST(v AS INT)", reason="it fails for a row: '1234' is none"),
        SyncError(Code.FOREIGN_CHANGE, table="t", reason="its column a is int; RESYNC it; the value is 1234"),
        SyncError(Code.SOURCE_NOT_ROW, value="not ROW in a session that wrote t (INSERT 1234)", address="h:1"),
        SyncError(Code.SOURCE_UNSEEN, address="h:1", how="calls f", reason="why", statement="INSERT 1234"),
        SyncError(Code.SOURCE_LATE, address="h:1", done="used t", statement="INSERT 1234"),
    ],
    ids=lambda error: error.code.name,
)
def test_no_value_of_a_row_is_sent(error: SyncError) -> None:
    """Some messages quote values or statements, also as the reason of another one, which are for accounts with
    SELECT_PRIV.
    """
    quoting = Trouble(error=error.code.number, message=str(error), advice="RESYNC")
    assert "1234" in quoting.message
    tables = make_job_sample(needs_operator=True, trouble=quoting, stopped={"shop.orders": quoting})
    for each in found(tables, make_job_sample(name="other", needs_operator=True, trouble=quoting)).values():
        assert "1234" not in each.text
        assert f"error {error.code.number}: SHOW SYNC JOB says why" in each.text
