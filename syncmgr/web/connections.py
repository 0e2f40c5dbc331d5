"""One HTTP connection, and which of them end.

Owns: how long a client may take, and which connection gives way when there is no place.
Must not know: routes, settings.
"""

import asyncio
import math
from dataclasses import dataclass
from typing import Any, Final, cast

from uvicorn import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState


@dataclass(frozen=True, kw_only=True, slots=True)
class Bounds:
    """`request_second`: until a client has sent its next request, and until it reads on in an answer."""

    request_second: float = 10.0
    connections: int = 64


USUAL: Final = Bounds()


class HttpConnection(H11Protocol):
    """Uvicorn's, whose own limits count requests only, while silent and slow clients have sent none.

    A connection whose client keeps it waiting too long ends; while an answer is being made nobody waits for the client.
    When there are too many, the one ends that has waited longest for its client.
    """

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        bounds: Bounds = USUAL,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._bounds = bounds
        self._expiry: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(cast("asyncio.Transport", transport))
        self._wait_anew()
        others = [each for each in self.connections if isinstance(each, HttpConnection) and each is not self]
        if len(others) >= self._bounds.connections:
            first = min(others, key=lambda each: each.expires_at)
            (self if first.expires_at == math.inf else first).end()

    @property
    def expires_at(self) -> float:
        """By the clock of the loop; never while its client is not waited for."""
        return math.inf if self._expiry is None else self._expiry.when()

    def _wait_anew(self) -> None:
        self._wait_no_more()
        self._expiry = self.loop.call_later(self._bounds.request_second, self.end)

    def _wait_no_more(self) -> None:
        if self._expiry is not None:
            self._expiry.cancel()
            self._expiry = None

    def _makes_answer(self) -> bool:
        """Whether a request was read as a whole, and is not answered yet."""
        return self.cycle is not None and not self.cycle.more_body and not self.cycle.response_complete

    def handle_events(self) -> None:
        super().handle_events()
        if self._makes_answer() and not self.flow.write_paused:
            self._wait_no_more()

    def on_response_complete(self) -> None:
        self._wait_anew()
        super().on_response_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._wait_anew()

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._makes_answer():
            self._wait_no_more()

    def end(self) -> None:
        """Whatever is under way."""
        self.connections.discard(self)
        self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._wait_no_more()
        super().connection_lost(exc)
