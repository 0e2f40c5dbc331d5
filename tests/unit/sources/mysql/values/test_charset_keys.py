"""Texts of a key: no two of them look alike in Unicode."""

from collections.abc import Iterator
from itertools import product
from typing import Final

import numpy as np
import pyarrow as pa
import pytest

from syncmgr.job.types.cells import UnholdableError
from syncmgr.job.types.charset import MAX_BYTES, ONE_TO_ONE
from syncmgr.job.types.schema import SourceColumn
from syncmgr.sources.mysql import wire
from syncmgr.sources.mysql.values import charsets
from syncmgr.sources.mysql.values.cells import PADDING, Cells
from syncmgr.sources.mysql.values.table_map import Field
from syncmgr.sources.mysql.values.values import convert
from tests.support.slow import some_slow


def codes(length: int) -> Iterator[bytes]:
    """All of a charset whose characters have at most so many bytes."""
    yield from (bytes([byte]) for byte in range(256))
    if length == 1:
        return
    yield from (bytes(pair) for pair in product(range(0x80, 256), range(0x30, 256)))
    yield from (b"\x8f" + bytes(pair) for pair in product(range(0xA1, 255), repeat=2))


IN_EVERY_RUN: Final = (
    "armscii8",
    "big5",
    "cp932",
    "gbk",
    "latin1",
    "sjis",
    "tis620",
    "ujis",
    "utf8mb4",
)  # the hard ones


@pytest.mark.parametrize("charset", some_slow(sorted(set(MAX_BYTES) - {"binary"}), always=IN_EVERY_RUN))
def test_no_two_codes_of_a_key_are_one_text(charset: str) -> None:
    """Each is refused, or a text of its own, which is no substitute; where all are texts, none is refused."""
    every = list(codes(MAX_BYTES[charset]))
    exact = [code for code in every if charsets.is_text(charset, code, exact=True)]
    texts = charsets.decode(charset, pa.array(exact, pa.binary()), exact=True).to_pylist()
    assert len(set(texts)) == len(texts)
    assert charset in ONE_TO_ONE or not any(charsets.NO_CHARACTER in text for text in texts)
    if charset in ONE_TO_ONE:
        assert not [code.hex() for code in set(every) - set(exact) if charsets.is_text(charset, code)]


def told(charset: str, value: bytes, *, exact: bool) -> list[str]:
    """A cell of a column, as the binlog has it."""
    data = np.frombuffer(value + bytes(PADDING), np.uint8)
    cells = Cells(data=data, start=np.array([0]), size=np.array([len(value)]), valid=None, exact=exact)
    column = SourceColumn(name="id", type="varchar", length=9, charset=charset)
    found: list[str] = convert(column, Field(code=wire.VARCHAR, meta=36), cells).to_pylist()
    return found


@pytest.mark.parametrize(
    ("charset", "value", "taken"),
    [
        ("cp932", "9a86fbfc8bb4", True),
        ("cp932", "9a86eee08bb4", False),
        ("sjis", "815f", True),
        ("sjis", "415c", False),
        ("ujis", "415c", True),
        ("ujis", "a1c0", False),
        ("eucjpms", "8ff3fd", False),
        ("big5", "a15a", False),
        ("big5", "41", True),
        ("armscii8", "29", True),
        ("armscii8", "a4", False),
        ("tis620", "db", False),
    ],
)
def test_a_code_that_does_not_come_back_is_refused_in_a_key_alone(charset: str, value: str, *, taken: bool) -> None:
    """It is a text beside one; the message tells its bytes and what to do."""
    beside = told(charset, bytes.fromhex(value), exact=False)
    if taken:
        assert told(charset, bytes.fromhex(value), exact=True) == beside
        return
    with pytest.raises(UnholdableError) as caught:
        told(charset, bytes.fromhex(value), exact=True)
    assert caught.value.shown == f"the bytes {value}"
    assert caught.value.reason == (
        f"in {charset} these bytes are no character, or the one of other bytes, so that two keys would look alike; "
        "ALTER TABLE ... CONVERT TO CHARACTER SET utf8mb4, then RESYNC TABLE"
    )
