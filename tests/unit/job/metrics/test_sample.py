from collections.abc import Mapping

import pytest

from syncmgr.errors import Code
from syncmgr.job.channel.channel_state import ChannelState, Stop
from syncmgr.job.epoch import Backlog
from syncmgr.job.failure import FailMsg, FailType
from syncmgr.job.metrics.sample import JobSample, SnapshotSample, job_sample, newest
from syncmgr.job.overview import Facts, overview
from syncmgr.job.snapshot.chunk import ChunkPlan, Load
from syncmgr.job.state import JobState
from syncmgr.job.sync_job import SyncJob
from tests.unit.job.factories import make_channel, make_job
from tests.unit.job.metrics.factories import NOTHING, make_job_sample

NOW = 100.0
PLAN = ChunkPlan(id="p", key=("id",), bounds=(("5",),), rows=80)
READ = Load(token="token-1", stale_since=0.0, begun_at=60.0, plan=PLAN, done=frozenset({1}), rows=40)


def sampled(job: SyncJob, facts: Facts, rates: Mapping[str, float] | None = None) -> JobSample:
    tables = overview(job, facts, NOW)
    return job_sample(job, NOTHING, tables=tables, refused=(), loads=facts.loads, rates=rates or {}, server="db1:3306")


def test_tables_are_counted_in_all_states() -> None:
    """States that no table has are there, with 0: a series that vanishes sets off no alert."""
    stopped = make_channel(token="two", target="lines", stopped=Stop(reason="why", error=Code.SOURCE_DDL.number))
    job = make_job(channels=(make_channel(), stopped), state=JobState.RUNNING)
    found = sampled(job, Facts(backlogs={"token-1": Backlog(epochs=1, bytes=7, since=70.0)}))
    assert dict(found.tables) == {
        ChannelState.SNAPSHOT: 0,
        ChannelState.STREAMING: 0,
        ChannelState.BEHIND: 1,
        ChannelState.STOPPED: 1,
    }
    assert found.needs_operator
    assert {table: trouble.message for table, trouble in found.stopped.items()} == {"shop.orders": "why"}
    assert found.behind_bytes == {"demo.orders": 7}


def test_a_cancelled_job_has_no_tables() -> None:
    """They are nobody's concern any more; its states of tables stay, with 0."""
    found = sampled(make_job(state=JobState.CANCELLED), Facts())
    assert (set(found.tables), sum(found.tables.values())) == (set(ChannelState), 0)


def test_an_error_is_told_by_its_number() -> None:
    """One without a number is what a user did."""
    fail = FailMsg(type=FailType.SUBMIT_FAIL, code=20103, message="denied", at=1.0)
    trouble = sampled(make_job(state=JobState.PAUSED_BY_ERROR, fail=fail), Facts()).trouble
    assert trouble is not None
    assert (trouble.error, trouble.message) == (20103, "denied")
    by_user = FailMsg(type=FailType.USER_CANCEL, code=0, message="stopped", at=1.0)
    assert sampled(make_job(state=JobState.CANCELLED, fail=by_user), Facts()).trouble is None


@pytest.mark.parametrize(("rates", "left"), [({"token-1": 20.0}, 2.0), ({}, None)])
def test_a_snapshot_says_how_far_it_is(rates: Mapping[str, float], left: float | None) -> None:
    """And how long it takes, once its speed is known."""
    found = sampled(make_job(state=JobState.RUNNING), Facts(loads={"token-1": READ}), rates)
    assert found.snapshots == (SnapshotSample(table="demo.orders", rows=40, estimated_rows=80),)
    assert found.left_second == left
    assert found.tables[ChannelState.SNAPSHOT] == 1


def test_a_name_means_the_newest_job_that_has_it() -> None:
    """Two series of one name are none: Prometheus refuses all that come with them."""
    old, new, other = make_job_sample(state=JobState.CANCELLED), make_job_sample(id=9), make_job_sample(name="other")
    assert newest([new, old, other]) == (new, other)
