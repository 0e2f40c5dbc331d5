"""How fast a table `t` reads as it is, against the same table freshly rewritten."""

import time
from collections.abc import Mapping
from pathlib import Path
from statistics import median

from syncmgr.spark.lake import Lake
from syncmgr.spark.upkeep import compact
from tests.spark_session import running_lake

REPEATS = 5


def timed(lake: Lake, db: str, queries: Mapping[str, str]) -> dict[str, float]:
    """Median seconds of each query, the first run left out."""
    found = {}
    for what, sql in queries.items():
        took = []
        for number in range(REPEATS + 1):
            started = time.monotonic()
            list(lake.query(sql, db, f"{what}{number}").batches())
            took.append(time.monotonic() - started)
        found[what] = median(took[1:])
    return found


def compare(folder: Path, db: str, queries: Mapping[str, str]) -> None:
    """`folder`: of a stopped frontend, with its lake."""
    for lake in running_lake(folder):
        timed(lake, db, queries)  # a JVM that has compiled nothing yet
        before = timed(lake, db, queries)
        compact(lake.upkeep_session(), db, "t", {"rewrite-all": "true"})
        after = timed(lake, db, queries)
        for what, seconds in before.items():
            print(f"{what}: {seconds:.3f} s, rewritten {after[what]:.3f} s, ratio {seconds / after[what]:.2f}")
