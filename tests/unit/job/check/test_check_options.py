import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.check.check_options import CheckOptions


def test_what_is_not_given_has_its_default() -> None:
    assert CheckOptions.of({"rounds": "3"}) == CheckOptions(
        rounds=3, max_rows_per_second=0, keep_rows=1000, chunk_rows=250_000
    )


@pytest.mark.parametrize(
    ("told", "code"),
    [({"round": "3"}, Code.PROPERTY_UNKNOWN), ({"rounds": "0"}, Code.PROPERTY_WRONG)],
)
def test_what_is_misspelled_or_out_of_bounds_is_refused(told: dict[str, str], code: Code) -> None:
    with pytest.raises(SyncError) as raised:
        CheckOptions.of(told)
    assert raised.value.code is code
