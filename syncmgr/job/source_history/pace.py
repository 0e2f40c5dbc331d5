"""How slowly a source may send data once it has begun.

Owns: the rule.
Must not know: connections, whether it is an event or an answer.
"""

from typing import Final

SLOWEST: Final = 4096  # bytes a second


def stalls(came: int, passed: float, silence: float) -> bool:
    """Whether `came` bytes in `passed` seconds are as good as none: large data may take longer than a source may be
    silent, but not arbitrarily long. `silence`: the seconds for which nothing is required of it.
    """
    return passed > silence and came < SLOWEST * passed
