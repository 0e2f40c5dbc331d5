"""Changes one channel's table for one DDL statement, exactly once; or a table for one ALTER TABLE of the console.

Owns: the fence of a change of schema, the order of its steps; that ALTER TABLE is decided on the very table it changes.
Must not know: jobs, intents, statements, which ALTER TABLE is allowed; how Java is called.
"""

import logging
import uuid
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from syncmgr.crash import CrashPoint, passing
from syncmgr.errors import Code, SyncError
from syncmgr.job.ddl.lake_change import DropTable, EmptyTable, FillField
from syncmgr.job.epoch import ChannelAlter, ChannelCommitted
from syncmgr.job.targets.target_change import TargetChange
from syncmgr.job.types.schema import TargetTable
from syncmgr.lake.commit.backfill import refill
from syncmgr.lake.commit.clock import refuse_old_clock
from syncmgr.lake.commit.commit_marker import check_token, refuse_gone, refuse_replaced, token_of
from syncmgr.lake.commit.filled_columns import carried_columns
from syncmgr.lake.commit.partitions import refuse_mixed
from syncmgr.lake.commit.schema_change import change_schema
from syncmgr.lake.commit.uncommitted_files import name_of
from syncmgr.lake.drops import Drops
from syncmgr.lake.executors.row_sink import DATA, sink_for
from syncmgr.lake.iceberg.ancestry import (
    CHUNK_MARK,
    EPOCH_MARK,
    FILES_MARK,
    MARKS,
    fingerprint_property,
    part_marks,
    token_property,
)
from syncmgr.lake.iceberg.iceberg import Iceberg
from syncmgr.lake.iceberg.layout import Layout
from syncmgr.lake.index.indexing import Indexing
from syncmgr.lake.spark.jvm import JAVA_ERRORS, REFUSED, Java, java_class, raise_for, text_of
from syncmgr.lake.target.own_properties import refuse_unreadable
from syncmgr.lake.target.target_table import COMMENT, described

ATTEMPTS: Final = 30  # upkeep and foreign writers may come first this often

logger = logging.getLogger(__name__)


