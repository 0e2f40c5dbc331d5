"""What the statements of one session share.

Owns: the caller, the parts of the program as the caller may see them, the session's variables, what SHOW WARNINGS
reports.
Must not know: which statements there are.
"""

import datetime as dt
import itertools
from collections.abc import Callable
from typing import Concatenate, Final, ParamSpec, TypeVar

from syncmgr.accounts.user import Account
from syncmgr.console.authorization.access import Access
from syncmgr.console.authorization.authorized import Authorized
from syncmgr.console.commands.client import Client
from syncmgr.console.limits import Limits
from syncmgr.console.ports import Frontend
from syncmgr.console.registry import Registry
from syncmgr.console.statements import time_zone
from syncmgr.console.statements.diagnostics import Remarks
from syncmgr.console.statements.local.local_select import SessionFacts
from syncmgr.console.statements.show import metadata, show
from syncmgr.console.statements.show.show import Listing, filtered
from syncmgr.console.statements.user_variables import UserVariables
from syncmgr.console.statements.variables import Variables
from syncmgr.console.wire.results import Done, Row, Rows
from syncmgr.console.workers import Workers
from syncmgr.errors import Diagnostic
from syncsql import Filter, ShowMeta, ShowSync, ShowSyncStatus

OF_SOURCE: Final = "Waiting for the source"
P = ParamSpec("P")
T = TypeVar("T")


class Context:
    """Of one session; lives on the event loop. `frontend` is what the account may see, `house` the whole."""

    def __init__(
        self, client: Client, registry: Registry, *, frontend: Frontend, workers: Workers, limits: Limits
    ) -> None:
        self.client, self.registry = client, registry
        access = Access(who=lambda: client.account, host=client.host, rights_of=frontend.users.rights)
        self.frontend = Authorized(frontend, access)
        self.house = frontend  # for what only an administrator may use
        self.workers, self.limits = workers, limits
        self.variables = Variables(limits, port=registry.port)
        self.user_variables = UserVariables(client.share)
        self.remarks = Remarks()
        self._queries = itertools.count(1)

    @property
    def db(self) -> str | None:
        return self.client.db

    def reset(self) -> None:
        self.variables.reset()
        self.user_variables.clear()
        self.remarks.forget()
        self.client.answers.autocommit = True
        self.client.answers.changes.forget()

    # who does the work

    async def read(self, call: Callable[Concatenate[str, P], T], text: str, *args: P.args, **kwargs: P.kwargs) -> T:
        """Work on a text; every account has its turn."""
        return await self.workers.read(str(self.client.account), call, text, *args, **kwargs)

    async def slow(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Calls to the catalog; every account has its turn."""
        self.client.running.waits_for = lambda: self.house.queries.lake_state
        return await self.workers.slow(str(self.client.account), call, *args, **kwargs)

    async def quick(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Other calls; every account has its turn."""
        return await self.workers.quick(str(self.client.account), call, *args, **kwargs)

    async def ask(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Calls that wait for a source; every account has its turn."""
        self.client.running.waits_for = lambda: OF_SOURCE
        return await self.workers.ask(str(self.client.account), call, *args, **kwargs)

    # what is known without a call

    def next_query(self) -> str:
        """The tag of one more query of this session."""
        return f"console-{self.client.id}-{next(self._queries)}"

    def others(self) -> Account | None:
        """Whose connections may be seen and killed; None: all."""
        access = self.frontend.access
        return None if access.rights.is_operator else access.account

    def seen_connections(self) -> list[Row]:
        return self.registry.processlist(self.others())

    def facts(self) -> SessionFacts:
        """What a SELECT may read of its own session."""
        client = self.client
        return SessionFacts(
            connection_id=client.id,
            user=str(client.user),
            account=client.account,
            host=client.host,
            db=client.db,
            now=time_zone.clock(dt.datetime.now(dt.UTC), self.variables.time_zone),
            variable=self._variable,
            user_variable=self.user_variables.get,
        )

    def _variable(self, name: str) -> int | str:
        counts = self.remarks.counts()
        return counts[name.lower()] if name.lower() in counts else self.variables[name]

    # what several statements do

    async def use(self, db: str) -> None:
        """Raises UNKNOWN_DATABASE."""
        await self.slow(metadata.check_database, self.frontend.catalog, db)
        self.client.db = db
        self.client.answers.changes.schema(db)

    def done(self, remarks: tuple[Diagnostic, ...], *, affected: int = 0) -> Done:
        """OK, with the count of what SHOW WARNINGS reports until the next statement."""
        self.remarks.replace_all(remarks)
        return Done(affected=affected, warnings=len(remarks))

    async def shown(self, shown: Listing, choice: Filter, statement: ShowSync | ShowSyncStatus | ShowMeta) -> Rows:
        """Filtered, sorted, and cut to the LIMIT."""
        order = statement.order_by if isinstance(statement, ShowSync | ShowSyncStatus) else ()
        if choice == show.EVERYTHING and not order and statement.limit is None:
            return shown.result()
        return (await self.quick(filtered, shown, choice, order=order, limit=statement.limit)).result()

    async def filtered(self, shown: Listing, choice: Filter) -> Rows:
        found = shown if choice == show.EVERYTHING else await self.quick(filtered, shown, choice)
        return found.result()
