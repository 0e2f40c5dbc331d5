from types import SimpleNamespace
from typing import Any

import pytest

from tests.conftest import STARTS_SPARK, pytest_collection_modifyitems


def item(*fixtures: str, marked: bool = False, module: Any = None, path: str = "tests/contract/test_x.py") -> Any:
    mark = pytest.mark.spark if marked else None
    return SimpleNamespace(
        fixturenames=fixtures,
        module=module or SimpleNamespace(),
        location=(path, 1, "test_y"),
        get_closest_marker=lambda _: mark,
    )


@pytest.mark.parametrize("name", sorted(STARTS_SPARK))
def test_a_test_that_starts_a_jvm_needs_its_mark(name: str) -> None:
    """By a fixture or by what its module imports: without the mark the run ends at collection, and says where."""
    for unmarked in (item("tmp_path", name), item(module=SimpleNamespace(**{name: object()}))):
        with pytest.raises(pytest.UsageError, match=r"need pytest.mark.spark: tests/contract/test_x.py"):
            pytest_collection_modifyitems([item(), unmarked])
    pytest_collection_modifyitems([item("mysql_server"), item(name, marked=True)])


def test_a_marked_test_is_in_a_part_of_the_run() -> None:
    """In another folder no part would have it, and nobody would know."""
    with pytest.raises(pytest.UsageError, match=r"no part .* tests/unit/test_z.py"):
        pytest_collection_modifyitems([item(), item(marked=True, path="tests/unit/test_z.py")])
