"""The files of a commit before it is committed.

Owns: what is known of them, which tables they are valid for, when they are deleted, and which folders failed attempts
have left.
Must not know: how rows are written, transactions, tokens.
"""

import logging
import threading
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from syncmgr.errors import Code, SyncError
from syncmgr.job.epoch import ChannelCommit
from syncmgr.job.rows.dead_letter import DeadLetter
from syncmgr.job.snapshot.key_range import KeyRange
from syncmgr.lake.commit.key_scan import write_matching
from syncmgr.lake.executors.row_sink import DATA, GONE, RowSink, folder_sink, sink_for
from syncmgr.lake.iceberg.ancestry import FILES_MARK
from syncmgr.lake.iceberg.iceberg import Iceberg
from syncmgr.lake.iceberg.layout import Layout
from syncmgr.lake.index.key_index import KeyNumbers
from syncmgr.lake.index.keys import KeyShape, file_keys
from syncmgr.lake.spark.jvm import JAVA_ERRORS, Java, words

MATCHING: Final = "matching"  # folder of the keys that a part replaces

log = logging.getLogger(__name__)


@dataclass(kw_only=True, slots=True)
class WrittenFiles:
    """Files that wait for their commit; they fit tables of this layout only. `keys`: those of their rows as
    the index with that `seed` numbers them. `rows`: how many their writer reports; None: it does not. `dead`: the
    rows of a chunk that are not in them.

    `gone`: the keys that vanish are among them. `sent`: a commit that names them was sent, and whatever its answer, the
    table may have them. `beside`: paths in the folder that only one attempt may name; the last one is that of the keys
    that are deleted with a part. `sink`: of the rows that Spark wrote; None: it wrote none.
    """

    folder: str
    layout: Layout
    gone: bool
    files: list[Java] | None = None
    keys: list[KeyNumbers] | None = None
    seed: int | None = None
    rows: int | None = None
    sink: RowSink | None = None
    dead: tuple[DeadLetter, ...] = ()
    sent: bool = False
    beside: list[str] = field(default_factory=list)

    def fits(self, layout: Layout, *, gone: bool) -> bool:
        return self.layout == layout and (self.gone or not gone)


def name_of(folder: str) -> str:
    return folder.rsplit("/", 1)[-1]


def refuse_missing(written: WrittenFiles, found: Sequence[int]) -> None:
    """Raises LAKE_FAILED if the files that were found do not have the rows that were written, by their counts: Arrow
    and Hadoop may understand the name of a folder differently, and the epoch would be committed without its rows.
    """
    known = None if written.keys is None else [len(keys) for keys in written.keys]
    if written.rows not in {None, sum(found)} or known not in (None, list(found)):
        counts = f"{sum(found)} rows were found there, and {written.rows} were written"
        raise SyncError(Code.LAKE_FAILED, reason=f"the files in {written.folder} are not those of the commit: {counts}")


