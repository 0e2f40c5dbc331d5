import struct
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from syncmgr.sources.mysql.values import json_column, json_text
from syncmgr.sources.mysql.values.cells import PADDING
from syncmgr.sources.mysql.values.json_column import FEW
from syncmgr.sources.mysql.wire import MalformedEventError

Json = None | bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"]
NUMBERS = ((5, "<h"), (6, "<H"), (7, "<i"), (8, "<I"), (9, "<q"), (10, "<Q"))

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.integers(-100, 100)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=12)
    | st.text(min_size=120, max_size=140)
)
documents = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


def encoded(value: Json, *, large: bool) -> tuple[int, bytes]:
    """Kind and bytes of a value, as MySQL's binary JSON is defined."""
    match value:
        case None | bool():
            return 4, bytes([0 if value is None else 1 if value else 2])
        case int():
            return next((k, struct.pack(f, value)) for k, f in NUMBERS if fits(value, f))
        case float():
            return 11, struct.pack("<d", value)
        case str():
            return 12, length(len(value.encode())) + value.encode()
        case Mapping():
            names = sorted(value, key=lambda key: (len(key.encode()), key.encode()))
            return container([value[name] for name in names], names, large=large)
        case _:
            return container(list(value), None, large=large)


def fits(value: int, kind: str) -> bool:
    try:
        struct.pack(kind, value)
    except struct.error:
        return False
    return True


def length(size: int) -> bytes:
    more = bytearray()
    while size > 127:
        more.append(size & 127 | 128)
        size >>= 7
    return bytes([*more, size])


def container(values: list[Json], keys: list[str] | None, *, large: bool) -> tuple[int, bytes]:
    number, width = ("<I", 4) if large else ("<H", 2)
    names = [key.encode() for key in keys or []]
    at = 2 * width + len(names) * (width + 2) + len(values) * (width + 1)
    head, entries, body = b"", b"", b"".join(names)
    for name in names:
        head += struct.pack(number, at) + struct.pack("<H", len(name))
        at += len(name)
    for value in values:
        kind, data = encoded(value, large=large)
        if kind in {4, 5, 6} or (large and kind in {7, 8}):
            sign = b"\xff" if kind in {5, 7} and data[-1] > 127 else b"\0"
            entries += bytes([kind]) + data + sign * (width - len(data))
            continue
        entries += bytes([kind]) + struct.pack(number, at)
        body += data
        at += len(data)
    whole = struct.pack(number, len(values)) + struct.pack(number, at) + head + entries + body
    return (0 if keys is not None else 2) + large, whole


def document(value: Json, *, large: bool = False) -> bytes:
    kind, data = encoded(value, large=large)
    return bytes([kind]) + data


def column(values: Sequence[bytes | None]) -> list[str | None]:
    """As a column of one buffer, with other bytes between the values."""
    data, start = bytearray(), []
    for value in values:
        data += b"\xff\x00"
        start.append(len(data))
        data += value or b""
    size = np.array([len(value or b"") for value in values], np.int64)
    valid = np.array([value is not None for value in values], np.bool_)
    padded = np.frombuffer(bytes(data) + bytes(PADDING), np.uint8)
    texts = json_column.texts(padded, np.array(start, np.int64), size, valid)
    texts.validate(full=True)
    told: list[str | None] = texts.to_pylist()
    return told


def one_by_one(values: Sequence[bytes | None]) -> list[str | None]:
    return [None if value is None else json_text.text(value) for value in values]


@settings(max_examples=25)
@given(st.lists(documents, min_size=1, max_size=8), st.booleans())
def test_a_column_is_its_documents(values: list[Json], large: bool) -> None:  # noqa: FBT001 - drawn
    """Many documents of any shape, and NULL among them, give what each alone gives."""
    told = [document(value, large=large) for value in values]
    many = [*told * FEW, None, b""]
    assert column(many) == one_by_one(many)


@settings(max_examples=60)
@given(documents, st.data())
def test_broken_columns_are_typed_errors(value: Json, data: st.DataObject) -> None:
    """Bytes that were changed in one document or in all give what one by one gives: a text, or MalformedEventError."""
    good = document(value)
    bad = bytearray(good)
    for _ in range(data.draw(st.integers(1, 3))):
        bad[data.draw(st.integers(0, len(bad) - 1))] = data.draw(st.integers(0, 255))
    for many in ([bytes(bad)] * FEW, [*[good] * FEW, bytes(bad)]):
        try:
            wanted = one_by_one(many)
        except MalformedEventError:
            with pytest.raises(MalformedEventError):
                column(many)
        else:
            assert column(many) == wanted


def test_documents_that_grow_without_end() -> None:
    """Arrays whose entries all point at one array cannot fill the memory."""
    depth, inner = 60, b""
    for _ in range(depth):
        size = 4 + 3 * 4 + len(inner)
        inner = struct.pack("<HH", 4, size) + (b"\x02" + struct.pack("<H", 16)) * 4 + inner
    with pytest.raises(MalformedEventError):
        column([b"\x02" + inner + struct.pack("<HH", 0, 4)] * FEW)


def test_well_formed_documents_go_all_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What MySQL writes is never told one by one for being odd."""
    values: list[Json] = [{"a": n, "s": 'x"' * n, "l": [1, 2.5, None, True], "o": {"x": -n}} for n in range(2 * FEW)]
    told = [document(value) for value in values]
    wanted = one_by_one(told)
    monkeypatch.setattr(json_column, "_one_by_one", None)
    assert column(told) == wanted
