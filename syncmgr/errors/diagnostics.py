"""What a statement says besides its answer.

Owns: the rows of SHOW WARNINGS.
Must not know: which errors there are, or who asks.
"""

from dataclasses import dataclass
from typing import Literal

from syncmgr.errors.code import Code
from syncmgr.errors.sync_error import SyncError


@dataclass(frozen=True, kw_only=True, slots=True)
class Diagnostic:
    """A message of a statement besides its answer, or its error again: a row of SHOW WARNINGS."""

    level: Literal["Note", "Warning", "Error"]
    code: Code
    text: str


def as_note(forgives: bool, error: SyncError) -> tuple[Diagnostic, ...]:  # noqa: FBT001 - the statement's own flag
    """Turns an error into a note for IF EXISTS and IF NOT EXISTS. Raises the error without them."""
    if not forgives:
        raise error
    return (Diagnostic(level="Note", code=error.code, text=str(error)),)
