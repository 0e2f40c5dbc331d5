"""A change that was kept out of the target.

Owns: what is recorded of it.
Must not know: why it was kept out, where it is kept.
"""

from collections.abc import Iterable
from dataclasses import dataclass


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
    def text(self) -> str:
        """In an error's words, without the value: a user who sees the job may not be allowed to read its rows."""
        return f"column '{self.column}': {self.reason}"


def not_known(letters: Iterable[DeadLetter], known: Iterable[DeadLetter]) -> tuple[DeadLetter, ...]:
    """Those whose row and column are not among `known`: a change that a snapshot had read before the binlog delivered
    it.
    """
    seen = {(letter.token, letter.column, letter.row) for letter in known}
    return tuple(letter for letter in letters if (letter.token, letter.column, letter.row) not in seen)
