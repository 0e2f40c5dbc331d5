"""Why older metadata of a table cannot be read."""

import pytest

from syncmgr.lake.iceberg.table_metadata import may_be_read_later

READ = "org.apache.iceberg.exceptions.RuntimeIOException: Failed to read file: /t/metadata/1.metadata.json"


@pytest.mark.parametrize(
    ("text", "later"),
    [
        (f"{READ}\njava.io.IOException: Input/output error", True),
        (f"{READ}\njava.net.SocketTimeoutException: Read timed out", True),
        ("software.amazon.awssdk.core.exception.SdkClientException: Unable to execute HTTP request", True),
        ("software.amazon.awssdk.services.s3.model.S3Exception: slow down (Service: S3, Status Code: 503)", True),
        ("software.amazon.awssdk.services.s3.model.S3Exception: (Service: S3, Status Code: 403)", False),
        ("org.apache.iceberg.exceptions.NotFoundException: File /t/1.metadata.json does not exist", False),
        (f"{READ}\norg.apache.iceberg.shaded.com.fasterxml.jackson.core.JsonParseException: Unexpected", False),
        ("java.lang.IllegalArgumentException: Cannot parse missing int: format-version", False),
        (f"{READ}\norg.apache.hadoop.security.AccessControlException: Permission denied", False),
    ],
)
def test_what_storage_may_read_later(text: str, *, later: bool) -> None:
    """A failure of the storage passes; a file that is missing, denied or of other contents ends the history."""
    assert may_be_read_later(text) is later
