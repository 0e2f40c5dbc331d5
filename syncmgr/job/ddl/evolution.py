"""One ALTER TABLE applied to one channel: what its target becomes, and what the channel reads from then on.

Owns: which change of a source column is which change of the target.
Must not know: statements' text, how a table of the lake is changed, other channels.
"""

import itertools
import json
from collections.abc import Collection
from dataclasses import dataclass, field, replace

from mysqlddl.nodes import ColumnDefinition, Default, DefaultKind
from syncmgr.job.channel.description import ChannelDescription, MappedColumn, quoted
from syncmgr.job.ddl.alteration import Alteration, Column
from syncmgr.job.ddl.default_value import UnknowableError, initial
from syncmgr.job.ddl.lake_change import (
    AddField,
    CommentField,
    DropField,
    FillField,
    LakeChange,
    MoveField,
    RelaxField,
    RenameField,
    RetypeField,
)
from syncmgr.job.ddl.terms import RefusedError, Step, Terms, with_allowed_names
from syncmgr.job.ddl.value_loss import confused, known, lost, retexted, without_null
from syncmgr.job.ddl_policy import RULES, Action, Kind
from syncmgr.job.types.column_range import fits
from syncmgr.job.types.derived_type import derived, widened
from syncmgr.job.types.fitting import are_checked
from syncmgr.job.types.folding import folded_name
from syncmgr.job.types.schema import (
    SourceColumn,
    SourceTable,
    TargetColumn,
    TargetTable,
    arrow_type,
    mentions,
)
from syncmgr.job.types.target import stored


def evolve(channel: ChannelDescription, target: TargetTable, alteration: Alteration, terms: Terms) -> Step:
    """Raises RefusedError if the policy, or the target, does not allow it."""
    return with_allowed_names(_Evolution(channel, target, alteration, terms).run(), channel.reads, target)


@dataclass(slots=True)
class _Plain:
    """A target column that is filled from one source column unchanged. All three under their present names."""

    target: TargetColumn
    source: str


@dataclass(slots=True)
class _Changes:
    drops: list[LakeChange] = field(default_factory=list)
    renames: list[LakeChange] = field(default_factory=list)
    others: list[LakeChange] = field(default_factory=list)
    moves: list[LakeChange] = field(default_factory=list)
    fills: list[LakeChange] = field(default_factory=list)


