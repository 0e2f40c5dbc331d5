"""A server whose users log in by a directory, which needs the password itself: it passes each on to a MySQL server.

Owns: the login; the rest of a connection is that of the server.
Must not know: the clients.
"""

import contextlib
import socket
import struct
import threading
from typing import Final

from tests.support.servers.certificates import Pair
from tests.support.servers.rogue import LENENC, PLUGINS, RogueServer, hear, send

WITH_DB, SSL, ATTRIBUTES, LENENC_AUTH = 0x8, 0x800, 0x100000, 0x200000
PLAIN: Final = "mysql_clear_password"


class DirectoryServer(RogueServer):
    """Whoever sends the password over TLS is let in as root."""

    def __init__(self, own: Pair, password: str, port: int) -> None:
        """`port`: of the MySQL server."""
        self._password, self._behind = password.encode() + b"\0", port
        super().__init__(PLAIN, own)

    def _logged_in(self, client: socket.socket, number: int, login: bytes, secret: bytes) -> None:
        if secret != self._password:
            super()._logged_in(client, number, login, secret)
            return
        server = socket.create_connection(("127.0.0.1", self._behind))
        with contextlib.closing(server):
            hear(server)
            flags = struct.unpack_from("<I", login)[0] & ~(WITH_DB | SSL | ATTRIBUTES | LENENC_AUTH | PLUGINS | LENENC)
            send(server, 1, struct.pack("<I", flags) + login[4:32] + b"root\0\0")
            _, answer = hear(server)
            send(client, number + 1, answer)
            back = threading.Thread(target=_relay, args=(server, client), daemon=True)
            back.start()
            _relay(client, server)
            back.join()


def _relay(source: socket.socket, target: socket.socket) -> None:
    """Until one of them is gone, which ends both."""
    with contextlib.suppress(OSError):
        while data := source.recv(1 << 16):
            target.sendall(data)
    for each in (source, target):
        with contextlib.suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
