"""One HTTP connection, and which of them end.

Owns: how long a client may take, and which connection gives way when there is no place.
Must not know: routes.
"""

import asyncio
from typing import Any, Final, cast

from uvicorn import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

ANSWER_SECOND: Final = 10.0  # until the next answer was read, whether the client is slow to ask or to read
MOST_CONNECTIONS: Final = 64  # a scraper has one, a load balancer some


class HttpConnection(H11Protocol):
    """Uvicorn's, whose own limits count requests only, while silent and slow clients have sent none.

    A connection that gets no answer through in time ends. When there are too many, the one ends that has waited longest
    for its client.
    """

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._expiry: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(cast("asyncio.Transport", transport))
        self._wait_anew()
        others = [each for each in self.connections if isinstance(each, HttpConnection) and each is not self]
        if len(others) >= MOST_CONNECTIONS:
            min(others, key=lambda each: each.expires_at).end()

    @property
    def expires_at(self) -> float:
        """By the clock of the loop."""
        return 0.0 if self._expiry is None else self._expiry.when()

    def _wait_anew(self) -> None:
        if self._expiry is not None:
            self._expiry.cancel()
        self._expiry = self.loop.call_later(ANSWER_SECOND, self.end)

    def on_response_complete(self) -> None:
        self._wait_anew()
        super().on_response_complete()

    def end(self) -> None:
        """Whatever is under way."""
        self.connections.discard(self)
        self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._expiry is not None:
            self._expiry.cancel()
        super().connection_lost(exc)
