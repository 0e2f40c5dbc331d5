"""Samples of the tests."""

from types import MappingProxyType
from typing import Any

from syncmgr.job.channel.channel_state import ChannelState
from syncmgr.job.metrics.sample import JobSample, Nature, Sample
from syncmgr.job.show_sync import Figures
from syncmgr.job.state import JobState

NOTHING = Figures(position=None, rows=0, bytes=0, commits=0)


def make_job_sample(**fields: Any) -> JobSample:
    """A job that streams one table."""
    given: dict[str, Any] = {
        "id": 1,
        "db": "demo",
        "name": "shop",
        "state": JobState.RUNNING,
        "needs_operator": False,
        "trouble": None,
        "failures": 0,
        "stopped": {},
        "tables": dict.fromkeys(ChannelState, 0) | {ChannelState.STREAMING: 1},
        "lag_second": 0.5,
        "synced_until": 100.0,
        "figures": NOTHING,
        "behind_bytes": {},
        "snapshots": (),
        "left_second": None,
        "nature": Nature(kind="mysql", server="db1:3306", targets=(("demo", "orders"),)),
    }
    return JobSample(**(given | fields))


def make_sample(*jobs: JobSample, **fields: Any) -> Sample:
    """A frontend in order, measured at 1,000 s."""
    given: dict[str, Any] = {
        "at": 1000.0,
        "started_at": 10.0,
        "version": "1.0",
        "meta_up": True,
        "spark_up": MappingProxyType({"lake": True, "queries": False}),
        "disk_free": MappingProxyType({"meta_dir": 5}),
        "jobs": jobs,
    }
    return Sample(**(given | fields))
