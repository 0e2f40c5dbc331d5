import random
from typing import Final

import numpy as np
import pytest

from syncmgr.sources.mysql import wire
from syncmgr.sources.mysql.chunk.row_buffer import Rows
from syncmgr.sources.mysql.chunk.row_cells import row_cells
from syncmgr.sources.mysql.values.cells import PADDING
from syncmgr.sources.mysql.wire import MalformedEventError
from tests.unit.sources.mysql.chunk.encoding import Value, row

CODES: Final = (wire.LONG, wire.VAR_STRING, wire.TINY, wire.DATETIME, wire.BLOB, *[wire.LONGLONG] * 5, wire.NEWDECIMAL)


def rows_of(payloads: list[bytes]) -> Rows:
    ends = np.cumsum([len(payload) for payload in payloads])
    data = np.frombuffer(b"".join(payloads) + bytes(PADDING), np.uint8)
    return Rows(data, np.concatenate([[0], ends[:-1]]).astype(np.int64), ends.astype(np.int64))


def told(payloads: list[bytes], codes: tuple[int, ...]) -> list[tuple[Value, ...]]:
    """The cells as the encoder took them."""
    columns = []
    for code, cells in zip(codes, row_cells(rows_of(payloads), codes), strict=True):
        size = {wire.LONG: 4, wire.TINY: 1, wire.LONGLONG: 8}.get(code)
        sizes = [size] * len(cells) if cells.size is None else cells.size.tolist()
        found: list[Value] = [
            bytes(cells.data[at : at + each]) for at, each in zip(cells.start.tolist(), sizes, strict=True)
        ]
        if size is not None:
            found = [int.from_bytes(each, "little", signed=True) for each in found if isinstance(each, bytes)]
        valid = [True] * len(cells) if cells.valid is None else cells.valid.tolist()
        columns.append([each if good else None for each, good in zip(found, valid, strict=True)])
    return list(zip(*columns, strict=True))


def some(dice: random.Random, code: int) -> Value:
    match code:
        case wire.DATETIME:
            return dice.randbytes(dice.choice([0, 4, 7, 11]))
        case wire.TINY | wire.LONG | wire.LONGLONG:
            bits = {wire.TINY: 7, wire.LONG: 31, wire.LONGLONG: 63}[code]
            return dice.randint(-(2**bits), 2**bits - 1)
        case _:
            return dice.randbytes(dice.choice([0, 3, 250, 251, 300, 65535, 65536] if dice.random() < 0.1 else [5, 20]))


@pytest.mark.parametrize("nulls", [0.0, 0.3])
def test_cells_are_what_was_encoded(nulls: float) -> None:
    """Sizes of every width among them, NULLs anywhere."""
    dice = random.Random(nulls)
    values = [tuple(None if dice.random() < nulls else some(dice, code) for code in CODES) for _ in range(300)]
    assert told([row(CODES, each) for each in values], CODES) == values


def test_a_value_of_16_mib_is_one() -> None:
    """Its size takes eight bytes."""
    value = bytes(1 << 24)
    assert told([row((wire.BLOB,), (value,))], (wire.BLOB,)) == [(value,)]


def test_what_no_server_sends_is_malformed() -> None:
    """Whatever is wrong in a row, nothing else is raised, and no cell is beyond the packet."""
    dice = random.Random(1)
    values = [tuple(some(dice, code) for code in CODES) for _ in range(20)]
    good = [row(CODES, each) for each in values]
    refused = 0
    for _ in range(500):
        bad = [bytearray(each) for each in good]
        payload = dice.choice(bad)
        if dice.random() < 0.3:
            del payload[dice.randrange(1, len(payload)) :]
        else:
            payload[dice.randrange(1, len(payload))] = dice.choice([0, 250, 251, 252, 253, 254, 255])
        rows = rows_of([bytes(each) for each in bad])
        try:
            for cells in row_cells(rows, CODES):
                assert cells.size is None or (cells.start + cells.size <= rows.ends).all()
        except MalformedEventError:
            refused += 1
    assert refused > 100


@pytest.mark.parametrize("size", [b"\xfb", b"\xff", b"\xfe" + b"\xff" * 8, b"\xfe\0\0\0\0\0\0\0\x80"])
def test_a_bad_size_is_malformed(size: bytes) -> None:
    """251 stands for NULL in another protocol; none is as large as these."""
    with pytest.raises(MalformedEventError):
        row_cells(rows_of([b"\0\0" + size + b"a" * 20]), (wire.BLOB,))
