import json
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from syncmgr.sources.mysql.values.json_text import decimal_text, text
from syncmgr.sources.mysql.wire import MalformedEventError


@given(st.binary(max_size=200))
def test_broken_documents_are_typed_errors(data: bytes) -> None:
    """Any bytes give JSON or MalformedEventError."""
    try:
        shown = text(data)
    except MalformedEventError:
        return
    json.loads(shown)


def test_an_empty_document_is_null() -> None:
    """MySQL stores nothing for the literal null in some places."""
    assert text(b"") == "null"


@given(st.integers(1, 65), st.data())
def test_decimals_of_every_width(precision: int, data: st.DataObject) -> None:
    """MySQL's binary form of a decimal, written here by its definition, comes back as MySQL prints it."""
    scale = data.draw(st.integers(0, min(precision, 30)))
    unscaled = data.draw(st.integers(-(10**precision) + 1, 10**precision - 1))
    digits = tuple(map(int, str(abs(unscaled))))
    wanted = Decimal((int(unscaled < 0), digits, -scale))
    assert Decimal(decimal_text(encoded(unscaled, precision, scale), precision, scale)) == wanted


def encoded(unscaled: int, precision: int, scale: int) -> bytes:
    digits = str(abs(unscaled)).zfill(precision)
    whole, fraction = digits[: precision - scale], digits[precision - scale :]
    sizes = (0, 1, 1, 2, 2, 3, 3, 4, 4, 4)
    head = len(whole) % 9
    groups = [whole[:head], *(whole[at : at + 9] for at in range(head, len(whole), 9))]
    groups += [fraction[at : at + 9] for at in range(0, len(fraction), 9)]
    raw = bytearray(b"".join(int(group).to_bytes(sizes[len(group)], "big") for group in groups if group))
    if unscaled < 0:
        raw = bytearray(byte ^ 0xFF for byte in raw)
    raw[0] ^= 0x80
    return bytes(raw)
