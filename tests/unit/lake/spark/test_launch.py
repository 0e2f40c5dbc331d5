"""The settings of Spark, and where its jars come from."""

from pathlib import Path

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.lake.spark.java import java_home
from syncmgr.lake.spark.launch import LakePlace, escaped, java_quoted, query_settings, settings, with_jars


def place(tmp_path: Path, **options: str) -> LakePlace:
    named = {key.replace("__", "."): value for key, value in options.items()}
    return LakePlace(lake_dir=tmp_path / "lake", jars_dir=tmp_path / "jars", options=named)


def test_the_operator_has_the_last_word(tmp_path: Path) -> None:
    """spark.* keys are passed on as they are; JVM flags are added to ours."""
    at = place(tmp_path, spark__driver__memory="3g", spark__driver__extraJavaOptions="-Dx=y", spark__foo="bar")
    found = settings(at)
    assert (found["spark.driver.memory"], found["spark.foo"]) == ("3g", "bar")
    assert found["spark.driver.extraJavaOptions"].endswith(" -Dx=y -Duser.timezone=UTC")


def test_the_time_zone_is_ours_in_every_jvm(tmp_path: Path) -> None:
    """What Java computes in its own zone would be other times: of two values Java takes the last, on executors too."""
    berlin = "-Duser.timezone=Europe/Berlin -Xss4m"
    options = {"spark__driver__extraJavaOptions": berlin, "spark__executor__extraJavaOptions": berlin}
    found = settings(place(tmp_path, spark__master="spark://there:7077", **options))
    for whose in ("driver", "executor"):
        assert found[f"spark.{whose}.extraJavaOptions"].endswith(f"{berlin} -Duser.timezone=UTC")
    assert settings(place(tmp_path, spark__master="yarn"))["spark.executor.extraJavaOptions"] == "-Duser.timezone=UTC"


def test_queries_have_their_own_heap_and_write_nothing(tmp_path: Path) -> None:
    """The operator's heap is that of the commits; the catalog file is opened for reading, another catalog as it is."""
    found = query_settings(place(tmp_path, spark__driver__memory="3g", spark__foo="bar"), 768 << 20)
    assert (found["spark.driver.memory"], found["spark.foo"]) == ("768m", "bar")
    assert found["spark.sql.catalog.lake.uri"].endswith("open_mode=1")
    other = query_settings(place(tmp_path, spark__sql__catalog__lake__uri="http://there"), 1 << 30)
    assert other["spark.sql.catalog.lake.uri"] == "http://there"


def test_variables_stay_off_whatever_the_operator_says(tmp_path: Path) -> None:
    """Otherwise texts of statements would show the environment and Java's properties."""
    at = place(tmp_path, spark__sql__variable__substitute="true")
    for found in (settings(at), query_settings(at, 1 << 30)):
        assert found["spark.sql.variable.substitute"] == "false"


def test_another_catalog_takes_the_place_of_ours(tmp_path: Path) -> None:
    """Any key of the catalog means that it is not the embedded one."""
    at = place(tmp_path, spark__sql__catalog__lake__type="rest")
    assert not at.embedded
    assert "spark.sql.catalog.lake.uri" not in settings(at)
    assert "spark.sql.catalog.lake.uri" in settings(place(tmp_path))


def test_what_commits_cannot_delete_unless_the_catalog_has_one_name(tmp_path: Path) -> None:
    """A second connection deletes; a database keeps tables by the name of the catalog, so there it would find none."""
    for kind, second in (("rest", True), ("jdbc", False)):
        found = settings(place(tmp_path, spark__sql__catalog__lake__type=kind))
        assert ("spark.sql.catalog.lake_upkeep" in found) is second
        assert (found.get("spark.sql.catalog.lake.s3.delete-enabled") == "false") is second


def test_a_catalog_whose_name_begins_alike_is_another(tmp_path: Path) -> None:
    """The embedded one stays, with the sync after each of its changes."""
    assert place(tmp_path, spark__sql__catalog__lakehouse="org.apache.iceberg.spark.SparkCatalog").embedded


def test_jars_go_on_the_class_path(tmp_path: Path) -> None:
    """Behind what the operator has put there; on a cluster among spark.jars, which Spark hands to its executors."""
    jars = [Path("/a.jar"), Path("/b.jar")]
    at = place(tmp_path, spark__jars__packages="x:y:1", spark__driver__extraClassPath="/own.jar")
    found = with_jars(settings(at), at, jars)
    assert "spark.jars.packages" not in found
    assert found["spark.driver.extraClassPath"] == "/own.jar:/a.jar:/b.jar"
    at = place(tmp_path, spark__master="spark://there:7077", spark__jars="/own.jar")
    assert with_jars(settings(at), at, jars)["spark.jars"] == "/own.jar,/a.jar,/b.jar"


def java(folder: Path, version: str) -> Path:
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "java").touch(mode=0o755)
    (folder / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\n')
    return folder


def test_a_fitting_java_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """JAVA_HOME goes before PATH, but only if its version fits."""
    old, right = java(tmp_path / "8", "1.8.0_402"), java(tmp_path / "17", "17.0.9")
    monkeypatch.setenv("JAVA_HOME", str(old))
    monkeypatch.setenv("PATH", str(right / "bin"))
    assert right == java_home()
    monkeypatch.setenv("JAVA_HOME", str(java(tmp_path / "21", "21")))
    assert tmp_path / "21" == java_home()


def test_no_fitting_java_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With what was found instead."""
    monkeypatch.setenv("JAVA_HOME", str(java(tmp_path / "25", "25.0.1")))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("syncmgr.lake.spark.java.KNOWN_PLACES", ())
    with pytest.raises(SyncError, match="is Java 25") as caught:
        java_home()
    assert caught.value.code is Code.JAVA_MISSING


def test_java_options_and_settings_are_quoted_for_their_files() -> None:
    """An @file of java and a file of java.util.Properties give back what was written, whatever is in it."""
    assert java_quoted('-Dx=a "b" \\c #d') == '"-Dx=a \\"b\\" \\\\c #d"'
    assert escaped("a=b:c #!\\\n") == "a\\=b\\:c\\ \\#\\!\\\\\\n"
