"""Whether a frontend is alive, and whether clients should be sent to it.

Owns: the two rules, and Doris' shapes of their answers.
Must not know: HTTP, clocks.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from syncmgr.job.metrics.sample import Sample

STALE_SECOND: Final = 15.0  # a sample that is older says that nothing measures any more

Facts = Mapping[str, str | int]


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """`reason` None: yes. `data`: as Doris' frontend names it."""

    reason: str | None
    data: Facts = field(default_factory=dict)

    @property
    def body(self) -> dict[str, object]:
        """Doris' envelope."""
        message = "success" if self.reason is None else self.reason
        return {"msg": message, "code": 0 if self.reason is None else 1, "data": dict(self.data), "count": 0}


def health(sample: Sample | None, now: float, stale_second: float = STALE_SECOND) -> Answer:
    """Liveness: no only if a restart would help. A lake or metadata that are down are no reason: whoever restarts a
    frontend for them would do so for ever. The lake counts as Doris' backend.
    """
    if sample is None:
        return Answer(reason="the frontend starts")
    age = now - sample.at
    data = {"online_backend_num": int(sample.spark_up.get("lake", False)), "total_backend_num": 1}
    if age > stale_second:
        return Answer(reason=f"nothing was measured for {age:.0f} s", data=data)
    return Answer(reason=None, data=data)


def readiness(sample: Sample | None, now: float, stale_second: float = STALE_SECOND) -> Answer:
    """Whether statements can be answered: what a load balancer asks."""
    alive = health(sample, now, stale_second)
    if alive.reason is None and sample is not None and not sample.meta_up:
        return Answer(reason="the metadata do not answer", data=alive.data)
    return alive


def bootstrap(query_port: int) -> Answer:
    """What Doris' tools ask first. The version and the start are for those who have logged in."""
    return Answer(
        reason=None,
        data={"replayedJournalId": 0, "queryPort": query_port, "rpcPort": 0, "version": "", "startTime": 0},
    )
