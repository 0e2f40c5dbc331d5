"""Where the jars of Spark's JVM are looked for, and when one is believed."""

import hashlib
from pathlib import Path

import pytest

from syncmgr.lake.spark import launch
from syncmgr.lake.spark.fetching import JarCache, fetching_settings
from syncmgr.lake.spark.jars import COMPLETE, JarFolders, JarPackage, users_folder

CONTENT = b"classes"
PACKAGE = JarPackage(name="org.example:some-jar_2.13:1.2", sha256=hashlib.sha256(CONTENT).hexdigest(), licence="MIT")


def folders(tmp_path: Path) -> JarFolders:
    return JarFolders(own=tmp_path / "jars", older=tmp_path / "lake" / "jars")


def lay(path: Path, content: bytes = CONTENT) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    "name",
    [
        "jars/some-jar_2.13-1.2.jar",
        "jars/0123456789abcdef/jars/org.example_some-jar_2.13-1.2.jar",
        "lake/jars/0123456789abcdef/jars/org.example_some-jar_2.13-1.2.jar",
    ],
)
def test_a_jar_is_found_where_it_may_lie(tmp_path: Path, name: str) -> None:
    """In jars_dir, and in the folders of earlier versions, so that an upgrade fetches nothing."""
    path = lay(tmp_path / name)
    assert folders(tmp_path).whole(PACKAGE) == path


def test_a_wrong_jar_is_passed_over(tmp_path: Path) -> None:
    """One whose checksum is another is none, and does not hide a whole one elsewhere."""
    lay(tmp_path / "jars" / PACKAGE.file, CONTENT[:3])
    assert folders(tmp_path).whole(PACKAGE) is None
    path = lay(tmp_path / "lake" / "jars" / "of an older version" / "jars" / PACKAGE.ivy_file)
    assert folders(tmp_path).whole(PACKAGE) == path


def test_each_list_of_the_operator_has_its_folder(tmp_path: Path) -> None:
    """In jars_dir, or where an earlier version has filled one."""
    at = folders(tmp_path)
    first, second = at.of_list("a:b:1"), at.of_list("a:b:2")
    assert first.parent == second.parent == at.own
    assert first != second
    lay(at.older / first.name / COMPLETE)
    assert at.of_list("a:b:1") == at.older / first.name


def test_jars_of_an_earlier_version_start_no_jvm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor do they make a folder: jars_dir may be one that nobody writes to."""
    path = lay(tmp_path / "lake" / "jars" / "5acf5ffb1a884589" / "jars" / PACKAGE.ivy_file)
    monkeypatch.setattr("syncmgr.lake.spark.fetching.OF_THE_LAKE", (PACKAGE,))
    monkeypatch.setattr(launch, "Jvm", None)
    place = launch.LakePlace(lake_dir=tmp_path / "lake", jars_dir=tmp_path / "jars")
    assert JarCache(place).of_the_lake(print) == [path]
    assert not place.jars_dir.exists()


def test_the_jvm_that_fetches_needs_no_class_of_the_jars(tmp_path: Path) -> None:
    """Settings of the operator go with it, as those of a mirror; the file system of ours does not."""
    conf = launch.settings(
        launch.LakePlace(lake_dir=tmp_path, jars_dir=tmp_path, options={"spark.jars.ivySettings": "x"})
    )
    found = fetching_settings(conf, PACKAGE.name, tmp_path / "new")
    assert "spark.hadoop.fs.file.impl" in conf
    assert "spark.hadoop.fs.file.impl" not in found
    assert found["spark.jars.ivySettings"] == "x"
    assert (found["spark.jars.packages"], found["spark.jars.ivy"]) == (PACKAGE.name, str(tmp_path / "new"))


def test_all_frontends_of_a_user_share_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the cache of the user; a user without a home has none."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert users_folder() == tmp_path / "syncmgr" / "jars"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/somebody")
    assert users_folder() == Path("/home/somebody/.cache/syncmgr/jars")
    monkeypatch.delenv("HOME")
    monkeypatch.setattr("os.getuid", lambda: 54321)
    assert users_folder() is None
