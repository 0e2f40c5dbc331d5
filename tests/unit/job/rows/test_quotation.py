import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.rows.quotation import quotation

VALUE = SyncError(Code.SOURCE_VALUE, column="pin", table="shop.t", value="1234", reason="why")


def test_a_quotation_begins_with_the_value() -> None:
    """Also in the reason of another error, and at the first of two."""
    for text in (str(VALUE), f"{SyncError(Code.TABLE_STOPPED, table='shop.t', reason=VALUE)}; {VALUE}"):
        at = quotation(text)
        assert at is not None
        assert text[:at].endswith(" holds ")
        assert text[at:].startswith("1234")


@pytest.mark.parametrize("text", ["", "Column 'a' is gone", "binlog_format is STATEMENT on the MySQL server at h:1"])
def test_other_texts_quote_nothing(text: str) -> None:
    """Even if they begin like one that does."""
    assert quotation(text) is None
