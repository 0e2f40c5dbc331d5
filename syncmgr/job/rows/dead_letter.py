"""A change that was kept out of the target.

Owns: what is recorded of it, and how much of that one job may keep.
Must not know: why it was kept out, where it is kept.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from syncmgr.errors import Code, SyncError


@dataclass(frozen=True, kw_only=True, slots=True)
class DeadLetter:
    """Of the channel `token`. `row`: the new image of its source row, as JSON.

    `value` and `reason`: of its first column that the target cannot hold. `at`: unix seconds. `offset`: after the
    change in `file`, 0 if a compressed transaction does not show it.
    """

    token: str
    change: str
    column: str
    value: str
    reason: str
    row: str
    at: float
    file: str
    offset: int

    @property
    def bytes(self) -> int:
        """Of what distinguishes it from others, and takes most of its space."""
        return len(self.column.encode(errors="replace")) + len(self.row.encode(errors="replace"))

    @property
    def text(self) -> str:
        """In an error's words, without the value: a user who sees the job may not be allowed to read its rows."""
        return f"column '{self.column}': {self.reason}"


@dataclass(frozen=True, kw_only=True, slots=True)
class DeadLetterBounds:
    """Of one job."""

    count: int = 0
    bytes: int = 0

    def refuse_more(self, letters: Sequence[DeadLetter], *, kept: int = 0, kept_bytes: int = 0) -> None:
        """Raises DEAD_LETTERS_FULL if they are too many beside those that are kept: none of them may be left out."""
        if not letters:
            return
        count = kept + len(letters)
        size = kept_bytes + sum(letter.bytes for letter in letters)
        for have, limit, what, setting in (
            (count, self.count, "dead letters", "max_dead_letters"),
            (size, self.bytes, "bytes of dead letters", "max_dead_letter_bytes"),
        ):
            if have > limit:
                raise SyncError(
                    Code.DEAD_LETTERS_FULL, count=have, what=what, setting=setting, limit=limit, reason=letters[-1].text
                )


NO_DEAD_LETTERS: Final = DeadLetterBounds()


def not_known(letters: Iterable[DeadLetter], known: Iterable[DeadLetter]) -> tuple[DeadLetter, ...]:
    """Those whose row and column are not among `known`: a change that a snapshot had read before the binlog delivered
    it.
    """
    seen = {(letter.token, letter.column, letter.row) for letter in known}
    return tuple(letter for letter in letters if (letter.token, letter.column, letter.row) not in seen)
