import pytest

from syncmgr.errors import Code
from syncmgr.job.failure import Remedy, remedy
from syncmgr.lake.storage_errors import of_lake


@pytest.mark.parametrize(
    ("text", "expected", "mended_by"),
    [
        ("SparkException: Job aborted\njava.io.IOException: No space left on device", Code.LAKE_FULL, Remedy.RETRY),
        ("[SQLITE_FULL] Insertion failed because database is full", Code.LAKE_FULL, Remedy.RETRY),
        ("[SQLITE_BUSY] The database file is locked", Code.LAKE_FAILED, Remedy.RETRY),
        ("java.net.ConnectException: Connection refused", Code.LAKE_FAILED, Remedy.RETRY),
        ("java.lang.OutOfMemoryError: Java heap space", Code.LAKE_FAILED, Remedy.RETRY),
        ("org.apache.iceberg.exceptions.ForbiddenException: 403", Code.LAKE_DENIED, Remedy.OPERATOR),
        ("FileNotFoundException: /lake/t/data/x (Permission denied)", Code.LAKE_DENIED, Remedy.OPERATOR),
        ("[TASK_WRITE_FAILED] Mkdirs failed to create file:/lake/t/data", Code.LAKE_DENIED, Remedy.OPERATOR),
        ("[SQLITE_CORRUPT] The database disk image is malformed", Code.LAKE_DAMAGED, Remedy.OPERATOR),
    ],
)
def test_what_java_says(text: str, expected: Code, mended_by: Remedy) -> None:
    """A full disk and a lock pass, missing rights and a damaged catalog wait for a person."""
    assert of_lake(text) is expected
    assert remedy(expected) is mended_by
