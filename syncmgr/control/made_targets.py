"""The targets of channels that are about to be stored.

Owns: that those of a failed statement are removed again.
Must not know: why they are created.
"""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from syncmgr.crash import CrashPoint, passing
from syncmgr.job.types.schema import TargetTable

log = logging.getLogger(__name__)


class Catalog(Protocol):
    """The tables of the lake."""

    def make(self, table: TargetTable) -> TargetTable: ...
    def unmake(self, table: TargetTable) -> None: ...


@contextmanager
def made(catalog: Catalog, tables: Sequence[TargetTable]) -> Iterator[None]:
    """The targets of what is stored here; if that fails they are removed again, as far as the lake allows."""
    ready: list[TargetTable] = []
    try:
        for table in tables:
            ready.append(catalog.make(table))  # noqa: PERF401 - those that exist when one fails must be known
        passing(CrashPoint.TARGETS_MADE)
        yield
    except Exception:
        for table in ready:
            _unmake(catalog, table)
        raise


def _unmake(catalog: Catalog, table: TargetTable) -> None:
    """What remains is spare, and hides no error."""
    try:
        catalog.unmake(table)
    except Exception:
        log.exception("an unused target was left", extra={"table": table.label})
