import string
from types import ModuleType

import pytest

from syncmgr import errors
from syncmgr.errors import Code
from syncmgr.errors.row import Row

NUMBERS = {
    errors.mysql_numbers: range(1000, 5000),
    errors.jobs: range(20001, 20100),
    errors.source: range(20101, 20200),
    errors.canal: range(20101, 20200),
    errors.lake: range(20201, 20300),
    errors.frontend: range(20301, 20400),
    errors.users: range(20401, 20500),
}


@pytest.mark.parametrize("code", list(Code))
def test_every_row_is_whole(code: Code) -> None:
    """A five-letter SQLSTATE and words."""
    assert len(code.sqlstate) == 5
    assert code.template


@pytest.mark.parametrize("area", NUMBERS, ids=lambda area: area.__name__)
def test_every_row_of_an_area_is_in_the_table(area: ModuleType) -> None:
    """Under its own name, and with a number of its area, which no client library keeps for itself."""
    rows = {name: row for name, row in vars(area).items() if isinstance(row, Row)}
    assert rows == {name: Code[name].value for name in rows}
    assert {row.number for row in rows.values()} <= set(NUMBERS[area])


def test_no_number_is_used_twice() -> None:
    """A number means one error."""
    assert len({code.number for code in Code}) == len(Code)


def test_every_template_can_be_filled() -> None:
    """Templates name their facts; none is positional."""
    for code in Code:
        assert all(name != "" for _, name, _, _ in string.Formatter().parse(code.template) if name is not None)
