import pytest

from syncmgr.errors import Code
from syncmgr.errors.concern import CONCERNS, Phase, Whom, is_of_one_table, whom

OF_STATEMENTS = {  # among the numbers of sources and the lake: no job meets them
    *(
        Code.SOURCE_XA_OPEN,
        Code.SOURCE_CASCADES,
        Code.SOURCE_UNNAMED,
        Code.SOURCE_PURGES_SOON,
        Code.SOURCE_UNKNOWN_TABLE,
    ),
    *(Code.SOURCE_UNKNOWN_COLUMN, Code.RESYNC_COLUMNS, Code.QUERY_FAILED, Code.QUERIES_ENDED, Code.QUERY_TOO_BIG),
    *(Code.TABLE_BUSY, Code.BAD_TABLE, Code.BAD_NAME, Code.DATABASE_NOT_EMPTY, Code.DATABASE_HAS_VIEWS),
    *(Code.TARGET_OF_OTHERS, Code.FILES_KEPT, Code.BAD_ALTER, Code.COLUMN_BUSY),
    *(Code.NO_SUCH_CHECK, Code.TOO_MANY_CHECKS, Code.CHECK_REFUSED, Code.CHECK_BROKEN, Code.REPAIR_REFUSED),
}


def test_every_error_of_a_source_and_of_the_lake_says_whom_it_concerns() -> None:
    """A new one has its row, or is named here as one of a statement."""
    found = {code for code in Code if 20100 <= code.number < 20300 and whom(code) is Whom.STATEMENT}
    assert found == OF_STATEMENTS


@pytest.mark.parametrize(
    ("code", "phase", "alone"),
    [
        (Code.SOURCE_VALUE, Phase.READ, True),
        (Code.SOURCE_VALUE, Phase.COPY, True),
        (Code.SOURCE_SCHEMA, Phase.READ, True),
        (Code.SOURCE_SCHEMA, Phase.COPY, False),
        (Code.NO_SUCH_TABLE, Phase.COPY, True),
        (Code.NO_SUCH_TABLE, Phase.READ, False),
        (Code.SOURCE_UNREACHABLE, Phase.READ, False),
        (Code.SOURCE_ACCESS_DENIED, Phase.JOIN, False),
        (Code.SOURCE_GRANT_MISSING, Phase.JOIN, True),
        (Code.LAKE_FULL, Phase.COMMIT, True),
        (Code.LAKE_FULL, Phase.COPY, False),
        (Code.UNKNOWN_JOB, Phase.READ, False),
        (Code.UNKNOWN_JOB, Phase.COMMIT, True),
    ],
)
def test_what_goes_on_without_one_table(code: Code, phase: Phase, *, alone: bool) -> None:
    """It depends on what is done with the table; what no row names is of the table only if its rows are at hand."""
    assert is_of_one_table(code, phase) is alone


def test_what_concerns_every_job_is_of_no_table() -> None:
    """In no phase; a job or more is never read or copied without the table that meets it."""
    for code, concern in CONCERNS.items():
        assert (concern.whom is Whom.FRONTEND) == (not concern.alone), code
        assert concern.whom is Whom.FRONTEND or Phase.COMMIT in concern.alone, code
        assert concern.whom is Whom.TABLE or not concern.alone & {Phase.READ, Phase.COPY}, code
