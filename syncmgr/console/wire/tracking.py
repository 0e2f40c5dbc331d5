"""What OK reports about a session's state.

Owns: MySQL's session trackers, of the schema and of the variables that MySQL reports by default.
Must not know: sessions, sockets.
"""

from typing import Final

from syncmgr.console.wire.charset import Charset
from syncmgr.console.wire.packet import lenenc_bytes

TRACKED: Final = frozenset(
    {"autocommit", "character_set_client", "character_set_connection", "character_set_results", "time_zone"}
)
_VARIABLE: Final = b"\x00"
_SCHEMA: Final = b"\x01"


class Tracker:
    """The changes since the last OK; each is reported once, with its last value."""

    def __init__(self) -> None:
        self._schema: str | None = None
        self._variables: dict[str, str] = {}

    def schema(self, name: str) -> None:
        self._schema = name

    def variable(self, name: str, value: object) -> None:
        """A variable that is not tracked is skipped."""
        if name in TRACKED:
            self._variables[name] = str(value)

    def forget(self) -> None:
        self._schema = None
        self._variables.clear()

    def packet(self, charset: Charset) -> bytes:
        """What to put into an OK; empty if nothing has changed. The changes are cleared."""
        out = bytearray()
        for name, value in self._variables.items():
            pair = lenenc_bytes(name.encode()) + lenenc_bytes(charset.encode(value))
            out += _VARIABLE + lenenc_bytes(pair)
        if self._schema is not None:
            out += _SCHEMA + lenenc_bytes(lenenc_bytes(charset.encode(self._schema)))
        self.forget()
        return bytes(out)
