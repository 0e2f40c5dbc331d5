"""What somebody in the place of a canal server can do with his answers: nothing but end the connection."""

import struct
import time
from collections.abc import Callable

import pytest

from syncmgr.errors import Code
from syncmgr.sources.canal import packet
from syncmgr.sources.canal.connector import CanalLostError, Connector, Endpoint
from syncmgr.sources.canal.proto import packet_pb2
from tests.support.servers.hostile import HostileServer, Talk
from tests.support.until import PROMPT_SECOND, until


def frame(kind: packet_pb2.PacketType, body: bytes) -> bytes:
    whole = packet_pb2.Packet(version=1, type=kind, body=body).SerializeToString()
    return struct.pack(">I", len(whole)) + whole


GREETING = frame(packet_pb2.HANDSHAKE, packet_pb2.Handshake(seeds=b"12345678").SerializeToString())
ANSWER = frame(packet_pb2.ACK, b"")


def trickle(talk: Talk, data: bytes) -> None:
    talk.raw(data)
    while True:
        talk.raw(b"\0")
        time.sleep(0.02)


def let_in(then: Callable[[Talk], None]) -> Callable[[Talk], None]:
    def script(talk: Talk) -> None:
        talk.raw(GREETING + ANSWER + ANSWER)
        then(talk)

    return script


def lost(script: Callable[[Talk], None]) -> CanalLostError:
    """How reading from it ends."""
    with HostileServer(script) as server, pytest.raises(CanalLostError) as caught:
        _read(server)
    return caught.value


def _read(server: HostileServer) -> None:
    there = Endpoint(
        host="127.0.0.1",
        port=server.port,
        destination="d",
        user="canal",
        password="canal",
        connect_timeout=3.0,
        read_timeout=3.0,
    )
    connector = Connector(there, ".*")
    try:
        connector.ask(1, 25)
        until(lambda: connector.receive(time.monotonic() + 0.1), why="the end")
    finally:
        connector.close()


@pytest.mark.parametrize("size", [2**31 - 1, 2**31, 2**32 - 1, packet.MAX_FRAME + 1, 0])
def test_a_frame_of_no_size_ends(size: int) -> None:
    """Before there is room for it."""
    error = lost(let_in(lambda talk: trickle(talk, struct.pack(">I", size)))).cause_for_user
    assert error.code is Code.CANAL_PROTOCOL
    assert "a frame of" in str(error)


def test_a_greeting_without_end_ends() -> None:
    """It has no entries, so it is small."""
    error = lost(lambda talk: trickle(talk, struct.pack(">I", packet.MAX_LOGIN_FRAME + 1))).cause_for_user
    assert error.code is Code.CANAL_PROTOCOL


@pytest.mark.parametrize(
    "script", [lambda talk: trickle(talk, b"\0\0\1\0"), let_in(lambda talk: trickle(talk, b"\0\1\0\0"))]
)
def test_an_answer_that_trickles_is_given_up(script: Callable[[Talk], None]) -> None:
    """A byte now and then is no sign of life, before the login and after it."""
    begun = time.monotonic()
    assert lost(script).cause_for_user.code is Code.CANAL_UNREACHABLE
    assert time.monotonic() - begun < PROMPT_SECOND
