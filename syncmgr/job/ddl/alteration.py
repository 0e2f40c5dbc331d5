"""What ALTER TABLE makes of a table's columns.

Owns: the columns after the statement, in MySQL's order, and where each came from.
Must not know: targets, policies, values.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from mysqlddl.nodes import (
    AddColumn,
    AddPrimaryKey,
    ChangeColumn,
    Clause,
    ColumnDefinition,
    ConvertCharset,
    CreateTable,
    DefaultCharset,
    DropColumn,
    DropIndex,
    DropPrimaryKey,
    Place,
    Quiet,
    RenameColumn,
)
from syncmgr.job.ddl.unique_keys import altered_keys
from syncmgr.job.types.column_type import characters, converted, in_charset, of_bytes, sized, with_readable_labels
from syncmgr.job.types.folding import folded_name
from syncmgr.job.types.schema import LABELLED, TEXT, GeneratedColumn, SourceColumn, SourceTable, has_default, read_by


class ImpossibleError(ValueError):
    """The statement does not fit the known state of the table; the text is for the operator."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Column:
    """A column after the statement. `before` None: it is new. `definition` None: its type was not stated.

    `moved`: FIRST or AFTER was said. `recoded`: it is text that CONVERT TO concerned. `redefaulted`: its DEFAULT may be
    another.
    """

    now: SourceColumn
    before: SourceColumn | None = None
    definition: ColumnDefinition | None = None
    moved: bool = False
    recoded: bool = False
    redefaulted: bool = False

    @property
    def reads_alike(self) -> bool:
        """Whether every expression reads the same from it, if it keeps its values. A former collation is not known, nor
        a former ZEROFILL, which makes a number unsigned.
        """
        if self.before is None:
            return True
        restated = self.definition is not None and (has_charset(self.now) or self.now.unsigned)
        was = replace(self.before, name=self.now.name, key=self.now.key, nullable=self.now.nullable)
        return self.now == was and not restated and not self.recoded


@dataclass(frozen=True, kw_only=True, slots=True)
class Alteration:
    """`table`: as it is after the statement; `columns`: its columns, in order. `index_dropped`: perhaps a unique
    one.
    """

    table: SourceTable
    columns: tuple[Column, ...]
    dropped: tuple[SourceColumn, ...]
    index_dropped: bool = False

    def after(self, column: Column) -> str | None:
        """The name of the column before it, None if it is the first."""
        place = self.columns.index(column)
        return self.columns[place - 1].now.name if place else None


def altered(table: SourceTable, clauses: Sequence[Clause]) -> Alteration:
    """Raises ImpossibleError if a column does not exist, or already exists.

    A text column without a stated charset has the table's; None: only the rows show it.
    """
    table = replace(table, columns=tuple(_with_table_charset(column, table.charset) for column in table.columns))
    fates = _fates(table, clauses)
    columns: list[Column] = []
    placed: list[tuple[Column, Place | None]] = []
    for old in table.columns:
        fate = fates.get(folded_name(old.name))
        match fate:
            case None:
                columns.append(Column(now=old, before=old))
            case RenameColumn(new=new):
                columns.append(Column(now=replace(old, name=new), before=old))
            case ChangeColumn(definition=definition, place=place):
                made = Column(now=_defined(definition, old), before=old, definition=definition, moved=place is not None)
                columns.append(made)
                placed += [(made, place)] if place is not None else []
            case DropColumn():
                pass
    _place(columns, [*placed, *_added(table, clauses)], clauses)
    names = [folded_name(column.now.name) for column in columns]
    if len(set(names)) < len(names):
        raise ImpossibleError("two columns would have one name")
    charset = _charset(table, clauses)
    columns = [_sized(_converted(_redefaulted(column, clauses), clauses, table.charset), charset) for column in columns]
    columns = [replace(column, now=_with_table_charset(column.now, charset)) for column in columns]
    keys, index_dropped = _primary_key(table, clauses, columns)
    columns = [_keyed(column, keys) for column in columns]
    unique = altered_keys(table.unique, clauses)
    after = replace(
        table,
        columns=tuple(column.now for column in columns),
        charset=charset,
        unique=unique,
        generated=None if table.generated is None else tuple(_generated(table.generated, columns)),
        numbered=_numbered(table.numbered, columns),
    )
    dropped = tuple(c for c in table.columns if isinstance(fates.get(folded_name(c.name)), DropColumn))
    return Alteration(table=after, columns=tuple(columns), dropped=dropped, index_dropped=index_dropped)


def renewed(table: SourceTable, statement: CreateTable) -> tuple[Clause, ...]:
    """What turns a table's columns into those of a new table of the same name."""
    made = {folded_name(definition.column.name) for definition in statement.columns}
    clauses: list[Clause] = [DropColumn(name=c.name) for c in table.columns if folded_name(c.name) not in made]
    place = Place()
    for definition in statement.columns:
        old = table.column(definition.column.name)
        if old is None:
            clauses.append(AddColumn(definition=definition, place=place))
        else:
            clauses.append(ChangeColumn(old=old.name, definition=definition, place=place))
        place = Place(after=definition.column.name)
    keys = [AddPrimaryKey(columns=statement.primary)] if statement.primary else []
    return (*clauses, DropPrimaryKey(), DropIndex(name="all of them"), *keys)


