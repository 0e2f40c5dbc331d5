import struct

import pytest

from syncmgr.job.source_history.heartbeats import Packet
from syncmgr.sources.mysql import wire
from syncmgr.sources.mysql.binlog.events import query, quiet_end

ROW = wire.WRITE_V2, 70, 400
BEAT = wire.HEARTBEAT, 0, 400


def packed(*events: tuple[int, int, int]) -> tuple[memoryview, list[tuple[int, int]]]:
    """Type, time and place of each."""
    whole = [struct.pack("<IBIIIH", at, kind, 1, 19 + 3, place, 0) + b"abc" for kind, at, place in events]
    return memoryview(b"".join(whole)), [(22 * n, 22 * n + 22) for n in range(len(whole))]


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([], []),
        ([BEAT], [Packet(place=400, heartbeat=True)]),
        ([ROW], [Packet(place=400, time=70.0)]),
        ([BEAT, ROW, (wire.XID, 71, 431)], [Packet(place=431, time=71.0)]),
        ([ROW, BEAT, BEAT], [Packet(place=400, time=70.0), *[Packet(place=400, heartbeat=True)] * 2]),
        ([(wire.HEARTBEAT_V2, 0, 0)], [Packet(place=0)]),
    ],
)
def test_the_last_event_and_the_heartbeats_behind_it(
    events: list[tuple[int, int, int]], expected: list[Packet]
) -> None:
    """Those before it prove nothing more; another form of heartbeat, which nobody asks for, none."""
    assert quiet_end(*packed(*events)) == expected


def test_all_bits_of_the_sql_mode_and_both_charsets_are_read() -> None:
    """MariaDB's EMPTY_STRING_IS_NULL is the 33rd bit of eight bytes."""
    variables = struct.pack("<BQ", 1, wire.EMPTY_STRING_IS_NULL | wire.MAXDB) + struct.pack("<BHHH", 4, 8, 54, 8)
    body = struct.pack("<IIBHH", 1, 0, 1, 0, len(variables)) + variables + b"d\0x"
    told = query(struct.pack("<IBIIIH", 1, wire.QUERY, 1, 19 + len(body), 500, 0) + body)
    assert told.sql_mode == wire.EMPTY_STRING_IS_NULL | wire.MAXDB
    assert (told.client, told.connection) == ("latin1", "utf16")
