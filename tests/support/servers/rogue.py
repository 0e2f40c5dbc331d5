"""An impostor that answers instead of a MySQL server, to get a password.

Owns: the first packets of the protocol, as far as a client goes before it is logged in.
Must not know: the clients.
"""

import contextlib
import secrets
import socket
import ssl
import struct
from typing import Final

from tests.support.servers.certificates import Pair
from tests.support.servers.listening import listening

PROTOCOL_41, SSL, SECURE, PLUGINS, LENENC = 0x200, 0x800, 0x8000, 0x80000, 0x200000
PROMPTS: Final = {"dialog": b"\x04Password: "}  # what an authentication method requests; otherwise a challenge


class RogueServer:
    """Asks every client to log in by `plugin`, over TLS with a certificate of its own if it has one."""

    def __init__(self, plugin: str, own: Pair | None = None) -> None:
        self._plugin = plugin
        self._context: ssl.SSLContext | None = None
        if own is not None:
            self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._context.load_cert_chain(own.certificate, own.key)
        self.heard: list[bytes] = []
        self.over_tls = False
        self._listener = listening(self._serve)
        self.port = int(self._listener.getsockname()[1])

    def close(self) -> None:
        self._listener.close()

    def _serve(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError, EOFError):
            send(client, 0, self._greeting())
            number, packet = self._hear(client)
            if struct.unpack_from("<I", packet)[0] & SSL and self._context is not None:
                client = self._context.wrap_socket(client, server_side=True)
                self.over_tls = True
                number, packet = self._hear(client)
            login = packet
            challenge = PROMPTS.get(self._plugin, secrets.token_hex(10).encode() + b"\0")
            send(client, number + 1, b"\xfe" + self._plugin.encode() + b"\0" + challenge)
            number, secret = self._hear(client)
            self._logged_in(client, number, login, secret)
        client.close()

    def _logged_in(self, client: socket.socket, number: int, login: bytes, secret: bytes) -> None:
        """`login`: the client's packet; `secret`: its answer to what was asked for."""
        send(client, number + 1, b"\xff" + struct.pack("<H", 1045) + b"#28000Access denied")

    def _greeting(self) -> bytes:
        flags = PROTOCOL_41 | SECURE | PLUGINS | LENENC | (SSL if self._context is not None else 0)
        challenge = secrets.token_hex(10).encode()
        head = b"\x0a8.4.99\0" + struct.pack("<I", 7) + challenge[:8] + b"\0"
        head += struct.pack("<HBHHB", flags & 0xFFFF, 255, 2, flags >> 16, 21) + bytes(10)
        return head + challenge[8:] + b"\0caching_sha2_password\0"

    def _hear(self, client: socket.socket) -> tuple[int, bytes]:
        number, packet = hear(client)
        self.heard.append(packet)
        return number, packet


def hear(client: socket.socket) -> tuple[int, bytes]:
    """The number of a packet, and what it has. Raises EOFError."""
    head = _read(client, 4)
    return head[3], _read(client, int.from_bytes(head[:3], "little"))


def send(client: socket.socket, number: int, packet: bytes) -> None:
    client.sendall(struct.pack("<I", len(packet))[:3] + bytes([number]) + packet)


def _read(client: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = client.recv(size - len(data))
        if not more:
            raise EOFError
        data += more
    return data