def composed(first: Alteration, second: Alteration) -> Alteration:
    """Both combined into one: `second` altered the table that `first` made."""
    between = {column.now.name: column for column in first.columns}

    def column(later: Column) -> Column:
        if later.before is None:
            return later
        earlier = between[later.before.name]
        definition = later.definition or earlier.definition
        return Column(
            now=later.now,
            before=earlier.before,
            definition=definition,
            moved=later.moved or earlier.moved,
            recoded=later.recoded or earlier.recoded,
            redefaulted=later.redefaulted or earlier.redefaulted,
        )

    gone = [between[each.name].before for each in second.dropped]
    return Alteration(
        table=second.table,
        columns=tuple(map(column, second.columns)),
        dropped=(*first.dropped, *(each for each in gone if each is not None)),
        index_dropped=first.index_dropped or second.index_dropped,
    )


def recomputed(alteration: Alteration, read_ones: Collection[str]) -> str | None:
    """Of the columns that are read (by their old names), one whose values the server may have recomputed, in words."""
    changed = {folded_name(column.now.name) for column in alteration.columns if not column.reads_alike}
    names = {folded_name(name) for name in read_ones}
    pairs = [(folded_name(c.before.name), folded_name(c.now.name)) for c in alteration.columns if c.before is not None]
    read_now = {now for before, now in pairs if before in names}
    generated = alteration.table.generated
    if generated is None:
        others = read_now if len(changed) > 1 else read_now - changed
        return "whether columns are generated from those that it changes is not known" if changed and others else None
    redefaulted = {folded_name(column.now.name) for column in alteration.columns if column.redefaulted}
    hit: set[str] = set()
    for _ in generated:  # one may read another
        for each in generated:
            if (changed | hit | (redefaulted if each.defaults else set())) & set(map(folded_name, each.reads)):
                hit.add(folded_name(each.name))
    found = next((each.name for each in generated if folded_name(each.name) in hit & read_now), None)
    return None if found is None else f"column '{found}' is generated from one that it changes"


def _generated(known: Iterable[GeneratedColumn], columns: Sequence[Column]) -> Iterator[GeneratedColumn]:
    """Those after the statement. An expression uses the old names or the new ones."""
    names = {folded_name(column.before.name): column.now.name for column in columns if column.before is not None}
    by_name = {folded_name(each.name): each for each in known}
    spelled = dict.fromkeys((*names, *(column.now.name for column in columns)))
    for column in columns:
        own = column.now.name
        if column.definition is not None and column.definition.computed:
            found = {folded_name(names.get(folded_name(n), n)) for n in read_by(column.definition.expression, spelled)}
            reads = tuple(c.now.name for c in columns if c is not column and folded_name(c.now.name) in found)
            yield GeneratedColumn(name=own, reads=reads, defaults=has_default(column.definition.expression))
        elif column.definition is None and column.before is not None and folded_name(column.before.name) in by_name:
            was = by_name[folded_name(column.before.name)]
            reads = tuple(names.get(folded_name(name), name) for name in was.reads)
            yield replace(was, name=own, reads=reads)


def _numbered(known: str | None, columns: Sequence[Column]) -> str | None:
    """The AUTO_INCREMENT column after the statement, of which there is one at most."""
    defined = next((c.now.name for c in columns if c.definition is not None and c.definition.numbered), None)
    if defined is not None or not known:
        return known if defined is None else defined
    same = (c for c in columns if c.before is not None and folded_name(c.before.name) == folded_name(known))
    return next((c.now.name for c in same if c.definition is None), "")


Fate = DropColumn | RenameColumn | ChangeColumn


def _fates(table: SourceTable, clauses: Iterable[Clause]) -> dict[str, Fate]:
    """By old name: what happens to the existing columns. All clauses refer to the table as it was."""
    found: dict[str, Fate] = {}
    for clause in clauses:
        match clause:
            case DropColumn(name=name, if_exists=forgiven):
                pass
            case RenameColumn(old=name, if_exists=forgiven) | ChangeColumn(old=name, if_exists=forgiven):
                pass
            case _:
                continue
        if table.column(name) is not None:
            found[folded_name(name)] = clause
        elif not forgiven:
            raise ImpossibleError(f"column '{name}' was not known")
    return found


def _added(table: SourceTable, clauses: Iterable[Clause]) -> list[tuple[Column, Place | None]]:
    """IF NOT EXISTS refers to the table as it was, and to what earlier clauses define."""
    there = {folded_name(column.name) for column in table.columns}
    found = []
    for clause in clauses:
        if not isinstance(clause, AddColumn | ChangeColumn):
            continue
        name = folded_name(clause.definition.column.name)
        if isinstance(clause, AddColumn) and not (clause.if_not_exists and name in there):
            made = Column(now=clause.definition.column, definition=clause.definition, moved=clause.place is not None)
            found.append((made, clause.place))
        there.add(name)
    return found


