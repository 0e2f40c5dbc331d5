"""What somebody in the place of a MySQL server can do to the reader of a snapshot."""

import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.tls import Tls
from syncmgr.sources.mysql.address import MysqlAddress
from tests.support.chunk_reads import one_number
from tests.support.servers.hostile import EOF, OK, SECRET, HostileServer, Talk, Thief, answering

PREPARED = b"\0" + struct.pack("<IHHxH", 1, 1, 0, 0)
NUMBER = b"\3def\0\0\0\1a\1a\x0c" + struct.pack("<HIBHB", 63, 20, 8, 0, 0) + bytes(2)
TEXT = b"\3def\0\0\0\1a\1a\x0c" + struct.pack("<HIBHB", 45, 20, 253, 0, 0) + bytes(2)
ROW = b"\0\0" + struct.pack("<q", 7)
ERROR = b"\xff" + struct.pack("<H", 1317) + b"#70100Query execution was interrupted"


def serving(*answer: bytes) -> Callable[[Talk], None]:
    """A script that prepares a query of one number, and answers it with these packets."""

    def reply(talk: Talk, question: bytes) -> None:
        match question[0]:
            case 0x16:
                talk.send(PREPARED, NUMBER, EOF)
            case 0x17:
                talk.send(*answer)
                talk.hear()
            case _:
                talk.send(OK)

    return answering(reply)


def read(server: HostileServer, most_row: int = 1 << 20) -> list[int]:
    address = MysqlAddress(host="127.0.0.1", port=server.port, user="repl", password="p", tls=Tls(mode="disabled"))
    rows = replace(one_number(address), most_row=most_row)
    return [number for each in rows() for number in each.rows["a"].to_pylist()]


@pytest.mark.parametrize("at", [b"select", b"SELECT 1 c0"])
def test_the_snapshot_gives_no_file(tmp_path: Path, at: bytes) -> None:
    """A server that asks for one, at any of the reader's statements, hears nothing of it."""
    (tmp_path / "secret").write_bytes(SECRET)
    thief = Thief(tmp_path / "secret", at)
    with HostileServer(thief.script) as server, pytest.raises(SyncError) as caught:
        read(server)
    assert caught.value.code is Code.SOURCE_ASKS_FILE
    assert not any(SECRET in packet for packet in thief.got)


def test_an_honest_answer_is_read() -> None:
    """Otherwise the other tests prove nothing."""
    with HostileServer(serving(b"\1", NUMBER, EOF, ROW, ROW, EOF)) as server:
        assert read(server) == [7, 7]


@pytest.mark.parametrize(
    ("answer", "code", "said"),
    [
        ((b"\1", NUMBER, EOF, ROW, ERROR), Code.SOURCE_UNREACHABLE, "interrupted"),
        ((b"\1", NUMBER, EOF, ROW[:-1], EOF), Code.SOURCE_ANSWER, "does not end where its packet does"),
        ((b"\1", NUMBER, EOF, b"\0\0" + bytes(9), EOF), Code.SOURCE_ANSWER, "does not end where its packet does"),
        ((b"\1", NUMBER, EOF, b"\1abc"), Code.SOURCE_ANSWER, "neither a row nor the end"),
        ((b"\1", NUMBER, EOF, b"\xfbfile"), Code.SOURCE_ANSWER, "neither a row nor the end"),
        ((b"\1", NUMBER, EOF, ROW + bytes(1 << 21)), Code.SOURCE_TOO_LARGE, "a row of more than 1048576 bytes"),
        ((b"\2", NUMBER, NUMBER, EOF), Code.SOURCE_ANSWER, "2 columns instead of 1"),
        ((b"\1", NUMBER, NUMBER, EOF), Code.SOURCE_ANSWER, "more columns than it says"),
        ((b"\1", TEXT, EOF), Code.SNAPSHOT_BROKEN, "column 'a', which is bigint"),
    ],
)
def test_what_is_no_row_is_told(answer: tuple[bytes, ...], code: Code, said: str) -> None:
    """And nothing is made of it."""
    with HostileServer(serving(*answer)) as server, pytest.raises(SyncError, match=said) as caught:
        read(server)
    assert caught.value.code is code
