import datetime as dt
import json
from decimal import Decimal

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.web.answers import cell, failed, json_response


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        ("x", "x"),
        (2**53, 2**53),
        (2**53 + 1, str(2**53 + 1)),
        (-(2**63), str(-(2**63))),
        (1.5, 1.5),
        (float("nan"), "nan"),
        (b"\x00\xff", "0x00FF"),
        (Decimal("1.10"), "1.10"),
        (dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC), "2026-01-02 03:04:05"),
    ],
)
def test_values_lose_nothing(value: object, expected: object) -> None:
    """What JavaScript would round is a text."""
    assert cell(value) == expected


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (SyncError(Code.UNKNOWN_JOB, job="x", db="y"), 404),
        (SyncError(Code.ILLEGAL_TRANSITION, state="PAUSED", event="paused"), 409),
        (SyncError(Code.META_DOWN, reason="x"), 503),
        (SyncError(Code.EMPTY_QUERY), 400),
    ],
)
def test_an_error_is_that_of_the_console(error: SyncError, status: int) -> None:
    """Its number, SQLSTATE and words; 503 says when to ask again."""
    answer = failed(error)
    facts = json.loads(bytes(answer.body))["error"]
    assert (answer.status_code, facts["number"], facts["message"]) == (status, error.code.number, str(error))
    assert facts["sqlstate"] == error.code.sqlstate
    assert ("retry-after" in answer.headers) is (status == 503)


def test_odd_texts_are_sent() -> None:
    """Half of a surrogate pair, as a name may have."""
    assert json.loads(bytes(json_response({"x": "\ud800 ä"}).body)) == {"x": "? ä"}
