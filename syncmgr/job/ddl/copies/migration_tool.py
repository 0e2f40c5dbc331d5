"""What migration tools leave in the binlog: the names of their objects, and the evidence that one of them fills a copy.

Owns: what gh-ost, pt-online-schema-change, Spirit and LHM call their tables and triggers; which copies are theirs.
Must not know: columns, targets, what happens to a copy that belongs to no tool.
"""

import re
from collections.abc import Sequence
from typing import Final

from mysqlddl.nodes import CreateTrigger, Table
from syncmgr.job.channel.description import Shadow

_TRIGGER: Final = re.compile(r"(?:pt_osc|lhmt)_.+", re.DOTALL)
_EVENTS: Final = frozenset({"INSERT", "UPDATE", "DELETE"})


def is_copy(table: Table, *, of: Table) -> bool:
    """Whether it has the name that one of them gives to its copy of a table. Any user can make a table of that name."""
    name = re.escape(of[1])
    return table[0] == of[0] and re.fullmatch(rf"_+{name}_(?:gho|new)|lhmn_{name}", table[1]) is not None


def is_set_aside(table: Table, *, of: Table) -> bool:
    """Whether it has the name that one of them gives to the table that its copy is to replace."""
    name = re.escape(of[1])
    names = rf"_+{name}(?:_\d+)?_(?:del|old)|_{name}_old_\d+_\d+|lhma_[\d_]+_{name}"
    return table[0] == of[0] and re.fullmatch(names, table[1]) is not None


def heeds_warnings(copy: Table) -> bool:
    """Whether its tool aborts if a row is left out for a reason other than a unique key.

    pt-online-schema-change checks the warnings of each INSERT, Spirit compares both tables at the end.
    """
    return copy[1].endswith("_new")


def is_log(table: Table, *, of: Table) -> bool:
    """Whether it has the name of gh-ost's changelog, or of Spirit's checkpoint, for a copy of that table."""
    return table in {_changelog(of), *_checkpoints(of)}


def is_trigger(name: str) -> bool:
    """Whether pt-online-schema-change or LHM name theirs so; the ends of these names may be cut off."""
    return _TRIGGER.fullmatch(name) is not None


def keeps_up(trigger: CreateTrigger) -> bool:
    """Whether it may be one by which a tool copies changes of the table into its copy."""
    return trigger.after and is_trigger(trigger.name[1])


def is_filled(copy: Shadow, called: Table, others: Sequence[Shadow], *, of: Table) -> bool:
    """Whether the binlog shows that a tool fills that copy and applies all changes to it.

    gh-ost has its changelog, Spirit its checkpoint, which it makes after the copy, the others triggers for all three
    events; they still exist. `called`: the copy's own name; `others`: the other known tables, in the order of their
    creation.
    """
    if not is_copy(called, of=of):
        return False
    at = others.index(copy)
    logs = [(each.db, each.name) for each in others if each.log]
    after = [(each.db, each.name) for each in others[at:] if each.log]
    return (
        (called[1].endswith("_gho") and _changelog(of) in logs)
        or (called[1].endswith("_new") and not _checkpoints(of).isdisjoint(after))
        or {event for _, event in copy.triggers} == _EVENTS
    )


def _changelog(table: Table) -> Table:
    return table[0], f"_{table[1]}_ghc"


def _checkpoints(table: Table) -> frozenset[Table]:
    """The second one is of several tables that Spirit changes together."""
    return frozenset({(table[0], f"_{table[1]}_chkpnt"), (table[0], "_spirit_checkpoint")})
