import pytest

from syncmgr.console.statements.time_travel import Point, pinned, pins
from syncmgr.errors import Code, SyncError

SNAPSHOTS = {("demo", "orders"): 42, ("shop", "people"): 43}


def read(text: str, db: str | None = "demo") -> str:
    return pinned(text, pins(text, db), lambda _: SNAPSHOTS)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT * FROM orders FOR VERSION AS OF 'job1@7'", "SELECT * FROM orders FOR VERSION AS OF 42"),
        ('select * from `orders` version as of "demo.job1@LATEST" o', "select * from `orders` version as of 42 o"),
        (
            "SELECT 1 FROM demo.orders FOR SYSTEM_VERSION AS OF 'j@1'",
            "SELECT 1 FROM demo.orders FOR SYSTEM_VERSION AS OF 42",
        ),
        (
            "SELECT * FROM lake.shop.people VERSION AS OF 'j@7' p JOIN orders VERSION AS OF 'j@7' o ON p.id = o.id",
            "SELECT * FROM lake.shop.people VERSION AS OF 43 p JOIN orders VERSION AS OF 42 o ON p.id = o.id",
        ),
        (
            "SELECT * FROM (SELECT * FROM orders VERSION AS OF 'j@7')",
            "SELECT * FROM (SELECT * FROM orders VERSION AS OF 42)",
        ),
    ],
)
def test_points_become_snapshots(text: str, expected: str) -> None:
    """In all forms of Spark's grammar, of every table of a query, and nothing else changes."""
    assert read(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM orders VERSION AS OF 123",
        "SELECT * FROM orders VERSION AS OF 'a_tag'",
        "SELECT 'orders VERSION AS OF ''j@7''' FROM orders",
        "SELECT 'j@7' AS of FROM orders",
        "SELECT * FROM orders TIMESTAMP AS OF '2026-01-01@7'",
        "SELECT * FROM orders -- VERSION AS OF 'j@7'",
        "SELECT 'unclosed AS OF 'j@7",
    ],
)
def test_what_is_no_point_stays(text: str) -> None:
    """Snapshots, tags, times, texts and comments are Spark's."""
    assert read(text) == text


def test_a_point_is_asked_for_once() -> None:
    """Two tables at one point, also at the newest, see the same one."""
    asked: list[Point] = []

    def snapshots(point: Point) -> dict[tuple[str, str], int]:
        asked.append(point)
        return SNAPSHOTS

    text = "SELECT * FROM orders VERSION AS OF 'j@latest', shop.people VERSION AS OF 'demo.j@latest'"
    pinned(text, pins(text, "demo"), snapshots)
    assert asked == [Point(db="demo", job="j", epoch=None)]


def test_a_table_that_is_not_at_the_point() -> None:
    """A table of no such job, or without rows then, is an error that names both."""
    with pytest.raises(SyncError, match=r"demo.other.*demo.j@7") as caught:
        read("SELECT * FROM other VERSION AS OF 'j@7'")
    assert caught.value.code is Code.NOT_AT_POINT
    with pytest.raises(SyncError) as caught:
        read("SELECT * FROM orders VERSION AS OF 'j@7'", None)
    assert caught.value.code is Code.NO_DATABASE
