"""A route of the API as a row of a table.

Owns: what a row has, and what is checked before it is served.
Must not know: which routes there are.
"""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from syncmgr.errors import Code, SyncError
from syncmgr.web.answers import Refusal, failed, refused
from syncmgr.web.asked import Asked, House

PREFIX: Final = "/api/v1"
Handler = Callable[[Asked], Awaitable[Response]]
CHANGING: Final = frozenset({"POST", "PUT", "DELETE"})

log = logging.getLogger(__name__)


class Who(StrEnum):
    """Whom a route answers."""

    ALL = "everybody"
    USER = "users"
    OPERATOR = "users with NODE_PRIV or ADMIN_PRIV"
    ADMIN = "users with ADMIN_PRIV"


@dataclass(frozen=True, kw_only=True, slots=True)
class ApiRoute:
    """`path`: after PREFIX. `summary`: what it answers, for docs. `statement`: which one it runs, if it runs one."""

    method: str
    path: str
    who: Who
    summary: str
    answer: Handler
    statement: str = ""

    def served(self, house: House) -> Route:
        async def endpoint(request: Request) -> Response:
            asked = Asked(request, house)
            try:
                await self._admit(asked)
                answer = await self.answer(asked)
            except Refusal as error:
                return refused(error)
            except SyncError as error:
                return failed(error)
            except Exception as error:
                log.exception("%s %s failed unexpectedly", self.method, self.path)
                return failed(SyncError(Code.INTERNAL, message=f"Internal error: {type(error).__name__}"))
            asked.renew(answer)
            return answer

        return Route(PREFIX + self.path, endpoint, methods=[self.method])

    async def _admit(self, asked: Asked) -> None:
        """Raises Refusal, ACCESS_DENIED, LOGIN_REFUSED, PRIVILEGE_NEEDED."""
        if self.who is not Who.ALL:
            await asked.identify()
        if self.method in CHANGING:
            asked.check_origin()
        if self.who is Who.OPERATOR and not asked.rights.is_operator:
            raise SyncError(Code.PRIVILEGE_NEEDED, privilege="ADMIN_PRIV, NODE_PRIV")
        if self.who is Who.ADMIN and not asked.rights.is_admin:
            raise SyncError(Code.PRIVILEGE_NEEDED, privilege="ADMIN_PRIV")
