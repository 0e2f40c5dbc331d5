"""Commits one channel's segment of one epoch, or a chunk of its snapshot, into one table, exactly once.

Owns: the fence, the order of write and commit, what a refused or unknown commit means.
Must not know: jobs, intents, the source; how Java is called.
"""

import logging
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from syncmgr.crash import CrashPoint, passing
from syncmgr.errors import Code, SyncError
from syncmgr.job.ddl.lake_change import LakeChange
from syncmgr.job.epoch import ChannelCommit, ChannelCommitted
from syncmgr.job.job_properties import OnValueError
from syncmgr.job.rows.dead_letter import DeadLetter
from syncmgr.job.snapshot.key_range import KeyRange
from syncmgr.lake.commit import data_files
from syncmgr.lake.commit.clock import refuse_old_clock
from syncmgr.lake.commit.commit_marker import (
    ADDED_BYTES,
    ADDED_ROWS,
    marker_of,
    refuse_gone,
    refuse_replaced,
)
from syncmgr.lake.commit.filled_columns import carried_columns, refuse_replaced_columns
from syncmgr.lake.commit.partitions import refuse_mixed, refuse_old_format, refuse_unreachable
from syncmgr.lake.commit.schema_change import change_schema, layout_after, outstanding
from syncmgr.lake.commit.uncommitted_files import UncommittedFiles, WrittenFiles, name_of
from syncmgr.lake.commit.vectors import Deletion
from syncmgr.lake.iceberg.ancestry import FILES_MARK, READ_MARK
from syncmgr.lake.iceberg.iceberg import Iceberg
from syncmgr.lake.iceberg.layout import Layout
from syncmgr.lake.index.index import TableIndex
from syncmgr.lake.index.indexing import Indexing
from syncmgr.lake.index.keys import EpochKeys, UnindexableError, epoch_keys, inserted_keys, refuse_other_key
from syncmgr.lake.spark.jvm import JAVA_ERRORS, REFUSED, Java, java_class, raise_for, text_of
from syncmgr.lake.storage.locations import is_local
from syncmgr.lake.target.own_properties import refuse_unreadable

ATTEMPTS: Final = 30  # upkeep and foreign writers may come first this often
MOST_KEYS: Final = 4_000_000  # of a part, that are held in addition to the index; more use equality deletes

logger = logging.getLogger(__name__)


