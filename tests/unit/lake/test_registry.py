import re
from pathlib import Path

import pytest

from syncmgr.lake.registry import FORMATS

PRODUCT = Path(__file__).parents[3] / "syncmgr"
KNOWS_NONE = ("job", "pipeline", "meta", "sources", "accounts", "fe", "backup")


@pytest.mark.parametrize("folder", KNOWS_NONE)
def test_no_code_outside_the_lake_names_a_table_format(folder: str) -> None:
    """Neither in its code nor in its words: a format is what the lake has of it, and its line in the registry."""
    named = re.compile("|".join(FORMATS), re.IGNORECASE)
    found = {
        str(path.relative_to(PRODUCT)) for path in (PRODUCT / folder).rglob("*.py") if named.search(path.read_text())
    }
    assert found == set()
