from typing import Any, cast

from syncmgr.lake.spark.queries.queries import Queries
from syncmgr.lake.spark.session import READY


def test_what_a_query_waits_for() -> None:
    """First for the lake, whose own words say how far it is; then for the engine, if that is starting."""
    state = ["fetching iceberg-spark-runtime (40 of 60 MB)"]
    place = cast("Any", None)
    queries = Queries(place, lambda: None, lambda: state[0], memory=1, spill=1, wait_second=1.0)
    assert queries.state == queries.lake_state == f"Waiting for the lake: {state[0]}"
    state[0] = READY
    assert (queries.state, queries.lake_state) == ("executing", "")
    with queries._starting:
        assert queries.state == "Waiting for the query engine, which is starting"
