"""A REST catalog that gives the credentials of the store with each table: the frontend has none of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.lake.remote.life_of_tables import live_through_all
from tests.support.lakes import VENDED, RestLake, missing_for_rest, rest_lake
from tests.support.servers.object_store import BUCKET
from tests.support.spark_session import SPARK, another_lake

pytestmark = [*SPARK, pytest.mark.long]


@pytest.fixture(params=[None, f"s3://{BUCKET}/"], ids=["in the settings of a table", "by prefix"])
def vending(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RestLake]:
    missing = missing_for_rest()
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")
    with rest_lake(tmp_path, troubled=True, vends=True) as rest:
        rest.proxy.prefix = request.param
        yield rest


def test_everything_is_done_with_what_the_catalog_vends(vending: RestLake, tmp_path: Path) -> None:
    """Commits with index and vectors, expressions, compaction, expiry, queries and DROP: each request to the store is
    signed with the vended key, or is one of the catalog's own.
    """
    with another_lake(tmp_path / "lake", vending.options) as lake:
        live_through_all(lake, tmp_path)
    assert vending.way is not None
    assert vending.way.signers == {VENDED, "somebody"}
