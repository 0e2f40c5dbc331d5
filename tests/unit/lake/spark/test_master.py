"""The master of a cluster."""

import socket

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.lake.spark.master import addresses, at_own_address


def test_a_master_has_addresses() -> None:
    """One, or several of which one leads; none that is known for another kind of cluster."""
    assert addresses("spark://a:7077") == (("a", 7077),)
    assert addresses("spark://a:7077,[::1]:7078") == (("a", 7077), ("::1", 7078))
    assert addresses("yarn") == addresses("local[*]") == ()


def test_executors_get_the_address_by_which_the_master_is_reached() -> None:
    """What the operator has set stays; a master that is away is tried no longer if another one answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        there = f"127.0.0.1:{listener.getsockname()[1]}"
        conf = {"spark.master": f"spark://127.0.0.1:1,{there}"}
        assert at_own_address(conf)["spark.driver.host"] == "127.0.0.1"
        assert at_own_address({**conf, "spark.driver.host": "me"})["spark.driver.host"] == "me"
    assert at_own_address({"spark.master": "local[*]"}) == {"spark.master": "local[*]"}


def test_a_master_that_is_away_is_named() -> None:
    """Spark itself would say, after a minute, that its session is stopped."""
    with pytest.raises(SyncError, match=r"spark://127\.0\.0\.1:1 cannot be reached") as caught:
        at_own_address({"spark.master": "spark://127.0.0.1:1"})
    assert caught.value.code is Code.LAKE_FAILED
