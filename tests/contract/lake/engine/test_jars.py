"""Where the jars of Spark's JVM come from: by Spark's own Ivy, from a folder in place of Maven."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.lake.spark.fetching import JarCache
from syncmgr.lake.spark.jars import OF_THE_LAKE, digest
from syncmgr.lake.spark.launch import LakePlace
from tests.support import jvm
from tests.support.jar_repository import JarRepository, alter, lay_jars, run_jar, truncate
from tests.support.spark_session import SPARK

ICEBERG, SQLITE, FILES = OF_THE_LAKE
pytestmark = SPARK


def place(folder: Path, options: dict[str, str]) -> LakePlace:
    return LakePlace(lake_dir=folder / "lake", jars_dir=folder / "jars", options={**jvm.flags(), **options})


def test_what_is_truncated_or_altered_is_fetched_anew_and_once(tmp_path: Path) -> None:
    """Two frontends start at once on a folder of jars of which one is truncated, one altered and one not there: one
    fetches these three, both have them whole, and nothing else is left in the folder. They are for whom the folder is.
    """
    options = JarRepository(tmp_path).offer(*OF_THE_LAKE).options
    at = place(tmp_path, options)
    lay_jars(at.jars_dir, ICEBERG, SQLITE)
    at.jars_dir.chmod(0o2770)  # of a group
    truncate(at.jars_dir / ICEBERG.file)
    alter(at.jars_dir / SQLITE.file)
    told, gate = list[str](), threading.Barrier(2)

    def start(_: int) -> list[Path]:
        gate.wait()
        return JarCache(at).of_the_lake(told.append)

    with ThreadPoolExecutor(2) as threads:
        one, other = threads.map(start, range(2))
    assert one == other == [at.jars_dir / package.file for package in OF_THE_LAKE]
    assert [digest(path) for path in one] == [package.sha256 for package in OF_THE_LAKE]
    fetched = [line for line in told if line.startswith("fetching ")]
    assert len(fetched) == len(OF_THE_LAKE), told
    assert "another frontend is fetching jars" in told
    modes = {path.name: path.stat().st_mode & 0o777 for path in at.jars_dir.iterdir()}
    assert modes == {"lock": 0o660, **{package.file: 0o640 for package in OF_THE_LAKE}}


@pytest.mark.slow
def test_a_jar_that_is_not_there_or_stays_wrong_is_told(tmp_path: Path) -> None:
    """The first error has the file and the folder that takes it; the second one file, found and expected checksum, and
    the wrong jar is nowhere.
    """
    repository = JarRepository(tmp_path)
    at = place(tmp_path, repository.options)
    lay_jars(at.jars_dir, ICEBERG, SQLITE)
    with pytest.raises(SyncError) as missing:
        JarCache(at).of_the_lake(print)
    assert missing.value.code is Code.JARS_MISSING
    assert (FILES.file in str(missing.value), str(at.jars_dir) in str(missing.value)) == (True, True)
    alter(repository.offer(FILES).path(FILES))
    with pytest.raises(SyncError) as wrong:
        JarCache(at).of_the_lake(print)
    assert wrong.value.code is Code.JAR_ALTERED
    for part in (FILES.file, FILES.sha256, str(digest(repository.path(FILES)))):
        assert part in str(wrong.value)
    assert {path.name for path in at.jars_dir.iterdir()} == {"lock", ICEBERG.file, SQLITE.file}


@pytest.mark.long
def test_packages_of_the_operator_have_a_folder_of_their_own(tmp_path: Path) -> None:
    """`spark.jars.packages` takes the place of ours; what Ivy brought for it is asked for once."""
    options = JarRepository(tmp_path).offer(FILES).options
    at = place(tmp_path, {**options, "spark.jars.packages": FILES.name})
    [path] = JarCache(at).of_the_lake(print)
    assert path.read_bytes() == run_jar(FILES).read_bytes()
    offline = place(tmp_path, {"spark.jars.ivySettings": "/nothing", "spark.jars.packages": FILES.name})
    assert JarCache(offline).of_the_lake(print) == [path]
