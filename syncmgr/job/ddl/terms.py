"""The terms on which a channel follows an ALTER TABLE, and the result.

Owns: what a job and a session say of each kind of change; the words of a refusal.
Must not know: statements, how a target is changed.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from syncmgr.job.channel.description import ChannelDescription
from syncmgr.job.ddl.default_value import Moment
from syncmgr.job.ddl.lake_change import AddField, LakeChange, RenameField
from syncmgr.job.ddl_policy import RULES, Action, Kind, OnDdl
from syncmgr.job.types.schema import TargetTable
from syncmgr.job.types.table_rules import is_column_name, is_reserved


class RefusedError(ValueError):
    """Why a statement cannot be followed, for the operator."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Terms:
    """How a job takes DDL. `strict`, `pads`, `keeps_zeros`: as of the session's Modes.

    `deeds`: of one kind, whatever the policy. `moment` None: rows were copied, each at its own time. `defaults`: the
    target can show a value in rows that were written without it. `forced`: an operator takes responsibility for the
    target.
    `empty`: no row is left whose values could change; `emptied`: nor in the target. `checked`: each value is checked,
    so a target may be narrower than its source.
    """

    policy: OnDdl
    strict: bool
    pads: bool = False
    keeps_zeros: bool = False
    moment: Moment | None
    defaults: bool = True
    forced: bool = False
    empty: bool = False
    emptied: bool = False
    checked: bool = False
    deeds: Mapping[Kind, Action] = field(default_factory=dict)

    def deed(self, kind: Kind) -> Action:
        found = self.deeds.get(kind, RULES[kind][self.policy])
        return Action.KEEP if self.forced and found is Action.PAUSE else found


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """`channel`: as it reads after the statement. `changes`: of its target, in order. `done`: in words."""

    channel: ChannelDescription
    changes: tuple[LakeChange, ...] = ()
    done: tuple[str, ...] = ()


def with_allowed_names(step: Step, read: Collection[str], target: TargetTable) -> Step:
    """`read`: the source columns so far. Raises RefusedError for a column that lake or staging have no place for."""
    made = [each.name for each in step.changes if isinstance(each, AddField)]
    made += [each.new for each in step.changes if isinstance(each, RenameField)]
    for name in (*made, *(each for each in step.channel.reads if each not in read)):
        if is_reserved(name, target):
            raise RefusedError(f"it names a column '{name}', which is reserved: give it another name, or leave it out")
        if not is_column_name(name):
            raise RefusedError(f"it names a column {name!r}, which has control characters, or too many")
    return step
