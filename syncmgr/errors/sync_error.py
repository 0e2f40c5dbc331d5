"""An error of the table, as it is raised.

Owns: the facts that fill its words, and how long a text of others may become.
Must not know: which errors there are.
"""

from typing import TypeVar

from syncmgr.errors.code import Code

E = TypeVar("E", bound=Exception)
MOST_SHOWN = 8192  # characters of a text that others have written: it is stored, logged and shown


class SyncError(Exception):
    """An error for the operator: a row of the table, the facts that fill its words, and `more` that follows them.

    None of these is longer than MOST_SHOWN: some come from sources.
    """

    def __init__(self, code: Code, *, more: object = "", **context: object) -> None:
        self.code = code
        self.context = context = {name: _short(value) for name, value in context.items()}
        self.more = more = _short(more)
        super().__init__(f"{code.template.format(**context)}{more}")

    def __reduce__(self) -> tuple[object, ...]:
        """It crosses from worker processes to the FE."""
        return _rebuild, (self.code, self.context, self.more)

    def saying(self, more: str) -> "SyncError":
        """The same, with more words at its end."""
        return SyncError(self.code, more=f"{self.more}{more}", **self.context)


def _rebuild(code: Code, context: dict[str, object], more: object) -> SyncError:
    return SyncError(code, more=more, **context)


def _short(value: object) -> object:
    """A text, up to MOST_SHOWN."""
    if not isinstance(value, str) or len(value) <= MOST_SHOWN:
        return value
    end = f"... ({len(value)} characters)"
    return value[: MOST_SHOWN - len(end)] + end


def shorten(error: E) -> E:
    """A foreign error whose message contains no data, so that it may be logged."""
    error.args = tuple(map(_short, error.args))
    return error
