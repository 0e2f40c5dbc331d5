"""Waiting without sleeping blindly.

Owns: how long to wait for something without a fixed time: so long that only a hang takes longer.
"""

import os
import time
from collections.abc import Callable
from typing import Final

STEP_SECOND: Final = 0.02
STEP_SHARE: Final = 0.15  # of the time waited so far: each query costs the frontend that is waited for
STEP_COSTS: Final = 2.0  # times as long as the check took, which may be a Spark query
LONGEST_STEP_SECOND: Final = 1.0
PATIENCE: Final = float(os.environ.get("SYNCMGR_TEST_PATIENCE", "1"))  # times as long, if others use the machine
PROMPT_SECOND: Final = 30.0 * PATIENCE  # "at once", if that is promised; on an idle machine it is far below one
HANG_SECOND: Final = 180.0 * PATIENCE  # for waits without `until`: joins, timeouts of clients


def until(
    condition: Callable[[], object], *, deadline: float = 180.0, why: str = "the condition", step: float = STEP_SECOND
) -> None:
    """Return as soon as the condition holds; fail after `deadline` seconds, naming what was waited for.

    A separate `deadline` is for what takes longer; a shorter one fails on a slow machine.
    """
    begun = time.monotonic()
    end = begun + deadline * PATIENCE
    asked = begun
    while not condition():
        now = time.monotonic()
        if now > end:
            raise AssertionError(f"{why} did not come true within {deadline * PATIENCE:g} s")
        rest = max(STEP_SHARE * (now - begun), STEP_COSTS * (now - asked))
        time.sleep(max(step, min(rest, LONGEST_STEP_SECOND)))
        asked = time.monotonic()
