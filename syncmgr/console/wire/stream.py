"""Packets over one socket.

Owns: framing, sequence numbers, sizes and times of reading and writing, the change to TLS.
Must not know: what a packet says.
"""

import asyncio
import contextlib
import socket
import ssl
import struct
from collections.abc import Callable
from typing import Final

from syncmgr.console.limits import KiB, Limits
from syncmgr.console.memory import Share
from syncmgr.console.wire.compression import FRAME_HEADER_SIZE, Algorithm, frames
from syncmgr.console.wire.packet import HEADER_SIZE, MAX_PAYLOAD, ProtocolError, frame
from syncmgr.errors import Code, SyncError

READ_AHEAD: Final = 64 * KiB
LARGE: Final = 256 * KiB  # bytes that are compressed at once; more of them are inflated in a thread
SLOWEST: Final = 100_000  # bytes per second; a big packet may take this beyond the read timeout
_HEADER: Final = struct.Struct("<I").pack
LINGER: Final = 2.0  # seconds in which a refused client may still read the reason


class ConnectionLost(Exception):  # noqa: N818 - an end, not an error
    """The client is gone, or too slow to be kept."""


class TooLongError(Exception):
    """A packet that was read and dropped, except its beginning."""

    def __init__(self, head: bytes) -> None:
        self.head = head
        super().__init__("a packet that is too long to be kept")


class _Watched(asyncio.StreamReaderProtocol):
    """Notices at once that the client has disconnected, even while nothing reads."""

    def __init__(self, reader: asyncio.StreamReader, gone: asyncio.Event) -> None:
        super().__init__(reader)
        self._gone = gone

    def eof_received(self) -> bool | None:
        self._gone.set()
        return super().eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self._gone.set()
        super().connection_lost(exc)


