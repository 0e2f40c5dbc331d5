from types import SimpleNamespace
from typing import Any

import pytest

from tests.conftest import STARTS_SPARK, pytest_collection_modifyitems


def item(*fixtures: str, marked: bool = False, module: Any = None) -> Any:
    mark = pytest.mark.spark if marked else None
    return SimpleNamespace(
        fixturenames=fixtures,
        module=module or SimpleNamespace(),
        location=("test_x.py", 1, "test_y"),
        get_closest_marker=lambda _: mark,
    )


@pytest.mark.parametrize("name", sorted(STARTS_SPARK))
def test_a_test_that_starts_a_jvm_needs_its_mark(name: str) -> None:
    """By a fixture or by what its module imports: without the mark the run ends at collection, and says where."""
    for unmarked in (item("tmp_path", name), item(module=SimpleNamespace(**{name: object()}))):
        with pytest.raises(pytest.UsageError, match=r"pytest.mark.spark: test_x.py"):
            pytest_collection_modifyitems([item(), unmarked])
    pytest_collection_modifyitems([item("mysql_server"), item(name, marked=True)])
