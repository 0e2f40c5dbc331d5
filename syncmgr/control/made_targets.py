"""The targets of channels that are about to be stored.

Owns: that those of a failed statement are removed again, and which targets will lack rows, or have some twice.
Must not know: why they are created.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, Protocol

from syncmgr.crash import CrashPoint, passing
from syncmgr.errors import Code, Diagnostic, SyncError
from syncmgr.job.position import Position
from syncmgr.job.show_sync import WantedRows
from syncmgr.job.source import SourceDescription
from syncmgr.job.source_history.read_twice import goes_back
from syncmgr.job.sync_job import SyncJob
from syncmgr.job.types.schema import TargetTable
from syncmgr.meta.store import Store
from syncmgr.sources import cancellation

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


EPOCHS: Final = 1000  # the newest of an ended job, which are compared


def doubling_rows(
    job: SyncJob,
    start: Position,
    new: Sequence[TargetTable],
    store: Store,
    table: Callable[[str, str], TargetTable],
) -> tuple[Diagnostic, ...]:
    """A warning of targets without a key that an ended job filled up to a place beyond the one that a new job names: a
    commit that was under way at STOP may have reached the target, although the position of that job does not show it.
    `new`: targets that do not exist yet. `table`: as the lake has it.
    """
    keyless = {(each.target_db, each.target) for each in job.channels if not each.keys}
    keyless -= {(each.db, each.name) for each in new}
    if not keyless or not job.source.starts_at_place:
        return ()
    former: dict[str, str] = {}
    for ended in store.jobs.of([each.id for each in store.jobs.ended()]):
        for channel in (each for each in ended.channels if (each.target_db, each.target) in keyless):
            found = table(channel.target_db, channel.target)
            epochs = [each.epoch for each in store.epochs.of(ended.id, WantedRows(newest=EPOCHS))]
            if channel.token in found.writers and goes_back(start, epochs):
                former[found.label] = f"{ended.db}.{ended.name}"
    warnings = [SyncError(Code.ROWS_TWICE, target=target, job=name) for target, name in former.items()]
    return tuple(Diagnostic(level="Warning", code=each.code, text=str(each)) for each in warnings)


@contextmanager
def made(catalog: MadeTargets, tables: Sequence[TargetTable]) -> Iterator[None]:
    """The targets of what is stored here; if that fails, or is given up before one of them, they are removed again, as
    far as the lake allows.
    """
    ready: list[TargetTable] = []
    try:
        for table in tables:
            cancellation.check()
            ready.append(catalog.make(table))
        passing(CrashPoint.TARGETS_MADE)
        yield
    except Exception as error:
        if ready:
            log.info("%d of %d targets were made, and are removed again: %s", len(ready), len(tables), error)
        for table in ready:
            _unmake(catalog, table)
        raise


def _unmake(catalog: MadeTargets, table: TargetTable) -> None:
    """What remains is spare, and hides no error."""
    try:
        catalog.unmake(table)
    except Exception:
        log.exception("an unused target was left", extra={"table": table.label})
