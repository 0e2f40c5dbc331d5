"""Values of Column messages, however few or many of them are alike."""

from unittest import mock

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from syncmgr.sources.canal.proto import entry_pb2
from syncmgr.sources.canal.values import columns
from syncmgr.sources.canal.values.columns import Expected, cells_of
from syncmgr.sources.canal.values.fields import PADDING

EXPECTED = Expected(b"name", b"int", key=True)
ORDINARY = {"name": "name", "isKey": True, "value": "1", "mysqlType": "int"}
VALUES = {
    "index": (3,),
    "name": ("nam", "eman", ""),
    "isKey": (False,),
    "updated": (True,),
    "isNull": (True,),
    "value": ("", "2", "1int", "x" * 200),
    "mysqlType": ("tin", "int(11)", "in", ""),
}
CHANGE = st.sampled_from([(name, value) for name, values in VALUES.items() for value in values])
MESSAGE = st.lists(CHANGE, max_size=2).map(lambda changes: entry_pb2.Column(**(ORDINARY | dict(changes))))


SHORT = entry_pb2.Column(name="name", isKey=True)


@given(st.lists(st.tuples(MESSAGE, st.integers(1, 3)), max_size=8), st.sampled_from([0, columns.LIKES]))
@example([(SHORT, 1), (entry_pb2.Column(name="name", isKey=True, mysqlType="int"), 1)], columns.LIKES)
def test_each_message_is_read_as_protobuf_reads_it(made: list[tuple[entry_pb2.Column, int]], likes: int) -> None:
    """Value, NULL, and whether it is of the column, for messages that differ in one field or in all."""
    messages = [message for message, count in made for _ in range(count)]
    parts = [message.SerializeToString() for message in messages]
    data = np.frombuffer(b"".join(parts) + bytes(PADDING), np.uint8)
    sizes = np.array([len(part) for part in parts], np.int64)
    ends = np.cumsum(sizes)
    with mock.patch.object(columns, "LIKES", likes):
        (cells,) = cells_of(data, (ends - sizes)[None, :], ends[None, :], [EXPECTED])
    assert cells.null.tolist() == [m.isNull for m in messages]
    assert cells.fits.tolist() == [bool(m.ByteSize()) and is_expected(m) for m in messages]
    values = [data[at : at + max(size, 0)].tobytes() for at, size in zip(cells.start, cells.size, strict=True)]
    assert values == [m.value.encode() for m in messages]
    assert (np.diff(cells.start) >= 0).all()


def is_expected(message: entry_pb2.Column) -> bool:
    return (message.name.encode(), message.mysqlType.encode(), message.isKey) == (b"name", b"int", True)
