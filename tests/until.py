"""Waiting without sleeping blindly."""

import os
import time
from collections.abc import Callable

STEP_SECOND = 0.02
PATIENCE = float(os.environ.get("SYNCMGR_TEST_PATIENCE", "1"))  # times as long, where others use the machine


def until(
    condition: Callable[[], object], *, deadline: float, why: str = "the condition", step: float = STEP_SECOND
) -> None:
    """Return as soon as the condition holds; fail after `deadline` seconds, naming what was waited for."""
    end = time.monotonic() + deadline * PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"{why} did not come true within {deadline * PATIENCE:g} s")
        time.sleep(step)
