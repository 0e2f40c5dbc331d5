from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.description import MappedColumn
from syncmgr.lake.index.keys import FIELD_ID
from syncmgr.lake.target import plain_rows
from syncmgr.lake.target.plain_rows import PlainColumns, PlainFiles

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False, metadata={FIELD_ID: "3"}),
        pa.field("text", pa.string(), metadata={FIELD_ID: "1"}),
        pa.field("later", pa.int32(), metadata={FIELD_ID: "7"}),
    ]
)
COLUMNS = PlainColumns(
    schema=SCHEMA,
    fills=(MappedColumn(target="id", expression="`i``d`"), MappedColumn(target="text", expression="`v`"), None),
    table="lake.t",
)


def rows(*ids: int | None) -> pa.Table:
    return pa.table({"v": [None if each is None else f"row {each}" for each in ids], "i`d": pa.array(ids, pa.int32())})


def written(files: tuple[str, ...]) -> list[int]:
    return [each for file in files for each in pq.read_table(file)["id"].to_pylist()]


def test_the_columns_of_a_file_are_those_of_the_table(tmp_path: Path) -> None:
    """In its order and types, with the ids by which Iceberg finds them; what nothing fills is NULL."""
    sink = PlainFiles(COLUMNS, tmp_path / "data", "zstd")
    sink.append(rows(1, 2))
    sink.append(rows(3))
    [file] = sink.close()
    found = pq.read_table(file)
    assert found.to_pylist() == [{"id": n, "text": f"row {n}", "later": None} for n in (1, 2, 3)]
    assert [field.metadata[FIELD_ID] for field in found.schema] == [b"3", b"1", b"7"]
    assert found.schema.field("id").type == pa.int64()


def test_without_rows_there_is_no_file(tmp_path: Path) -> None:
    """Nor a folder."""
    sink = PlainFiles(COLUMNS, tmp_path / "data", "zstd")
    sink.append(rows())
    assert sink.close() == ()
    assert not (tmp_path / "data").exists()


def test_files_have_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many rows come, and in their order."""
    monkeypatch.setattr(plain_rows, "GROUP_BYTES", 300)
    monkeypatch.setattr(plain_rows, "FILE_BYTES", 1000)
    sink = PlainFiles(COLUMNS, tmp_path / "data", "uncompressed")
    for first in range(0, 200, 5):
        sink.append(rows(*range(first, first + 5)))
    files = sink.close()
    assert len(files) > 3
    assert written(files) == list(range(200))


def test_no_null_goes_where_none_may_be(tmp_path: Path) -> None:
    """The error names the column and the table."""
    sink = PlainFiles(COLUMNS, tmp_path / "data", "zstd")
    with pytest.raises(SyncError, match=r"Column 'id' of table 'lake\.t' holds NULL") as caught:
        sink.append(rows(1, None))
    assert caught.value.code is Code.SOURCE_VALUE
