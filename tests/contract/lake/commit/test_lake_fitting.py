"""Which values a target does not hold: Spark, which computes it in its own way, finds the same."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from syncmgr.job.types.column_range import SECOND_DIGITS
from syncmgr.job.types.fitting import _SHORT, Fit, _range, _room, beyond, fit
from syncmgr.job.types.schema import (
    BYTES,
    GEOMETRY,
    INTEGER_BITS,
    MAX_DECIMAL_DIGITS,
    SourceColumn,
    TargetType,
    arrow_type,
)
from syncmgr.job.types.target import parse_type
from syncmgr.lake.lake import Lake
from syncmgr.lake.spark.segment import spark_type
from tests.support.spark_session import SPARK
from tests.unit.job.types.test_fitting import CASES, column

pytestmark = SPARK
WIDE = Decimal("1234567890123456789.12345678901234567890")
MORE: list[tuple[Any, str, list[Any]]] = [
    (
        column("decimal", precision=12, scale=2),
        "DECIMAL(4,2)",
        [Decimal("99.99"), Decimal("-99.99"), Decimal("100.00")],
    ),
    (
        column("decimal", precision=12, scale=3),
        "DECIMAL(4,2)",
        [Decimal("99.990"), Decimal("99.995"), Decimal("-0.001")],
    ),
    (column("decimal", precision=12, scale=2), "DECIMAL(3,3)", [Decimal("0.99"), Decimal("1.00"), Decimal("-0.99")]),
    (column("decimal", precision=38, scale=10), "LARGEINT", [Decimal("1.5000000000"), Decimal("1.0000000000")]),
    (column("decimal", precision=38, scale=20), "BIGINT", [WIDE % 10**17, Decimal(2**53), Decimal(-1)]),
    (column("decimal", precision=38, scale=0), "BIGINT", [Decimal(2**63), Decimal(2**63 - 1), Decimal(-(2**63))]),
    (column("decimal", precision=20, scale=8), "VARCHAR(10)", [Decimal("0.00000001"), Decimal("10.00000001")]),
    (column("bigint", unsigned=True), "DECIMAL(19,0)", [2**64 - 1, 10**19 - 1, 10**19]),
    (column("int", unsigned=True), "BOOLEAN", [0, 1, 2**32 - 1]),
    (column("tinyint", unsigned=True), "TINYINT", [127, 128, 255]),
]


def beyond_sql(value: str, source: SourceColumn, target: TargetType) -> str:
    """What `beyond` finds, in Spark's words, of an expression in the type of a segment's column; NULL of NULL."""
    match source.type:
        case word if word in INTEGER_BITS or word in {"year", "bit"}:
            low, high = _range(target)
            return f"{value} NOT BETWEEN {low} AND {high}"
        case "decimal" if source.precision <= MAX_DECIMAL_DIGITS and target.name not in _SHORT:
            return _decimal_sql(value, source, target)
        case "decimal" if source.precision <= MAX_DECIMAL_DIGITS:
            return f"char_length(CAST({value} AS STRING)) > {_room(target)}"
        case "double":
            return f"CAST(CAST({value} AS FLOAT) AS DOUBLE) <> {value}"
        case "datetime" | "timestamp":
            return f"unix_micros(CAST({value} AS TIMESTAMP)) % {10 ** (SECOND_DIGITS - target.args[0])} <> 0"
        case word if word in BYTES or word in GEOMETRY:
            return f"octet_length({value}) > {target.args[0]}"
        case _:
            return f"char_length({value}) > {_room(target)}"


def _decimal_sql(value: str, source: SourceColumn, target: TargetType) -> str:
    """No limit beyond the reach of the source: Spark could not compare it with such a value."""
    scale = target.args[1] if target.name == "DECIMAL" else 0
    low, high = _range(target)
    conditions = []
    if high < 10 ** (source.precision - source.scale) - 1:
        fraction = f".{'9' * min(scale, source.scale)}" if min(scale, source.scale) else ""
        lowest = f"-{high}{fraction}" if fraction else low
        conditions.append(f"{value} NOT BETWEEN {lowest} AND {high}{fraction}")
    if scale < source.scale:
        conditions.append(f"round({value}, {scale}) <> {value}")
    return " OR ".join(conditions)


def test_spark_judges_as_we_do(lake: Lake, tmp_path: Path) -> None:
    """Every pair of types of which some values fit, the same values: the same ones do not, and NULL is none of them."""
    cases = [(source, parse_type(word), values) for source, word, values, *_ in (*CASES, *MORE)]
    most = max(len(values) for _, _, values in cases)
    columns = {
        f"c{n}": pa.array([*values, *[None] * (most - len(values))], arrow_type(source))
        for n, (source, _, values) in enumerate(cases)
    }
    path = tmp_path / "values.parquet"
    pq.write_table(pa.table({"row": range(most), **columns}), path)
    kinds = ", ".join(f"{name} {spark_type(values.type)}" for name, values in columns.items())
    rows = lake.upkeep_session().read.schema(f"row BIGINT, {kinds}").parquet(str(path))
    judged = [f"coalesce({beyond_sql(f'c{n}', source, target)}, FALSE)" for n, (source, target, _) in enumerate(cases)]
    told = np.array([tuple(row) for row in rows.orderBy("row").selectExpr(*judged).collect()])
    for number, (source, target, _) in enumerate(cases):
        assert fit(source, target)[0] is Fit.CHECKED, (source, target)
        wanted = beyond(columns[f"c{number}"], target).tolist()
        assert told[:, number].tolist() == wanted, (source.type, target.text, columns[f"c{number}"].to_pylist())
