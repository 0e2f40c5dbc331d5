"""What is compared of one table, and the texts of the questions on both sides.

Owns: which tables can be compared, the SELECTs for the sums of parts, for the hashes of keys and for rows.
Must not know: connections, Spark's sessions, what follows from the answers.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.description import ChannelDescription, literal
from syncmgr.job.channel.description import quoted as lake_quoted
from syncmgr.job.check.canonical import NULL_TEXT, Form, form
from syncmgr.job.check.verdict import Found, Key, Texts
from syncmgr.job.snapshot.key_range import KeyRange, key_columns
from syncmgr.job.snapshot.resync_where import excerpt_of
from syncmgr.job.snapshot.select_list import quoted as source_quoted
from syncmgr.job.types.folding import folded_name
from syncmgr.job.types.schema import BYTES, INTEGER_BITS, TEXT, SourceColumn, TargetTable
from syncsql.comparison import Comparison, Constant, ConstantKind, Every, Sign, Some, Test

PART_DIGITS: Final = 3  # of the hash of a key, in hexadecimal
KEYS_AT_ONCE: Final = 1000


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """The same, in the words of both sides."""

    source: str
    lake: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Rows:
    """Some rows: the conditions in the words of both sides; "": all."""

    source: str = ""
    lake: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class ComparedColumn:
    """`target`: its name there."""

    target: str
    form: Form


@dataclass(frozen=True, kw_only=True, slots=True)
class ComparedTable:
    """`keys` and `columns`: each target column that a source column fills, the key's first."""

    channel: ChannelDescription
    described: TargetTable
    keys: tuple[ComparedColumn, ...]
    key_sources: tuple[SourceColumn, ...]
    others: tuple[ComparedColumn, ...]

    def is_still(self, now: "ComparedTable") -> bool:
        """Whether it has the same columns on both sides."""
        mine, other = self.channel, now.channel
        return (mine.source, mine.columns, mine.keys, mine.target_db, mine.target, self.described.columns) == (
            *(other.source, other.columns, other.keys, other.target_db, other.target),
            now.described.columns,
        )

    @property
    def ranges_by(self) -> str | None:
        """The source column by whose values it can be cut on both sides; None: it stays whole."""
        only = self.key_sources[0]
        return only.name if len(self.key_sources) == 1 and only.type in INTEGER_BITS else None

    @property
    def all_rows(self) -> Rows:
        """Of the channel: others may fill the same target."""
        part = self.channel.part
        return Rows(lake="" if part is None else f"{lake_quoted(part.column)} = {literal(part.value)}")

    def between(self, low: str | None, high: str | None) -> Rows:
        """Of the keys above `low` up to `high`; None: there is no such end."""
        if low is None and high is None:
            return self.all_rows
        ends = ((Sign.MORE, low), (Sign.AT_MOST, high))
        tests = tuple(
            Comparison(
                column=self.key_sources[0].name,
                sign=sign,
                values=(Constant(kind=ConstantKind.NUMBER, text=end),),
            )
            for sign, end in ends
            if end is not None
        )
        return self._rows(Every(parts=tests))

    def of_keys(self, keys: Sequence[Key]) -> Rows:
        """At least the rows of these on the source."""
        return self._rows(self._any_of(keys))

    def part_of(self, keys: Sequence[Key], text: str) -> KeyRange:
        """The rows of these, to be read again. `text`: for people."""
        return excerpt_of(self.channel, self.described, self._any_of(keys), text)

    def _any_of(self, keys: Sequence[Key]) -> Test:
        if len(self.key_sources) == 1:
            values = tuple(_constant(self.key_sources[0], key[0]) for key in keys)
            return Comparison(column=self.key_sources[0].name, sign=Sign.EQUAL, values=values)
        return Some(parts=tuple(Every(parts=tuple(self._equal(key))) for key in keys))

    def _equal(self, key: Key) -> Iterable[Comparison]:
        for column, text in zip(self.key_sources, key, strict=True):
            yield Comparison(column=column.name, sign=Sign.EQUAL, values=(_constant(column, text),))

    def _rows(self, test: Test) -> Rows:
        excerpt = excerpt_of(self.channel, self.described, test, "of a check")
        return Rows(source=excerpt.source, lake=excerpt.lake)

    def sums(self, rows: Rows) -> Question:
        """Part, count, sum of the hashes."""
        return Question(
            source=f"SELECT {self._part_there} c0, COUNT(*) c1, BIT_XOR({self._hash_there}) c2"  # noqa: S608 - quoted
            f" FROM {self._source}{_where(rows.source)} GROUP BY c0",
            lake="SELECT p, count(*), bit_xor(h) FROM"  # noqa: S608 - the same
            f" (SELECT {self._part_here} p, {self._hash_here} h FROM {self._lake}{_where(rows.lake)}) GROUP BY p",
        )

    def hashes(self, rows: Rows, parts: Collection[int]) -> Question:
        """The texts of the key, then the hash of the row, of these parts."""
        listed = ", ".join(map(str, sorted(parts)))
        there = " AND ".join([*_wheres(rows.source), f"{self._part_there} IN ({listed})"])
        here = " AND ".join([*_wheres(rows.lake), f"{self._part_here} IN ({listed})"])
        return Question(
            source=f"SELECT {_named_source(self.keys)}, {self._hash_there} h FROM {self._source}{_where(there)}",  # noqa: S608 - quoted
            lake=f"SELECT {_named_lake(self.keys)}, {self._hash_here} h FROM {self._lake}{_where(here)}",  # noqa: S608 - the same
        )

    def texts(self, rows: Rows) -> Question:
        """Of each column of these rows, the key's first."""
        columns = (*self.keys, *self.others)
        return Question(
            source=f"SELECT {_named_source(columns)} FROM {self._source}{_where(rows.source)}",  # noqa: S608 - quoted
            lake=f"SELECT {_named_lake(columns)} FROM {self._lake}{_where(rows.lake)}",  # noqa: S608 - the same
        )

    def shown(self, texts: Texts | None) -> dict[str, str | int | float | None] | None:
        """A row's values by target column."""
        if texts is None:
            return None
        return {
            column.target: None if text is None else column.form.shown(text)
            for column, text in zip((*self.keys, *self.others), texts, strict=True)
        }

    def shown_key(self, key: Key) -> dict[str, str | int | float]:
        return {column.target: column.form.shown(text) for column, text in zip(self.keys, key, strict=True)}

    def named(self, found: Found) -> str:
        """The columns that differ; "*": all."""
        columns = (*self.keys, *self.others)
        return ", ".join(columns[place].target for place in found.columns) or "*"

    @property
    def _source(self) -> str:
        table = self.channel.source
        return f"{source_quoted(table.db)}.{source_quoted(table.name)}"

    @property
    def _lake(self) -> str:
        return f"{lake_quoted(self.channel.target_db)}.{lake_quoted(self.channel.target)}"

    @property
    def _part_there(self) -> str:
        texts = _joined("CONCAT_WS", "IFNULL", (each.form.source for each in self.keys))
        return f"CAST(CONV(LEFT(SHA2({texts}, 256), {PART_DIGITS}), 16, 10) AS UNSIGNED)"

    @property
    def _part_here(self) -> str:
        texts = _joined("concat_ws", "coalesce", (each.form.lake for each in self.keys))
        return f"CAST(conv(left(sha2({texts}, 256), {PART_DIGITS}), 16, 10) AS INT)"

    @property
    def _hash_there(self) -> str:
        texts = _joined("CONCAT_WS", "IFNULL", (each.form.source for each in (*self.keys, *self.others)))
        return f"CAST(CONV(LEFT(SHA2({texts}, 256), 16), 16, 10) AS UNSIGNED)"

    @property
    def _hash_here(self) -> str:
        texts = _joined("concat_ws", "coalesce", (each.form.lake for each in (*self.keys, *self.others)))
        return f"CAST(conv(left(sha2({texts}, 256), 16), 16, -10) AS BIGINT)"


