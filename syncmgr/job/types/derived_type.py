"""The target type that a MySQL column gets if none is given, and the one that takes a wider column in place.

Owns: the smallest type that holds the whole range; which types grow into which without rewriting a row.
Must not know: statements, tables.
"""

from collections.abc import Callable, Mapping
from typing import Final

from syncmgr.job.types.column_range import fits
from syncmgr.job.types.schema import BYTES, GEOMETRY, IDENTIFIERS, MAX_DECIMAL_DIGITS, TEXT, SourceColumn, TargetType
from syncmgr.job.types.target import stored

_MAX_VARCHAR: Final = 65_533
_WHOLE: Final = tuple(TargetType(name=name) for name in ("TINYINT", "SMALLINT", "INT", "BIGINT", "LARGEINT"))


def derived(column: SourceColumn) -> TargetType | None:
    """None if its type is unknown."""
    rule = _RULES.get(column.type)
    found = None if rule is None else rule(column)
    return None if found is None or fits(column, found) else found


def _whole(column: SourceColumn) -> TargetType | None:
    return next((kind for kind in _WHOLE if not fits(column, kind)), None)


def _decimal(column: SourceColumn) -> TargetType:
    if column.precision > MAX_DECIMAL_DIGITS:
        return TargetType(name="STRING")
    return TargetType(name="DECIMAL", args=(column.precision, column.scale))


def _characters(column: SourceColumn) -> TargetType:
    if column.type in {"char", "varchar"} and 0 < column.length <= _MAX_VARCHAR:
        return TargetType(name="VARCHAR", args=(column.length,))
    return TargetType(name="STRING")


def _named(name: str) -> Callable[[SourceColumn], TargetType]:
    return lambda _: TargetType(name=name)


_RULES: Final[Mapping[str, Callable[[SourceColumn], TargetType | None]]] = {
    **dict.fromkeys(("tinyint", "smallint", "mediumint", "int", "bigint", "year", "bit"), _whole),
    **dict.fromkeys(TEXT, _characters),
    **dict.fromkeys(BYTES | GEOMETRY, _named("BINARY")),
    **dict.fromkeys(("time", "enum", "set", *IDENTIFIERS), _named("STRING")),
    "float": _named("FLOAT"),
    "double": _named("DOUBLE"),
    "decimal": _decimal,
    "date": _named("DATE"),
    "datetime": _named("DATETIME"),
    "timestamp": _named("TIMESTAMP"),
    "json": _named("JSON"),
}


def widened(present: TargetType, column: SourceColumn) -> TargetType | None:
    """The type that a target column becomes to hold `column`, without rewriting a row; None: there is none."""
    for wanted in _candidates(present, column):
        if _grows(stored(present), stored(wanted)) and not fits(column, wanted):
            return wanted
    return None


def widens(old: TargetType, new: TargetType) -> bool:
    """Whether files that hold the old type are read as the new one, which has all of its values."""
    if not _grows(stored(old), stored(new)):
        return False
    if old in _WHOLE and new in _WHOLE:
        return _WHOLE.index(old) <= _WHOLE.index(new)
    if old.name != new.name and (old.name, new.name) not in _NAMED_ANEW:
        return (old.name, new.name) == ("FLOAT", "DOUBLE")
    return old.name == "DECIMAL" or not new.args or (bool(old.args) and old.args <= new.args)


_NAMED_ANEW: Final = {("CHAR", "VARCHAR"), ("CHAR", "STRING"), ("VARCHAR", "STRING"), ("JSON", "STRING")}


def _candidates(present: TargetType, column: SourceColumn) -> list[TargetType]:
    own = derived(column)
    grown = [own] if own is not None else []
    if present.name in {"CHAR", "VARCHAR"}:
        grown.append(TargetType(name="STRING"))
    if present.name == "BINARY":
        grown.append(TargetType(name="BINARY"))
    if present.name in {"TINYINT", "SMALLINT", "INT"}:
        grown += _WHOLE[1:4]
    if present.name == "DECIMAL" and column.type == "decimal":
        whole = column.precision - column.scale
        precision = max(present.args[0], whole + present.args[1])
        grown += [TargetType(name="DECIMAL", args=(precision, present.args[1]))] * (precision <= MAX_DECIMAL_DIGITS)
    return grown


def _grows(old: TargetType, new: TargetType) -> bool:
    """Files that hold the old type are read as the new one."""
    if old == new or (old.name, new.name) in {("INT", "BIGINT"), ("FLOAT", "DOUBLE")}:
        return True
    if (old.name, new.name) != ("DECIMAL", "DECIMAL"):
        return False
    (precision, scale), (wider, same) = old.args, new.args
    return wider >= precision and same == scale
