"""The text of MariaDB's identifiers, in the server's own words."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncmgr.job.types.identifier import is_unclear, text


@pytest.mark.parametrize(
    ("groups", "shown"),
    [
        ("0:0:0:0:0:0:0:0", "::"),
        ("0:0:0:0:0:0:0:1", "::1"),
        ("0:a923:0:93a2:0:f876:0:9cfe", "::a923:0:93a2:0:f876:0:9cfe"),
        ("1:0:2:0:0:3:0:0", "1:0:2::3:0:0"),
        ("1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8"),
        ("1:2:3:4:5:6:7:0", "1:2:3:4:5:6:7::"),
        ("0:0:0:0:0:ffff:a01:203", "::ffff:10.1.2.3"),
        ("0:0:0:0:0:0:a01:203", "::10.1.2.3"),
        ("0:0:0:0:ffff:0:a01:203", "::ffff:0:a01:203"),
    ],
)
def test_inet6(groups: str, shown: str) -> None:
    """As MariaDB prints it, which leaves out even a single zero."""
    assert text("inet6", ipaddress.IPv6Address(groups).packed) == shown


@given(st.binary(min_size=16, max_size=16))
def test_an_inet6_reads_back(value: bytes) -> None:
    """Whatever is left out of the text, it means the same address."""
    assert ipaddress.IPv6Address(text("inet6", value)).packed == value


def test_the_others() -> None:
    """Plain bytes in order; a UUID whose groups may stand from behind is not told."""
    assert text("inet4", bytes([10, 1, 0, 255])) == "10.1.0.255"
    uuid = bytes.fromhex("123e4567e89b12d3a456426655440000")
    assert text("uuid", uuid) == "123e4567-e89b-12d3-a456-426655440000"
    assert not is_unclear("uuid", uuid)
    assert is_unclear("uuid", bytes.fromhex("426655440000a45612d3e89b123e4567"))
