"""ALTER TABLE of a target: what an operator may change beside the jobs that fill it.

Owns: which change is refused, and why; the changes of the lake that make the others.
Must not know: statements' text, how a table format makes a change, who asks.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from syncmgr.errors import Code, SyncError
from syncmgr.job.ddl.lake_change import (
    AddField,
    CommentField,
    DropField,
    LakeChange,
    MoveField,
    RelaxField,
    RenameField,
    RetypeField,
)
from syncmgr.job.types.derived_type import widens
from syncmgr.job.types.folding import folded_in_lake
from syncmgr.job.types.schema import MAX_COLUMNS, TargetColumn, TargetTable, TargetType
from syncmgr.job.types.table_rules import check_column_name, is_reserved, parse_transform


@dataclass(frozen=True, kw_only=True, slots=True)
class TargetChange:
    """`changes`: of columns, in the order of lake_change. `result`: the table afterwards, its comment and properties,
    too.
    """

    changes: tuple[LakeChange, ...]
    result: TargetTable


@dataclass(frozen=True, kw_only=True, slots=True)
class NewPlace:
    """Of a column: right after another one; None: in front."""

    after: str | None


class TargetAlteration:
    """The clauses of one ALTER TABLE, one after the other; each column is named by one of them.

    `filled`: the columns that jobs fill, folded as in the lake, each with the job. All raise BAD_ALTER, COLUMN_BUSY,
    UNKNOWN_COLUMN.
    """

    def __init__(self, table: TargetTable, filled: Mapping[str, str]) -> None:
        self._before, self._after = table, table
        self._filled = filled
        self._changes: list[LakeChange] = []
        self._named: set[str] = set()

    def add(self, column: TargetColumn, place: NewPlace | None) -> None:
        """Raises DUPLICATE_COLUMN, BAD_NAME."""
        if not column.nullable:
            raise self._bad(f"column '{column.name}' must accept NULL, as the present rows have no value for it")
        self._free(column.name)
        self._changes.append(AddField(name=column.name, type=column.type, comment=column.comment))
        self._replaced((*self._after.columns, column))
        self._move(column.name, place)

    def drop(self, name: str) -> None:
        column = self._spare(name, "dropped")
        self._changes.append(DropField(name=column.name))
        self._replaced(each for each in self._after.columns if each is not column)

    def rename(self, name: str, to: str) -> None:
        """Raises DUPLICATE_COLUMN, BAD_NAME."""
        column = self._spare(name, "renamed")
        self._free(to)
        self._changes.append(RenameField(old=column.name, new=to))
        self._replaced(replace(each, name=to) if each is column else each for each in self._after.columns)

    def modify(
        self, name: str, kind: TargetType, *, nullable: bool | None, comment: str | None, place: NewPlace | None
    ) -> None:
        """`nullable`, `comment`: None: as it is."""
        column = self._found(name)
        if kind != column.type:
            self._retype(column, kind)
        if nullable is False and column.nullable:
            raise self._bad(f"column '{column.name}' accepts NULL, and its rows may have it")
        if nullable and not column.nullable:
            if self._is_key(column):
                raise self._bad(f"key column '{column.name}' must be NOT NULL")
            self._changes.append(RelaxField(name=column.name))
        new = replace(column, type=kind, nullable=column.nullable or bool(nullable))
        self._replaced(new if each is column else each for each in self._after.columns)
        if comment is not None:
            self._set_comment(new, comment)
        self._move(column.name, place)

    def comment_column(self, name: str, comment: str) -> None:
        self._set_comment(self._found(name), comment)

    def comment_table(self, comment: str) -> None:
        self._after = replace(self._after, comment=comment)

    def set_properties(self, values: Mapping[str, str], fixed: Collection[str]) -> None:
        """Their names and values are checked elsewhere. `fixed`: those of CREATE TABLE alone."""
        for name in (name for name in values if name in fixed):
            raise self._bad(f"its property '{name}' is that of CREATE TABLE for good")
        self._after = replace(self._after, properties=tuple((dict(self._after.properties) | dict(values)).items()))

    def change(self) -> TargetChange:
        """All of it."""
        if not self._after.columns:
            raise self._bad("it would have no columns")
        if len(self._after.columns) > MAX_COLUMNS:
            raise self._bad(f"it would have more than {MAX_COLUMNS} columns")
        return TargetChange(changes=tuple(self._changes), result=self._after)

    def _bad(self, reason: str) -> SyncError:
        return SyncError(Code.BAD_ALTER, table=self._before.label, reason=reason)

    def _replaced(self, columns: Iterable[TargetColumn]) -> None:
        self._after = replace(self._after, columns=tuple(columns))

    def _once(self, name: str) -> None:
        folded = folded_in_lake(name)
        if folded in self._named:
            raise self._bad(f"column '{name}' is named by two clauses; use two statements")
        self._named.add(folded)

    def _free(self, name: str) -> None:
        """A name that the table does not have."""
        self._once(name)
        if folded_in_lake(name) in {folded_in_lake(each.name) for each in self._before.columns}:
            raise SyncError(Code.DUPLICATE_COLUMN, column=name)
        if is_reserved(name, self._before):
            raise self._bad(f"the column name '{name}' is reserved")
        check_column_name(name)

    def _found(self, name: str) -> TargetColumn:
        self._once(name)
        folded = folded_in_lake(name)
        found = next((each for each in self._before.columns if folded_in_lake(each.name) == folded), None)
        if found is None:
            raise SyncError(Code.UNKNOWN_COLUMN, column=name, where="ALTER TABLE")
        return found

    def _spare(self, name: str, what: str) -> TargetColumn:
        """A column on which nothing depends but its readers."""
        column = self._found(name)
        job = self._filled.get(folded_in_lake(column.name))
        if job is not None:
            raise SyncError(Code.COLUMN_BUSY, column=column.name, table=self._before.label, job=job, what=what)
        if self._is_key(column) or column.name in self._before.duplicate_key:
            raise self._bad(f"key column '{column.name}' cannot be {what}")
        if self._places(column):
            raise self._bad(f"column '{column.name}' cannot be {what}: the table is partitioned by it")
        return column

    def _is_key(self, column: TargetColumn) -> bool:
        return column.name in self._before.keys

    def _places(self, column: TargetColumn) -> bool:
        return any(parse_transform(text).column == column.name for text in self._before.partition)

    def _retype(self, column: TargetColumn, kind: TargetType) -> None:
        if self._is_key(column) or self._places(column):
            raise self._bad(f"column '{column.name}' is part of its key or of its partitions, and keeps its type")
        if not widens(column.type, kind):
            raise self._bad(
                f"column '{column.name}' cannot become {kind.text}: it is {column.type.text}, and can only grow, as "
                "INT to BIGINT, FLOAT to DOUBLE, DECIMAL to one with more digits before the point, VARCHAR to STRING"
            )
        self._changes.append(RetypeField(name=column.name, type=kind))

    def _set_comment(self, column: TargetColumn, comment: str) -> None:
        self._changes.append(CommentField(name=column.name, comment=comment))
        self._replaced(replace(each, comment=comment) if each is column else each for each in self._after.columns)

    def _move(self, name: str, place: NewPlace | None) -> None:
        if place is None:
            return
        moved = next(each for each in self._after.columns if each.name == name)
        others = [each for each in self._after.columns if each is not moved]
        if place.after is None:
            self._changes.append(MoveField(name=name, after=None))
            self._replaced((moved, *others))
            return
        folded = folded_in_lake(place.after)
        at = next((number for number, each in enumerate(others) if folded_in_lake(each.name) == folded), None)
        if at is None:
            raise SyncError(Code.UNKNOWN_COLUMN, column=place.after, where="AFTER")
        self._changes.append(MoveField(name=name, after=others[at].name))
        self._replaced((*others[: at + 1], moved, *others[at + 1 :]))
