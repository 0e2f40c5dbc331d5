"""Kill -9 of everything at random, in short; `python -m tests.torture` runs it for as long as one likes."""

from pathlib import Path

import pytest

from tests.support.servers.mysql import binary
from tests.torture.run import Plan, Torture

pytestmark = [pytest.mark.mysql, pytest.mark.spark]


def test_the_lake_equals_the_source_whatever_breaks(tmp_path: Path) -> None:
    """Half a minute of kills, cuts, freezes and full disks: rows, points and SHOW are right when all is quiet."""
    if binary("mysql") is None:
        pytest.skip("no mysql server is installed")
    torture = Torture(tmp_path, Plan(seed=4, seconds=30))
    torture.run()
    assert torture.total.kills.total() > 0
