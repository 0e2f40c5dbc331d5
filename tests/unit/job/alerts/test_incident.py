import json
from dataclasses import replace
from typing import Any

import pytest

from syncmgr.job.alerts.condition import AlertEvent, AlertKey, Condition
from syncmgr.job.alerts.incident import GIVE_UP_SECOND, Incident, Status, changes

KEY = AlertKey(event=AlertEvent.LAGGING, job="demo.shop")
LAG = Condition(key=KEY, text="It is old", for_second=120)
FIRED = Incident(id=7, key=KEY, text="It is old", error=None, advice="Look", fired_at=100.0)
F, R = Status


def test_a_condition_must_last() -> None:
    """Before anybody is told, and all the time: one that was gone in between begins anew."""
    first = changes([], {}, {KEY: LAG}, 10.0)
    assert (first.fired, first.pending) == ((), {KEY: 10.0})
    assert changes([], first.pending, {KEY: LAG}, 129.0).fired == ()
    assert changes([], first.pending, {KEY: LAG}, 130.0).fired == (LAG,)
    assert changes([], first.pending, {}, 60.0).pending == {}


def test_what_is_known_is_not_raised_again() -> None:
    """Also after a restart: it is compared with what is stored."""
    same = changes([FIRED], {}, {KEY: LAG}, 500.0)
    assert (same.fired, same.resolved, same.pending) == ((), (), {})
    assert changes([FIRED], {}, {}, 500.0).resolved == (7,)


@pytest.mark.parametrize(
    ("fields", "now", "due"),
    [
        ({}, 100.0, F),
        ({"sent_at": 101.0}, 200.0, None),
        ({"sent_at": 101.0}, 101.0 + 3600, F),
        ({"sent_at": 101.0, "resolved_at": 150.0}, 200.0, R),
        ({"sent_at": 101.0, "resolved_at": 150.0, "resolved_sent_at": 151.0}, 9000.0, None),
        ({"resolved_at": 150.0}, 200.0, F),
        ({"resolved_at": 150.0}, 151.0 + GIVE_UP_SECOND, None),
        ({"sent_at": 101.0, "resolved_at": 150.0, "key": replace(KEY, event=AlertEvent.CANCELLED)}, 200.0, None),
    ],
)
def test_what_is_due(fields: dict[str, Any], now: float, due: Status | None) -> None:
    """The beginning, again after a while, and the end; for a day after that."""
    assert replace(FIRED, **fields).due(now, repeat_second=3600) is due
    assert replace(FIRED, sent_at=1.0).due(1e9, repeat_second=0) is None


@pytest.mark.parametrize(("failures", "second"), [(1, 1.0), (2, 2.0), (4, 8.0), (50, 300.0)])
def test_what_was_not_received_waits_longer_each_time(failures: int, second: float) -> None:
    """Up to five minutes; a clock that is set back does not make it wait for ever."""
    failed = replace(FIRED, failures=failures, tried_at=1000.0)
    assert failed.waits(1000.0 + second - 0.1)
    assert not failed.waits(1000.0 + second)
    assert not failed.waits(500.0)


def test_a_message_is_what_a_chat_can_show() -> None:
    """One id for one message, however often it is sent."""
    found = json.loads(FIRED.message(F, 101.0))
    assert (found["id"], found["status"]) == ("7-firing", "firing")
    assert (found["event"], found["job"]) == (KEY.event, "demo.shop")
    assert found["text"] == "It is old. What to do: Look"
    ended = json.loads(replace(FIRED, resolved_at=150.0).message(R, 151.0))
    assert (ended["id"], ended["text"]) == ("7-resolved", "Resolved: It is old.")
