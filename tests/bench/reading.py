"""How fast a table `t` reads as it is, against a freshly rewritten copy of it."""

import time
from collections.abc import Mapping
from pathlib import Path
from statistics import median

from syncmgr.lake.spark.queries.queries import Queries
from syncmgr.lake.upkeep.upkeep import compact
from tests.support.spark_session import new_queries, running_lake

REPEATS = 5
WARM_UPS = 3  # a JVM that has compiled nothing yet


def timed(queries: Queries, db: str, sql: str) -> float:
    """Seconds of one query."""
    started = time.monotonic()
    list(queries.query(sql, db, "bench").batches())
    return time.monotonic() - started


def compare(folder: Path, db: str, texts: Mapping[str, str], options: Mapping[str, str] | None = None) -> None:
    """Medians of both in turns. `folder`: of a stopped frontend, with its lake; each query says `FROM t`;
    `options`: of Spark, for a lake elsewhere.
    """
    for lake in running_lake(folder, options):
        session, queries = lake.upkeep_session(), new_queries(lake)
        session.sql(f"CREATE TABLE lake.{db}.copy USING iceberg AS SELECT * FROM lake.{db}.t").collect()
        compact(session, db, "copy", {"rewrite-all": "true"})
        for what, sql in texts.items():
            took: dict[str, list[float]] = {"t": [], "copy": []}
            for _ in range(WARM_UPS + REPEATS):
                for table, seconds in took.items():
                    seconds.append(timed(queries, db, sql.replace("FROM t", f"FROM {table}")))
            mine, copy = (median(seconds[WARM_UPS:]) for seconds in took.values())
            print(f"{what}: {mine:.3f} s, a rewritten copy {copy:.3f} s, ratio {mine / copy:.2f}")
        queries.stop()
