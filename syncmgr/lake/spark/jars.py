"""The jars that Spark's JVM loads: which, and where they are.

Owns: our packages with their checksums and licences, the folders searched for jars, whether a jar is whole.
Must not know: how a jar is fetched, what a JVM does with it.
"""

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

COMPLETE: Final = "complete"


@dataclass(frozen=True, kw_only=True, slots=True)
class JarPackage:
    """One jar of ours. `name`: as Maven knows it. `licence`: in the words of its POM."""

    name: str
    sha256: str
    licence: str

    @property
    def file(self) -> str:
        """As Maven calls it."""
        _, artifact, version = self.name.split(":")
        return f"{artifact}-{version}.jar"

    @property
    def ivy_file(self) -> str:
        """As Spark's Ivy calls it."""
        return f"{self.name.split(':')[0]}_{self.file}"


OF_THE_LAKE: Final = (
    JarPackage(
        name="org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0",
        sha256="3123c3798af642dd537230923548e013ef41cc28b6626e5225808cf5670a0f82",
        licence="The Apache Software License, Version 2.0",
    ),
    JarPackage(
        name="org.xerial:sqlite-jdbc:3.50.3.0",
        sha256="a3f53a2aa15ae9425a9e793bbe9c8e5288febeb4b65ef5c1a4e80d4c2045cf08",
        licence="The Apache Software License, Version 2.0",
    ),
    JarPackage(
        name="com.globalmentor:hadoop-bare-naked-local-fs:0.1.0",
        sha256="e0cc30fb0531eb0b59468dc0abf5b257533d2365b5e9f45e795edd707aa78c62",
        licence="Apache-2.0",
    ),
)
AWS: Final = JarPackage(  # Iceberg's access to S3 and Glue, with Amazon's libraries
    name="org.apache.iceberg:iceberg-aws-bundle:1.12.0",
    sha256="dd7e49ffa4ac9b215bed846581991259e3aec9bb2fa08d6cec029c46cd66d957",
    licence="The Apache Software License, Version 2.0",
)
POSTGRESQL: Final = JarPackage(
    name="org.postgresql:postgresql:42.7.7",
    sha256="157963d60ae66d607e09466e8c0cdf8087e9cb20d0159899ffca96bca2528460",
    licence="BSD-2-Clause",
)


OF_CATALOGS: Final = (AWS, POSTGRESQL)


def of_catalog(catalog: Mapping[str, str]) -> tuple[JarPackage, ...]:
    """What a catalog of the operator's own needs in addition. `catalog`: its settings."""
    kind, uri = catalog.get("type"), catalog.get("uri", "")
    place, io = catalog.get("warehouse", ""), catalog.get("io-impl", "")
    found = []
    if kind == "glue" or "aws" in io or (kind == "rest" and not io and (":" not in place or place.startswith("s3"))):
        found.append(AWS)
    if uri.startswith("jdbc:postgresql:"):
        found.append(POSTGRESQL)
    return tuple(found)


@dataclass(frozen=True, kw_only=True, slots=True)
class JarFolders:
    """`own`: where jars are kept, and may be placed by hand. `older`: where earlier versions kept them, which is also
    read.
    """

    own: Path
    older: Path

    def whole(self, package: JarPackage) -> Path | None:
        """Where there is an intact one."""
        return next((path for path in self.places(package) if digest(path) == package.sha256), None)

    def places(self, package: JarPackage) -> Iterator[Path]:
        yield self.own / package.file
        for folder in (self.own, self.older):
            yield from sorted(folder.glob(f"*/jars/{package.ivy_file}"))

    def of_list(self, packages: str) -> Path:
        """Of packages that the operator has listed: a folder for each list, since two versions of a jar must not meet.
        If none is complete, the one that is to be filled.
        """
        name = hashlib.sha256(packages.encode()).hexdigest()[:16]
        here = [folder / name for folder in (self.own, self.older)]
        return next((folder for folder in here if (folder / COMPLETE).is_file()), here[0])


def digest(path: Path) -> str | None:
    """Of what can be read there."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


def users_folder() -> Path | None:
    """Where all frontends of a user keep their jars; None for a user without a home."""
    try:
        cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError:
        return None
    return Path(cache).absolute() / "syncmgr" / "jars"
