"""Ports of this machine at which the frontend listens.

Owns: that all addresses have the same port, and that a machine without IPv6 will do.
Must not know: who is answered there.
"""

import logging
import socket
from collections.abc import Sequence

from syncmgr.errors import Code, SyncError

log = logging.getLogger(__name__)


def listening_sockets(hosts: Sequence[str], port: int, *, backlog: int, hint: str = "") -> list[socket.socket]:
    """One for each address, but for IPv6 where the machine has none. `port` 0: any free one. `hint`: what the error
    adds. Raises PORT_IN_USE, and listens nowhere then.
    """
    found: list[socket.socket] = []
    for host in hosts:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            found.append(socket.create_server((host, port), family=family, backlog=backlog))
        except OSError as error:
            if family == socket.AF_INET6 and found:
                log.info("port %d is not open on %s: %s", port, host, error)
                continue
            for listener in found:
                listener.close()
            raise SyncError(Code.PORT_IN_USE, port=port, host=host, reason=f"{error.strerror}{hint}") from error
        port = port_of(found)
    return found


def port_of(listeners: Sequence[socket.socket]) -> int:
    return int(listeners[0].getsockname()[1])
