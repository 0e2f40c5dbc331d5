"""A port at which a server of the tests listens."""

import contextlib
import socket
import threading
from collections.abc import Callable


def listening(serve: Callable[[socket.socket], None]) -> socket.socket:
    """Each client is served in a thread of its own, until the socket is closed."""
    listener = socket.create_server(("127.0.0.1", 0))

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = listener.accept()
                threading.Thread(target=serve, args=(client,), daemon=True).start()

    threading.Thread(target=accept, name="listening", daemon=True).start()
    return listener