class Commit:
    """One call of commit: its steps share what was written.

    `strays`: folders of failed attempts at this epoch; one more failure adds to it, and success clears it.
    """

    def __init__(self, iceberg: Iceberg, channel: ChannelCommit, strays: list[str], indexing: Indexing) -> None:
        self._iceberg = iceberg
        self._name = channel.db, channel.table
        if channel.chunk is not None:
            chunk = replace(channel.chunk, token=channel.token, target=".".join(self._name))
            channel = replace(channel, chunk=chunk)
        self._channel = channel
        self._marker = marker_of(iceberg, channel)
        self._files = UncommittedFiles(iceberg, channel, self._marker.name, strays)
        self._indexing = indexing
        self._epoch_keys: tuple[int, EpochKeys] | None = None  # with the seed by which they are numbered

    def run(self) -> ChannelCommitted:
        """1. check the token, 2. write the files, 3. commit them in a transaction whose own table is checked again.

        A crash before 3 leaves files that nothing names. If refused in 3: load again and start from the token, with the
        existing files. If unknown in 3: the same, since the token shows the outcome.
        """
        table = self._loaded()
        for _ in range(ATTEMPTS):
            try:
                return self._attempt(table)
            except JAVA_ERRORS as error:
                if java_class(error) not in REFUSED:
                    with self._files.discarding():
                        refuse_old_format(text_of(error), *self._name)
                        refuse_unreadable(text_of(error), *self._name, partial(self._iceberg.properties, table))
                    self._files.give_up()
                    refuse_old_clock(self._iceberg, self._loaded, f"{self._channel.db}.{self._channel.table}")
                    raise_for(error)
                logger.info("commit refused, trying again: %s", java_class(error))
            table = self._loaded()
        self._files.give_up()
        raise SyncError(
            Code.LAKE_FAILED, reason=f"table {self._channel.table} was changed {ATTEMPTS} times during one commit"
        )

    def _loaded(self) -> Java:
        return self._iceberg.load(self._channel.db, self._channel.table)

    def dead_letters(self) -> tuple[DeadLetter, ...]:
        """The rows of a chunk that were kept out, even if an earlier process has committed it without reporting
        them.
        """
        chunk = self._channel.chunk
        if chunk is None:
            return ()
        if self._files.written:
            return self._files.at_hand.dead
        rules = chunk.values
        if rules is None or rules.policy is not OnValueError.DEAD_LETTER:
            return ()
        return chunk.reader.read(replace(chunk, exact=False), None).dead  # a read without a handshake

    def _attempt(self, table: Java) -> ChannelCommitted:
        if not self._files.written and not self._borne(table):
            with self._indexing.lock:
                index = self._index(table)
            layout = layout_after(self._iceberg, table, outstanding(self._iceberg, table, self._changes), self._name)
            self._refuse_replaced(table, table)
            self._fitting(table, layout, gone=self._gone(index, table))
            if not self._channel.empty and not is_local(self._files.at_hand.folder):
                self._files.data(table)  # which uploads them, before the table is locked
            if index is not None and not self._channel.empty and self._is_small(table):
                self._files.keys(table, index.shape)
        passing(CrashPoint.FILES_WRITTEN)
        with self._indexing.lock:
            return self._transact(table)

    def _transact(self, loaded: Java) -> ChannelCommitted:
        transaction = self._iceberg.begin(loaded)
        table = self._iceberg.table_of(transaction)  # everything below is read from this one
        if self._borne(table):
            return self._passed_over(table)
        self._refuse_replaced(table, loaded)
        index = self._index(table)
        table = self._changed(transaction, table)
        written = self._fitting(table, self._iceberg.layout(table), gone=self._gone(index, table))
        matching = self._matching(table)
        deletion = None
        if index is not None and self._is_small(table, matching):
            deletion = self._deletion(table, index, matching)
        snapshot = self._commit(transaction, written, deletion, matching)
        passing(CrashPoint.TABLE_COMMITTED)
        if deletion is not None:
            table = self._iceberg.table_of(transaction)
            assert index is not None
            files = list(zip(self._files.data(table), self._files.keys(table, index.shape), strict=True))
            complete = self._channel.where is None and self._channel.settled
            name = name_of(written.folder)
            deletion.committed(self._indexing, table, name, files, count_missing=complete)
        self._iceberg.delete(*(written.beside[:-1] if matching and deletion is None else written.beside))
        self._files.sweep(self._iceberg.table_of(transaction), name_of(written.folder))
        return ChannelCommitted(
            snapshot=snapshot,
            rows=sum(map(self._iceberg.record_count, self._files_of_chunk(table))),
            bytes=sum(map(self._iceberg.file_bytes, self._files_of_chunk(table))),
            sequence=self._iceberg.sequence(self._iceberg.table_of(transaction), snapshot) or 0,
            shared=self._channel.part is not None,
        )

    def _changed(self, transaction: Java, table: Java) -> Java:
        """The table after those changes of a chunk that it does not have yet."""
        changes = outstanding(self._iceberg, table, self._changes)
        types = change_schema(self._iceberg, transaction, changes, self._name)
        after = self._iceberg.table_of(transaction)
        properties = {**types, **carried_columns(self._iceberg, table, after, self._channel, changes)}
        if properties:
            self._iceberg.set_properties(transaction, properties)
        return self._iceberg.table_of(transaction)

    def _files_of_chunk(self, table: Java) -> list[Java]:
        return [] if self._channel.chunk is None else self._files.data(table)

    def _commit(
        self, transaction: Java, written: WrittenFiles, deletion: Deletion | None, matching: Sequence[Java]
    ) -> int:
        """The snapshot of the epoch. If it is not known whether it is committed, the index has to check.

        Pinned: Iceberg would reapply a lone token to whatever was committed meanwhile, and validates nothing if the
        table was replaced by an empty one; equality deletes do not reach rows that were moved to another spec.
        """
        table = self._iceberg.table_of(transaction)
        marks = {**self._marker.summary(table), FILES_MARK: name_of(written.folder)}
        properties = self._marker.properties(table)  # before the transaction has a snapshot with these marks
        try:
            self._iceberg.pin(transaction)
            if self._replaces and self._iceberg.current(table) is not None:
                self._iceberg.replace(transaction, self._files.data(table), marks, self._channel.part)
                self._iceberg.set_properties(transaction, properties)
                written.sent = True
                return self._iceberg.finish(transaction)
            vanished = self._equality_deletes(table, matching) if deletion is None else []
            delta = self._iceberg.fenced_delta(transaction)
            if deletion is not None:
                deletion.add_to(delta, written.folder)
                passing(CrashPoint.VECTORS_WRITTEN)
            self._iceberg.add(delta, self._files.data(table), vanished, marks)
            self._iceberg.set_properties(transaction, properties)
            written.sent = True
            return self._iceberg.finish(transaction)
        except JAVA_ERRORS:
            self._indexing.lost()
            if deletion is not None:
                written.beside += deletion.written
            raise

    def _index(self, table: Java) -> TableIndex | None:
        """The index if it holds for this table and can locate the keys of the epoch."""
        if not self._channel.keys or self._channel.empty or self._replaces:
            return None
        try:
            index = self._indexing.usable(self._iceberg, table)
            if index is not None:
                refuse_other_key(self._channel.keys, index.shape)
            if index is not None and self._channel.chunk is None:
                self._touched(index)
        except UnindexableError as error:
            self._indexing.give_up(error)
            return None
        return index

    @property
    def _replaces(self) -> bool:
        return self._channel.chunk is not None and self._channel.chunk.replaces and self._excerpt is None

    @property
    def _changes(self) -> tuple[LakeChange, ...]:
        """Changes of the target's columns, which are committed with the rows of a chunk."""
        return () if self._channel.chunk is None else self._channel.chunk.changes

    @property
    def _excerpt(self) -> KeyRange | None:
        return None if self._channel.chunk is None else self._channel.chunk.excerpt

    def _is_small(self, table: Java, matching: Sequence[Java] = ()) -> bool:
        """Whether the keys of added and removed rows may be held in memory; chunks and epochs are cut so that they
        fit.
        """
        files = () if self._excerpt is None else (*self._files.data(table), *matching)
        return sum(map(self._iceberg.record_count, files)) <= MOST_KEYS

    def _touched(self, index: TableIndex) -> EpochKeys:
        seed = index.shape.seed
        if self._epoch_keys is None or self._epoch_keys[0] != seed:  # a rebuilt index numbers keys differently
            self._epoch_keys = seed, epoch_keys(self._channel, index.shape)
        return self._epoch_keys[1]

    def _distinct(self) -> bool:
        """Whether no key has two changes; a chunk is one view of rows with different keys."""
        if self._channel.chunk is not None:
            return True
        changes = sum(file.rows for file in self._channel.files)
        return self._epoch_keys is not None and len(self._epoch_keys[1].keys) == changes

    def _deletion(self, table: Java, index: TableIndex, matching: Sequence[Java]) -> Deletion:
        """Only another writer can have put a key of a chunk into the table before."""
        written = self._files.keys(table, index.shape)
        if self._channel.chunk is None:
            return Deletion(self._iceberg, table, index, self._touched(index))
        if self._excerpt is not None:
            gone = self._files.keys_of(table, matching, index.shape)
            return Deletion(self._iceberg, table, index, inserted_keys(gone) if gone else None)
        meets = bool(written) and self._marker.may_meet(table)
        return Deletion(self._iceberg, table, index, inserted_keys(written) if meets else None)

    def _gone(self, index: TableIndex | None, table: Java) -> bool:
        """Whether the keys must be written to files, since nothing locates their rows."""
        if index is not None or not self._channel.keys or self._replaces or self._excerpt is not None:
            return False
        return self._marker.may_meet(table)

    def _borne(self, table: Java) -> bool:
        with self._files.discarding():
            return self._marker.is_applied(table)

    def _refuse_replaced(self, table: Java, loaded: Java) -> None:
        """`loaded`: the same table outside of a transaction."""
        if self._channel.renews:
            return
        with self._files.discarding():
            refuse_replaced(self._iceberg, table, self._channel)
            refuse_replaced_columns(self._iceberg, table, self._channel)
            if self._replaces:
                refuse_mixed(self._iceberg, loaded, self._channel)

    def _fitting(self, table: Java, layout: Layout, *, gone: bool) -> WrittenFiles:
        """The existing files if they fit, otherwise new ones."""
        if self._files.fit(layout, gone=gone):
            return self._files.at_hand
        written = self._files.begin(table, layout, gone=gone)
        if not self._channel.empty:
            with self._files.discarding():
                distinct = self._distinct()
                data_files.write(self._iceberg, self._channel, written, table, self._epoch_keys, distinct=distinct)
        return written

    def _equality_deletes(self, table: Java, matching: Sequence[Java]) -> list[Java]:
        written = self._files.at_hand
        keys = [field.id for field in map(written.layout.field, self._channel.keys) if field is not None]
        files = self._files.gone(table) if self._excerpt is None else matching
        if files:
            with self._files.discarding():
                refuse_unreachable(self._iceberg, table, written.layout, self._channel, self._indexing)
        return [self._iceberg.equality_delete(table, file, keys) for file in files]

    def _matching(self, table: Java) -> list[Java]:
        """Files of the keys that are deleted with a part: all that the table has of it. They are read from its present
        state, at the transaction's snapshot or after it; if rows were added in between, the commit is refused.
        """
        if self._excerpt is None or self._iceberg.current(table) is None:
            return []
        return self._files.matching(table, self._excerpt)

    def _passed_over(self, table: Java) -> ChannelCommitted:
        """Either our own commit whose answer was lost, or another writer's: the snapshot names the files that count.

        The token survives a rollback; whoever checked it has missed no chunk.
        """
        snapshot = self._marker.found(table)
        if snapshot is None:
            if self._channel.chunk is None and not self._channel.renews:
                with self._files.discarding():
                    refuse_gone(self._iceberg, table, self._channel)
            return ChannelCommitted(snapshot=None, passed_over=True)
        self._files.give_up()
        self._files.sweep(table, snapshot.marks.get(FILES_MARK, ""))
        return ChannelCommitted(
            snapshot=snapshot.id,
            passed_over=True,
            rows=int(snapshot.marks.get(ADDED_ROWS, 0)),
            bytes=int(snapshot.marks.get(ADDED_BYTES, 0)),
            sequence=snapshot.sequence,
            shared=self._channel.part is not None,
            read=snapshot.marks.get(READ_MARK),
        )