class _Evolution:
    def __init__(self, channel: ChannelDescription, target: TargetTable, alteration: Alteration, terms: Terms) -> None:
        self._channel = channel
        self._target = target
        self._alteration = alteration
        self._terms = terms
        self._changes = _Changes()
        self._done: list[str] = []
        self._computed = [c for c in channel.columns if c.source is None]
        self._shares = channel.part is not None
        self._plain: dict[str, _Plain] = {}  # by source column as it was, folded
        for mapped in channel.columns:
            if mapped.source is not None:
                self._plain[folded_name(mapped.source)] = _Plain(_column(target, mapped.target), mapped.source)
        self._keys = {folded_name(name) for name in channel.source_keys}
        self._reads = {folded_name(name) for name in channel.reads}
        self._read_now: set[str] = set()
        self._now: dict[str, str] = {}  # by name as it was, folded
        self._added: list[_Plain] = []
        self._left: list[str] = []

    def run(self) -> Step:
        for gone in self._alteration.dropped:
            self._drop(gone)
        for column in self._alteration.columns:
            if column.before is not None:
                self._change(column, column.before)
        for column in self._alteration.columns:
            if column.before is None:
                self._add(column)
        self._check_key()
        for column in self._alteration.columns:
            if column.moved:
                self._move(column)
        return self._step()

    def _step(self) -> Step:
        made = self._changes
        channel = replace(
            self._channel,
            source=self._alteration.table,
            columns=self._columns(),
            keys=self._keys_now(),
            source_keys=tuple(self._now[folded_name(name)] for name in self._channel.source_keys),
            reads=tuple(c.name for c in self._alteration.table.columns if folded_name(c.name) in self._read_now),
            history=replace(self._channel.history, kept_columns=(*self._channel.history.kept_columns, *self._left)),
        )
        changes = (*made.drops, *made.renames, *made.others, *made.moves, *made.fills)
        return Step(channel=channel, changes=changes, done=tuple(self._done))

    def _keys_now(self) -> tuple[str, ...]:
        """The column that distinguishes the channels of a target stays where it is."""
        names = iter(self._plain[folded_name(name)].target.name for name in self._channel.source_keys)
        constants = {column.target for column in self._channel.columns if column.constant is not None}
        return tuple(key if key in constants else next(names) for key in self._channel.keys)

    def _columns(self) -> tuple[MappedColumn, ...]:
        """Plain ones first, then new ones."""
        by_target = {plain.target.name: plain for plain in (*self._plain.values(), *self._added)}
        found = [MappedColumn(target=name, expression=quoted(plain.source)) for name, plain in by_target.items()]
        return (*found, *self._computed)

    def _deed(self, kind: Kind, why: str) -> Action:
        deed = self._terms.deed(kind)
        if deed is Action.PAUSE:
            raise RefusedError(why + (f', and "on_ddl" is {self._terms.policy}' * self._by_policy(kind)))
        return deed

    def _by_policy(self, kind: Kind) -> bool:
        return kind not in self._terms.deeds and set(RULES[kind].values()) != {Action.PAUSE}

    def _drop(self, column: SourceColumn) -> None:
        folded = folded_name(column.name)
        if folded not in self._reads:
            return
        if folded in self._keys:
            raise RefusedError(f"it drops column '{column.name}', which is in the target's key")
        self._refuse_computed(column.name, "drops")
        plain = self._plain[folded]
        if not self._channel.takes_new_columns:
            raise RefusedError(f"it drops column '{column.name}', which the channel's column list names")
        deed = self._deed(Kind.DROP_COLUMN, f"it drops column '{column.name}'")
        del self._plain[folded]
        if deed is Action.APPLY and not self._shares:
            self._changes.drops.append(DropField(name=plain.target.name))
            self._done.append(f"dropped column '{plain.target.name}'")
            return
        if not plain.target.nullable:
            self._changes.others.append(RelaxField(name=plain.target.name))
        self._left.append(plain.target.name)
        self._done.append(f"kept column '{plain.target.name}', NULL from here on")

    def _refuse_computed(self, name: str, verb: str) -> None:
        if mentions(self._channel.expressions, name):
            raise RefusedError(f"it {verb} column '{name}', which an expression or WHERE of the channel reads")

    def _change(self, column: Column, before: SourceColumn) -> None:
        folded, now = folded_name(before.name), column.now
        self._now[folded] = now.name
        if folded not in self._reads:
            return
        self._read_now.add(folded_name(now.name))
        plain = self._plain.get(folded)
        if before.name != now.name:
            self._rename(before, now, plain)
        self._retype(column, before, plain)
        if plain is not None:
            dated = column.definition is not None and column.definition.dated
            self._relax(before, now, plain, dated=dated)
            self._comment(column, plain)

    def _rename(self, before: SourceColumn, now: SourceColumn, plain: _Plain | None) -> None:
        if folded_name(before.name) != folded_name(now.name):
            self._refuse_computed(before.name, "renames")
        if plain is None:
            return
        plain.source = now.name
        names = f"column '{before.name}' to '{now.name}'"
        if not self._channel.takes_new_columns or folded_name(plain.target.name) != folded_name(before.name):
            self._done.append(f"reads {names} into '{plain.target.name}' as before")
            return
        if self._deed(Kind.RENAME_COLUMN, f"it renames {names}") is Action.KEEP or self._shares:
            self._done.append(f"kept the name of column '{plain.target.name}', which '{now.name}' fills")
            return
        if self._stays(now.name, freed=self._renamed()):
            raise RefusedError(f"it renames {names}, and the target has a column of that name")
        if plain.target.name != now.name:
            self._changes.renames.append(RenameField(old=plain.target.name, new=now.name))
        plain.target = replace(plain.target, name=now.name)
        self._done.append(f"renamed {names}")

    def _stays(self, name: str, *, freed: Collection[str] = ()) -> bool:
        """Whether another target column of that name remains. `freed`: names, folded, that are yet to be given up."""
        column = self._target.column(name)
        if column is None or folded_name(column.name) in freed:
            return False
        gone = [each.name for each in self._changes.drops if isinstance(each, DropField)]
        gone += [each.old for each in self._changes.renames if isinstance(each, RenameField)]
        return column.name not in gone

    def _renamed(self) -> set[str]:
        """Names of source columns, folded, that are different after the statement."""
        pairs = ((c.before.name, c.now.name) for c in self._alteration.columns if c.before is not None)
        return {folded_name(old) for old, new in pairs if old != new and folded_name(old) in self._plain}

    def _retype(self, column: Column, before: SourceColumn, plain: _Plain | None) -> None:
        now = column.now
        if column.definition is not None and column.definition.computed and not self._terms.empty:
            raise RefusedError(f"it recomputes column '{now.name}'")
        why = lost(column, before, self._alteration.table.charset, self._channel.source.numbered, self._terms)
        why = why or retexted(before, now, None if plain is None else plain.target.type, self._terms)
        if why is None and replace(now, name=before.name, key=before.key) == before:
            return
        if why is not None and self._deed(Kind.CONVERT, why) is Action.APPLY:
            self._renew(now, plain, why)
            return
        if plain is None:
            if not known(now):
                raise RefusedError(f"column '{now.name}' becomes {now.text}, which the lake has no type for")
            if not known(before) or arrow_type(before) != arrow_type(now):
                raise RefusedError(f"it changes the type of column '{now.name}', which an expression or WHERE reads")
            return
        reason = fits(now, plain.target.type)
        if reason is not None and not (self._terms.checked and are_checked(before, now, plain.target.type)):
            self._widen(now, plain, reason)

    def _widen(self, now: SourceColumn, plain: _Plain, reason: str) -> None:
        what = f"column '{now.name}' becomes {now.text}, which does not fit {plain.target.type.text}: {reason}"
        wanted = widened(plain.target.type, now)
        if wanted is None and self._terms.emptied and self._exchange(now, plain):
            return
        if wanted is None:
            if self._terms.deed(Kind.CONVERT) is not Action.APPLY:
                raise RefusedError(what)
            self._renew(now, plain, what)
            return
        if self._deed(Kind.WIDEN, what) is Action.KEEP:
            return
        if self._target.is_placed_by(plain.target.name) and stored(wanted) != stored(plain.target.type):
            raise RefusedError(f"{what}, and the target's partitions depend on it")
        self._changes.others.append(RetypeField(name=plain.target.name, type=wanted))
        self._done.append(f"column '{plain.target.name}' is {wanted.text}")
        plain.target = replace(plain.target, type=wanted)

    def _exchange(self, now: SourceColumn, plain: _Plain) -> bool:
        """Whether a column without values may be dropped and one of its name with another type added."""
        kind, old = derived(now), plain.target
        if kind is None or not self._channel.takes_new_columns or self._shares or old.name in self._target.keys:
            return False
        if self._target.is_placed_by(plain.target.name):
            return False
        added = AddField(name=old.name, type=kind, comment=old.comment, initial=None)
        self._changes.others += [DropField(name=old.name), added]
        plain.target = TargetColumn(name=old.name, type=kind, comment=old.comment)
        self._done.append(f"column '{old.name}' is {kind.text}")
        return True

    def _renew(self, now: SourceColumn, plain: _Plain | None, what: str) -> None:
        """Older rows keep their values in the old column, rows from now on have theirs in a new one."""
        kind = derived(now)
        in_key = plain is not None and plain.target.name in self._target.keys
        if plain is None or kind is None or not self._channel.takes_new_columns or in_key or self._shares:
            raise RefusedError(f"{what}; no new column can take them")
        old, numbers = plain.target, itertools.count(2)
        name = next(name for n in numbers if self._target.column(name := f"{now.name}__{n}") is None)
        if not old.nullable:
            self._changes.others.append(RelaxField(name=old.name))
        self._changes.others.append(AddField(name=name, type=kind, comment="", initial=None))
        plain.target = TargetColumn(name=name, type=kind)
        self._done.append(f"column '{old.name}' keeps its values, '{name}' {kind.text} has those from here on")

    def _relax(self, before: SourceColumn, now: SourceColumn, plain: _Plain, *, dated: bool) -> None:
        why = None if self._terms.empty else without_null(before, now, strict=self._terms.strict, dated=dated)
        renews = why is not None and self._deed(Kind.CONVERT, why) is Action.APPLY
        if why is not None and renews and self._target.column(plain.target.name) is not None:
            self._renew(now, plain, why)
        if not now.nullable or plain.target.nullable:
            return
        what = f"column '{now.name}' becomes NULL"
        if folded_name(before.name) in self._keys:
            raise RefusedError(f"{what}, and is in the target's key")
        if self._deed(Kind.NULLABLE, what) is Action.KEEP:
            return
        self._changes.others.append(RelaxField(name=plain.target.name))
        self._done.append(f"column '{plain.target.name}' takes NULL")

    def _comment(self, column: Column, plain: _Plain) -> None:
        comment = column.definition.comment if column.definition is not None else None
        if comment is None or comment == plain.target.comment or not self._channel.takes_new_columns:
            return
        if self._terms.deed(Kind.COMMENT) is Action.APPLY:
            self._changes.others.append(CommentField(name=plain.target.name, comment=comment))
            self._done.append(f"commented column '{plain.target.name}'")

    def _add(self, column: Column) -> None:
        name, definition = column.now.name, column.definition
        assert definition is not None
        if not self._channel.takes_new_columns:
            return
        if self._deed(Kind.ADD_COLUMN, f"it adds column '{name}'") is Action.KEEP:
            self._done.append(f"column '{name}' is not synced")
            return
        kind = derived(column.now)
        if kind is None:
            raise RefusedError(f"it adds column '{name}' of type {column.now.text}, which the lake has no type for")
        there = self._target.column(name) if self._stays(name) else None
        if there is not None and not self._takes(there, column.now):
            raise RefusedError(f"it adds column '{name}', and the target has a column of that name")
        value, note = self._old_value(column)
        if value is not None and kind.name == "LARGEINT":
            value = json.dumps(value)  # it is stored as a decimal, whose JSON is a text
        fills = value is not None and not self._terms.defaults
        if there is None:
            added = AddField(name=name, type=kind, comment=definition.comment or "", initial=None if fills else value)
            self._changes.others.append(added)
        if value is not None and fills:
            self._changes.fills.append(FillField(name=name, value=value))
        self._added.append(_Plain(there or TargetColumn(name=name, type=kind), name))
        self._read_now.add(folded_name(name))
        did = "added" if there is None else "fills"
        self._done.append(f"{did} column '{name}' {(there or self._added[-1].target).type.text}{note}")

    def _takes(self, there: TargetColumn, now: SourceColumn) -> bool:
        """Whether a column added by the table of another database also serves this one, whose rows have NULL."""
        mapped = {plain.target.name for plain in (*self._plain.values(), *self._added)}
        taken = mapped.union(self._channel.history.kept_columns, (column.target for column in self._computed))
        return self._shares and there.name not in taken and there.nullable and fits(now, there.type) is None

    def _old_value(self, column: Column) -> tuple[str | None, str]:
        """What older rows show in a new column, and in words."""
        assert column.definition is not None
        terms = self._terms
        if terms.empty:
            return None, ""
        try:
            definition = _dated(replace(column.definition, column=column.now), self._alteration.table)
            value = initial(definition, terms.moment)
        except UnknowableError as error:
            return None, _null(column, terms, str(error))
        if value is not None and not terms.defaults and not self._shares and Kind.OLD_VALUES in terms.deeds:
            what = self._target.lacks_defaults
            return None, _null(column, terms, f"{what} cannot show {value} in rows from before")
        anew = "" if terms.defaults else ", which are written again"
        return value, f", {value} in rows from before{anew}" if value else ""

    def _move(self, column: Column) -> None:
        if not self._channel.takes_new_columns or self._terms.deed(Kind.MOVE) is Action.KEEP:
            return
        placed = {plain.source: plain.target.name for plain in (*self._plain.values(), *self._added)}
        if column.now.name not in placed:
            return
        before = [c.now.name for c in self._alteration.columns[: self._alteration.columns.index(column)]]
        after = next((placed[name] for name in reversed(before) if name in placed), None)
        self._changes.moves.append(MoveField(name=placed[column.now.name], after=after))

    def _check_key(self) -> None:
        """Two rows of the source must never share a key of the target."""
        if not self._channel.keys:
            return
        old, new = self._channel.source.primary, self._alteration.table.primary
        keys = {folded_name(self._now[folded_name(name)]) for name in self._channel.source_keys}
        covered = bool(old) and old <= self._keys
        if covered and not (new and new <= keys):
            self._deed(Kind.KEY, "its primary key is no longer within the target's key, so two rows could share one")
        if not covered and self._alteration.index_dropped:
            self._deed(Kind.KEY, "it drops a key, which may be the one that the target's key stands for")
        for why in confused(self._alteration.columns, new if covered else keys):
            self._deed(Kind.KEY, why)


def _dated(definition: ColumnDefinition, table: SourceTable) -> ColumnDefinition:
    """The first TIMESTAMP of the table, if it is NOT NULL and has neither a default nor ON UPDATE, has the time as its
    default; others have a zero date.
    """
    first = next((c.name for c in table.columns if c.type == "timestamp"), "")
    silent = definition.default is None and not definition.updated
    if not definition.undeclared or not silent or first != definition.column.name:
        return definition
    return replace(definition, default=Default(kind=DefaultKind.NOW))


def _null(column: Column, terms: Terms, why: str) -> str:
    if terms.deed(Kind.OLD_VALUES) is Action.PAUSE:
        raise RefusedError(f'it adds column \'{column.now.name}\': {why}; "on_old_values" = "null" has NULL there')
    return f", NULL in rows from before: {why}"


def _column(target: TargetTable, name: str) -> TargetColumn:
    found = target.column(name)
    if found is None:
        raise RefusedError(f"the target has lost column '{name}'")
    return found
