import re
from pathlib import Path

import pytest

from syncmgr.lake.registry import FORMATS

PRODUCT = Path(__file__).parents[3] / "syncmgr"
KNOWS_NONE = ("job", "pipeline", "control", "console", "meta", "sources", "accounts", "fe", "backup")
OURS = "_file"  # a column of staged rows, too


@pytest.mark.parametrize("folder", KNOWS_NONE)
def test_no_code_outside_the_lake_names_a_table_format(folder: str) -> None:
    """Neither it, nor its properties and columns, in code or in words: a format is what the lake has of it, and its
    line in the registry.
    """
    columns = {name for each in FORMATS.values() for name in each.reserved_columns} - {OURS}
    properties = [name for each in FORMATS.values() for name in each.properties]
    named = re.compile("|".join([*FORMATS, *properties, *(f'"{name}"' for name in columns)]), re.IGNORECASE)
    found = {
        str(path.relative_to(PRODUCT)) for path in (PRODUCT / folder).rglob("*.py") if named.search(path.read_text())
    }
    assert found == set()
