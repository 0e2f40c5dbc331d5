"""A clock that was set back: Iceberg takes no commit that is older than the last one.

Owns: distinguishing that from other failures.
Must not know: who commits.
"""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from syncmgr.errors import Code, SyncError
from syncmgr.lake.iceberg.iceberg import Iceberg
from syncmgr.lake.spark.jvm import JAVA_ERRORS, Java

ALLOWED_SECOND: Final = 60.0  # by Iceberg itself


def refuse_old_clock(iceberg: Iceberg, load: Callable[[], Java], label: str) -> None:
    """After a commit that failed, whatever it said. Raises LAKE_CLOCK."""
    now = time.time()
    try:
        behind = iceberg.behind(load(), now)
    except JAVA_ERRORS:  # the JVM has died, and that is what failed
        return
    if behind > ALLOWED_SECOND:
        until = datetime.fromtimestamp(now + behind - ALLOWED_SECOND, UTC).strftime("%Y-%m-%d %H:%M:%S")
        raise SyncError(Code.LAKE_CLOCK, table=label, second=round(behind), until=until)
