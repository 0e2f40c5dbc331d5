"""Which values a target does not hold: Spark's judgement of a snapshot's rows is that of the changes behind it."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from syncmgr.job.types.fitting import Fit, beyond, beyond_sql, fit
from syncmgr.job.types.schema import arrow_type
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


def test_spark_judges_as_the_stream_does(lake: Lake, tmp_path: Path) -> None:
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