class Alter:
    """One call: its attempts share only the changes, which were decided before, and what they have written."""

    def __init__(self, iceberg: Iceberg, alter: ChannelAlter, indexing: Indexing, drops: Drops | None = None) -> None:
        """`drops`: of an embedded catalog; None: another one takes care of its tables."""
        self._iceberg = iceberg
        self._alter = alter
        self._indexing = indexing
        self._drops = drops
        self._mark = f"{alter.token}:{alter.epoch}"
        self._marks = {EPOCH_MARK: self._mark, **part_marks(alter.part)}
        self._label = f"{alter.db}.{alter.table}"
        self._folders: list[str] = []  # of all rewritten rows, one for each attempt

    def run(self) -> ChannelCommitted:
        """Opens a transaction, checks the token in its own table, and commits all changes together with the token.

        Nothing is ever changed on newer metadata than that: Iceberg refuses it. If refused or unknown: from the start.
        """
        dropped = next((change for change in self._alter.changes if isinstance(change, DropTable)), None)
        if dropped is not None:
            with self._indexing.lock:
                return self._drop(dropped)
        try:
            return self._run()
        finally:
            for folder in self._folders:
                self._iceberg.storage.settled(folder)

    def _run(self) -> ChannelCommitted:
        for _ in range(ATTEMPTS):
            loaded = self._loaded()
            try:
                with self._indexing.lock:
                    return self._attempt(loaded)
            except JAVA_ERRORS as error:
                if java_class(error) not in REFUSED:
                    name, properties = (self._alter.db, self._alter.table), partial(self._iceberg.properties, loaded)
                    refuse_unreadable(text_of(error), *name, properties)
                    refuse_old_clock(self._iceberg, self._loaded, self._label)
                    raise_for(error)
                logger.info("change of schema refused, trying again: %s", java_class(error))
        raise SyncError(Code.LAKE_FAILED, reason=f"table {self._label} was changed {ATTEMPTS} times during one DDL")

    def _loaded(self) -> Java:
        return self._iceberg.load(self._alter.db, self._alter.table)

    def _attempt(self, loaded: Java) -> ChannelCommitted:
        transaction = self._iceberg.begin(loaded)
        table = self._iceberg.table_of(transaction)  # everything below is read from this one
        if self._borne(table):
            return self._passed_over(table)
        refuse_replaced(self._iceberg, table, self._alter)
        changes, before = self._alter.changes, self._iceberg.layout(table)
        types = change_schema(self._iceberg, transaction, changes, (self._alter.db, self._alter.table))
        empties = any(isinstance(change, EmptyTable) for change in changes)
        if any(isinstance(change, EmptyTable | FillField) for change in changes):
            refuse_mixed(self._iceberg, loaded, self._alter)
        if empties:
            self._iceberg.empty(transaction, self._marks, self._alter.part)
        fills = {change.name: change.value for change in changes if isinstance(change, FillField)}
        if fills and not empties:
            self._fill(transaction, before, fills)
        fenced = self._iceberg.fence(transaction, self._marks)
        token, number = self._alter.token, str(self._alter.epoch)
        marks = {token_property(token): number, fingerprint_property(token): self._alter.fingerprint}
        columns = carried_columns(self._iceberg, loaded, table, self._alter, changes)
        self._iceberg.set_properties(transaction, {**marks, **types, **columns})
        self._iceberg.pin(transaction)  # Iceberg would reapply properties to whatever was committed meanwhile
        self._iceberg.commit(transaction)
        passing(CrashPoint.TABLE_ALTERED)
        table = self._iceberg.table_of(transaction)
        self._sweep(table, "".join(map(name_of, self._folders[-1:])))
        current = self._iceberg.current(table)
        if current is None or not (empties or fills or fenced):
            return ChannelCommitted(snapshot=None)
        return ChannelCommitted(
            snapshot=current.snapshot,
            sequence=self._iceberg.sequence(table, current.snapshot) or 0,
            shared=self._alter.part is not None,
        )

    def _drop(self, change: DropTable) -> ChannelCommitted:
        """A table that cannot be marked with a token is identified by its uuid: another one that has the name by now
        stays.
        """
        alter = self._alter
        passed_over = not self._iceberg.table_exists(alter.db, alter.table)
        if not passed_over:
            table = self._iceberg.load(alter.db, alter.table)
            passed_over = self._iceberg.uuid(table) != change.uuid
        if not passed_over:
            self._borne(table)
            other = self._iceberg.drop_table(alter.db, alter.table, self._drops)
            if other is not None:
                logger.warning("%s was dropped, but its files stay: table %s uses them, too", self._label, other)
        passing(CrashPoint.TABLE_ALTERED)
        return ChannelCommitted(snapshot=None, passed_over=passed_over)

    def _borne(self, table: Java) -> bool:
        alter = self._alter
        found = token_of(self._iceberg, table, alter)
        check_token(found, alter)
        fingerprint = self._iceberg.property(table, fingerprint_property(alter.token))
        if found == alter.epoch and fingerprint not in {None, alter.fingerprint}:
            raise SyncError(Code.OTHER_HISTORY, table=self._label, epoch=alter.epoch)
        return found == alter.epoch

    def _passed_over(self, table: Java) -> ChannelCommitted:
        """The token survives a rollback. A table to which the channel never committed may have had no rows for the
        statement to change, and so no snapshot by it.
        """
        history = self._iceberg.history(table, MARKS, expired=True)
        found = next((s for s in history if s.marks.get(EPOCH_MARK) == self._mark and CHUNK_MARK not in s.marks), None)
        changes_rows = any(isinstance(change, EmptyTable | FillField) for change in self._alter.changes)
        if found is None and changes_rows and self._alter.last.snapshot is not None:
            refuse_gone(self._iceberg, table, self._alter)
        if found is None:
            return ChannelCommitted(snapshot=None, passed_over=True)
        self._sweep(table, found.marks.get(FILES_MARK, ""))
        shared = self._alter.part is not None
        return ChannelCommitted(snapshot=found.id, passed_over=True, sequence=found.sequence, shared=shared)

    def _sweep(self, table: Java, counts: str) -> None:
        """The epoch is committed: of all folders that were filled for it one counts, and a snapshot that a rollback has
        left beside the history may name another.
        """
        named = self._iceberg.marks_of_all(table, FILES_MARK) if self._folders else frozenset()
        self._iceberg.delete(*(folder for folder in self._folders if name_of(folder) not in {counts, *named}))

    def _fill(self, transaction: Java, before: Layout, values: Mapping[str, str]) -> None:
        """As one replacement of all rows, which must not have changed since the transaction opened."""
        table = self._iceberg.table_of(transaction)
        if self._iceberg.current(table) is None:
            return
        alter, layout = self._alter, self._iceberg.layout(table)
        folder = f"{table.location()}/data/{alter.token}-{alter.epoch}-{uuid.uuid4()}"
        self._folders.append(folder)
        sink = sink_for(self._iceberg, table, layout, folder, (alter.db, alter.table))
        refill(self._iceberg.spark, (alter.db, alter.table), before, layout, values, sink, alter.part)
        marks = {**self._marks, FILES_MARK: name_of(folder)}
        self._iceberg.replace(transaction, sink.found(table, DATA), marks, alter.part)


def alter_target(iceberg: Iceberg, db: str, table: str, decide: Callable[[TargetTable], TargetChange]) -> None:
    """`decide`: what is to change of the table as it is, at each attempt. Raises what that raises, NO_SUCH_TABLE,
    FOREIGN_CHANGE, LAKE_FAILED.
    """
    wanted: TargetTable | None = None
    for _ in range(ATTEMPTS):
        loaded = iceberg.load(db, table)
        transaction = iceberg.begin(loaded)
        now = iceberg.table_of(transaction)  # everything below is read from this one
        before = described(db, table, iceberg.layout(now), iceberg.properties(now))
        if wanted is not None and _is(before, wanted):  # the attempt was refused, or its answer lost, after it was made
            return
        change = decide(before)
        wanted = change.result
        if not change.changes and _is(before, wanted):
            return
        types = change_schema(iceberg, transaction, change.changes, (db, table))
        iceberg.set_properties(transaction, types | _properties(before, wanted))
        iceberg.pin(transaction)
        try:
            iceberg.commit(transaction)
        except JAVA_ERRORS as error:
            if java_class(error) not in REFUSED:
                refuse_unreadable(text_of(error), db, table, partial(iceberg.properties, loaded))
                raise_for(error)
            logger.info("ALTER TABLE was refused, trying again: %s", java_class(error))
        else:
            return
    raise SyncError(Code.LAKE_FAILED, reason=f"table {db}.{table} was changed {ATTEMPTS} times during one ALTER TABLE")


def _is(found: TargetTable, wanted: TargetTable) -> bool:
    one, other = (
        (table.uuid, table.columns, table.comment, dict(table.properties).items()) for table in (found, wanted)
    )
    return one == other


def _properties(before: TargetTable, wanted: TargetTable) -> dict[str, str]:
    changed = dict(set(wanted.properties) - set(before.properties))
    return changed if before.comment == wanted.comment else changed | {COMMENT: wanted.comment}
