"""The values of a chunk's rows that no target holds, in Spark SQL.

Owns: the conditions over the columns of a chunk's SELECT, the dead letters of a snapshot.
Must not know: connections, commits, where the rows go.
"""

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pyspark.sql import DataFrame

from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.description import literal
from syncmgr.job.job_properties import OnValueError
from syncmgr.job.rows.batch import ChangeKind
from syncmgr.job.rows.dead_letter import DeadLetter
from syncmgr.job.rows.value_error import SHOWN, ValueRules, letter_of
from syncmgr.job.snapshot.chunk_rows import ChunkRows
from syncmgr.job.snapshot.select_list import LIKE_ANOTHER
from syncmgr.job.types.cells import Unheld
from syncmgr.job.types.fitting import beyond_sql
from syncmgr.job.types.schema import SourceColumn, arrow_type
from syncmgr.lake.spark.segment import spark_type

MOMENTS: Final = frozenset({"date", "datetime", "timestamp"})  # they come as text, which may not be a valid moment
NO_DATE: Final = "there is no such date"
UNHELD: Final = "syncmgr: {column} | {reason} | "
KEY: Final = " | in the row with "
_REFUSED: Final = re.compile(
    r"syncmgr: (?P<column>.+?) \| (?P<reason>.+?(?:no such date|does not hold it|then RESYNC TABLE)) \| "
    r"(?P<value>.*?)(?: \| (?P<row>in the row with .*?))?(?: SQLSTATE|\n\tat |\Z)",
    re.DOTALL,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckedColumn:
    """A column of a chunk: `wire` is its name in the SELECT, `sql` its value in the type of a segment.

    `unheld`: the condition that no target holds the value, None if each is held, and `reason` why. `in_place`: the
    value may stand for the bytes of a text that a key cannot have.
    """

    column: SourceColumn
    wire: str
    sql: str
    unheld: str | None = None
    reason: str = ""
    in_place: bool = False


def _rules(chunk: ChunkRows) -> ValueRules:
    return chunk.values or ValueRules(policy=OnValueError.STOP)


def held(chunk: ChunkRows, column: SourceColumn, wire: str) -> CheckedColumn:
    """An invalid moment is looked for under every policy: Spark's own words name neither the column nor the row."""
    kind = spark_type(arrow_type(column))
    tried = column.type in MOMENTS
    sql = f"{'TRY_CAST' if tried else 'CAST'}({wire} AS {kind})"
    conditions, reason, refused_texts = [], NO_DATE, chunk.refused_texts(column)
    if tried:
        conditions.append(f"({wire} IS NOT NULL AND ({sql} IS NULL OR year({sql}) < 1))")  # Spark has a year 0
    for bound in _rules(chunk).bounds:
        if bound.column == column.name and bound.type is not None:
            conditions.append(f"({beyond_sql(sql, column, bound.type)})")
            reason = f"{bound.type.text} does not hold it"
    if refused_texts is not None:
        conditions.append(_stands_for_bytes(wire))
        reason = f"{reason}, or {refused_texts}" if len(conditions) > 1 else refused_texts
    if not conditions:
        return CheckedColumn(column=column, wire=wire, sql=sql)
    unheld = f"coalesce({' OR '.join(conditions)}, FALSE)"
    in_place = refused_texts is not None
    return CheckedColumn(column=column, wire=wire, sql=sql, unheld=unheld, reason=reason, in_place=in_place)


def _stands_for_bytes(wire: str) -> str:
    return f"startswith({wire}, {literal(LIKE_ANOTHER)})"


def value_sql(chunk: ChunkRows, one: CheckedColumn, keys: Sequence[CheckedColumn] = ()) -> str:
    """What the segment holds; a NULL instead of a value is refused later if the target does not allow it.

    If the job stops at such a value, reading it fails with an error that `refused` recognizes, and that names the row
    by its `keys`.
    """
    if one.unheld is None:
        return one.sql
    match _rules(chunk).policy:
        case policy if policy is OnValueError.STOP or (policy is OnValueError.NULL and one.in_place):
            words = literal(UNHELD.format(column=one.column.name, reason=one.reason))
            shown = f"substring({_text(one)}, 1, {SHOWN})"
            return f"IF({one.unheld}, raise_error(concat({words}, {shown}{_row(one, keys)})), {one.sql})"
        case OnValueError.NULL:
            return f"IF({one.unheld}, NULL, {one.sql})"
        case _:
            return one.sql


def _row(one: CheckedColumn, keys: Sequence[CheckedColumn]) -> str:
    """More arguments of concat: the row's key, apart from the value itself, and from bytes that are no text."""
    told = [key for key in keys if key.wire != one.wire and not key.in_place]
    shown = [f"{literal(f'{key.column.name} = ')}, substring({_text(key)}, 1, {SHOWN})" for key in told]
    return f", {literal(KEY)}, " + ", ', ', ".join(shown) if shown else ""


def refused(text: str, table: str) -> SyncError | None:
    """The error of a value at which a job stops; None if Spark's message is about something else."""
    found = _REFUSED.search(text)
    if found is None:
        return None
    value = f"{found['value']} {found['row']}" if found["row"] else found["value"]
    return SyncError(Code.SOURCE_VALUE, column=found["column"], table=table, value=value, reason=found["reason"])


def kept_out(chunk: ChunkRows, columns: list[CheckedColumn]) -> str | None:
    """The condition for rows that become dead letters; None: no row does."""
    unheld = [one.unheld for one in columns if one.unheld is not None]
    dead = _rules(chunk).policy is OnValueError.DEAD_LETTER and unheld
    return " OR ".join(unheld) if dead else None


def dead_letters(rows: DataFrame, columns: list[CheckedColumn], *, token: str, most: int) -> tuple[DeadLetter, ...]:
    """Of rows that are kept out, as they are now; one that changes meanwhile also comes through the binlog."""
    told = [f"{_text(one)} AS {one.wire}" for one in columns]
    which = [f"{one.unheld} AS bad_{one.wire}" for one in columns if one.unheld is not None]
    dead = rows.selectExpr(*told, *which).limit(most).collect()
    return tuple(_letters([row.asDict() for row in dead], columns, token))


def _text(one: CheckedColumn) -> str:
    if one.in_place:
        return f"IF({_stands_for_bytes(one.wire)}, substring({one.wire}, 2), {one.wire})"
    is_bytes = spark_type(arrow_type(one.column)) == "BINARY"
    return f"lower(hex({one.wire}))" if is_bytes else f"CAST({one.wire} AS STRING)"


def _letters(rows: list[dict[str, Any]], columns: list[CheckedColumn], token: str) -> Iterator[DeadLetter]:
    """A row of a snapshot has no place in a binlog."""
    place = {"token": token, "change": ChangeKind.INSERT.name, "at": time.time(), "file": "", "offset": 0}
    for row in rows:
        found = [
            Unheld(row=0, column=one.column.name, shown=row[one.wire], reason=one.reason)
            for one in columns
            if row.get(f"bad_{one.wire}")
        ]
        yield letter_of({one.column.name: row[one.wire] for one in columns}, found, **place)
