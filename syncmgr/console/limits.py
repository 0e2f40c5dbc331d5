"""What a client may take: times, sizes, numbers.

Owns: the limits of the console and nothing else. Sizes in bytes, times in seconds.
"""

from dataclasses import dataclass
from typing import Final

KiB: Final = 1024
MiB: Final = 1024 * KiB


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """`threads` bounds the statements that run at one time, of the lake and of all else each.

    A client with `max_cursors` open gets the rows of a further one at once.
    `read_timeout` holds inside a packet, `wait_timeout` between two commands, `drain_timeout` at stop().
    """

    max_connections: int = 1024
    max_packet: int = 64 * MiB
    login_packet: int = 64 * KiB
    max_prepared: int = 1024
    max_cursors: int = 16
    threads: int = 32
    high_water: int = 256 * KiB
    connect_timeout: float = 10
    read_timeout: float = 30
    write_timeout: float = 60
    wait_timeout: float = 28800
    drain_timeout: float = 5
