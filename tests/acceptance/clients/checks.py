"""The checks of a client, one JSON line each on standard output; every program of this folder writes the same.

Owns: the questions and the right answers, for those of the programs that are written in Python.
Must not know: drivers, pytest.
"""

import datetime as dt
import json
import os
import traceback
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final

HOST: Final = "127.0.0.1"
PORT: Final = int(os.environ["CONSOLE_PORT"])
USER: Final = os.environ["CONSOLE_USER"]
PASSWORD: Final = os.environ["CONSOLE_PASSWORD"]
DATABASE: Final = os.environ["CONSOLE_DATABASE"]

VALUES: Final = os.environ["CONSOLE_VALUES"]
VALUES_ARE: Final = (
    *(-7, -70000, 1099511627776, 1.5, Decimal("-123.40"), "Größe", b"\x00\xff", dt.date(2026, 11, 21)),
    dt.datetime(2026, 11, 21, 10, 0, 0, 5),  # noqa: DTZ001 - the session's zone is UTC, and drivers give none
    dt.datetime(2026, 11, 21, 10),  # noqa: DTZ001 - it has none
    *(1, None),
)
MANY: Final = "SELECT id FROM range(10000)"
SLOW: Final = "SELECT count(*) FROM range(100000000000) WHERE hash(id) = 1"
ODD_TEXT: Final = 'it\'s \\ "fine"; -- ü'


def equal(found: object, expected: object) -> None:
    if found != expected:
        raise AssertionError(f"{found!r} is not {expected!r}")


def report(version: str, checks: Mapping[str, Callable[[], Any]]) -> None:
    """Run them in order, and say of each what came out."""
    print(json.dumps({"version": version}), flush=True)
    for name, check in checks.items():
        try:
            check()
            outcome = "ok"
        except Exception:  # noqa: BLE001 - the next check is of interest all the same
            outcome = traceback.format_exc()
        print(json.dumps({"check": name, "outcome": outcome}), flush=True)
