"""How many files and sockets the frontend may have open.

Owns: that the limit is as high as the machine's owner permits, and the part of it that clients may take.
Must not know: what is opened.
"""

import logging
import resource
from contextlib import suppress
from typing import Final

from syncmgr.host import log_files

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


def for_clients(limit: int, wanted: int) -> int:
    """How many connections there may be, of those that max_connections permits. Jobs and commits need the rest of the
    files: without it they stop.
    """
    room = limit // 2
    if room < wanted:
        log_files.announce(
            f"the console accepts {room} connections instead of max_connections = {wanted}: this process may have "
            f"{limit} files open; raise its hard limit to {2 * wanted} (ulimit -Hn, or LimitNOFILE of systemd)",
            logging.WARNING,
        )
    return min(room, wanted)
