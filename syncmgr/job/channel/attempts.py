"""Several checks of one statement, whose failures are reported together.

Owns: that all of them run, and what is raised if some fail.
Must not know: what is checked.
"""

from collections.abc import Callable, Iterable
from typing import TypeVar

from syncmgr.errors import SyncError

T = TypeVar("T")


def gathered(attempts: Iterable[Callable[[], T]]) -> list[T]:
    """The result of each attempt. Raises the messages of all failures, under the error number of the first."""
    given: list[T] = []
    errors: list[SyncError] = []
    for attempt in attempts:
        try:
            given.append(attempt())
        except SyncError as error:
            errors.append(error)
    if errors:
        raise errors[0].saying("".join(f"; {error}" for error in errors[1:])) from errors[0]
    return given
