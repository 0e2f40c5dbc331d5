import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncmgr.errors import Code, SyncError
from syncmgr.job.position import GtidSet, Position
from syncmgr.sources.mysql.address import MysqlAddress
from syncmgr.sources.mysql.binlog.continuation.gtid_events import encode_gtids
from syncmgr.sources.mysql.binlog.dump.packets import Packets
from syncmgr.sources.mysql.binlog.dump.stream import (
    BinlogStream,
    DuplicateServerIdError,
    StreamLostError,
    StreamOptions,
)

A = "3e11fa47-71ca-11e1-9e33-c80aa9429562"


class Wire:
    """A socket that gives what it was told, in pieces."""

    def __init__(self, data: bytes, piece: int) -> None:
        self._data = data
        self._piece = piece

    def settimeout(self, seconds: float) -> None:
        """Everything is there already."""

    def recv_into(self, into: memoryview) -> int:
        size = min(self._piece, len(into))
        part, self._data = self._data[:size], self._data[size:]
        into[: len(part)] = part
        return len(part)


def stream(data: bytes, *, crc: bool = True, piece: int = 1 << 20) -> BinlogStream:
    """A stream past its handshake."""
    made = BinlogStream.__new__(BinlogStream)
    made._address = MysqlAddress(host="h", port=1, user="u", password="p")
    made._options, made.received = StreamOptions(server_id=1), 0
    made._packets = Packets(checksums=crc, verify=True, event_bytes=made._options.event_bytes)
    made._start = Position(file="b.1", offset=4)
    made._socket = Wire(data, piece)  # type: ignore[assignment]
    return made


def event(body: bytes, *, crc: bool = True) -> bytes:
    """A QUERY event's header and body, with its checksum."""
    whole = struct.pack("<IBIIIH", 1, 2, 1, 19 + len(body) + 4 * crc, 0, 0) + body
    return whole + struct.pack("<I", zlib.crc32(whole)) * crc


def packets(payload: bytes) -> bytes:
    """As MySQL frames it: 16 MiB - 1 at most each, and a last one that is shorter."""
    parts = [payload[at : at + 0xFFFFFF] for at in range(0, len(payload) + 1, 0xFFFFFF)]
    return b"".join(struct.pack("<I", len(part) | (i % 256) << 24) + part for i, part in enumerate(parts))


def everything(source: BinlogStream) -> list[bytes]:
    found: list[bytes] = []
    try:
        while (chunk := source.read(1)) is not None:
            found += [bytes(chunk.data[begin:end]) for begin, end in chunk.spans]
    except StreamLostError:  # the wire has nothing more
        return found
    raise AssertionError("the stream did not end")


@given(st.lists(st.binary(max_size=300), max_size=30), st.integers(1, 700), st.booleans())
def test_events_come_out_whole_however_they_arrive(bodies: list[bytes], piece: int, crc: bool) -> None:  # noqa: FBT001
    """Packets cut anywhere by the network give the same events, without their checksums."""
    data = b"".join(packets(b"\0" + event(body, crc=crc)) for body in bodies)
    assert [found[19:] for found in everything(stream(data, crc=crc, piece=piece))] == bodies


@pytest.mark.parametrize(
    "size", [0xFFFFFF - 25, 0xFFFFFF - 24, 0xFFFFFF - 23, 0xFFFFFF, 2 * 0xFFFFFF - 24, 2 * 0xFFFFFF + 9]
)
def test_events_of_many_packets(size: int) -> None:
    """An event of 16 MiB and more is joined, also where its last packet is empty."""
    body = b"x" * size
    data = packets(b"\0" + event(body)) + packets(b"\0" + event(b"next"))
    found = everything(stream(data, piece=3_000_000))
    assert [len(one) for one in found] == [size + 19, 23]
    assert found[0][19:] == body


def test_a_wrong_checksum_is_an_error() -> None:
    """A single turned bit is found, and a wrong size where there are no checksums."""
    good = event(b"hello")
    for at in range(len(good)):
        bad = good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :]
        if at == 4:
            continue  # becomes another type, FORMAT_DESCRIPTION among them
        with pytest.raises(SyncError) as caught:
            stream(packets(b"\0" + bad)).read(1)
        assert caught.value.code is Code.SOURCE_PROTOCOL
    with pytest.raises(SyncError):
        stream(packets(b"\0" + event(b"hello", crc=False) + b"x"), crc=False).read(1)


@pytest.mark.parametrize(
    ("number", "message", "expected"),
    [
        (1236, "Could not find first log file name in binary log index file", Code.SOURCE_POSITION_LOST),
        (
            1236,
            "the source has purged binary logs containing GTIDs that the replica requires",
            Code.SOURCE_POSITION_LOST,
        ),
        (1236, "Could not find GTID state requested by slave in any binlog files", Code.SOURCE_POSITION_LOST),
        (1236, "Client requested source to start replication from position > file size", Code.SOURCE_POSITION_LOST),
        (1236, "bogus data in log event", Code.SOURCE_PROTOCOL),
        (
            1227,
            "Access denied; you need (at least one of) the REPLICATION SLAVE privilege(s)",
            Code.SOURCE_GRANT_MISSING,
        ),
    ],
)
def test_refusals_have_names(number: int, message: str, expected: Code) -> None:
    """The server's errors inside the stream become ours, after the events in front of them."""
    refusal = b"\xff" + struct.pack("<H", number) + b"#HY000" + message.encode()
    source = stream(packets(b"\0" + event(b"first")) + packets(refusal))
    chunk = source.read(1)
    assert chunk is not None
    assert len(chunk.spans) == 1
    with pytest.raises(SyncError) as caught:
        source.read(1)
    assert caught.value.code is expected


def test_what_a_new_connection_may_mend() -> None:
    """An end of the stream, a killed connection and a second replica of our id are not final."""
    with pytest.raises(StreamLostError):
        stream(packets(b"\xfe\0\0\0\0")).read(1)
    with pytest.raises(StreamLostError):
        stream(packets(b"\xff" + struct.pack("<H", 1317) + b"#70100interrupted")).read(1)
    twice = b"A replica with the same server_uuid/server_id as this replica has connected to the source"
    with pytest.raises(DuplicateServerIdError):
        stream(packets(b"\xff" + struct.pack("<H", 1236) + b"#HY000" + twice)).read(1)


def test_gtid_sets_on_the_wire() -> None:
    """Sets without tags have the form of every MySQL, those with tags that of 8.3."""
    raw = bytes.fromhex(A.replace("-", ""))
    plain = encode_gtids(GtidSet.parse(f"{A}:1-5:7"))
    assert plain == struct.pack("<Q", 1) + raw + struct.pack("<QQQQQ", 2, 1, 6, 7, 8)
    tagged = encode_gtids(GtidSet.parse(f"{A}:1:tag:2"))
    head = b"\x01" + (2).to_bytes(6, "little") + b"\x01"
    assert tagged == head + raw + b"\0" + struct.pack("<QQQ", 1, 1, 2) + raw + b"\x06tag" + struct.pack("<QQQ", 1, 2, 3)
