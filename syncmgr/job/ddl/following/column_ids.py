"""Which columns of the lake are those that a channel fills: a name may come back with other values.

Owns: when another engine has replaced a column, and what our own statements make of the ids.
Must not know: where they are kept, tables.
"""

import json
from collections.abc import Iterable, Mapping, Sequence

from syncmgr.job.ddl.lake_change import AddField, DropField, LakeChange, RenameField
from syncmgr.job.types.folding import folded_name

ColumnIds = Mapping[str, int]  # by folded name


def ids_of(columns: Iterable[tuple[str, int]]) -> ColumnIds:
    return {folded_name(name): number for name, number in columns}


def known_columns(text: str | None) -> ColumnIds:
    """As `columns_text` wrote them; none for a table that an earlier version wrote last. Raises ValueError."""
    found = json.loads(text or "{}")
    if not isinstance(found, dict) or not all(type(number) is int for number in found.values()):
        raise ValueError(text)
    return found


def recalled(seen: ColumnIds, ever: Iterable[tuple[str, int]]) -> ColumnIds:
    """What is known of a table that no longer says it, or only of some columns. `seen`: all that it had at the
    channel's last commit; `ever`: by name and id, all that it has had. Where a name came later than that, the first
    column of the name counts: the second may be another engine's.
    """
    last, later = max(seen.values(), default=0), dict[str, int]()
    for name, number in sorted(ever, key=lambda each: each[1]):
        if number > last:
            later.setdefault(folded_name(name), number)
    return {**later, **seen}


def completed(stated: ColumnIds, seen: ColumnIds) -> ColumnIds:
    """What a table says, with columns that it does not name: another engine may have set that back. `seen`: as
    `recalled`; the name that the table says of a column is the newer one.
    """
    own = set(stated.values())
    return {**{name: number for name, number in seen.items() if name not in stated and number not in own}, **stated}


def columns_text(ids: ColumnIds) -> str:
    return json.dumps(ids, sort_keys=True)


def replaced_column(known: ColumnIds, now: ColumnIds, changes: Sequence[LakeChange] = ()) -> str | None:
    """The name of a column that is another one now. `changes`: ours, which are yet to be made; what they replace does
    not count.
    """
    ours = {folded_name(change.name) for change in changes if isinstance(change, AddField)}
    ours |= {folded_name(change.new) for change in changes if isinstance(change, RenameField)}
    return next((name for name, number in now.items() if name not in ours and known.get(name, number) != number), None)


def carried(known: ColumnIds, changes: Sequence[LakeChange], after: ColumnIds) -> ColumnIds:
    """The known columns after our own changes. `after`: all columns of the table by then."""
    dropped = {folded_name(change.name) for change in changes if isinstance(change, DropField)}
    names = {folded_name(each.old): folded_name(each.new) for each in changes if isinstance(each, RenameField)}
    added = {folded_name(change.name) for change in changes if isinstance(change, AddField)}
    kept = {names.get(name, name): number for name, number in known.items() if name not in dropped}
    return kept | {name: after[name] for name in added if name in after}
