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
    stopping = threading.Thread(target=health.tell, args=(None,))
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