def _place(columns: list[Column], waiting: list[tuple[Column, Place | None]], clauses: Sequence[Clause]) -> None:
    """Into `columns`, in the order of their clauses; AFTER uses the names after the statement.

    A column that is to be moved stays where it was until its own clause is reached.
    """
    order = {
        folded_name(clause.definition.column.name): number
        for number, clause in enumerate(clauses)
        if isinstance(clause, AddColumn | ChangeColumn)
    }
    for column, place in sorted(waiting, key=lambda each: order[folded_name(each[0].now.name)]):
        columns[:] = [each for each in columns if each is not column]
        if place is None:
            columns.append(column)
        elif place.after is None:
            columns.insert(0, column)
        else:
            names = [folded_name(each.now.name) for each in columns]
            if folded_name(place.after) not in names:
                raise ImpossibleError(f"column '{place.after}' was not known")
            columns.insert(names.index(folded_name(place.after)) + 1, column)


def _defined(definition: ColumnDefinition, old: SourceColumn) -> SourceColumn:
    """If no charset is stated, only the rows show it."""
    return replace(definition.column, key=old.key)


def _redefaulted(column: Column, clauses: Iterable[Clause]) -> Column:
    """A definition may say another DEFAULT than the one before it."""
    was = None if column.before is None else folded_name(column.before.name)
    restated = any(isinstance(clause, Quiet) and folded_name(clause.default) == was for clause in clauses)
    return replace(column, redefaulted=restated or column.definition is not None)


def _sized(column: Column, charset: str | None) -> Column:
    """`charset`: of the table, which a text has if none is stated for it; with binary it becomes bytes."""
    now = of_bytes(column.now) if column.now.charset is None and charset == "binary" else column.now
    return replace(column, now=sized(now, now.charset or charset))


def _converted(column: Column, clauses: Iterable[Clause], charset: str | None) -> Column:
    """`charset`: of the table before the statement."""
    for clause in clauses:
        if isinstance(clause, ConvertCharset) and has_charset(column.now):
            column = replace(column, now=_as_converted(column, clause, charset), recoded=True)
    return column


def _as_converted(column: Column, clause: ConvertCharset, charset: str | None) -> SourceColumn:
    """Only the charset of a column that the statement defines is converted; but if it keeps its old capacity, that
    counts instead of a definition without a length.
    """
    now, was = column.now, column.before
    if column.definition is None or now.type in LABELLED:
        return converted(now, now.charset or charset, clause.charset)
    if not clause.keeps_room or was is None or now.length:
        return in_charset(now, clause.charset)
    if was.type not in TEXT:
        return converted(now, now.charset or charset, clause.charset)
    had = characters(was, was.charset or charset)
    return in_charset(replace(now, type="text", length=had), clause.charset)


def _charset(table: SourceTable, clauses: Iterable[Clause]) -> str | None:
    """The table's charset after the statement; None if it is not certain, or would not apply to some column."""
    charset = table.charset
    for clause in clauses:
        match clause:
            case ConvertCharset(charset=stated):
                charset = stated
            case DefaultCharset(charset=stated):
                charset = None if any(has_charset(c) and c.charset is None for c in table.columns) else stated
            case _:
                pass
    return charset


def _with_table_charset(column: SourceColumn, charset: str | None) -> SourceColumn:
    """If its charset is not stated, it is the table's."""
    unsaid = has_charset(column) and column.charset is None and charset != "binary"
    return with_readable_labels(replace(column, charset=charset) if unsaid else column)


def has_charset(column: SourceColumn) -> bool:
    """Whether its values are text."""
    return column.type in TEXT or column.type in LABELLED


def _primary_key(table: SourceTable, clauses: Iterable[Clause], columns: list[Column]) -> tuple[list[str], bool]:
    """The names of its columns, folded, none if a part of it is not a column; and whether another index was dropped."""
    renamed = {folded_name(c.before.name): folded_name(c.now.name) for c in columns if c.before is not None}
    old = sorted((c for c in table.columns if c.key), key=lambda c: c.key)
    keys = [renamed[folded_name(c.name)] for c in old if folded_name(c.name) in renamed]
    dropped = False
    for clause in clauses:
        match clause:
            case DropPrimaryKey():
                keys = []
            case DropIndex(name=name) if name.upper() == "PRIMARY":
                keys = []
            case DropIndex():
                dropped = True
            case _:
                pass
    for clause in clauses:
        match clause:
            case AddPrimaryKey(columns=names):
                keys = [] if any(name.startswith("(") for name in names) else [folded_name(name) for name in names]
            case AddColumn(definition=definition) | ChangeColumn(definition=definition) if definition.primary:
                keys = [folded_name(definition.column.name)]
            case _:
                pass
    return keys, dropped


def _keyed(column: Column, keys: list[str]) -> Column:
    """A column of the primary key is NOT NULL."""
    folded = folded_name(column.now.name)
    place = keys.index(folded) + 1 if folded in keys else 0
    return replace(column, now=replace(column.now, key=place, nullable=column.now.nullable and not place))
