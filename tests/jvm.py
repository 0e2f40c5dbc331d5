"""Spark's JVM as the tests run it: quick to start, cheap to run.

Owns: the jars that all lakes of a run share, the archive of Spark's loaded classes, the JVM's flags.
Must not know: pytest, what is tested.

An archive of loaded classes (CDS) halves the CPU time of a JVM's start, and compiling once only (C1) that of its life.
Benches and `python -m tests.torture` do without both: they measure the JVM of an operator.
`python -m tests.jvm` makes the archive, unless it is there.
"""

import hashlib
import os
import sys
from pathlib import Path
from typing import Final

from syncmgr.spark import launch
from syncmgr.spark.java import java_home

VARIABLE: Final = "SYNCMGR_TEST_JVM"
QUICK: Final = "quick"
JARS: Final = Path.home() / ".cache" / "syncmgr" / "jars"
ONE_COMPILER: Final = "-XX:TieredStopAtLevel=1"


def archive() -> Path:
    """Beside the jars whose paths it holds, and for one Java."""
    java = hashlib.sha256((java_home() / "release").read_bytes()).hexdigest()[:16]
    return Path(sys.prefix) / f"spark-{java}.jsa"


def flags() -> dict[str, str]:
    """Settings of a lake or frontend whose JVM is quick, where the run wants that. An archive that does not fit is not
    used, without a word.
    """
    if not _is_quick():
        return {}
    return {"spark.driver.extraJavaOptions": f"{ONE_COMPILER} -XX:SharedArchiveFile={archive()} -Xlog:disable"}


def environment() -> dict[str, str]:
    """Of any other Java program: it compiles once only, where the run wants that."""
    return {**os.environ, **({"JDK_JAVA_OPTIONS": ONE_COMPILER} if _is_quick() else {})}


def shared_jars(jars_dir: Path) -> dict[str, str]:
    """Settings of a frontend that takes the jars of the run, and fetches none into the folder that is its own."""
    place = launch.LakePlace(lake_dir=jars_dir.parent, jars_dir=JARS)
    if not _is_quick() or launch.fetching(launch.settings(place), place) is not None:
        return {}
    own = launch.LakePlace(lake_dir=jars_dir.parent, jars_dir=jars_dir)
    cache = launch._cache({}, own)
    cache.mkdir(parents=True, exist_ok=True)
    launch.jars_are_complete({}, own)
    return launch.with_jars({}, place)


def _is_quick() -> bool:
    return os.environ.get(VARIABLE) == QUICK
