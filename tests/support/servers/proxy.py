"""A network that may be bad, between a client and a server on this machine.

Owns: a port that forwards, with a configured speed and for a configured time.
Must not know: what goes through.
"""

import contextlib
import socket
import threading
import time
from typing import TYPE_CHECKING, Final

from tests.support.until import HANG_SECOND

if TYPE_CHECKING:
    from collections.abc import Callable

CHUNK: Final = 16 * 1024
LOOK_SECOND: Final = 0.02


class Proxy:
    """Forwards connections to a port. `rate`: bytes per second and direction, None: as they come; `chunk`: how many of
    them at once; `unpaced`: the connection without a rate, by its number in order, 1 the first one; `count`: of all.
    `holds`: what is not forwarded as long as it returns true; `held`: there was something. `changes`:
    what is forwarded instead.
    """

    def __init__(self, target: int) -> None:
        self.target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self.rate: float | None = None
        self.unpaced: int | None = None
        self.count = 0
        self.chunk = CHUNK
        self.refuses = False
        self.holds: Callable[[bytes], bool] = lambda _: False
        self.changes: Callable[[bytes], bytes] = lambda data: data
        self.held = threading.Event()
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        threading.Thread(target=self._accept, name="proxy", daemon=True).start()

    def cut(self) -> int:
        """Every connection at once; how many there were."""
        with self._lock:
            ends, self._open = self._open, set()
        for end in ends:
            _close(end)
        return len(ends) // 2

    def close(self) -> None:
        _close(self._listener)
        self.cut()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self.count += 1
            threading.Thread(target=self._serve, args=(client, self.count), daemon=True).start()

    def _serve(self, client: socket.socket, number: int) -> None:
        server = None
        with contextlib.suppress(OSError):
            server = None if self.refuses else socket.create_connection(("127.0.0.1", self.target), HANG_SECOND)
        if server is None:
            _close(client)
            return
        server.settimeout(None)
        with self._lock:
            self._open |= {client, server}
        back = threading.Thread(target=self._forward, args=(server, client, number), daemon=True)
        back.start()
        self._forward(client, server, number)
        back.join()
        with self._lock:
            self._open -= {client, server}

    def _forward(self, source: socket.socket, target: socket.socket, number: int) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(self.chunk):
                while self.holds(data):
                    self.held.set()
                    time.sleep(LOOK_SECOND)
                target.sendall(self.changes(data))
                rate = self.rate
                if rate is not None and number != self.unpaced:
                    time.sleep(len(data) / rate)
        for end in (source, target):
            _close(end)


def _close(end: socket.socket) -> None:
    with contextlib.suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    end.close()
