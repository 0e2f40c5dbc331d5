"""How long a foreign catalog is asked again that finds a table set back."""

from types import SimpleNamespace
from typing import Any

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.lake import foreign_catalog
from syncmgr.lake.foreign_catalog import unless_old


def catalog(*, may_be_old: bool) -> Any:
    return SimpleNamespace(may_be_old=may_be_old)


class Table:
    """Is set back as often as it is asked, then no more."""

    def __init__(self, times: int, code: Code = Code.TARGET_SET_BACK) -> None:
        self.asked, self._times, self._code = 0, times, code

    def commit(self) -> str:
        self.asked += 1
        if self.asked <= self._times:
            raise SyncError(self._code, table="shop.orders", found=1, epoch=2, snapshot="7")
        return "committed"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foreign_catalog, "LOOK_SECOND", 0.0)


@pytest.mark.parametrize("code", [Code.TARGET_SET_BACK, Code.TARGET_REPLACED])
def test_an_old_answer_is_asked_for_again(code: Code) -> None:
    """Until the catalog has the last commit, too."""
    table = Table(3, code)
    assert unless_old(catalog(may_be_old=True), table.commit) == "committed"
    assert table.asked == 4


def test_a_table_that_stays_set_back_is_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    """So a table that was restored stops its channel."""
    monkeypatch.setattr(foreign_catalog, "OLD_SECOND", 0.05)
    table = Table(10**9)
    with pytest.raises(SyncError) as caught:
        unless_old(catalog(may_be_old=True), table.commit)
    assert caught.value.code is Code.TARGET_SET_BACK
    assert table.asked > 1


@pytest.mark.parametrize(("may_be_old", "code"), [(False, Code.TARGET_SET_BACK), (True, Code.FENCED)])
def test_anything_else_is_reported_at_once(code: Code, *, may_be_old: bool) -> None:
    """What our own catalog or that of a database says, and that another frontend has gone on."""
    table = Table(1, code)
    with pytest.raises(SyncError):
        unless_old(catalog(may_be_old=may_be_old), table.commit)
    assert table.asked == 1
