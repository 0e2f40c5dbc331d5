"""Waiting without sleeping blindly."""

import time
from collections.abc import Callable

STEP_SECOND = 0.02


def until(condition: Callable[[], object], *, deadline: float, why: str = "the condition") -> None:
    """Return as soon as the condition holds; fail after `deadline` seconds, naming what was waited for."""
    end = time.monotonic() + deadline
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"{why} did not come true within {deadline:g} s")
        time.sleep(STEP_SECOND)
