"""Which columns a SELECT can name, and their types.

Owns: tables and subqueries of FROM by their names, the SELECTs around, aliases.
Must not know: expressions, where a table's columns come from.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from mysqlselect.types import UNKNOWN, Type

Shape = tuple[tuple[str, Type], ...]  # columns with their names; one without a name is ""
ColumnsOf = Callable[[str | None, str], Shape | None]  # database and table; None: nobody knows


@dataclass(slots=True)
class Scope:
    """Of one SELECT. `sources`: by alias in lower case; a shape of None: its columns are not known. `is_joined`: by
    USING or NATURAL, which make one column of two. `aliases`: of the select list. `older`: the
    sources that are read as they were, with columns of then.
    """

    outer: "Scope | None" = None
    sources: dict[str, Shape | None] = field(default_factory=dict)
    aliases: dict[str, Type] = field(default_factory=dict)
    older: set[str] = field(default_factory=set)
    is_joined: bool = False

    def type_of(self, column: str, table: str = "") -> Type:
        """UNKNOWN also for what does not exist, which Spark reports."""
        found = self._own(column.lower(), table.lower())
        if found is not None:
            return found
        return self.outer.type_of(column, table) if self.outer is not None else UNKNOWN

    def _own(self, column: str, table: str) -> Type | None:
        shapes = [shape for name, shape in self.sources.items() if not table or name == table]
        for shape in shapes:
            for name, type_ in shape or ():
                if name.lower() == column:
                    return type_
        return UNKNOWN if None in shapes else None

    def star(self, table: str = "") -> Shape | None:
        """The columns of * or t.*; None: they are not known."""
        names = [name for name in self.sources if not table or name == table.lower()]
        shapes = [self.sources[name] for name in names]
        if not shapes or None in shapes or not self.older.isdisjoint(names) or (self.is_joined and not table):
            return None
        return tuple(each for shape in shapes for each in shape or ())


def with_names(shape: Shape | None, names: Sequence[str]) -> Shape | None:
    """Of t (a, b)."""
    if shape is None or not names:
        return shape
    return tuple((name, type_) for name, (_, type_) in zip(names, shape, strict=False))


Tables = Mapping[str, Shape | None]  # those of WITH
