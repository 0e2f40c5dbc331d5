"""The targets of channels that are about to be stored.

Owns: that those of a failed statement are removed again, and which of them will lack rows.
Must not know: why they are created.
"""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from syncmgr.crash import CrashPoint, passing
from syncmgr.errors import Code, Diagnostic, SyncError
from syncmgr.job.source import SourceDescription
from syncmgr.job.types.schema import TargetTable

log = logging.getLogger(__name__)


class MadeTargets(Protocol):
    """The tables of the lake."""

    def make(self, table: TargetTable) -> TargetTable: ...
    def unmake(self, table: TargetTable) -> None: ...


def lacking_rows(tables: Sequence[TargetTable], source: SourceDescription) -> tuple[Diagnostic, ...]:
    """A warning of targets that are made for a job which begins at a place in the binlog: whoever names one means to go
    on with a target that has the rows before it.
    """
    if not tables or not source.starts_at_place:
        return ()
    warning = SyncError(Code.ROWS_BEFORE_START, targets=", ".join(table.label for table in tables))
    return (Diagnostic(level="Warning", code=warning.code, text=str(warning)),)


@contextmanager
def made(catalog: MadeTargets, tables: Sequence[TargetTable]) -> Iterator[None]:
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


def _unmake(catalog: MadeTargets, table: TargetTable) -> None:
    """What remains is spare, and hides no error."""
    try:
        catalog.unmake(table)
    except Exception:
        log.exception("an unused target was left", extra={"table": table.label})
