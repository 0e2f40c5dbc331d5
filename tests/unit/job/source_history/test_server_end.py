"""What the end of a server's binlog says of a quiet stream."""

import pytest

from syncmgr.job.position import Position
from syncmgr.job.source_history.server_end import Quiet, meaning


@pytest.mark.parametrize(
    ("file", "offset", "expected"),
    [
        ("b.000007", 500, Quiet.AT_END),
        ("b.000007", 500 + (1 << 32), Quiet.AT_END),
        ("b.000007", 501, Quiet.BEHIND),
        ("b.000007", 499, Quiet.ANOTHER),
        ("b.000008", 4, Quiet.BEHIND),
        ("b.000010", 4, Quiet.BEHIND),
        ("b.000001", 500, Quiet.ANOTHER),
        ("b.000001", 900, Quiet.ANOTHER),
        ("other.000001", 500, Quiet.BEHIND),
    ],
)
def test_a_stream_is_at_the_end_only_where_the_server_is(file: str, offset: int, expected: Quiet) -> None:
    """Numbers of files only grow, and so do their ends, while nobody begins them anew."""
    assert meaning("b.000007", 500, Position(file=file, offset=offset)) is expected
