"""One client: who it is, and what it runs.

Owns: the facts that PROCESSLIST, sessions and the audit read.
Must not know: logins, which commands there are, SQL.
"""

import time
from typing import Final

from syncmgr.accounts.user import Account
from syncmgr.console.audit import audit
from syncmgr.console.audit.mask import mask
from syncmgr.console.commands.answers import Answers
from syncmgr.console.commands.running import Interrupt, RunningCommand
from syncmgr.console.limits import Limits, too_long
from syncmgr.console.memory import Memory, Share
from syncmgr.console.wire.charset import UTF8MB4, Charset
from syncmgr.console.wire.port import Wire
from syncmgr.console.wire.prepared import PreparedStatements
from syncmgr.console.wire.results import Row
from syncmgr.errors import SyncError

INFO_SIZE: Final = 4096  # characters of a statement that PROCESSLIST shows
NOBODY: Final = Account(name="")  # before the login


class Client:
    """Used only on the event loop. `since`: time.monotonic() of the start of the running command, or of its end."""

    def __init__(self, client_id: int, stream: Wire, *, peer: tuple[str, int], limits: Limits, memory: Memory) -> None:
        self.id = client_id
        self.peer = peer  # address and port
        self.user: str | None = None
        self.account = NOBODY
        self.db: str | None = None
        self.command = "Connect"
        self.info: str | None = None
        self.since = time.monotonic()
        self.charset: Charset = UTF8MB4
        self.commands = 0
        self.answers = Answers(stream, limits)
        self.share = Share(memory)
        self.prepared = PreparedStatements(limits, self.share)
        self.running = RunningCommand(stream)
        self.error: int | None = None  # of the last command

    @property
    def host(self) -> str:
        return self.peer[0]

    def speak(self, charset: Charset) -> None:
        """What the client writes and reads from now on."""
        self.charset = self.answers.charset = charset

    def limit_time(self, seconds: float, why: Interrupt = Interrupt.TIMEOUT, *, since: float | None = None) -> None:
        """The running command is interrupted after this long from now, or from `since` on; 0: never."""
        self.running.limit_time(seconds, why, since=since)

    def rests(self) -> None:
        """No command runs."""
        self.command, self.info, self.since = "Sleep", None, time.monotonic()

    def begins(self) -> None:
        """A command has arrived."""
        self.commands += 1
        self.since = time.monotonic()
        self.error, self.answers.rows = None, 0

    def show(self, command: str, sql: str) -> None:
        """What PROCESSLIST and the audit show of the running command."""
        self.command, self.info = command, mask(sql[:INFO_SIZE])

    def audit(self) -> None:
        """A command that has been shown there has ended."""
        if self.info is None:
            return
        ended = audit.Audited(
            proto=self.answers.stream.protocol,
            connection=self.id,
            user=str(self.account),
            host=self.host,
            db=self.db,
            command=self.command,
            statement=self.info,
            second=time.monotonic() - self.since,
            rows=self.answers.rows,
            error=self.error,
        )
        audit.statement(ended)

    def text(self, body: bytes) -> str:
        """Raises STATEMENT_TOO_LARGE, INVALID_TEXT."""
        if len(body) > self.answers.limits.max_statement:
            raise too_long(self.answers.limits.max_statement)
        return self.charset.decode(body)

    def put_error(self, error: SyncError) -> None:
        self.error = error.code.number
        self.answers.put_error(error)

    def row(self, now: float) -> Row:
        """That of PROCESSLIST: Id, User, Host, db, Command, Time, State, Info."""
        user, address = self.user or "unauthenticated user", f"{self.host}:{self.peer[1]}"
        second, state = int(now - self.since), self.running.waits_for()
        return (self.id, user, address, self.db, self.command, second, state, self.info)
