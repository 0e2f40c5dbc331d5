"""Jars without a network: a folder that Spark's Ivy uses as its only repository.

Owns: the settings of that Ivy, copies of the jars of the run, damage to one.
Must not know: who requests a jar.
"""

from pathlib import Path
from typing import Final

from syncmgr.lake.spark.jars import OF_THE_LAKE, JarFolders, JarPackage
from tests.support.installed import JARS

_SETTINGS: Final = """
<ivysettings>
  <settings defaultResolver="folder"/>
  <resolvers>
    <filesystem name="folder" m2compatible="true">
      <artifact pattern="{folder}/[artifact]-[revision].[ext]"/>
    </filesystem>
  </resolvers>
</ivysettings>
"""


class JarRepository:
    def __init__(self, folder: Path) -> None:
        self._folder = folder / "repository"
        self._folder.mkdir(parents=True)
        self._file = folder / "ivysettings.xml"
        self._file.write_text(_SETTINGS.format(folder=self._folder))

    @property
    def options(self) -> dict[str, str]:
        """Of a lake that uses it."""
        return {"spark.jars.ivySettings": str(self._file)}

    def offer(self, *packages: JarPackage) -> "JarRepository":
        lay_jars(self._folder, *packages)
        return self

    def path(self, package: JarPackage) -> Path:
        return self._folder / package.file


def java_without_network(home: Path) -> str:
    """Options of a Java whose proxy is a closed port, and whose user has no repository of Maven."""
    proxies = (f"-D{scheme}.proxyHost=127.0.0.1 -D{scheme}.proxyPort=1" for scheme in ("http", "https"))
    return f"-Duser.home={home} {' '.join(proxies)}"


def lay_jars(folder: Path, *packages: JarPackage) -> None:
    """The jars of the run, or some of them, as an operator copies them into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for package in packages or OF_THE_LAKE:
        (folder / package.file).write_bytes(run_jar(package).read_bytes())


def run_jar(package: JarPackage) -> Path:
    path = JarFolders(own=JARS, older=JARS).whole(package)
    assert path is not None, "bin/test.sh brings the jars"
    return path


def truncate(path: Path) -> None:
    """As a full disk leaves it."""
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)


def alter(path: Path) -> None:
    """One bit changed, by an attacker or by accident."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
