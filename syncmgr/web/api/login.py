"""Login, logout, and who one is.

Owns: the answers of these routes.
Must not know: how passwords are checked, what a token has.
"""

import time
from typing import Final

from starlette.responses import Response

from syncmgr.accounts.user import Privilege
from syncmgr.web.answers import Refusal, json_response
from syncmgr.web.asked import Asked, cookie_name
from syncmgr.web.tokens import Session, Tokens

MOST_DATABASES: Final = 1000


class Login:
    """Of all users."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens

    async def begin(self, asked: Asked) -> Response:
        body = await asked.body()
        user, password = body.get("user"), body.get("password", "")
        if not isinstance(user, str) or not isinstance(password, str):
            raise Refusal(400, 'The body is {"user": "...", "password": "..."}')
        account = await asked.log_in(user, password)
        session = self._tokens.begin(account, user, time.time())
        answer = json_response({"user": user, "csrf": self._tokens.of_requests(session)})
        asked.keep(session, answer)
        return answer

    async def end(self, asked: Asked) -> Response:
        if asked.session is not None:
            self._tokens.end(asked.session, time.time())
        answer = json_response({})
        answer.delete_cookie(
            cookie_name(asked.request), httponly=True, samesite="strict", secure=asked.is_secure, path="/"
        )
        return answer

    async def me(self, asked: Asked) -> Response:
        """Which buttons a page shows; what is refused is decided by each statement."""
        rights = asked.rights
        may = [
            *(["change"] if rights.may_somewhere(Privilege.LOAD) else []),
            *(["operate"] if rights.is_operator else []),
            *(["log"] if rights.is_admin else []),
        ]
        session: Session | None = asked.session
        csrf = None if session is None else self._tokens.of_requests(session)
        return json_response({"user": asked.caller.user, "csrf": csrf, "may": may})

    async def databases(self, asked: Asked) -> Response:
        answer = await asked.run("SHOW DATABASES", most_rows=MOST_DATABASES)
        return json_response({"databases": [row[0] for row in answer.rows]})
