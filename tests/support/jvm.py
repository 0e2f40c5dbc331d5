"""Spark's JVM as the tests run it: quick to start, cheap to run.

Owns: the jars that all lakes of a run share, the archive of Spark's loaded classes, the JVM's flags.
Must not know: pytest, what is tested.

An archive of loaded classes (CDS) halves the CPU time of a JVM's start, and compiling once only (C1) that of its life.
Benches and `python -m tests.torture` do without both: they measure the JVM of an operator.
`python -m tests.support.archive_classes` fetches the jars and creates the archive, unless they exist.
"""

import hashlib
import os
import shlex
import sys
from pathlib import Path
from typing import Final

from syncmgr.lake.spark import launch
from syncmgr.lake.spark.fetching import JarCache
from syncmgr.lake.spark.jars import OF_THE_LAKE, JarFolders
from syncmgr.lake.spark.java import java_home
from tests.support.installed import JARS

VARIABLE: Final = "SYNCMGR_TEST_JVM"
QUICK: Final = "quick"
ONE_COMPILER: Final = "-XX:TieredStopAtLevel=1"


def archive() -> Path:
    """Of one Java and one list of jars."""
    of = (java_home() / "release").read_bytes() + repr(OF_THE_LAKE).encode()
    return Path(sys.prefix) / f"spark-{hashlib.sha256(of).hexdigest()[:16]}.jsa"


def flags() -> dict[str, str]:
    """Settings of a lake or frontend whose JVM is quick, if the run wants that. An archive that does not fit is
    silently ignored.
    """
    return {"spark.driver.extraJavaOptions": _spark_flags()} if _is_quick() else {}


def _spark_flags() -> str:
    shared = shlex.quote(f"-XX:SharedArchiveFile={archive()}")  # the clone's folder may have a blank
    return f"{ONE_COMPILER} {shared} -Xlog:disable"


def environment() -> dict[str, str]:
    """Of any other Java program: it compiles only once, if the run wants that."""
    return {**os.environ, **({"JDK_JAVA_OPTIONS": ONE_COMPILER} if _is_quick() else {})}


def environment_of_frontends() -> dict[str, str]:
    """Of a script that starts frontends with settings of its own: their JVMs are quick, if the run wants that."""
    return {**os.environ, **({"JDK_JAVA_OPTIONS": _spark_flags()} if _is_quick() else {})}


def jars_dir(folder: Path) -> Path:
    """The jars of the run, if they exist; otherwise a folder below a test's own, so that only `bring_jars` writes where
    the frontends of the user look.
    """
    return JARS if _are_there() else folder / "jars"


def _are_there() -> bool:
    folders = JarFolders(own=JARS, older=JARS)
    return all(any(path.is_file() for path in folders.places(package)) for package in OF_THE_LAKE)


def bring_jars() -> None:
    """All that tests may need."""
    catalog = {"spark.sql.catalog.lake.type": "rest", "spark.sql.catalog.lake.uri": "jdbc:postgresql:"}
    for options in ({}, catalog):  # the second brings what S3 and PostgreSQL need, too
        JarCache(launch.LakePlace(lake_dir=JARS.parent / "no lake", jars_dir=JARS, options=options)).of_the_lake(print)


def _is_quick() -> bool:
    return os.environ.get(VARIABLE) == QUICK
