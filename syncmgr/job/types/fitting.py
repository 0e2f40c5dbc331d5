"""Which values of a source column a target column holds: all of them, those that pass a check, or none.

Owns: the table of every MySQL type against every target type, and the check of single values.
Must not know: where values come from, what happens to one that does not fit.
"""

from collections.abc import Callable, Mapping
from decimal import Decimal
from enum import StrEnum
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from syncmgr.job.types.cells import Bools
from syncmgr.job.types.column_range import BYTE_LABELS, EXACT_BITS, SECOND_DIGITS, TARGET_BITS, fits
from syncmgr.job.types.schema import (
    BYTES,
    GEOMETRY,
    IDENTIFIERS,
    INTEGER_BITS,
    MAX_DECIMAL_DIGITS,
    TEXT,
    SourceColumn,
    TargetType,
)

LARGEINT_DIGITS: Final = 38
_INTEGERS: Final = frozenset({"TINYINT", "SMALLINT", "INT", "BIGINT"})
_EXACT: Final = _INTEGERS | {"LARGEINT", "DECIMAL"}
_SHORT: Final = frozenset({"CHAR", "VARCHAR"})


class Fit(StrEnum):
    """How far a target type goes."""

    WHOLE = "WHOLE"  # every value fits
    CHECKED = "CHECKED"  # some may not, each is checked
    NEVER = "NEVER"  # no value fits


def fit(source: SourceColumn, target: TargetType) -> tuple[Fit, str]:
    """How many of the values fit; if not all, why."""
    reason = fits(source, target)
    if reason is None:
        return Fit.WHOLE, ""
    return (Fit.CHECKED if reason != BYTE_LABELS and target.name in _checkable(source) else Fit.NEVER), reason


def _checkable(source: SourceColumn) -> frozenset[str]:  # noqa: PLR0911 - one row per kind of type
    """The target types that hold only some values of a column, where a check shows which."""
    match source.type:
        case word if word in INTEGER_BITS or word in {"year", "bit"}:
            return _EXACT | _SHORT | {"BOOLEAN", "FLOAT", "DOUBLE"}
        case "decimal" if source.precision > MAX_DECIMAL_DIGITS:
            return _SHORT
        case "decimal":
            return _EXACT | _SHORT | (frozenset() if source.scale else {"FLOAT", "DOUBLE"})
        case "double":
            return frozenset({"FLOAT"})
        case "datetime":
            return frozenset({"DATETIME"})
        case "timestamp":
            return frozenset({"DATETIME", "TIMESTAMP"})
        case word if word in TEXT or word in {"time", "enum", "set", *IDENTIFIERS}:
            return _SHORT
        case word if word in BYTES or word in GEOMETRY:
            return frozenset({"BINARY"})
        case _:
            return frozenset()


def beyond(values: pa.Array, target: TargetType) -> Bools:
    """Which values of a CHECKED column the target does not hold exactly; a NULL is held."""
    made = _CHECKS[_kind(values.type)](values, target)
    return made & values.is_valid().to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]


def _kind(kind: pa.DataType) -> str:
    if pa.types.is_integer(kind):
        return "integer"
    return "decimal" if pa.types.is_decimal(kind) else "timestamp" if pa.types.is_timestamp(kind) else str(kind)


def _numbers(values: pa.Array) -> NDArray[Any]:
    return values.fill_null(0).to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]


def _integers(values: pa.Array, target: TargetType) -> Bools:
    low, high = _range(target)
    numbers = _numbers(values)
    bad: Bools = (numbers < low) | (numbers > high)
    return bad


def _range(target: TargetType) -> tuple[int, int]:
    """The whole numbers that a target holds, every one of them."""
    match target.name:
        case "BOOLEAN":
            return 0, 1
        case name if name in TARGET_BITS:
            return -(2 ** (TARGET_BITS[name] - 1)), 2 ** (TARGET_BITS[name] - 1) - 1
        case "FLOAT" | "DOUBLE" as name:
            return -(2 ** EXACT_BITS[name]), 2 ** EXACT_BITS[name]
        case "CHAR" | "VARCHAR":
            room = _room(target)
            return -(10 ** (room - 1)) + 1, 10**room - 1
        case "DECIMAL":
            highest = 10 ** (target.args[0] - target.args[1]) - 1
            return -highest, highest
        case _:
            return -(10**LARGEINT_DIGITS) + 1, 10**LARGEINT_DIGITS - 1


def _decimals(values: pa.Array, target: TargetType) -> Bools:
    return np.array([not _holds(value, target) for value in values.to_pylist()], np.bool_)


def _holds(value: Decimal | None, target: TargetType) -> bool:
    if value is None:
        return True
    if target.name in _SHORT:
        return len(f"{value:f}") <= _room(target)
    scale = target.args[1] if target.name == "DECIMAL" else 0
    digits = value.as_tuple()
    exponent = int(digits.exponent)
    lost = digits.digits[exponent + scale :] if exponent < -scale else ()
    low, high = _range(target)
    return not any(lost) and low <= int(value) <= high


def _texts(values: pa.Array, target: TargetType) -> Bools:
    longer = pc.greater(pc.utf8_length(values), _room(target))
    return longer.fill_null(False).to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]


def _room(target: TargetType) -> int:
    """Characters of CHAR and VARCHAR."""
    return target.args[0] if target.args else 1


def _doubles(values: pa.Array, _target: TargetType) -> Bools:
    numbers = _numbers(values)
    with np.errstate(over="ignore"):
        bad: Bools = numbers.astype(np.float32).astype(np.float64) != numbers
    return bad


def _moments(values: pa.Array, target: TargetType) -> Bools:
    micros = _numbers(values.cast(pa.int64()))
    bad: Bools = micros % 10 ** (SECOND_DIGITS - target.args[0]) != 0
    return bad


def _bytes(values: pa.Array, target: TargetType) -> Bools:
    longer = pc.greater(pc.binary_length(values), target.args[0])
    return longer.fill_null(False).to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]


_CHECKS: Final[Mapping[str, Callable[[pa.Array, TargetType], Bools]]] = {
    "integer": _integers,
    "decimal": _decimals,
    "string": _texts,
    "double": _doubles,
    "timestamp": _moments,
    "binary": _bytes,
}


def are_checked(before: SourceColumn, now: SourceColumn, target: TargetType) -> bool:
    """Whether the target was narrower before a statement, as it is after it."""
    return all(fit(column, target)[0] is Fit.CHECKED for column in (before, now))
