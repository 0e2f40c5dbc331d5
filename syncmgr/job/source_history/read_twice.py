"""Rows that a job reads although an earlier one has written them.

Owns: the rule.
Must not know: where epochs are stored, what their targets are.
"""

from collections.abc import Iterable
from dataclasses import replace

from syncmgr.job.epoch import Epoch
from syncmgr.job.position import Position, has_passed


def goes_back(start: Position, epochs: Iterable[Epoch]) -> bool:
    """Whether rows of these epochs come after `start`. Of an epoch that does not count yet a table may have them."""
    return any(epoch.rows and not has_passed(_on_server_of(start, epoch.end), epoch.end) for epoch in epochs)


def _on_server_of(start: Position, end: Position) -> Position:
    """A start that is a file and an offset was found on the server that is asked."""
    return start if start.server else replace(start, server=end.server)