class PacketStream:
    """One client's packets. `gone` is set as soon as the client has closed its side.

    The first packet is read from the bare socket with exact sizes: a client that asks for TLS sends its ClientHello
    immediately after it, and a stream's read-ahead would swallow it.
    """

    def __init__(self, sock: socket.socket, limits: Limits) -> None:
        self.gone = asyncio.Event()
        self._sock = sock
        self._limits = limits
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._sequence = 0
        self._out = bytearray()
        self._algorithm: Algorithm | None = None
        self._frame_sequence = 0
        self._inflated = bytearray()
        self._share: Share | None = None  # that holds what frames take
        self._of_frames = 0  # bytes of it

    @property
    def protocol(self) -> str:
        """As the audit names it."""
        return "mysql"

    @property
    def pending(self) -> int:
        """Bytes put and not yet flushed."""
        return len(self._out)

    @property
    def algorithm(self) -> Algorithm | None:
        """What packets are compressed with."""
        return self._algorithm

    def compress(self, algorithm: Algorithm, share: Share) -> None:
        """From the next packet on, in both directions; received frames are held in `share`."""
        self._algorithm, self._share = algorithm, share

    def restart_sequence(self) -> None:
        self._sequence = self._frame_sequence = 0

    def put(self, payload: bytes) -> None:
        size = len(payload)
        if size < MAX_PAYLOAD:  # a row of a long result, most of the time
            self._out += _HEADER(size | (self._sequence & 0xFF) << 24)
            self._out += payload
            self._sequence += 1
            return
        framed, self._sequence = frame(payload, self._sequence)
        self._out += framed

    async def flush(self) -> None:
        """Hand over what was put; waits while the client is slow. Raises ConnectionLost."""
        try:
            async with asyncio.timeout(self._limits.write_timeout):
                await self._send(self._taken())
                while self._out:  # an interrupt here leaves the rest before what is put next
                    await asyncio.sleep(0)
                    await self._send(self._taken())
        except TimeoutError:
            self.abort()
            raise ConnectionLost("the client does not read") from None
        except OSError as error:
            raise ConnectionLost(str(error)) from error

    def _taken(self) -> bytes:
        """What is written next: all, or as much as may be compressed before others are answered."""
        data = bytes(self._out if self._algorithm is None else self._out[:LARGE])
        del self._out[: len(data)]
        if self._algorithm is not None:
            data, self._frame_sequence = frames(data, self._frame_sequence, self._algorithm)
        return data

    async def _send(self, data: bytes) -> None:
        if self._writer is None:
            await asyncio.get_running_loop().sock_sendall(self._sock, data)
            return
        if data:
            self._writer.write(data)
        await self._writer.drain()

    async def open(self, context: ssl.SSLContext | None) -> None:
        """Continue as a stream, with TLS if a context is given. Raises ConnectionLost."""
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=READ_AHEAD, loop=loop)
        protocol = _Watched(reader, self.gone)
        timeout = None if context is None else self._limits.connect_timeout
        try:
            transport, _ = await loop.connect_accepted_socket(
                lambda: protocol, self._sock, ssl=context, ssl_handshake_timeout=timeout
            )
        except OSError as error:
            raise ConnectionLost(str(error)) from error
        transport.set_write_buffer_limits(high=self._limits.high_water)
        self._reader = reader
        self._writer = asyncio.StreamWriter(transport, protocol, reader, loop)

    def cipher(self) -> tuple[str, str] | None:
        """Name and TLS version of the cipher in use."""
        secret = self._writer.get_extra_info("cipher") if self._writer else None
        return (secret[0], secret[1]) if secret else None

    async def read(self, *, limit: int, idle: float, keeps: Callable[[int], bool] = lambda _: True) -> bytes:
        """The next packet, joined from its frames. `idle`: seconds until its first byte; `keeps`: whether so many bytes
        of it may be kept.

        Raises ConnectionLost, ProtocolError on a wrong sequence number, PACKET_TOO_LARGE, TooLongError, TimeoutError,
        MEMORY_FULL for a compressed frame that there is no room for.
        """
        parts: list[bytes] = []
        size = 0
        kept = True
        while True:
            head = await self._exactly(HEADER_SIZE, idle if not size else self._limits.read_timeout)
            length = int.from_bytes(head[:3], "little")
            self._count(head[3])
            size += length
            if size > limit:
                raise SyncError(Code.PACKET_TOO_LARGE)
            self._hold_frames(max(len(self._inflated) - length, 0))  # the others become the packet's
            kept = kept and keeps(size)
            if kept:
                parts.append(await self._exactly(length, self._limits.read_timeout + length / SLOWEST))
            else:
                parts = [await self._beginning(parts, length)]
            if length < MAX_PAYLOAD:
                break
        if not kept:
            raise TooLongError(parts[0])
        return parts[0] if len(parts) == 1 else b"".join(parts)

    async def _beginning(self, parts: list[bytes], left: int) -> bytes:
        """Of a packet; the rest of its frame is read and dropped, so that it takes no memory."""
        kept = b"".join(parts)[:READ_AHEAD]
        while left:
            part = await self._exactly(min(left, READ_AHEAD), self._limits.read_timeout)
            left -= len(part)
            kept = kept or part
        return kept

    def _count(self, number: int) -> None:
        """Inside compressed frames the frames are counted: clients number the packets in them freely."""
        if self._algorithm is None and number != self._sequence & 0xFF:
            raise ProtocolError(f"packet {number} where {self._sequence & 0xFF} was due")
        self._sequence += 1

    async def _exactly(self, size: int, timeout: float) -> bytes:  # noqa: ASYNC109 - a limit per read, not per call
        if self._algorithm is None:
            return await self._received(size, timeout)
        while len(self._inflated) < size:
            self._inflated += await self._frame(self._algorithm, timeout, reserved=size)
            timeout = self._limits.read_timeout
        data = bytes(self._inflated[:size])
        del self._inflated[:size]
        self._hold_frames(len(self._inflated))
        return data

    def _hold_frames(self, size: int) -> None:
        """What has arrived in frames and is not a packet yet; there is always room for a little. Raises MEMORY_FULL."""
        if self._share is None:
            return
        self._share.give_back(self._of_frames)
        self._of_frames = 0
        if size > READ_AHEAD:
            self._share.hold(size)
            self._of_frames = size

    async def _frame(self, algorithm: Algorithm, timeout: float, *, reserved: int) -> bytes:  # noqa: ASYNC109 - the same
        """What one compressed frame holds: 16 MiB at most, as three bytes have its size. `reserved`: bytes that are
        already held for its packet.
        """
        head = await self._received(FRAME_HEADER_SIZE, timeout)
        if head[3] != self._frame_sequence & 0xFF:
            raise ProtocolError(f"frame {head[3]} where {self._frame_sequence & 0xFF} was due")
        self._frame_sequence += 1
        length, size = int.from_bytes(head[:3], "little"), int.from_bytes(head[4:], "little")
        self._hold_frames(len(self._inflated) + length + size - reserved)
        body = await self._received(length, self._limits.read_timeout + length / SLOWEST)
        if not size:
            return body
        return await asyncio.to_thread(algorithm.unpack, body, size) if size > LARGE else algorithm.unpack(body, size)

    async def _received(self, size: int, timeout: float) -> bytes:  # noqa: ASYNC109 - the same
        try:
            async with asyncio.timeout(timeout):
                return await (self._bare(size) if self._reader is None else self._reader.readexactly(size))
        except asyncio.IncompleteReadError:
            raise ConnectionLost("closed by the client") from None
        except OSError as error:
            if isinstance(error, TimeoutError):
                raise
            raise ConnectionLost(str(error)) from error

    async def _bare(self, size: int) -> bytes:
        loop = asyncio.get_running_loop()
        data = bytearray()
        while len(data) < size:
            part = await loop.sock_recv(self._sock, size - len(data))
            if not part:
                raise ConnectionLost("closed during the handshake")
            data += part
        return bytes(data)

    async def linger(self) -> None:
        """Read and drop what a refused client still sends: closing at once would lose the refusal."""
        if self._reader is None or self._writer is None:
            return
        try:
            if self._writer.can_write_eof():
                self._writer.write_eof()
            async with asyncio.timeout(LINGER):
                while await self._reader.read(READ_AHEAD):
                    pass
        except OSError:  # the time is over, or the client is gone: both end the wait
            return

    def abort(self) -> None:
        """End at once; what is not sent is lost. A waiting read ends with ConnectionLost."""
        if self._writer is None:
            with contextlib.suppress(OSError):  # the client was faster
                self._sock.shutdown(socket.SHUT_RDWR)
        else:
            self._writer.transport.abort()

    def close(self) -> None:
        """End after what is written has been sent."""
        if self._writer is None:
            self._sock.close()
        else:
            self._writer.close()
