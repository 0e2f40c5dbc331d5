"""What statements had to say besides their answers.

Owns: the remarks of the last statement, and how many of them @@warning_count and @@error_count tell.
Must not know: which statement is which.
"""

from dataclasses import replace
from typing import Final

from syncmgr.errors import Remark, SyncError

LONGEST: Final = 2000  # characters, as of an error


class Remarks:
    """Of one session. The counts outlast statements that ask for them."""

    def __init__(self) -> None:
        self.told: tuple[Remark, ...] = ()
        self._counted: tuple[Remark, ...] = ()
        self._asked = False  # for the counts, by the last statement

    def begin(self, *, asks: bool, keeps: bool) -> None:
        """A statement: whether it asks for the counts, whether it leaves the remarks."""
        if not (asks and self._asked):
            self._counted = self.told
        self._asked = asks
        if not keeps:
            self.told = ()

    def tell(self, remarks: tuple[Remark, ...]) -> None:
        """Those of the statement that runs; of a long one the beginning is kept."""
        self.told = tuple(replace(each, text=each.text[:LONGEST]) for each in remarks)

    def fail(self, error: SyncError) -> None:
        self.tell((Remark(level="Error", code=error.code, text=str(error)),))

    def forget(self) -> None:
        self.told = self._counted = ()

    def counts(self) -> dict[str, int]:
        """By the name of the variable."""
        errors = sum(each.level == "Error" for each in self._counted)
        return {"warning_count": len(self._counted), "error_count": errors}
