"""Packets of a client that compresses: what they take, and that nobody waits for them."""

import asyncio
import socket
from collections.abc import Awaitable, Callable

import pytest

from syncmgr.console.limits import KiB, Limits, MiB
from syncmgr.console.memory import Memory, Share
from syncmgr.console.wire.compression import ZLIB, ZSTD, Algorithm, frames
from syncmgr.console.wire.packet import MAX_PAYLOAD, frame
from syncmgr.console.wire.stream import LARGE, PacketStream, TooLongError
from syncmgr.errors import Code, SyncError
from tests.support.until import HANG_SECOND

BOTH = pytest.mark.parametrize("algorithm", [ZLIB, ZSTD], ids=lambda algorithm: algorithm.name)
PACKET = b"\x03" + b"syncmgr " * (MiB // 8)


def on_stream(
    algorithm: Algorithm, script: Callable[[PacketStream, socket.socket, Share], Awaitable[None]], **limits: int
) -> None:
    """Run what a console does with a client of whom the other socket is."""

    async def run() -> None:
        ours, theirs = socket.socketpair()
        with ours, theirs:
            found = Limits(**limits)
            share = Share(Memory(found))
            ours.setblocking(False)
            stream = PacketStream(ours, found)
            await stream.open(None)
            stream.compress(algorithm, share)
            async with asyncio.timeout(HANG_SECOND):
                await script(stream, theirs, share)
            stream.abort()

    asyncio.run(run())


async def read(stream: PacketStream, share: Share, most: int = 64 * MiB) -> bytes:
    """The next packet, held as a connection holds it."""
    held = 0

    def keeps(size: int) -> bool:
        nonlocal held
        share.give_back(held)
        held = 0
        if size <= most and share.holds(size):
            held = size
        return held == size

    stream.restart_sequence()
    try:
        return await stream.read(limit=64 * MiB, idle=HANG_SECOND, keeps=keeps)
    finally:
        share.give_back(held)


def send(theirs: socket.socket, data: bytes) -> "asyncio.Future[None]":
    return asyncio.get_running_loop().run_in_executor(None, theirs.sendall, data)


@BOTH
def test_a_frame_is_held_before_it_is_read(algorithm: Algorithm) -> None:
    """Whoever sends the beginning of a large one, or one that becomes large, is told that there is no room for it."""
    for length, size in ((MAX_PAYLOAD, 0), (16, MAX_PAYLOAD)):
        head = length.to_bytes(3, "little") + b"\0" + size.to_bytes(3, "little")

        async def script(stream: PacketStream, theirs: socket.socket, share: Share, head: bytes = head) -> None:
            await send(theirs, head + b"x" * KiB)
            with pytest.raises(SyncError) as caught:
                await read(stream, share)
            assert caught.value.code is Code.MEMORY_FULL

        on_stream(algorithm, script, max_connection_bytes=8 * MiB)


@BOTH
@pytest.mark.parametrize("size", [10, 100 * KiB, 5 * MiB, MAX_PAYLOAD, 20 * MiB])
def test_packets_are_read_and_nothing_of_them_stays(algorithm: Algorithm, size: int) -> None:
    """Of whatever size, many in one frame and one in many, in little more room than they take themselves."""
    packet = b"\x03" + bytes(range(256)) * (size // 256) + b"x" * (size % 256)

    async def script(stream: PacketStream, theirs: socket.socket, share: Share) -> None:
        plain = frame(packet, 0)[0] + frame(b"\x0e", 0)[0] * 3
        sending = send(theirs, frames(plain, 0, algorithm)[0])
        assert await read(stream, share) == packet
        for number in (1, 2, 3):
            stream._frame_sequence = 1  # they come as the clients of a test send them, in one go
            assert (await read(stream, share), number) == (b"\x0e", number)
        await sending
        assert share.held == 0

    on_stream(algorithm, script, max_connection_bytes=len(packet) * 2 + MiB)


@BOTH
def test_a_packet_that_is_too_long_is_forgotten(algorithm: Algorithm) -> None:
    """Also one that comes compressed; the next one is read."""

    async def script(stream: PacketStream, theirs: socket.socket, share: Share) -> None:
        sending = send(theirs, frames(frame(PACKET * 4, 0)[0], 0, algorithm)[0])
        with pytest.raises(TooLongError):
            await read(stream, share, most=MiB // 2)
        await sending
        assert share.held == 0
        await send(theirs, frames(frame(b"\x0e", 0)[0], 0, algorithm)[0])
        assert await read(stream, share) == b"\x0e"

    on_stream(algorithm, script)


@BOTH
def test_whoever_is_interrupted_loses_nothing(algorithm: Algorithm) -> None:
    """A long answer is compressed in pieces, between which others are answered, and a KILL comes through: what is put
    after it follows the rest.
    """

    async def script(stream: PacketStream, theirs: socket.socket, _share: Share) -> None:
        stream.restart_sequence()
        for _ in range(5):
            stream.put(PACKET)
        flushing = asyncio.ensure_future(stream.flush())
        await asyncio.sleep(0)
        assert 0 < stream.pending <= 5 * len(PACKET) - LARGE + 20
        flushing.cancel()
        await asyncio.wait((flushing,))
        stream.put(b"\xff")
        receiving = asyncio.ensure_future(asyncio.to_thread(received, theirs, algorithm, 5 * len(PACKET) + 25))
        await stream.flush()
        plain = await receiving
        expected = b"".join(frame(PACKET, number)[0] for number in range(5)) + frame(b"\xff", 5)[0]
        assert plain == expected

    on_stream(algorithm, script)


def received(theirs: socket.socket, algorithm: Algorithm, size: int) -> bytes:
    """So many bytes, as they were before they were compressed."""
    plain, stream = b"", theirs.makefile("rb")
    while len(plain) < size:
        head = stream.read(7)
        body, length = stream.read(int.from_bytes(head[:3], "little")), int.from_bytes(head[4:], "little")
        plain += algorithm.unpack(body, length) if length else body
    return plain
