"""A lake whose catalog is AWS Glue, as moto has it, with its tables in moto's S3."""

from pathlib import Path

import pytest

from tests.contract.lake.remote.life_of_tables import live_through_all
from tests.support.lakes import on_glue
from tests.support.servers.object_store import program
from tests.support.spark_session import SPARK, another_lake

pytestmark = [*SPARK, pytest.mark.long]


def test_tables_live_in_glue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the settings of docs/lake.md: the keys of Glue come from the environment, as AWS' own tools take them."""
    if program() is None:
        pytest.skip("not installed: moto")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "somebody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    with on_glue(tmp_path) as options, another_lake(tmp_path / "lake", options) as lake:
        live_through_all(lake, tmp_path)
