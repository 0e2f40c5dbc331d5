"""Whether rows that a snapshot has read may be wrong once a statement on their table is followed.

Owns: which statements give what was read another meaning, if it was read partly before and partly after them.
Must not know: when rows are read, how a statement is followed.
"""

from syncmgr.job.channel.description import ChannelDescription
from syncmgr.job.ddl.ddl_step import DdlStep
from syncmgr.job.ddl.lake_change import AddField, CommentField, EmptyTable, FillField, LakeChange, MoveField, RelaxField
from syncmgr.job.types.folding import folded_name


def is_renamed(before: ChannelDescription, after: ChannelDescription) -> bool:
    """Whether its rows have another table's name, under which others may have been read."""
    return (before.source.db, before.source.name) != (after.source.db, after.source.name)


def is_outdated(before: ChannelDescription, step: DdlStep) -> bool:
    """Whether the statement changes what was read, so that a row which was read after it would be changed twice.

    Columns that it adds were not read, and come with the changes after it; an emptied table has only later rows.
    """
    after = step.channels.get(before.token, before)
    if is_renamed(before, after) or not set(before.columns) <= set(after.columns):
        return True
    now = {folded_name(column.name): column for column in after.source.columns}
    read = {folded_name(name): before.source.column(name) for name in before.reads}
    if any(now.get(name) != column for name, column in read.items()):
        return True
    filled = {folded_name(each.target) for each in before.columns}
    return any(_touches(change, filled) for change in step.changes.get(before.token, ()))


def _touches(change: LakeChange, filled: set[str]) -> bool:
    match change:
        case AddField(name=name) | FillField(name=name):
            return folded_name(name) in filled
        case CommentField() | MoveField() | RelaxField() | EmptyTable():
            return False
        case _:
            return True
