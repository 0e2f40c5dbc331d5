"""What statements report besides their answers.

Owns: the remarks of the last statement, and how many of them @@warning_count and @@error_count report.
Must not know: which statement is which.
"""

from dataclasses import replace
from typing import Final

from syncmgr.errors import Diagnostic, SyncError

LONGEST: Final = 2000  # characters, as of an error


class Remarks:
    """Of one session. The counts survive statements that read them."""

    def __init__(self) -> None:
        self.current: tuple[Diagnostic, ...] = ()
        self._counted: tuple[Diagnostic, ...] = ()
        self._asked = False  # for the counts, by the last statement

    def begin(self, *, asks: bool, keeps: bool) -> None:
        """A statement: whether it reads the counts, whether it keeps the remarks."""
        if not (asks and self._asked):
            self._counted = self.current
        self._asked = asks
        if not keeps:
            self.current = ()

    def replace_all(self, remarks: tuple[Diagnostic, ...]) -> None:
        """Those of the running statement; of a long list the beginning is kept."""
        self.current = tuple(replace(each, text=each.text[:LONGEST]) for each in remarks)

    def fail(self, error: SyncError) -> None:
        self.replace_all((Diagnostic(level="Error", code=error.code, text=str(error)),))

    def forget(self) -> None:
        self.current = self._counted = ()

    def counts(self) -> dict[str, int]:
        """By the name of the variable."""
        errors = sum(each.level == "Error" for each in self._counted)
        return {"warning_count": len(self._counted), "error_count": errors}
