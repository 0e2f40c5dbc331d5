"""The jars of a whole frontend: what it fetches, when, and what it says where it cannot."""

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from syncmgr.errors import Code
from syncmgr.lake.spark.fetching import JarCache
from syncmgr.lake.spark.jars import OF_THE_LAKE, digest
from syncmgr.lake.spark.launch import JAVA_OPTIONS, LakePlace
from tests.acceptance.frontend import FrontendProcess
from tests.acceptance.test_advice import Patient
from tests.support.jar_repository import JarRepository, alter, java_without_network, lay_jars, truncate
from tests.support.servers.mysql import MysqlServer
from tests.support.until import until

pytestmark = [pytest.mark.mysql, pytest.mark.spark]


def await_rows(t: Patient) -> None:
    """Which other tests compare; a SELECT would start another JVM."""
    asked = f"SELECT STATE AS state FROM information_schema.sync_channels WHERE job_schema = '{t.name}'"
    until(lambda: t.fe.sql(asked) == [{"state": "STREAMING"}], why="the rows of the table")


@pytest.mark.long
def test_a_job_tells_of_a_jar_that_is_missing_or_wrong(mysql_server: MysqlServer, tmp_path: Path) -> None:
    """20243, 20242: where Maven has none, or a wrong one, the job says which file, and goes on by itself once that is
    in jars_dir.
    """
    repository, jars = JarRepository(tmp_path / "maven"), tmp_path / "jars"
    iceberg, sqlite, files = OF_THE_LAKE
    lay_jars(jars, iceberg, sqlite, files)
    fe = FrontendProcess(tmp_path / "fe", {"jars_dir": jars, **repository.options}).start()
    try:
        t = Patient("jarless", mysql_server, fe, rows=3)
        await_rows(t)
        fe.stop()
        (jars / files.file).unlink()
        fe.start()
        assert "put the jars into the folder jars_dir" in t.until_told(Code.JARS_MISSING)
        for part in (files.file, str(jars)):
            assert part in t.job["Msg"]
        alter(repository.offer(files).path(files))
        assert "Put the right jar into the folder jars_dir" in t.until_told(Code.JAR_ALTERED)
        for part in (files.file, files.sha256, str(digest(repository.path(files)))):
            assert part in t.job["Msg"]
        there = (path.name for path in jars.iterdir() if not path.name.startswith(".fetching-"))  # one may run
        assert {*there} == {iceberg.file, sqlite.file, "lock"}
        lay_jars(jars, files)
        await_rows(t)
    finally:
        fe.stop()


@pytest.mark.long
def test_a_folder_of_jars_needs_no_network(mysql_server: MysqlServer, tmp_path: Path) -> None:
    """Jars that an operator has copied into jars_dir: nothing is fetched, also for the rows of a table, and nothing is
    written into the folder.
    """
    jars = tmp_path / "jars"
    lay_jars(jars, *OF_THE_LAKE)
    settings = {"jars_dir": jars, JAVA_OPTIONS: java_without_network(tmp_path)}
    fe = FrontendProcess(tmp_path / "fe", settings).start()
    try:
        await_rows(Patient("folderjars", mysql_server, fe, rows=3))
    finally:
        fe.stop()
    assert {path.name for path in jars.iterdir()} == {package.file for package in OF_THE_LAKE}


@pytest.mark.long
def test_two_frontends_fetch_once_from_maven(tmp_path: Path) -> None:
    """Both start at once on a folder that is not there; what one fetches serves the other."""
    settings = {"jars_dir": tmp_path / "jars", JAVA_OPTIONS: f"-Duser.home={tmp_path}"}  # of no repository of Maven
    frontends = [FrontendProcess(tmp_path / name, settings) for name in ("one", "other")]
    try:
        with ThreadPoolExecutor(len(frontends)) as pool:
            list(pool.map(FrontendProcess.start, frontends))
        for fe in frontends:
            fe.sql("CREATE DATABASE a")
    finally:
        for fe in frontends:
            fe.stop()
    told = "".join((fe.folder / "fe.out").read_text() for fe in frontends)
    assert sorted(re.findall(r"fetching (\S+\.jar)", told)) == sorted(package.file for package in OF_THE_LAKE)
    assert "another frontend is fetching jars" in told


@pytest.mark.long
def test_what_is_truncated_or_altered_comes_anew_from_maven(tmp_path: Path) -> None:
    """A copy of a real folder, of which one jar is cut and another changed."""
    options = {JAVA_OPTIONS: f"-Duser.home={tmp_path}"}
    place = LakePlace(lake_dir=tmp_path / "lake", jars_dir=tmp_path / "jars", options=options)
    lay_jars(place.jars_dir)
    iceberg, sqlite, _ = OF_THE_LAKE
    truncate(place.jars_dir / iceberg.file)
    alter(place.jars_dir / sqlite.file)
    fetched = JarCache(place).of_the_lake(print)
    assert [path.parent for path in fetched] == [place.jars_dir] * len(OF_THE_LAKE)
    assert [digest(path) for path in fetched] == [package.sha256 for package in OF_THE_LAKE]


@pytest.mark.long
def test_each_jar_has_the_licence_that_notice_tells(tmp_path: Path) -> None:
    """As its POM says, which Ivy keeps next to what it fetches."""
    names = [package.name for package in OF_THE_LAKE]
    place = LakePlace(lake_dir=tmp_path, jars_dir=tmp_path, options={})
    JarCache(place)._ask_maven(names, names, tmp_path / "ivy", print)
    for package in OF_THE_LAKE:
        group, artifact, version = package.name.split(":")
        kept = (tmp_path / "ivy" / "cache" / group / artifact / f"ivy-{version}.xml").read_text()
        assert re.findall(r'<license name="([^"]*)"', kept) == [package.licence]
