"""A part of a table's rows: those whose keys match a condition.

Owns: when the condition still means what it meant, and the union of two parts.
Must not know: how a condition is written or evaluated, who reads the rows.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from syncmgr.job.channel.description import ChannelDescription, quoted
from syncmgr.job.ddl.lake_change import DropField, LakeChange, RenameField, RetypeField
from syncmgr.job.types.folding import folded_name

MOST_PARTS: Final = 500  # that are read together; Spark, and the server, take them in one expression
MOST_CHARACTERS: Final = 512 * 1024  # of that expression; it is stored with the job


@dataclass(frozen=True, kw_only=True, slots=True)
class KeyRange:
    """`lake`: Spark SQL over the target's key columns, which alone decides. `source`: over the source's columns, in
    MySQL's words, true for every row for which the other is; more may be read.

    `text`: as it was typed. `columns`: of the source, that it names. `way`: the mapping fingerprint of the channel
    for which it was made. `parts`: how many conditions the texts combine; those of several are in brackets.
    """

    way: str
    text: str
    columns: tuple[str, ...]
    lake: str
    source: str
    parts: int = 1

    def fits(self, channel: ChannelDescription) -> bool:
        """Whether it belongs to the channel in its present form."""
        return self.way == channel.mapping_fingerprint


def key_columns(channel: ChannelDescription) -> dict[str, str]:
    """The target's key columns by the source columns that fill them."""
    expressions = {quoted(name): name for name in channel.source_keys}
    keys = {folded_name(key) for key in channel.keys}
    filled = ((expressions.get(each.expression), each.target) for each in channel.columns)
    return {name: target for name, target in filled if name is not None and folded_name(target) in keys}


def widened(one: KeyRange | None, other: KeyRange | None) -> KeyRange | None:
    """What has the rows of both; None: all rows, also where the parts have become too many.

    They stand side by side: each one around the others, a few hundred are deeper than Spark's parser can go.
    """
    if one is None or other is None or one.way != other.way:
        return None
    if one == other:
        return one
    both = KeyRange(
        way=one.way,
        text=f"{_operand(one.text, one)} OR {_operand(other.text, other)}",
        columns=tuple(dict.fromkeys((*one.columns, *other.columns))),
        lake=f"{_operand(one.lake, one)} OR {_operand(other.lake, other)}",
        source=f"{_operand(one.source, one)} OR {_operand(other.source, other)}",
        parts=one.parts + other.parts,
    )
    characters = len(both.text) + len(both.lake) + len(both.source)
    return both if both.parts <= MOST_PARTS and characters <= MOST_CHARACTERS else None


def _operand(text: str, of: KeyRange) -> str:
    return text if of.parts > 1 else f"({text})"


def kept(
    excerpt: KeyRange | None, before: ChannelDescription, after: ChannelDescription, changes: Iterable[LakeChange]
) -> KeyRange | None:
    """The same rows after a statement that changes the channel; None: its columns are not the same."""
    if excerpt is None or not excerpt.fits(before):
        return None
    keys, now = key_columns(before), key_columns(after)
    changed = {name for change in changes for name in _changed(change)}
    same = (
        name in now
        and keys[name] == now[name]
        and keys[name] not in changed
        and before.source.column(name) == after.source.column(name)
        for name in excerpt.columns
    )
    return replace(excerpt, way=after.mapping_fingerprint) if all(same) else None


def _changed(change: LakeChange) -> tuple[str, ...]:
    """The columns of a target that are not the same after a change."""
    match change:
        case RenameField(old=old, new=new):
            return old, new
        case DropField(name=name) | RetypeField(name=name):
            return (name,)
        case _:
            return ()