class UncommittedFiles:
    """Those of one commit across all its attempts: `written` is false until the first are begun.

    `name`: the prefix of its folders. `strays`: folders of failed attempts; one more failure adds to it, and
    success clears it.
    """

    def __init__(self, iceberg: Iceberg, channel: ChannelCommit, name: str, strays: list[str]) -> None:
        self._iceberg, self._channel, self._name = iceberg, channel, name
        self._written: WrittenFiles | None = None
        self._strays = strays

    @property
    def written(self) -> bool:
        return self._written is not None

    @property
    def at_hand(self) -> WrittenFiles:
        assert self._written is not None
        return self._written

    def fit(self, layout: Layout, *, gone: bool) -> bool:
        return self._written is not None and self._written.fits(layout, gone=gone)

    def begin(self, table: Java, layout: Layout, *, gone: bool) -> WrittenFiles:
        """Replaces the existing ones: a new, empty folder."""
        self.discard()
        folder = f"{table.location()}/data/{self._name}-{uuid.uuid4()}"
        self._written = WrittenFiles(folder=folder, layout=layout, gone=gone)
        return self._written

    def data(self, table: Java) -> list[Java]:
        """Raises LAKE_FAILED if they are not those that were written."""
        written = self.at_hand
        if written.files is None:
            files = self._found(table, DATA)
            with self.discarding():
                refuse_missing(written, [self._iceberg.record_count(file) for file in files])
            written.files = files
        return written.files

    def gone(self, table: Java) -> list[Java]:
        """The keys whose rows vanish."""
        return self._found(table, GONE)

    def keys(self, table: Java, shape: KeyShape) -> list[KeyNumbers]:
        """The keys of the data files, row by row."""
        written = self.at_hand
        if written.keys is None or written.seed != shape.seed:
            written.keys = self.keys_of(table, self.data(table), shape)
            written.seed = shape.seed
        return written.keys

    def keys_of(self, table: Java, files: Iterable[Java], shape: KeyShape) -> list[KeyNumbers]:
        """Those of data files, or of files of vanished keys, row by row."""
        found = []
        for file in files:
            with self._iceberg.storage.whole(table.io(), self._iceberg.location(file)) as path:
                found.append(file_keys(path, shape))
        return found

    def matching(self, table: Java, excerpt: KeyRange) -> list[Java]:
        """The keys of a part that the table has now, in files that only this attempt may name."""
        written = self.at_hand
        folder = f"{written.folder}/{MATCHING}-{uuid.uuid4()}"
        written.beside.append(folder)
        sink = sink_for(self._iceberg, table, written.layout, folder, (self._channel.db, self._channel.table))
        with self.discarding():
            write_matching(self._iceberg.spark, self._channel, excerpt.lake, written.layout, sink)
            return sink.found(table, GONE)

    def _found(self, table: Java, kind: int) -> list[Java]:
        written, name = self.at_hand, (self._channel.db, self._channel.table)
        sink = written.sink or folder_sink(self._iceberg, table, written.layout, written.folder, name)
        with self.discarding():
            return sink.found(table, kind)

    @contextmanager
    def discarding(self) -> Iterator[None]:
        """For a table that in its present state takes nothing from this channel."""
        try:
            yield
        except SyncError:
            self.discard()
            raise

    def discard(self) -> None:
        """Deletes files that no snapshot names; if one may, that is known once the epoch is committed."""
        if self._written is None:
            return
        if self._written.sent or not self._deleted(self._written.folder):
            self._strays.append(self._written.folder)
        self._written = None

    def _deleted(self, folder: str) -> bool:
        """False: it is left, and why is logged: whoever discards it has a reason of their own to report."""
        try:
            self._iceberg.delete(folder)
        except JAVA_ERRORS as error:
            log.info("%s is left: %s", folder, words(error))
            return False
        return True

    def give_up(self) -> None:
        """After a failure whose outcome is unknown the files stay: a later attempt knows whether they count."""
        if self._written is not None:
            self._strays.append(self._written.folder)
            self._iceberg.storage.copies_gone(self._written.folder)

    def sweep(self, table: Java, counts: str) -> None:
        """The epoch is committed: of all the folders written for it only one counts, and a rollback may have left the
        snapshot of another beside the history; the rest is deleted. What cannot be deleted, such as on a file system
        where another engine had put the table for a time, is left.
        """
        named = self._iceberg.marks_of_all(table, FILES_MARK) if self._strays else frozenset()
        for folder in self._strays:
            if name_of(folder) not in {counts, *named}:
                self._deleted(folder)
        for folder in (*self._strays, *([] if self._written is None else [self._written.folder])):
            self._iceberg.storage.settled(folder)
        self._strays.clear()


class AbandonedFolders:
    """Folders that failed attempts at an epoch left behind. From any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._folders: dict[str, tuple[int, list[str]]] = {}  # by token: epoch, folders

    def of(self, channel: ChannelCommit) -> list[str]:
        """Those of this epoch, a list that can be extended; those of earlier epochs are settled.

        Chunks are committed in parallel, so none may clean up for the others: their strays are orphans.
        """
        if channel.chunk is not None:
            return []
        with self._lock:
            epoch, folders = self._folders.get(channel.token, (channel.epoch, []))
            if epoch != channel.epoch:
                folders = []
            self._folders[channel.token] = channel.epoch, folders
            return folders
