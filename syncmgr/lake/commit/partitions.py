"""Where equality deletes apply: only in files of their own partition and spec, and in no table of format v1.

Owns: in which tables they cannot reach all rows, and which can have none.
Must not know: commits, how rows are written.
"""

from typing import Final, Protocol

from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.channel_state import HEALS
from syncmgr.job.channel.description import quoted
from syncmgr.job.epoch import ChannelAlter, ChannelCommit
from syncmgr.lake.cures import in_catalog, rewriting
from syncmgr.lake.iceberg.iceberg import Iceberg
from syncmgr.lake.iceberg.layout import FORMAT_VERSION, Layout
from syncmgr.lake.spark.jvm import Java

NO_DELETES: Final = "Deletes are supported in V2 and above"  # Iceberg's words


class NoIndex(Protocol):
    """An index that is not in force, and whether it comes by itself."""

    @property
    def comes(self) -> bool: ...
    def why_not(self) -> str: ...


def refuse_unreachable(iceberg: Iceberg, table: Java, layout: Layout, channel: ChannelCommit, index: NoIndex) -> None:
    """`index`: which is not in force. Raises SPEC_CHANGED if the partition spec was changed so that the old row of a
    key may be in another partition than its new one. Equality deletes of a spec without partitions reach all files.
    """
    if not layout.divisions:
        return
    label = f"{channel.db}.{channel.table}"
    wanted = {field.id for field in map(layout.field, channel.keys) if field is not None}
    beside = [part for part in layout.divisions if part.source_id not in wanted]
    if beside:
        column = layout.by_id(beside[0].source_id)
        reason = f"it is partitioned by {beside[0].name if column is None else column.name}, which is no key"
        raise _changed(label, index, reason)
    others = iceberg.specs_in_use(table) - {layout.spec_id}
    if others:
        reason = f"it has files of the partition specs {min(others)} and {layout.spec_id}"
        raise _changed(label, index, reason)


def refuse_mixed(iceberg: Iceberg, table: Java, commit: ChannelCommit | ChannelAlter) -> None:
    """Before all rows of a part are replaced; `table`: not of a transaction.

    Raises UNKNOWN_COLUMN, and FOREIGN_CHANGE if files have rows of several parts, since another engine has removed the
    partition field that kept them apart: Iceberg replaces whole files.
    """
    if commit.part is None:
        return
    name, column, layout = (commit.db, commit.table), commit.part.column, iceberg.layout(table)
    field = layout.field(column)
    if field is None:
        raise SyncError(Code.UNKNOWN_COLUMN, column=column, where=".".join(name))
    if iceberg.keeps_apart(table, commit.part):
        return
    is_there = any(p.transform == "identity" and p.source_id == field.id for p in layout.divisions)
    cures = [] if is_there else [f"ALTER TABLE {in_catalog(name)} ADD PARTITION FIELD {quoted(column)}"]
    cure = "; ".join([*cures, rewriting(name)])
    reason = f"it was not partitioned by column {column} for a time, and has files with rows of several databases"
    raise SyncError(Code.FOREIGN_CHANGE, table=".".join(name), reason=f"{reason}; type in Spark: {cure}")


def refuse_old_format(text: str, db: str, table: str) -> None:
    """`text`: of an error of Iceberg. Raises FOREIGN_CHANGE if the table is of a format that has no deletes."""
    if NO_DELETES in text:
        cure = f"ALTER TABLE {in_catalog((db, table))} SET TBLPROPERTIES ('{FORMAT_VERSION}' = '2')"
        reason = f"it is of Iceberg's format v1, in which no row can be deleted; type in Spark: {cure}"
        raise SyncError(Code.FOREIGN_CHANGE, table=f"{db}.{table}", reason=reason)


def _changed(label: str, index: NoIndex, reason: str) -> SyncError:
    facts = {"table": label, "index": index.why_not(), "reason": reason, HEALS: index.comes}
    return SyncError(Code.SPEC_CHANGED, **facts)
