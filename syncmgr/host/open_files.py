"""How many files and sockets the frontend may have open.

Owns: that the limit is as high as the machine's owner permits, and the part of it that clients may take.
Must not know: what is opened.
"""

import resource
from contextlib import suppress
from typing import Final

WANTED: Final = 1 << 16


def raised() -> int:
    """The limit of this process and its children, raised as far as it needs: most shells and services begin at 1024,
    and let a process have more.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = WANTED if hard == resource.RLIM_INFINITY else min(hard, WANTED)
    if soft != resource.RLIM_INFINITY and soft < most:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    now = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return WANTED if now == resource.RLIM_INFINITY else now


def for_clients(limit: int) -> int:
    """Jobs and commits need the rest: without it they stop."""
    return limit // 2
