from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import pytest

from syncmgr.lake.opening import open_lake, saved_tables
from syncmgr.lake.registry import FORMATS, TableFormat


class OtherLake:
    def __init__(self, **options: object) -> None:
        self.options = options


class OtherFiles:
    def __init__(self, *arguments: object) -> None:
        self.arguments = arguments


OTHER = TableFormat(
    name="Other",
    files="files",
    lake=f"{__name__}:OtherLake",
    saved=f"{__name__}:OtherFiles",
    properties={},
    fixed=frozenset(),
    reserved_columns=frozenset(),
)


def test_a_format_is_opened_by_its_line_alone(tmp_path: Path) -> None:
    """Its classes get what a frontend or a backup gives, and nobody else names them."""
    options: Any = {"lake_dir": tmp_path, "wait_second": 1.0}
    lake: Any = open_lake(OTHER, **options)
    assert isinstance(lake, OtherLake)
    assert lake.options == options
    files: Any = saved_tables(OTHER, tmp_path, Path)
    assert isinstance(files, OtherFiles)
    assert files.arguments == (tmp_path, Path)


@pytest.mark.parametrize("name", FORMATS)
def test_the_classes_of_a_line_exist(name: str) -> None:
    """A line that names none would be found by the first start only."""
    assert isinstance(resolve_name(FORMATS[name].lake), type)
    assert isinstance(resolve_name(FORMATS[name].saved), type)
