import socket

import pytest

from syncmgr.fe.doors import is_loopback, own_names, speaks_tls


def test_own_names() -> None:
    """The machine's, and those of http_hosts in any case; no empty one."""
    assert own_names("") == {socket.gethostname().lower()}
    assert own_names(" FE-1, ,fe.example ") == {socket.gethostname().lower(), "fe-1", "fe.example"}


@pytest.mark.parametrize(
    ("hosts", "expected"),
    [(("127.0.0.1", "::1"), True), (("127.9.9.9",), True), (("0.0.0.0",), False), (("::",), False)],
)
def test_what_is_beyond_loopback_speaks_tls(hosts: tuple[str, ...], expected: bool) -> None:  # noqa: FBT001
    """Whatever can be reached from another machine."""
    assert is_loopback(hosts) is expected


@pytest.mark.parametrize(
    ("wanted", "host", "expected"),
    [("AUTO", "127.0.0.1", False), ("AUTO", "0.0.0.0", True), ("ON", "127.0.0.1", True), ("OFF", "0.0.0.0", False)],
)
def test_who_chooses_tls(wanted: str, host: str, expected: bool) -> None:  # noqa: FBT001
    """The operator, and otherwise the address."""
    assert speaks_tls(wanted, (host,)) is expected
