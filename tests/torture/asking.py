"""Questions to a frontend that may have died a moment ago.

Owns: for how long they are asked again.
Must not know: what is asked.
"""

import time
from collections.abc import Callable
from typing import Final, TypeVar

import pymysql

from tests.support.until import PATIENCE

ASK_SECOND: Final = 900.0
STEP_SECOND: Final = 0.5
Answer = TypeVar("Answer")


def asked(question: Callable[[], Answer]) -> Answer:
    """The answer; the last failure is told."""
    end = time.monotonic() + ASK_SECOND * PATIENCE
    while True:
        try:
            return question()
        except pymysql.err.MySQLError:
            if time.monotonic() > end:
                raise
        time.sleep(STEP_SECOND)
