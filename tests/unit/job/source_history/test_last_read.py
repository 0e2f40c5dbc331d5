import pytest

from syncmgr.job.position import GtidSet, MariadbGtids
from syncmgr.job.source_history.last_read import LastRead, nothing_there, other_transaction

A = "3e11fa47-71ca-11e1-9e33-c80aa9429562"


@pytest.mark.parametrize(
    "stored", [f"{A}:5@1700000000123456", f"{A}:tag:5@0", "0-1-7@1700000000", "@17@4711@a@b.000007", f"{A}:5@1@4@b.1"]
)
def test_what_is_stored_is_read_back(stored: str) -> None:
    """A position keeps it as a text."""
    assert str(LastRead.parse(stored)) == stored


def test_a_position_of_an_older_version_has_none() -> None:
    """Nothing is compared then."""
    assert LastRead.parse("") is None


def test_mysql_is_asked_for_what_it_has_but_that_one() -> None:
    """It sends what is not in the set alone."""
    last = LastRead(f"{A}:5", 1)
    assert last.place_before(GtidSet.parse(f"{A}:1-9")) == GtidSet.parse(f"{A}:1-4:6-9")


@pytest.mark.parametrize(("last", "place"), [("0-1-7", "0-1-6,1-2-30"), ("0-1-1", "1-2-30")])
def test_mariadb_is_asked_from_the_number_before(last: str, place: str) -> None:
    """Other domains begin at their ends; one that begins with this transaction, at its begin."""
    assert str(LastRead(last, 1).place_before(MariadbGtids.parse("0-1-9,1-2-30"))) == place


@pytest.mark.parametrize(
    ("last", "sent", "replaces"),
    [
        (f"{A}:5", f"{A}:10", True),
        ("0-1-7", "0-2-7", True),
        ("0-1-7", "0-1-8", True),
        ("0-1-7", "0-1-6", False),
        ("0-1-7", "1-1-9", False),
    ],
)
def test_what_is_sent_in_the_place_of_another(last: str, sent: str, *, replaces: bool) -> None:
    """MariaDB also sends what comes in other domains."""
    assert LastRead(last, 1).replaces(sent) is replaces


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (LastRead(f"{A}:5", 1_700_000_000_123_456), None),
        (LastRead(f"{A}:5", 0), None),
        (
            LastRead(f"{A}:5", 1_700_000_001_000_000),
            "committed at 2023-11-14 22:13:20.123456, the one of that number there at 2023-11-14 22:13:21.000000",
        ),
        (LastRead(f"{A}:6", 1_700_000_000_123_456), f"in the place of {A}:5, which the job has read, it has {A}:6"),
    ],
)
def test_another_transaction_is_told(found: LastRead, words: str | None) -> None:
    """By its number or by the time of its first commit, where both are known."""
    reason = other_transaction(LastRead(f"{A}:5", 1_700_000_000_123_456), found)
    assert (reason is None) is (words is None)
    assert words is None or words in str(reason)


def test_the_place_of_a_transaction_is_told_from_another() -> None:
    """By its number, by the time of its commit, or since none begins there."""
    read = LastRead("", 1_700_000_000_123_456, "binlog.000007", 4711)
    assert other_transaction(read, LastRead("", 1_700_000_000_123_456)) is None
    assert (
        "the transaction at binlog.000007:4711 which the job has read was committed at 2023-11-14 22:13:20.123456"
        in (str(other_transaction(read, LastRead("", 1_700_000_001_000_000))))
    )
    assert f"it has {A}:5" in str(other_transaction(read, LastRead(f"{A}:5", 0)))
    assert "no transaction begins at binlog.000007:4711" in nothing_there(read)
    assert LastRead(f"{A}:5", 1, "binlog.000007", 4711).elsewhere() == LastRead(f"{A}:5", 1)
