"""The handshake that ties a reader's view of a table to a place in the binlog.

Owns: the names of its locks, how it is queried which tables are locked, and what the reader sends before its first row.
Must not know: connections, who is on the other side.

The other side, which knows the binlog, holds `go` and `stored` from the beginning.

1. The reader takes `ready`, and waits for `go`.
2. The other side takes `closed`, locks the table and releases `go`.
3. The reader begins its view, takes `begun`, and waits for `stored`.
4. The other side notes the end of the binlog, unlocks the table, stores the place, takes `sealed`, releases `stored`.
5. The reader sees `sealed`, and reads.

If the other side dies, `sealed` is not held: the reader fails. A second session of the same read, which would have
another view, meets `closed` and fails.
"""

from collections.abc import Callable
from typing import Final

from syncmgr.job.types.schema import SourceTable

UniqueKeys = tuple[tuple[str, ...], ...]
# whether a table will be locked for a moment; its schema is None if it does not exist, or is not visible
Locked = Callable[[tuple[str, str], SourceTable | None, UniqueKeys], bool]

READY_SECOND: Final = 10  # an earlier session may need a moment to end
WAIT_SECOND: Final = 60


def never(_table: tuple[str, str], _schema: SourceTable | None, _unique_keys: UniqueKeys) -> bool:
    return False


def ready(name: str) -> str:
    return f"syncmgr-{name}-ready"


def go(name: str) -> str:
    return f"syncmgr-{name}-go"


def begun(name: str) -> str:
    return f"syncmgr-{name}-begun"


def stored(name: str) -> str:
    return f"syncmgr-{name}-stored"


def closed(name: str) -> str:
    return f"syncmgr-{name}-closed"


def sealed(name: str) -> str:
    return f"syncmgr-{name}-sealed"


def opening(name: str) -> tuple[str, ...]:
    """The reader's statements, in order; each one fails if its lock is not available."""
    return (
        "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
        _demanded(f"IS_FREE_LOCK('{closed(name)}')"),
        _got(ready(name), READY_SECOND),
        _got(go(name), WAIT_SECOND),
        "START TRANSACTION WITH CONSISTENT SNAPSHOT",
        _got(begun(name), 0),
        _got(stored(name), WAIT_SECOND),
        _demanded(f"IS_USED_LOCK('{sealed(name)}') IS NOT NULL"),
    )


def _got(lock: str, second: int) -> str:
    return _demanded(f"GET_LOCK('{lock}', {second})")


def _demanded(question: str) -> str:
    """EXP of so much is an error in every SQL mode."""
    return f"SELECT EXP(IF(({question}) = 1, 0, 10000))"
