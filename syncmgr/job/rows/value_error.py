"""What happens to a value that the target cannot hold: `on_value_error`.

Owns: the policy, the rows and cells that it removes, and what is recorded of a row that is kept out.
Must not know: how a value is decoded, where dead letters are kept.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.description import ChannelDescription
from syncmgr.job.job_properties import AppendOnChange, OnValueError
from syncmgr.job.rows.batch import FILE, OFFSET, OP, PLACE, WHEN, ChangeKind
from syncmgr.job.rows.dead_letter import DeadLetter
from syncmgr.job.types.cells import Unheld
from syncmgr.job.types.fitting import Fit, beyond, fit
from syncmgr.job.types.folding import folded_name
from syncmgr.job.types.schema import TargetTable, TargetType

SHOWN: Final = 1024  # characters of one value in a dead letter


@dataclass(frozen=True, kw_only=True, slots=True)
class Bound:
    """What a source column may hold. `type`: the target type whose range is checked, None: all of it fits."""

    column: str
    nullable: bool
    key: bool = False
    type: TargetType | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ValueRules:
    """Of one channel. `bounds`: of the columns that go into a target column unchanged. `upserts`: it has a key.
    `inserts`: of other changes nothing is taken.
    """

    policy: OnValueError
    bounds: tuple[Bound, ...] = ()
    upserts: bool = True
    inserts: bool = False

    @property
    def tolerant(self) -> bool:
        """Whether a job goes on after such a value."""
        return self.policy is not OnValueError.STOP


def rules_of(
    channel: ChannelDescription,
    describe: Callable[[ChannelDescription], TargetTable],
    policy: OnValueError | None,
    append: AppendOnChange,
) -> ValueRules:
    """`policy` None: none was given, so every column was checked against its target by its type alone. `append`: for a
    target without a key.
    """
    inserts = not channel.source_keys and append is AppendOnChange.IGNORE
    if policy is None:
        return ValueRules(policy=OnValueError.STOP, inserts=inserts)
    target = describe(channel)
    keys = {folded_name(key) for key in channel.keys}
    bounds = []
    for mapped in channel.columns:
        column = target.column(mapped.target)
        source = None if mapped.source is None else channel.source.column(mapped.source)
        if column is None or source is None:
            continue
        looked_at = fit(source, column.type)[0] is not Fit.WHOLE
        bound = Bound(
            column=source.name,
            nullable=column.nullable,
            key=folded_name(column.name) in keys,
            type=column.type if looked_at else None,
        )
        bounds.append(bound)
    return ValueRules(policy=policy, bounds=tuple(bounds), upserts=bool(channel.keys), inserts=inserts)


def settled(
    rows: pa.Table, unheld: Sequence[Unheld], rules: ValueRules, *, token: str, table: str
) -> tuple[pa.Table, tuple[DeadLetter, ...]]:
    """The rows as they may be staged, without the columns of PLACE, and the dead letters of those that may not.

    `unheld`: what decoding has made NULL. Raises SOURCE_VALUE.
    """
    found = [*unheld, *beyond_bounds(rows, rules)]
    return _settled(rows, found, rules, token, table) if found else (_staged(rows), ())


def _settled(
    rows: pa.Table, found: Sequence[Unheld], rules: ValueRules, token: str, table: str
) -> tuple[pa.Table, tuple[DeadLetter, ...]]:
    match rules.policy:
        case OnValueError.STOP:
            raise _unheld(found[0], table)
        case OnValueError.NULL:
            _refuse_required(found, rules, table)
            return _staged(_without(rows, found)), ()
        case OnValueError.DEAD_LETTER:
            return _kept(rows, found, rules), tuple(_letters(rows, found, token))


def _staged(rows: pa.Table) -> pa.Table:
    return rows.drop_columns([name for name in PLACE if name in rows.column_names])


def _unheld(one: Unheld, table: str) -> SyncError:
    return SyncError(Code.SOURCE_VALUE, column=one.column, table=table, value=one.shown, reason=one.reason)


def beyond_bounds(rows: pa.Table, rules: ValueRules) -> Iterable[Unheld]:
    """Only the key of a deleted row is read; without a key, nothing of it, nor of what is not taken."""
    kinds = rows[OP].to_numpy()
    idle = kinds != ChangeKind.INSERT if rules.inserts else kinds == ChangeKind.DELETE
    for bound, kind in ((bound, bound.type) for bound in rules.bounds if len(rows)):
        if kind is None:
            continue
        cells = rows[bound.column].combine_chunks()
        bad = beyond(cells, kind)
        for row in np.flatnonzero(bad if bound.key else bad & ~idle).tolist():
            reason = f"{kind.text} does not hold it"
            yield Unheld(row=row, column=bound.column, shown=shown_text(cells[row].as_py()), reason=reason)


def shown_text(value: object) -> str:
    match value:
        case bytes():
            text = value[:SHOWN].hex()
        case float():
            text = repr(value)
        case _:
            text = str(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}... ({len(text)} characters)"


def _refuse_required(found: Sequence[Unheld], rules: ValueRules, table: str) -> None:
    required = {bound.column: bound for bound in rules.bounds if bound.key or not bound.nullable}
    for one in found:
        bound = required.get(one.column)
        if bound is not None:
            why = "it is in the key" if bound.key else "it is NOT NULL"
            reason = f"{one.reason}; NULL cannot stand for it, since {why} in the target"
            raise SyncError(Code.SOURCE_VALUE, column=one.column, table=table, value=one.shown, reason=reason)


def _without(rows: pa.Table, found: Sequence[Unheld]) -> pa.Table:
    by_column: dict[str, list[int]] = {}
    for one in found:
        by_column.setdefault(one.column, []).append(one.row)
    for name, places in by_column.items():
        bad = np.zeros(len(rows), np.bool_)
        bad[places] = True
        cells = rows[name].combine_chunks()
        nulls = pa.nulls(len(rows), cells.type)
        kept = pc.if_else(pa.array(bad), nulls, cells)
        rows = rows.set_column(rows.schema.get_field_index(name), name, kept)
    return rows


def _kept(rows: pa.Table, found: Sequence[Unheld], rules: ValueRules) -> pa.Table:
    """A row that the target cannot hold is deleted there; one whose key it cannot hold never was there."""
    keys = {bound.column for bound in rules.bounds if bound.key}
    kinds = rows[OP].to_numpy().copy()
    gone = np.zeros(len(rows), np.bool_)
    for one in found:
        gone[one.row] |= one.column in keys or (not rules.upserts and kinds[one.row] == ChangeKind.INSERT)
        if not gone[one.row]:
            kinds[one.row] = ChangeKind.DELETE
    changed = rows.set_column(rows.schema.get_field_index(OP), OP, pa.array(kinds, pa.int8()))
    return _staged(changed.filter(pa.array(~gone)))


def _letters(rows: pa.Table, found: Sequence[Unheld], token: str) -> Iterable[DeadLetter]:
    """One for each row, except deletes: a row that is not there need not be deleted."""
    by_row: dict[int, list[Unheld]] = {}
    for one in found:
        by_row.setdefault(one.row, []).append(one)
    numbers = sorted(by_row)
    for number, row in zip(numbers, rows.take(numbers).to_pylist(), strict=True):
        kind = ChangeKind(row[OP])
        if kind is not ChangeKind.DELETE:
            yield _letter(row, by_row[number], kind, token)


def _letter(row: Mapping[str, Any], found: Sequence[Unheld], kind: ChangeKind, token: str) -> DeadLetter:
    texts = {
        name: None if value is None else shown_text(value) for name, value in row.items() if name not in {OP, *PLACE}
    }
    place = {"at": float(row[WHEN]), "file": str(row[FILE]), "offset": int(row[OFFSET])}
    return letter_of(texts, found, token=token, change=kind.name, **place)


def letter_of(texts: Mapping[str, str | None], found: Sequence[Unheld], **place: Any) -> DeadLetter:  # noqa: ANN401
    """`texts`: a source row. `found`: its values that cannot be held. `place`: the other fields of a letter."""
    reasons = [one.reason if len(found) == 1 else f"{one.column}: {one.reason}" for one in found]
    row = {**texts, **{one.column: one.shown for one in found}}
    return DeadLetter(
        column=found[0].column,
        value=found[0].shown,
        reason="; ".join(reasons),
        row=json.dumps(row, ensure_ascii=False),
        **place,
    )
