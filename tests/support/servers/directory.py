"""A server whose users log in by a directory, which needs the password itself: it passes each on to a MySQL server.

Owns: the login; the rest of a connection is that of the server.
Must not know: the clients.
"""

import contextlib
import select
import socket
import ssl
import struct
from typing import Final

from tests.support.servers.certificates import Pair
from tests.support.servers.rogue import LENENC, RogueServer, hear, send

WITH_DB, SSL, ATTRIBUTES = 0x8, 0x800, 0x100000
PLAIN: Final = "mysql_clear_password"


class DirectoryServer(RogueServer):
    """Whoever sends the password over TLS is let in as root, who has none there."""

    def __init__(self, own: Pair, password: str, port: int) -> None:
        """`port`: of the MySQL server."""
        self._password, self._behind = password.encode() + b"\0", port
        super().__init__(PLAIN, own)

    def _logged_in(self, client: socket.socket, number: int, login: bytes, secret: bytes) -> None:
        if secret != self._password or not isinstance(client, ssl.SSLSocket):
            super()._logged_in(client, number, login, secret)
            return
        with contextlib.closing(socket.create_connection(("127.0.0.1", self._behind))) as server:
            hear(server)
            flags = struct.unpack_from("<I", login)[0] & ~(WITH_DB | SSL | ATTRIBUTES | LENENC)
            send(server, 1, struct.pack("<I", flags) + login[4:32] + b"root\0\0caching_sha2_password\0")
            _, answer = hear(server)
            send(client, number + 1, answer)
            _relay(client, server)


def _relay(client: ssl.SSLSocket, server: socket.socket) -> None:
    """Until one of them is gone."""
    while True:
        ready = [client] if client.pending() else select.select([client, server], [], [])[0]
        for each in ready:
            data = each.recv(1 << 16)
            if not data:
                return
            (server if each is client else client).sendall(data)
