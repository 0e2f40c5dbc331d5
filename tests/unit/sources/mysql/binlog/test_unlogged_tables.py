"""Tables that patterns match and that no statement has created."""

from syncmgr.job.channel.patterns import DatabasePattern
from syncmgr.sources.mysql.binlog.unlogged_tables import AGAIN_SECOND, UnloggedTables

LATE = ("shop", "late")


def test_a_stranger_is_reported_now_and_then() -> None:
    """However often its rows change, and again later: it may have been dropped and created again in between."""
    now = [5.0]
    unlogged_tables = UnloggedTables((DatabasePattern(db="shop", exclude=(("shop", "out"),)),), lambda: now[0])
    assert [unlogged_tables.heed(table) for table in (LATE, LATE, ("shop", "out"), ("mall", "t"))] == [
        True,
        True,
        False,
        False,
    ]
    assert (unlogged_tables.take(), unlogged_tables.take()) == ({LATE}, set())
    now[0] += AGAIN_SECOND - 1
    assert (unlogged_tables.heed(LATE), unlogged_tables.take()) == (True, set())
    now[0] += 1
    assert (unlogged_tables.heed(LATE), unlogged_tables.take()) == (True, {LATE})
