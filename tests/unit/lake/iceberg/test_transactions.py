"""How long Iceberg would wait before it repeats a commit, and what is done about it."""

from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from syncmgr.lake.iceberg.transactions import MAX_WAIT, MIN_WAIT, RETRIES, Transactions, bad_retries, waits_long


@pytest.mark.parametrize("key", RETRIES)
@pytest.mark.parametrize("value", ["abc", "", " 1", "1_0", "1.5", "99999999999", "٣", "-99999999999"])
def test_what_java_takes_for_no_number(key: str, value: str) -> None:
    """Python takes more than Java does."""
    assert bad_retries({key: value}.get) == [key]


@pytest.mark.parametrize("value", ["0", "7", "+7", "2147483647"])
def test_what_java_takes(value: str) -> None:
    """So does Iceberg; nobody waits for less than nothing, and less than no retry is none."""
    assert bad_retries(dict.fromkeys(RETRIES, value).get) == []
    assert bad_retries(dict.fromkeys(RETRIES, "-1").get) == [MIN_WAIT, MAX_WAIT]


@pytest.mark.parametrize(
    ("least", "most", "long"),
    [
        (None, None, False),
        ("5000", None, False),
        ("5001", None, True),
        ("2000000000", "1000", False),
        (None, "2000000000", False),
        ("2000000000", "2000000000", True),
        ("abc", "2000000000", False),
    ],
)
def test_the_first_wait(least: str | None, most: str | None, *, long: bool) -> None:
    """It is the smaller of the two bounds; of numbers that Iceberg cannot read it makes an error at once."""
    given = {MIN_WAIT: least, MAX_WAIT: most}
    assert waits_long(given.get) is long


@pytest.mark.parametrize(
    ("wait", "embedded", "once"), [(None, True, False), (None, False, True), ("2000000000", True, True)]
)
def test_a_commit_is_sent_once_where_iceberg_would_wait_or_delete(
    wait: str | None, *, embedded: bool, once: bool
) -> None:
    """Exactly what the transaction has made, on top of what it was begun with: anything in between refuses it."""
    operations, whole = Mock(), Mock()
    start = SimpleNamespace(properties=lambda: {MIN_WAIT: wait, MAX_WAIT: wait})
    transaction = SimpleNamespace(
        startMetadata=lambda: start,
        currentMetadata=lambda: "made",
        underlyingOps=lambda: operations,
        commitTransaction=whole,
    )
    Transactions.commit(Mock(embedded=embedded), transaction)
    assert whole.called is not once
    assert [tuple(call.args) for call in operations.commit.call_args_list] == ([(start, "made")] if once else [])
