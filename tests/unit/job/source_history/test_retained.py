import pytest

from syncmgr.errors import Code
from syncmgr.job.source_history.retained import Retained, lag_bytes, left_second, short_notice


@pytest.mark.parametrize(
    ("kept", "next_made", "left"),
    [
        (3600.0, None, 3600.0),  # the newest file
        (3600.0, 10_000.0, 3600.0),
        (3600.0, 9000.0, 2600.0),
        (3600.0, 1000.0, 0.0),  # the server looks at its files only now and then
        (None, 1000.0, None),
        (None, None, None),
    ],
)
def test_a_file_stays_from_the_begin_of_the_next_one_on(
    kept: float | None, next_made: float | None, left: float | None
) -> None:
    """A server without automatic purge never purges it by itself."""
    assert left_second(kept, next_made, now=10_000.0) == left


def test_what_is_left_gets_less_while_nobody_can_ask() -> None:
    """And is never less than nothing; a clock that was set back adds nothing."""
    retained = Retained(left_second=100.0, lag_bytes=None, at=1000.0)
    assert [retained.left(now) for now in (900.0, 1000.0, 1040.0, 2000.0)] == [100.0, 100.0, 60.0, 0.0]
    assert Retained(left_second=None, lag_bytes=None, at=1000.0).left(2000.0) is None


@pytest.mark.parametrize(
    ("file", "offset", "lag"),
    [
        ("b.2", 4, 996 + 50),
        ("b.2", 1000, 50),
        ("b.3", 50, 0),
        ("b.3", 60, 0),
        ("b.1", 90, 10 + 1000 + 50),
        ("b.0", 4, None),
    ],
)
def test_what_is_not_read_yet_is_counted_to_the_end(file: str, offset: int, lag: int | None) -> None:
    """Over all files that follow; an answer that is older than the place shows none. Nothing of a file that is gone."""
    assert lag_bytes(file, offset, {"b.1": 100, "b.2": 1000, "b.3": 50}) == lag


@pytest.mark.parametrize(("left", "said"), [(0.0, "0 seconds"), (59.6, "60 seconds"), (5400.0, "1.5 hours")])
def test_too_little_is_warned_of(left: float, said: str) -> None:
    """With what is left, and what to do."""
    notice = short_notice(left, 86400.0, "db1:3306")
    assert notice is not None
    assert notice.code is Code.SOURCE_PURGES_SOON
    assert f"may be purged from the binlog of db1:3306 in {said}, and" in str(notice)


def test_enough_is_no_news() -> None:
    """Nor is what is not known; a limit of 0 warns of nothing."""
    assert short_notice(86400.0, 86400.0, "db1") is None
    assert short_notice(None, 86400.0, "db1") is None
    assert short_notice(0.0, 0.0, "db1") is None
