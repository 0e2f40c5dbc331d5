"""Where equality deletes apply: only in files of their own partition and spec.

Owns: in which tables they cannot reach all rows.
Must not know: commits, how rows are written.
"""

from syncmgr.errors import Code, SyncError
from syncmgr.job.epoch import ChannelCommit
from syncmgr.lake.iceberg.iceberg import Iceberg
from syncmgr.lake.iceberg.layout import Layout
from syncmgr.lake.spark.jvm import Java


def refuse_unreachable(iceberg: Iceberg, table: Java, layout: Layout, channel: ChannelCommit, index: str) -> None:
    """`index`: why none is in force. Raises SPEC_CHANGED if the partition spec was changed so that the old row of a key
    may be in another partition than its new one.
    """
    label = f"{channel.db}.{channel.table}"
    wanted = {field.id for field in map(layout.field, channel.keys) if field is not None}
    beside = [layout.by_id(part.source_id).name for part in layout.partition if part.source_id not in wanted]
    if beside:
        reason = f"it is partitioned by {beside[0]}, which is no key"
        raise SyncError(Code.SPEC_CHANGED, table=label, index=index, reason=reason)
    others = iceberg.specs_in_use(table) - {layout.spec_id}
    if others:
        reason = f"it has files of partition spec {min(others)} beside {layout.spec_id}"
        raise SyncError(Code.SPEC_CHANGED, table=label, index=index, reason=reason)
