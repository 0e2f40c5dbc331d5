import pytest

from syncmgr.web.allowed_hosts import may_call


@pytest.mark.parametrize(
    "header",
    ["localhost", "LocalHost:8030", "127.0.0.1:8030", "[::1]:8030", "::1", "10.1.2.3", "fe-1:8030", "fe-1.", "FE-1"],
)
def test_addresses_and_own_names_may(header: str) -> None:
    """In any case, with or without a port."""
    assert may_call(header, {"fe-1"})


@pytest.mark.parametrize("header", [None, "", "evil.example", "localhost.evil.example:80", "fe-1.evil", "1.2.3", "[x]"])
def test_other_names_may_not(header: str | None) -> None:
    """A page of another site could make them mean this machine."""
    assert not may_call(header, {"fe-1"})
