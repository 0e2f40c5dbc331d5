"""How a column is selected, so that its value is the one that the binlog gives.

Owns: the expression for each MySQL type.
Must not know: connections, how a row is read.
"""

from typing import Final

from syncmgr.job.types.schema import BYTES, GEOMETRY, IDENTIFIERS, INTEGER_BITS, MAX_DECIMAL_DIGITS, TEXT, SourceColumn

AS_TEXT: Final = frozenset({"time", "enum", "set"}) | IDENTIFIERS.keys()
AS_IT_IS: Final = frozenset({"date", "datetime", "timestamp", "json", *INTEGER_BITS, *TEXT, *BYTES, *GEOMETRY})


LIKE_ANOTHER: Final = "\ufffd"  # begins what stands for a text that is refused in a key
_REPLACEMENT: Final = LIKE_ANOTHER.encode().hex().upper()


def selected(column: SourceColumn, *, exactly: bool = False) -> str:
    """Over the column, in MySQL's words. `exactly`: a text in a key, LIKE_ANOTHER and its bytes if it does not convert
    back from Unicode. Raises KeyError for an unknown type word.

    A product keeps the sign of zero, and is a double, which comes in binary: a float is printed with only six digits.
    """
    name = quoted(column.name)
    if exactly:
        return _exactly(column)
    match column.type:
        case "float" | "double":
            return f"{name} * 1e0"
        case "decimal" if column.precision <= MAX_DECIMAL_DIGITS:
            return name
        case "decimal":  # the inner cast takes the zeros of ZEROFILL away, which the binlog does not have
            return f"CAST(CAST({name} AS DECIMAL({column.precision},{column.scale})) AS CHAR)"
        case word if word in AS_TEXT:
            return f"CAST({name} AS CHAR)"
        case "year" | "bit":
            return f"CAST({name} AS UNSIGNED)"
        case word if word in AS_IT_IS:
            return name
        case word:
            raise KeyError(word)


def _exactly(column: SourceColumn) -> str:
    name = quoted(column.name)
    text = f"CONVERT({name} USING utf8mb4)"
    back = f"HEX({name}) = HEX(CONVERT({text} USING {column.charset})) AND HEX({text}) NOT LIKE '%{_REPLACEMENT}%'"
    shown = f"CONVERT(CONCAT(x'{_REPLACEMENT}', 'the bytes ', LOWER(HEX({name}))) USING utf8mb4)"
    return f"IF({name} IS NULL OR ({back}), {text}, {shown})"


def quoted(name: str) -> str:
    """A column name in MySQL's words."""
    return "`" + name.replace("`", "``") + "`"