def _named_source(columns: Iterable[ComparedColumn]) -> str:
    return ", ".join(f"{each.form.source} c{place}" for place, each in enumerate(columns))


def _named_lake(columns: Iterable[ComparedColumn]) -> str:
    return ", ".join(f"{each.form.lake} c{place}" for place, each in enumerate(columns))


def _joined(join: str, unless_null: str, texts: Iterable[str]) -> str:
    """Both functions skip NULL."""
    return f"{join}(',', " + ", ".join(f"{unless_null}({text}, '{NULL_TEXT}')" for text in texts) + ")"


def _wheres(condition: str) -> list[str]:
    return [f"({condition})"] if condition else []


def _where(condition: str) -> str:
    return f" WHERE {condition}" if condition else ""


def _constant(column: SourceColumn, text: str) -> Constant:
    if column.type in BYTES:
        return Constant(kind=ConstantKind.BYTES, text=text)
    if column.type in TEXT or column.members:
        return Constant(kind=ConstantKind.TEXT, text=bytes.fromhex(text).decode())
    if column.type in {"date", "datetime", "timestamp"}:
        return Constant(kind=ConstantKind.MOMENT, text=text)
    if column.type in {*INTEGER_BITS, "decimal", "year", "bit"}:
        return Constant(kind=ConstantKind.NUMBER, text=text)
    return Constant(kind=ConstantKind.TEXT, text=bytes.fromhex(text).decode())


def compared_table(channel: ChannelDescription, target: TargetTable) -> ComparedTable:
    """Raises CHECK_REFUSED."""
    if not channel.keys:
        raise refused(channel, "it has no key, by which its rows could be found on both sides")
    if channel.where is not None:
        raise refused(channel, "it has a WHERE, which the source would evaluate in its own way")
    filled = key_columns(channel)
    keys, sources, others = list[ComparedColumn](), list[SourceColumn](), list[ComparedColumn]()
    for mapped in channel.columns:
        if mapped.constant is not None:
            continue
        column = None if mapped.source is None else channel.source.column(mapped.source)
        if column is None:
            raise refused(channel, f"column '{mapped.target}' is computed")
        there = target.column(mapped.target)
        found = None if there is None else form(column, there.name, there.type)
        if there is None or found is None:
            kind = "is gone" if there is None else there.type.text
            raise refused(channel, f"{column.text} has no common text with column '{mapped.target}' ({kind})")
        if folded_name(there.name) in {folded_name(name) for name in filled.values()}:
            keys.append(ComparedColumn(target=there.name, form=found))
            sources.append(column)
        else:
            others.append(ComparedColumn(target=there.name, form=found))
    if len(keys) != len(channel.source_keys):
        raise refused(channel, "a column of its key is computed")
    table = ComparedTable(
        channel=channel, described=target, keys=tuple(keys), key_sources=tuple(sources), others=tuple(others)
    )
    _refuse_keys(table)
    return table


def _refuse_keys(table: ComparedTable) -> None:
    """Those by which rows cannot be asked for again."""
    tests = tuple(Comparison(column=each.name, sign=Sign.NOT_NULL) for each in table.key_sources)
    try:
        excerpt_of(table.channel, table.described, Every(parts=tests), "of a check")
    except SyncError as error:
        if error.code is not Code.RESYNC_WHERE:
            raise
        raise refused(table.channel, str(error.context["reason"])) from error


def refused(channel: ChannelDescription, reason: str) -> SyncError:
    return SyncError(Code.CHECK_REFUSED, table=channel.source.label, reason=reason)
