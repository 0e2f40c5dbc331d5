"""A channel whose rows are all read again: what its target becomes to take the columns that the source has now.

Owns: which column of the target stays, changes, is added or dropped, given that none of its rows is left, and what
forbids that.
Must not know: statements, how a table of the lake is changed, when the rows come.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.channel_plan import check_key_covers
from syncmgr.job.channel.description import ChannelDescription, MappedColumn, quoted
from syncmgr.job.ddl.lake_change import AddField, DropField, LakeChange, RelaxField, RetypeField
from syncmgr.job.ddl_policy import RULES, Action, Kind
from syncmgr.job.job_properties import JobProperties
from syncmgr.job.types.derived_type import derived, widened
from syncmgr.job.types.fitting import Fit, fit
from syncmgr.job.types.folding import folded_name
from syncmgr.job.types.schema import (
    SourceColumn,
    SourceTable,
    TargetColumn,
    TargetTable,
    TargetType,
    UniqueKey,
    arrow_type,
    mentions,
)
from syncmgr.job.types.target import stored


@dataclass(frozen=True, kw_only=True, slots=True)
class Renewal:
    """`channel`: as it reads from now on. `changes`: of its target, in the commit of the rows; `stale_since`: the
    source time up to which that is complete until then.
    """

    channel: ChannelDescription
    changes: tuple[LakeChange, ...] = ()
    stale_since: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class RenewalTerms:
    """What a job specifies for columns. `adds`: new ones are synced; `drops`: dropped ones are dropped from the target.

    `checked`: each value is checked, so a target may be narrower than its source.
    """

    adds: bool = True
    drops: bool = True
    checked: bool = False


def terms_of(properties: JobProperties) -> RenewalTerms:
    """From a job: what keeps columns out of its targets, or in them, applies here too; what would stop does not."""
    kept = {kind for kind in Kind if properties.actions.get(kind, RULES[kind][properties.on_ddl]) is Action.KEEP}
    return RenewalTerms(
        adds=Kind.ADD_COLUMN not in kept,
        drops=Kind.DROP_COLUMN not in kept,
        checked=properties.checked,
    )


def unfit(channel: ChannelDescription, target: TargetTable, *, checked: bool) -> bool:
    """Whether the target no longer takes what the channel fills it with, as it did at CREATE SYNC: a column is not
    there, like in a restored older state, or another engine has made it one that does not hold the source's.
    """
    for mapped in channel.columns:
        there = target.column(mapped.target)
        source = None if mapped.source is None else channel.source.column(mapped.source)
        if there is None or (source is not None and not _holds(source, there, checked=checked)):
            return True
    return False


def _holds(source: SourceColumn, there: TargetColumn, *, checked: bool) -> bool:
    found, _ = fit(source, there.type)
    return found is Fit.WHOLE or (found is Fit.CHECKED and checked)


def renewed(
    channel: ChannelDescription,
    now: SourceTable,
    unique_keys: Sequence[tuple[str, ...]],
    target: TargetTable,
    terms: RenewalTerms,
    pending: Collection[LakeChange] = (),
) -> Renewal:
    """`target`: as it is; `pending`: changes that an earlier read should have made, and has not.

    Raises RESYNC_COLUMNS, which names the column of the target that forbids it, and NO_CHANNEL_KEY.
    """
    renewal = _Renewing(channel, now, target, terms)
    renewal.run([change for change in pending if isinstance(change, DropField)])
    made = renewal.made()
    if channel.keys:
        check_key_covers(now, target, made.channel.source_keys, list(unique_keys))
    return made


def refused(channel: ChannelDescription, now: SourceTable, target: TargetTable, *, terms: RenewalTerms) -> str | None:
    """Why a table with those columns cannot be read again; None: nothing known forbids it."""
    keys = [channel.source_keys] if now.unique is None else _keys(now, now.unique)
    try:
        renewed(channel, now, keys, target, terms)
    except SyncError as error:
        return str(error.context["reason"])
    return None


def _keys(table: SourceTable, unique: Sequence[UniqueKey]) -> list[tuple[str, ...]]:
    """Of its primary key, and of the other NOT NULL ones."""
    primary = tuple(column.name for column in table.columns if column.key)
    whole = [key.columns for key in unique if all((c := table.column(n)) and not c.nullable for n in key.columns)]
    return [*([primary] if primary else []), *whole]


class _Renewing:
    def __init__(self, channel: ChannelDescription, now: SourceTable, target: TargetTable, terms: RenewalTerms) -> None:
        self._channel = channel
        self._now = now
        self._target = target
        self._terms = terms
        self._computed = [c for c in channel.columns if c.source is None]
        self._plain: list[MappedColumn] = []
        self._changes: list[LakeChange] = []
        self._left: list[str] = []

    def run(self, dropping: Iterable[DropField]) -> None:
        for mapped in self._channel.columns:
            if mapped.source is not None and not self._is_anothers(mapped.target, mapped.source):
                self._keep(mapped.target, mapped.source)
        self._check_read()
        if self._channel.takes_new_columns and self._terms.adds:
            for column in self._now.columns:
                if quoted(column.name) not in {each.expression for each in self._plain}:
                    self._add(column)
        for name in self._channel.history.kept_columns:
            there = self._target.column(name)
            if there is not None and not there.nullable:
                self._relax(there, f"nothing fills column '{name}'")
        filled = {each.target for each in (*self._plain, *self._computed)}
        for change in dropping:
            if change.name not in filled and self._target.column(change.name) is not None:
                self._changes.append(change)

    def _is_anothers(self, name: str, source: str) -> bool:
        """Whether another present column has the name of that target column, which kept it when its source column was
        renamed.
        """
        other = self._now.column(name) if self._channel.takes_new_columns and self._terms.adds else None
        return other is not None and folded_name(other.name) != folded_name(source)

    def made(self) -> Renewal:
        """The channel as it reads now."""
        by_target = {each.target: each.source for each in self._plain if each.source is not None}
        constants = {each.target for each in self._computed if each.constant is not None}
        keys = [by_target[key] for key in self._channel.keys if key not in constants]
        plain = {folded_name(name) for name in by_target.values()}
        reads = plain | ({folded_name(name) for name in self._channel.reads} - self._plainly_read())
        channel = replace(
            self._channel,
            source=self._now,
            columns=(*self._plain, *self._computed),
            source_keys=tuple(keys),
            reads=tuple(column.name for column in self._now.columns if folded_name(column.name) in reads),
            history=replace(
                self._channel.history,
                kept_columns=(
                    *(name for name in self._channel.history.kept_columns if name not in by_target),
                    *self._left,
                ),
                source_dropped=False,
                shadows=(),
            ),
        )
        return Renewal(channel=channel, changes=tuple(self._changes))

    def _plainly_read(self) -> set[str]:
        """Source columns, folded, that are read only for a target column, and for no expression."""
        names = (folded_name(each.source) for each in self._channel.columns if each.source is not None)
        return {name for name in names if not self._is_in_expression(name)}

    def _is_in_expression(self, name: str) -> bool:
        return mentions(self._channel.expressions, name)

    def _check_read(self) -> None:
        for name in self._channel.reads:
            before, now = self._channel.source.column(name), self._now.column(name)
            if not self._is_in_expression(name):
                continue
            if now is None or (before is not None and arrow_type(before) != arrow_type(now)):
                what = "is gone" if now is None else f"is {now.text} now"
                raise self._refused(f"column '{name}', which an expression or WHERE reads, {what}")

    def _keep(self, name: str, source: str) -> None:
        now, there = self._now.column(source), self._target.column(name)
        if now is None:
            self._lose(name, source, there)
            return
        self._plain.append(MappedColumn(target=name, expression=quoted(now.name)))
        if there is None:
            self._changes.append(AddField(name=name, type=self._type_of(now)))
            return
        self._retype(now, there)
        if now.nullable and not there.nullable:
            self._relax(there, f"column '{now.name}' may be NULL now")

    def _lose(self, name: str, source: str, there: TargetColumn | None) -> None:
        why = f"column '{source}' is gone"
        if name in self._channel.keys:
            raise self._refused(f"{why}, and target column '{name}' is in the key")
        if not self._channel.takes_new_columns:
            raise self._refused(f"{why}, and the column list of the job fills target column '{name}' with it")
        if there is None:
            return
        if self._terms.drops and self._is_free(there):
            self._changes.append(DropField(name=name))
            return
        if not there.nullable:
            self._relax(there, why)
        self._left.append(name)

    def _retype(self, now: SourceColumn, there: TargetColumn) -> None:
        if _holds(now, there, checked=self._terms.checked):
            return
        _, reason = fit(now, there.type)
        what = f"target column '{there.name}' is {there.type.text}, and {now.text} does not fit it: {reason}"
        wanted = widened(there.type, now)
        if wanted is not None and (not self._target.is_placed_by(there.name) or stored(wanted) == stored(there.type)):
            self._changes.append(RetypeField(name=there.name, type=wanted))
        elif self._is_free(there) and self._channel.takes_new_columns:
            self._changes += [DropField(name=there.name), AddField(name=there.name, type=self._type_of(now))]
        else:
            raise self._refused(what)

    def _relax(self, there: TargetColumn, why: str) -> None:
        if there.name in self._channel.keys:
            raise self._refused(f"{why}, and target column '{there.name}' is in the key")
        self._changes.append(RelaxField(name=there.name))

    def _add(self, column: SourceColumn) -> None:
        there = self._target.column(column.name)
        if there is None:
            self._changes.append(AddField(name=column.name, type=self._type_of(column)))
        elif there.name in {each.target for each in (*self._plain, *self._computed)}:
            raise self._refused(f"column '{column.name}' is new, and target column '{there.name}' has other values")
        else:
            self._retype(column, there)
            if column.nullable and not there.nullable:
                self._relax(there, f"column '{column.name}' may be NULL")
        self._plain.append(
            MappedColumn(target=column.name if there is None else there.name, expression=quoted(column.name))
        )

    def _type_of(self, column: SourceColumn) -> TargetType:
        kind = derived(column)
        if kind is None:
            raise self._refused(f"the lake has no type for column '{column.name}', {column.text}")
        return kind

    def _is_free(self, column: TargetColumn) -> bool:
        """Whether no key, no partition and no other channel needs it."""
        return (
            column.name not in self._target.keys
            and not self._target.is_placed_by(column.name)
            and self._channel.part is None
        )

    def _refused(self, reason: str) -> SyncError:
        return SyncError(Code.RESYNC_COLUMNS, table=self._now.label, target=self._target.label, reason=reason)


def becoming(target: TargetTable, changes: Iterable[LakeChange]) -> TargetTable:
    """The table once these changes are made."""
    for change in changes:
        match change:
            case DropField(name=name):
                columns = tuple(column for column in target.columns if column.name != name)
            case AddField(name=name, type=kind):
                columns = (*target.columns, TargetColumn(name=name, type=kind))
            case RetypeField(name=name, type=kind):
                columns = tuple(replace(c, type=kind) if c.name == name else c for c in target.columns)
            case RelaxField(name=name):
                columns = tuple(replace(c, nullable=True) if c.name == name else c for c in target.columns)
            case _:
                raise AssertionError("no change of a renewal")
        target = replace(target, columns=columns)
    return target
