"""The lake in an object store behind a REST catalog, one for each module that asks for it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from syncmgr.lake.lake import Lake
from tests.support.lakes import RestLake, missing_for_rest, rest_lake
from tests.support.spark_session import Tables, another_lake


@pytest.fixture(scope="module")
def rest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestLake]:
    missing = missing_for_rest()
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")
    with rest_lake(tmp_path_factory.mktemp("rest")) as rest:
        yield rest


@pytest.fixture(scope="module")
def remote(rest: RestLake, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    with another_lake(tmp_path_factory.mktemp("remote"), rest.options) as lake:
        yield lake


@pytest.fixture
def tables(remote: Lake, tmp_path: Path) -> Tables:
    return Tables(remote, tmp_path)
