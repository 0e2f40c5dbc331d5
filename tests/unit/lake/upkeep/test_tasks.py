"""How many tasks of Spark a step over the list of a table's files takes."""

import pytest

from syncmgr.lake.upkeep.tasks import tasks


@pytest.mark.parametrize(
    ("files", "cores", "expected"),
    [
        (0, 2, 2),
        (39_999, 2, 3),
        (40_000, 16, 16),  # a small list is read by all cores, a long one in parts of a size
        (400_000, 16, 40),
        (2_000_000, 16, 200),
        (90_000_000, 16, 200),
        (0, 256, 200),  # never more than Spark's own number
    ],
)
def test_a_small_table_takes_few_tasks_and_a_large_one_those_of_spark(files: int, cores: int, expected: int) -> None:
    assert tasks(files, cores) == expected
