"""A cast of a source's values that never rounds: what a column of the lake cannot hold is refused.

Owns: which casts of Spark lose something without an error, and the SQL that finds each value of which they would.
Must not know: tables, where values come from, what follows a refusal.
"""

import re
from typing import Final

from syncmgr.job.channel.description import literal

INTEGERS: Final = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}
EXACT_BITS: Final = {"FLOAT": 24, "DOUBLE": 53}
WIDE: Final = "DECIMAL(38,0)"  # a BIGINT that comes back from a DOUBLE may be another one that looks right
SAME: Final = frozenset({("FLOAT", "DOUBLE"), ("DATE", "TIMESTAMP_NTZ"), ("TIMESTAMP", "TIMESTAMP_NTZ")})
UNHELD: Final = re.compile(r"syncmgr: (?P<value>\S+) does not fit (?P<column>.+?)(?: SQLSTATE|\n|$)")


def exact_cast(value: str, source: str, wanted: str, column: str) -> str | None:
    """SQL of `value`, of Spark's type `source`, as the type `wanted`; None: that holds nothing of it. A value that it
    does not hold is an error, which UNHELD finds; one that is out of its range is one of Spark.
    """
    back = _compared(source, wanted)
    if back is None:
        return None
    cast = f"CAST({value} AS {wanted})"
    if not back:
        return cast
    error = f"raise_error(concat('syncmgr: ', CAST({value} AS STRING), {literal(f' does not fit {column}')}))"
    return f"IF({value} <=> try_cast({cast} AS {back}), {cast}, {error})"


def _compared(source: str, wanted: str) -> str | None:
    """The type that a value, once it is cast, is cast back to, to be compared; "": the cast loses nothing. None: the
    values of one type are none of the other.
    """
    one, two = _scale(source), _scale(wanted)
    if source == wanted or (source, wanted) in SAME or (wanted == "STRING" and source != "BINARY"):
        return ""
    if one is None:
        return source if (source, wanted) == ("DOUBLE", "FLOAT") else None
    if two is not None:
        return source if one > two else ""
    if one or wanted not in {"BOOLEAN", *EXACT_BITS}:
        return None
    if wanted == "BOOLEAN":
        return source
    return "" if INTEGERS.get(source, 64) <= EXACT_BITS[wanted] else WIDE


def _scale(kind: str) -> int | None:
    """Digits after the point; None: no number that is exact."""
    found = re.fullmatch(r"DECIMAL\(\d+, ?(\d+)\)", kind)
    return int(found[1]) if found else 0 if kind in INTEGERS else None
