"""The tree of the product, as docs/architecture.md opens with it."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = sorted(path.parent for path in (ROOT / "syncmgr").rglob("__init__.py") if "versions" not in path.parts)
MOST_FILES = 16


@pytest.mark.parametrize("folder", PACKAGES, ids=lambda folder: str(folder.relative_to(ROOT)))
def test_a_folder_can_be_taken_in_at_a_glance(folder: Path) -> None:
    """At most 16 modules lie in one folder; one more means that it holds two subjects."""
    assert len(list(folder.glob("*.py"))) <= MOST_FILES
