"""How slowly a source may send what it has begun.

Owns: the rule. Must not know: connections, whether it is an event or an answer.
"""

from typing import Final

SLOWEST: Final = 4096  # bytes a second


def stalls(came: int, passed: float, silence: float) -> bool:
    """Whether `came` bytes in `passed` seconds are as good as none: what is large may take longer than a source may be
    silent, but not as long as it likes. `silence`: for so long nothing is asked of it, in seconds.
    """
    return passed > silence and came < SLOWEST * passed
