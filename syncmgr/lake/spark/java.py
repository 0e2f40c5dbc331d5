"""Which Java runs Spark.

Owns: where a Java 17 or 21 is searched for, and the message if there is none.
Must not know: Spark, how a JVM is started.
"""

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from syncmgr.errors import Code, SyncError

SUPPORTED: Final = (17, 21)  # what Spark 4.1 is tested with
KNOWN_PLACES: Final = ("/usr/lib/jvm", "/opt/java", "/Library/Java/JavaVirtualMachines")


def java_home() -> Path:
    """The home of the first fitting Java: JAVA_HOME, then PATH, then the usual folders. Raises JAVA_MISSING."""
    seen = []
    for home in _candidates():
        version = _major_version(home)
        if version in SUPPORTED:
            return home
        if version is not None:
            seen.append(f"{home} is Java {version}")
    reason = "; ".join(seen) or "neither JAVA_HOME nor PATH leads to one"
    raise SyncError(Code.JAVA_MISSING, reason=reason)


def _candidates() -> Iterator[Path]:
    if os.environ.get("JAVA_HOME"):
        yield Path(os.environ["JAVA_HOME"])
    on_path = shutil.which("java")
    if on_path:
        yield Path(on_path).resolve().parent.parent
    for place in KNOWN_PLACES:
        yield from sorted(Path(place).glob("*"))


def _major_version(home: Path) -> int | None:
    """From the `release` file that every JDK and JRE ships; None if this is not a Java home."""
    if not (home / "bin" / "java").is_file():
        return None
    try:
        found = re.search(r'^JAVA_VERSION="(?:1\.)?(\d+)', (home / "release").read_text(), re.MULTILINE)
    except OSError:
        return None
    return int(found[1]) if found else None
