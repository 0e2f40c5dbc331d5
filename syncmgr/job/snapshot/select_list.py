"""How a column is selected, so that its value is the one that the binlog gives.

Owns: the expression for each MySQL type, and the type in which its result travels.
Must not know: connections, how a row is read.
"""

from dataclasses import dataclass
from typing import Final

from syncmgr.job.types.schema import BYTES, GEOMETRY, IDENTIFIERS, INTEGER_BITS, MAX_DECIMAL_DIGITS, TEXT, SourceColumn

AS_TEXT: Final = frozenset({"date", "datetime", "timestamp", "time", "char", "enum", "set"})


LIKE_ANOTHER: Final = "\ufffd"  # begins what stands for a text that is refused in a key
_REPLACEMENT: Final = LIKE_ANOTHER.encode().hex().upper()


@dataclass(frozen=True, kw_only=True, slots=True)
class Selected:
    """`sql`: over the column, in MySQL's words. `wire`: Spark's type of the result, from which a cast leads to the
    column's own without loss, and fails whenever the binlog's decoder would.
    """

    sql: str
    wire: str


def selected(column: SourceColumn) -> Selected:  # noqa: PLR0911 - one row per kind of type
    """Raises KeyError for an unknown type word.

    Dates travel as text: a driver would shift them by a zone or a calendar, and cannot represent an invalid one. A
    float is printed with only six digits, unless it is a double; a product keeps the sign of zero. Spark would pad
    anything of type CHAR, which labels are, too.
    """
    name = quoted(column.name)
    match column.type:
        case "float" | "double":
            return Selected(sql=f"{name} * 1e0", wire="DOUBLE")
        case "decimal" if column.precision <= MAX_DECIMAL_DIGITS:
            return Selected(sql=name, wire=f"DECIMAL({column.precision},{column.scale})")
        case "decimal":  # the inner cast takes the zeros of ZEROFILL away, which the binlog does not have
            number = f"CAST({name} AS DECIMAL({column.precision},{column.scale}))"
            return Selected(sql=f"CAST({number} AS CHAR)", wire="STRING")
        case word if word in AS_TEXT or word in IDENTIFIERS:
            return Selected(sql=f"CAST({name} AS CHAR)", wire="STRING")
        case "year":
            return Selected(sql=f"CAST({name} AS UNSIGNED)", wire="INT")
        case "bit":
            return Selected(sql=f"CAST({name} AS UNSIGNED)", wire="DECIMAL(20,0)")
        case word if word in INTEGER_BITS:
            return Selected(sql=name, wire=_integer(column))
        case word if word in TEXT or word == "json":
            return Selected(sql=name, wire="STRING")
        case word if word in BYTES or word in GEOMETRY:
            return Selected(sql=name, wire="BINARY")
        case word:
            raise KeyError(word)


def selected_exactly(column: SourceColumn) -> Selected:
    """A text in a key; LIKE_ANOTHER and its bytes if it does not convert back from Unicode."""
    name = quoted(column.name)
    text = f"CONVERT({name} USING utf8mb4)"
    back = f"HEX({name}) = HEX(CONVERT({text} USING {column.charset})) AND HEX({text}) NOT LIKE '%{_REPLACEMENT}%'"
    shown = f"CONVERT(CONCAT(x'{_REPLACEMENT}', 'the bytes ', LOWER(HEX({name}))) USING utf8mb4)"
    return Selected(sql=f"IF({name} IS NULL OR ({back}), {text}, {shown})", wire="STRING")


def _integer(column: SourceColumn) -> str:
    match column.type:
        case "bigint":
            return "DECIMAL(20,0)" if column.unsigned else "BIGINT"
        case "int":
            return "BIGINT" if column.unsigned else "INT"
        case _:
            return "INT"


def quoted(name: str) -> str:
    """A column name in MySQL's words."""
    return "`" + name.replace("`", "``") + "`"
