"""Which columns of a table a channel fills, by their ids: another engine may put a new column under an old name.

Owns: what a table knows of them, by its properties and by the schema of the channel's last snapshot.
Must not know: tokens, epochs, when something is committed.
"""

from collections.abc import Collection, Mapping, Sequence

from syncmgr.errors import Code, SyncError
from syncmgr.job.ddl.following.column_ids import (
    ColumnIds,
    carried,
    columns_text,
    completed,
    ids_of,
    known_columns,
    recalled,
    replaced_column,
)
from syncmgr.job.ddl.lake_change import LakeChange
from syncmgr.job.epoch import ChannelAlter, ChannelCommit
from syncmgr.job.types.folding import folded_name
from syncmgr.lake.commit.schema_change import outstanding
from syncmgr.lake.iceberg.ancestry import COLUMNS, EPOCH_MARK, columns_property
from syncmgr.lake.iceberg.iceberg import Iceberg
from syncmgr.lake.iceberg.layout import Layout
from syncmgr.lake.spark.jvm import Java
from syncmgr.lake.target.own_properties import as_written


def refuse_replaced_columns(iceberg: Iceberg, table: Java, channel: ChannelCommit) -> None:
    """Raises COLUMN_REPLACED if a column that the channel fills is another one than at its last commit. What the
    changes of a chunk replace does not count, as long as the table does not have them.
    """
    if channel.empty:
        return
    now = _filled_ids(iceberg.layout(table), channel)
    changes = () if channel.chunk is None else outstanding(iceberg, table, channel.chunk.changes)
    column = replaced_column(_known(iceberg, table, channel, now), now, changes)
    if column is not None:
        raise SyncError(Code.COLUMN_REPLACED, table=f"{channel.db}.{channel.table}", column=column)


def _known(iceberg: Iceberg, table: Java, channel: ChannelCommit, names: Collection[str]) -> ColumnIds:
    """Of the columns of these names, which the channel fills. Raises FOREIGN_CHANGE."""
    recorded = _recorded(iceberg, table, channel, columns_property(channel.token))
    if recorded.keys() >= set(names):
        return recorded
    seen = _recalled(iceberg, table, channel)
    return {**{name: number for name, number in seen.items() if name in names}, **recorded}


def _recorded(iceberg: Iceberg, table: Java, commit: ChannelCommit | ChannelAlter, key: str) -> ColumnIds:
    with as_written(commit.db, commit.table, key):
        return known_columns(iceberg.property(table, key))


def _recalled(iceberg: Iceberg, table: Java, commit: ChannelCommit | ChannelAlter) -> ColumnIds:
    """Another engine may have removed the property, and nothing changes the schema of a snapshot. None of ours remains
    if others have expired it, even in older metadata; or there was none: `last` has the snapshot of all shards.
    """

    def is_own(mark: str) -> bool:
        return mark.rpartition(":")[0] == commit.token

    seen = iceberg.columns_when(table, EPOCH_MARK, is_own)
    is_new = commit.last.snapshot is None or (commit.part is not None and commit.last.epoch == 0)
    if seen is None and is_new:
        return {}
    return recalled(ids_of((seen or {}).items()), iceberg.columns_ever(table))


def _filled_ids(layout: Layout, channel: ChannelCommit) -> ColumnIds:
    fields = (layout.field(mapped.target) for mapped in channel.columns)
    return ids_of((field.name, field.id) for field in fields if field is not None)


def column_marks(iceberg: Iceberg, table: Java, channel: ChannelCommit) -> Mapping[str, str]:
    """A property with the columns that the channel fills from this commit on; one without rows puts back what is
    missing. `table`: after its changes, with the `carried_columns` of them.
    """
    own, names = columns_property(channel.token), {folded_name(mapped.target) for mapped in channel.columns}
    kept = {} if channel.renews else _known(iceberg, table, channel, names)
    after = kept if channel.empty else {**kept, **_filled_ids(iceberg.layout(table), channel)}
    text = columns_text(after)
    return {} if not after or text == iceberg.property(table, own) else {own: text}


def carried_columns(
    iceberg: Iceberg, before: Java, after: Java, commit: ChannelCommit | ChannelAlter, changes: Sequence[LakeChange]
) -> Mapping[str, str]:
    """The same of all channels of a table, right after changes of ours; those that it had before are none. `before`,
    `after`: the table. Raises FOREIGN_CHANGE.
    """
    if not changes:
        return {}
    own, there = columns_property(commit.token), ids_of((f.name, f.id) for f in iceberg.layout(after).fields)
    keys = [key for key in iceberg.properties(after) if key.startswith(COLUMNS)]
    known = {key: _recorded(iceberg, after, commit, key) for key in keys}
    whole = completed(known.get(own, {}), _recalled(iceberg, before, commit))  # others may have emptied it, or set back
    known |= {own: whole} if whole else {}
    return {key: columns_text(carried(ids, changes, there)) for key, ids in known.items()}
