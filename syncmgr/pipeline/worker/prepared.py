"""The rows of an XA transaction that is prepared and waits for its end.

Owns: where they are until then, in memory and in files, and when their files may be deleted.
Must not know: how an XA transaction is read, epochs' rules.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final
from uuid import uuid4

import pyarrow as pa

from syncmgr.errors import Code, SyncError
from syncmgr.job.epoch import Prepared
from syncmgr.pipeline.worker.segment import Segment

if TYPE_CHECKING:
    from syncmgr.job.rows.dead_letter import DeadLetter

WAITING_BYTES: Final = 1024 * 1024  # of one table in memory: many transactions may be prepared at once


class PreparedRows:
    """Of one XA transaction, by channel token. One thread.

    `stored`: as an earlier epoch names it. `bytes`: as they were read. `dead`: dead letters of further rows.
    """

    def __init__(self, xid: str, folder: Path, stored: Prepared | None = None) -> None:
        self._xid = xid
        self._folder = folder
        self._stored = stored
        named = {} if stored is None else stored.files
        self._segments = {token: Segment(folder, "", files=files) for token, files in named.items()}
        self.bytes = 0 if stored is None else stored.bytes
        self.dead: tuple[DeadLetter, ...] = () if stored is None else stored.dead

    def append(self, token: str, rows: pa.Table) -> None:
        """Raises DISK_FULL, NOT_WRITABLE."""
        assert self._stored is None, "what an epoch names is whole"
        segment = self._segments.get(token)
        if segment is None:
            segment = self._segments[token] = Segment(self._folder, f"xa-{uuid4().hex}", group_bytes=WAITING_BYTES)
        segment.append(rows)

    def close(self) -> Prepared:
        """What an epoch records of it; from then on the frontend deletes its files."""
        if self._stored is None:
            files = {token: segment.close() for token, segment in self._segments.items()}
            self._stored = Prepared(files=files, bytes=self.bytes, dead=self.dead)
        return self._stored

    def rows(self) -> Iterator[tuple[str, pa.Table]]:
        """All rows in order, in pieces that fit into memory, each with its token. Raises PREPARED_LOST."""
        try:
            for token, segment in self._segments.items():
                yield from ((token, rows) for rows in segment.read())
        except (OSError, pa.ArrowException) as error:
            raise SyncError(Code.PREPARED_LOST, xid=self._xid, reason=error) from error

    def drop(self) -> None:
        """It has ended. Files that an epoch names are needed until the next epoch is stored."""
        if self._stored is None:
            for segment in self._segments.values():
                segment.drop()
