"""What the HTTP door needs from the rest of the program.

Owns: the ports.
Must not know: who implements them.
"""

from typing import Protocol

from syncmgr.accounts.user import Account, Rights
from syncmgr.console.calls import Answer, Caller
from syncmgr.job.metrics.sample import Sample


class Samples(Protocol):
    """What was measured last. Does not block."""

    def last(self) -> Sample | None:
        """None: nothing yet, as the frontend starts."""


class Statements(Protocol):
    """The console, from any event loop."""

    async def log_in(self, name: str, password: str, *, address: str, is_direct: bool, is_secure: bool) -> Account: ...

    async def run(self, caller: Caller, sql: str, *, db: str | None = None, most_rows: int) -> Answer: ...


class WebUsers(Protocol):
    """Accounts. Does not block."""

    def rights(self, account: Account) -> Rights: ...

    def admits(self, account: Account, address: str) -> bool:
        """Whether a client of that address may be logged in as that account."""

    def kept(self, account: Account) -> str | None:
        """What its password is checked against; None: there is no such account."""
