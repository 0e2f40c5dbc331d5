import threading

from syncmgr.errors import Code, SyncError
from syncmgr.pipeline.supervision.health import Health
from tests.support.until import HANG_SECOND

STOPPED = SyncError(Code.TABLE_STOPPED, table="shop.t", reason="its columns are not known")


def test_what_was_so_before_is_not_told_after_what_is_so_now() -> None:
    """A sign of life, which the thread of the pipe hears, and a table that stops at the same time: Msg says that."""
    told: list[SyncError | None] = []
    now: list[SyncError | None] = [None]

    def standstill() -> SyncError | None:
        found = now[0]
        if threading.current_thread() is not stopping:
            now[0] = STOPPED
            stopping.start()
            stopping.join(1.0)
        return found

    health = Health(told.append, standstill)
    stopping = threading.Thread(target=health.report, args=(None,))
    health.heard()
    stopping.join(HANG_SECOND)
    assert told == [None, STOPPED]


def test_rows_that_are_read_end_what_was_told_before() -> None:
    """A job that was paused while its first rows were read has no worker for hours, which would report a sign of life;
    but a table that has failed meanwhile is told at the next chunk.
    """
    told: list[SyncError | None] = []
    now: list[SyncError | None] = [None]
    health = Health(told.append, lambda: now[0])
    health.read()
    health.read()
    assert told == [None]
    now[0] = STOPPED
    health.read()
    health.read()
    assert told == [None, STOPPED]


def test_another_reason_of_the_same_table_is_told() -> None:
    """A full disk, and then a target that somebody has dropped: Msg does not go on about the disk."""
    told: list[SyncError | None] = []
    facts = {"table": "demo.t", "epochs": 1, "bytes": 1}
    reasons = [SyncError(Code.LAKE_FULL, reason="disk"), SyncError(Code.NO_SUCH_TABLE, db="demo", table="t")]
    now = [SyncError(Code.CHANNEL_BEHIND, reason=reasons[0], **facts)]
    health = Health(told.append, lambda: now[0])
    health.tend()
    now[0] = SyncError(Code.CHANNEL_BEHIND, reason=reasons[0], **(facts | {"epochs": 2}))
    health.tend()
    now[0] = SyncError(Code.CHANNEL_BEHIND, reason=reasons[1], **facts)
    health.tend()
    assert [error.context["reason"] for error in told if error is not None] == reasons
