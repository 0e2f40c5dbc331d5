"""Properties in which syncmgr keeps what it knows of a table, after another engine has set one.

Owns: what the operator does about it.
Must not know: what they mean.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.description import literal
from syncmgr.lake.cures import in_catalog


@contextmanager
def as_written(db: str, table: str, key: str) -> Iterator[None]:
    """Around the reading of a property. Raises FOREIGN_CHANGE if that raises ValueError."""
    try:
        yield
    except ValueError as error:
        cure = f"ALTER TABLE {in_catalog((db, table))} UNSET TBLPROPERTIES ({literal(key)})"
        reason = f"its property {key} is not as syncmgr wrote it; type in Spark: {cure}"
        raise SyncError(Code.FOREIGN_CHANGE, table=f"{db}.{table}", reason=reason) from error
