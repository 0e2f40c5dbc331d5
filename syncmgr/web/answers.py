"""Answers of the API.

Owns: the form of values and of errors in JSON, which status an error has.
Must not know: routes, who asks.
"""

import json
import math
from collections.abc import Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import Final

from starlette.responses import Response

from syncmgr.console.wire.results import text_of
from syncmgr.errors import Code, SyncError

EXACT: Final = 2**53  # integers beyond it lose digits in JavaScript
RETRY_SECOND: Final = 2
STATUS: Final[Mapping[Code, int]] = MappingProxyType(
    {
        Code.ACCESS_DENIED: 401,
        Code.SECURE_TRANSPORT: 403,
        Code.DATABASE_DENIED: 403,
        Code.TABLE_DENIED: 403,
        Code.PRIVILEGE_NEEDED: 403,
        Code.UNKNOWN_JOB: 404,
        Code.ILLEGAL_TRANSITION: 409,
        Code.LOGIN_REFUSED: 429,
        Code.TOO_MANY_OF_USER: 429,
        Code.TOO_MANY_CONNECTIONS: 503,
        Code.SHUTTING_DOWN: 503,
        Code.META_DOWN: 503,
        Code.READ_TIMEOUT: 503,
        Code.INTERNAL: 500,
    }
)


class Refusal(Exception):  # noqa: N818 - an answer
    """A request that no statement has refused, with its status. `number`: MySQL's, for who looks at that."""

    def __init__(self, status: int, message: str, number: int = 0) -> None:
        self.status, self.message, self.number = status, message, number
        super().__init__(message)


def json_response(body: object, status: int = 200, **headers: str) -> Response:
    """As JSON."""
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(text.encode(errors="replace"), status, headers=named, media_type="application/json")


def failed(error: SyncError) -> Response:
    status = STATUS.get(error.code, 400)
    facts = {"number": error.code.number, "sqlstate": error.code.sqlstate, "message": str(error), "advice": None}
    return json_response({"error": facts}, status, **_again(status))


def refused(refusal: Refusal) -> Response:
    facts = {"number": refusal.number, "sqlstate": "HY000", "message": refusal.message, "advice": None}
    return json_response({"error": facts}, refusal.status, **_again(refusal.status))


def _again(status: int) -> dict[str, str]:
    match status:
        case 503:
            return {"retry_after": str(RETRY_SECOND)}
        case 401:  # one that no browser asks its user about
            return {"www_authenticate": 'Session realm="syncmgr"'}
        case _:
            return {}


def cell(value: object) -> object:
    """A value of a row. What JavaScript would round is a text; bytes are hexadecimal."""
    match value:
        case None | str() | bool():
            return value
        case int():
            return value if abs(value) <= EXACT else str(value)
        case float():
            return value if math.isfinite(value) else str(value)
        case bytes() | bytearray():
            return "0x" + bytes(value).hex().upper()
        case Decimal():
            return format(value, "f")
        case _:
            return text_of(value)
