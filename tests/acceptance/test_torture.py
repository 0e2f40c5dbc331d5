"""Kill -9 of everything at random, in short; `python -m tests.torture` runs it for as long as one likes."""

from pathlib import Path

import pytest

from tests.support.servers.mysql import binary
from tests.torture.__main__ import main
from tests.torture.figures import DONE, summed
from tests.torture.run import Plan, Torture

pytestmark = [pytest.mark.mysql, pytest.mark.spark]


def test_the_lake_equals_the_source_whatever_breaks(tmp_path: Path) -> None:
    """Half a minute of kills, cuts, freezes and full disks: rows, points and SHOW are right when all is quiet."""
    if binary("mysql") is None:
        pytest.skip("no mysql server is installed")
    torture = Torture(tmp_path, Plan(seed=4, seconds=30))
    torture.run()
    assert torture.total.kills.total() > 0


@pytest.mark.long  # some minutes
def test_the_lake_equals_the_source_beside_another_engine(tmp_path: Path) -> None:
    """As `python -m tests.torture --engine` is typed: kills beside an engine that inserts, rewrites, expires, renames,
    rolls back and changes the tables, whose operations are counted by what became of them. Its expiry expires.
    """
    if binary("mysql") is None:
        pytest.skip("no mysql server is installed")
    figures = tmp_path / "figures"
    main(["--engine", "--minutes", "5", "--seed", "5", "--kills", "worker=60,fe=4,jvm=4", "--each", "8",
          "--folder", str(tmp_path / "torture"), "--figures", str(figures)])  # fmt: skip
    total = summed(figures.read_text().splitlines())
    assert not total.wrong
    assert total.kills.total() >= 8
    assert total.foreign[DONE] >= 10
    assert total.expired > 0
    assert f"{total.foreign[DONE]} foreign operations" in total.told()
