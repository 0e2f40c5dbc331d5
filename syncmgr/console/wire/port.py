"""What the commands need from the stream of a client.

Owns: the interface.
Must not know: who implements it: packets over a socket, or nothing for a client of another protocol.
"""

import asyncio
from typing import Protocol

from syncmgr.console.wire.compression import Algorithm


class Wire(Protocol):
    """One client's stream. `gone` is set as soon as the client has closed its side."""

    gone: asyncio.Event

    @property
    def protocol(self) -> str:
        """As the audit names it."""

    @property
    def pending(self) -> int: ...

    @property
    def algorithm(self) -> Algorithm | None: ...

    def put(self, payload: bytes) -> None: ...

    async def flush(self) -> None: ...

    def cipher(self) -> tuple[str, str] | None: ...

    def abort(self) -> None: ...
