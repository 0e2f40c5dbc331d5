import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.types.schema import TargetTable
from syncmgr.job.types.table_rules import check_properties
from syncmgr.lake.target.table_properties import PROPERTIES


def _checked(*properties: tuple[str, str]) -> None:
    check_properties(
        TargetTable(db="demo", name="t", columns=(), properties=properties, reserved_columns=frozenset()), PROPERTIES
    )


def test_good_properties_are_accepted() -> None:
    """Each of them, by its name in Iceberg."""
    _checked(
        ("format-version", "2"),
        ("write.parquet.compression-codec", "zstd"),
        ("write.target-file-size-bytes", "9999999"),
    )


@pytest.mark.parametrize(
    ("properties", "code"),
    [
        ([("write.parquet.compression-code", "zstd")], Code.PROPERTY_UNKNOWN),
        ([("write.parquet.compression-codec", "rar")], Code.PROPERTY_WRONG),
        ([("write.target-file-size-bytes", "1")], Code.PROPERTY_WRONG),
        ([("format-version", "1")], Code.PROPERTY_WRONG),
        ([("write.target-file-size-bytes", "9999999")] * 2, Code.PROPERTY_TWICE),
    ],
)
def test_a_bad_property_is_refused(properties: list[tuple[str, str]], code: Code) -> None:
    """One that is misspelt, that has no such value, or that is there twice."""
    with pytest.raises(SyncError) as caught:
        _checked(*properties)
    assert caught.value.code is code
