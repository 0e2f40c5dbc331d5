"""Secrets by their names, and files by their modes."""

from pathlib import Path

import pytest

from syncmgr.host.private import is_secret, seen_by_others, without_secrets


@pytest.mark.parametrize(
    "name",
    [
        "spark.hadoop.fs.s3a.secret.key",
        "spark.hadoop.fs.s3a.access.key",
        "spark.hadoop.fs.azure.account.key.x.dfs.core.windows.net",
        "spark.sql.catalog.lake.jdbc.password",
        "spark.sql.catalog.lake.credential",
        "spark.sql.catalog.lake.token",
        "spark.hadoop.javax.net.ssl.trustStorePassword",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "AZURE_STORAGE_CONNECTION_STRING",
        "MYSQL_PWD",
    ],
)
def test_secrets_are_known_by_their_names(name: str) -> None:
    """Those of object stores, catalogs and Java, in fe.conf and in the environment."""
    assert is_secret(name)


@pytest.mark.parametrize("name", ["spark.driver.memory", "spark.hadoop.fs.s3a.endpoint", "PATH", "HOME", "PWD", "LANG"])
def test_what_is_no_secret_is_left_alone(name: str) -> None:
    """A process that lacks its PATH would not work."""
    assert not is_secret(name)


def test_secrets_are_taken_out_of_an_environment() -> None:
    """The rest stays, and nothing is lost."""
    environment = {"PATH": "/bin", "AWS_SECRET_ACCESS_KEY": "x", "PGPASSWORD": "y"}
    assert without_secrets(environment) == {"AWS_SECRET_ACCESS_KEY": "x"}
    assert environment == {"PATH": "/bin", "PGPASSWORD": "y"}, "which the metadata's driver reads"


@pytest.mark.parametrize(("mode", "seen"), [(0o600, None), (0o640, 0o640), (0o604, 0o604), (0o700, None)])
def test_a_file_that_others_read_is_noticed(tmp_path: Path, mode: int, seen: int | None) -> None:
    """Of our own file any bit beyond ours counts; what is not there is seen by nobody."""
    file = tmp_path / "fe.conf"
    assert seen_by_others(file) is None
    file.touch()
    file.chmod(mode)
    assert seen_by_others(file) == seen
