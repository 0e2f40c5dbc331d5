"""Which VIRTUAL columns depend on a session's time zone."""

import pytest

from syncmgr.job.types.zoned import zoned


@pytest.mark.parametrize(
    ("expression", "depends"),
    [
        ("hour(`ts`)", True),
        ("`ts`", True),
        ("cast(`TS` as date)", True),
        ("if((`ts` is null),1,NULL)", False),
        ("if(`ts` is not null,1,NULL)", False),
        ("isnull(`ts`)", False),
        ("(unix_timestamp(`ts`) DIV 60)", False),
        ("if((`ts` is null),'',concat(`ts`))", True),
        ("hour(`dt`)", False),
        ("concat(`ts_of_old`)", False),
    ],
)
def test_what_a_timestamp_is_read_for(expression: str, *, depends: bool) -> None:
    """Whether it is NULL, and which point of time it is, is the same in all zones; every other use counts."""
    assert zoned({"g": expression}, ["ts"]) == ({"g"} if depends else set())


def test_a_column_over_another_one_depends_as_that_one_does() -> None:
    """In whatever order, and also if two read each other."""
    virtual = {"c": "(`b` + 1)", "b": "(`a` + 1)", "a": "hour(`ts`)", "d": "(`e` + 1)", "e": "(`d` + 1)"}
    assert zoned(virtual, ["ts"]) == {"a", "b", "c"}
