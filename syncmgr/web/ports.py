"""What the HTTP door needs from the rest of the program.

Owns: the port.
Must not know: who implements it.
"""

from typing import Protocol

from syncmgr.job.metrics.sample import Sample


class Samples(Protocol):
    """What was measured last. Does not block."""

    def last(self) -> Sample | None:
        """None: nothing yet, as the frontend starts."""
