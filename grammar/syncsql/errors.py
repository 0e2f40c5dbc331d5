"""What is wrong with a text, and where.

Owns: the one error of the language and the finding of a place in a text.
Must not know: error numbers, clients, the caller.
"""

from typing import Final

SHOWN_CHARACTERS: Final = 80
END_OF_TEXT: Final = "end of input"


class SqlSyntaxError(Exception):
    """A text that is not in the language.

    reason says what is wrong, near is the offending token (at most 80 characters, or "end of input"), line and column
    count from 1 in characters.
    """

    def __init__(self, *, reason: str, near: str, line: int, column: int) -> None:
        self.reason = reason
        self.near = near
        self.line = line
        self.column = column
        super().__init__(f"{reason} near '{near}' at line {line}, column {column}")

    def __reduce__(self) -> tuple[object, ...]:
        """A long text may be parsed in another process."""
        return _rebuild, (type(self), self.reason, self.near, self.line, self.column)


class NestedTooDeeplyError(SqlSyntaxError):
    """An expression that is nested more deeply than any real one."""


class TooLargeError(Exception):
    """A text of more than `limit` of `what`."""

    def __init__(self, *, what: str, limit: int) -> None:
        self.what = what
        self.limit = limit
        super().__init__(f"more than {limit} {what}")


def _rebuild(kind: type[SqlSyntaxError], reason: str, near: str, line: int, column: int) -> SqlSyntaxError:
    return kind(reason=reason, near=near, line=line, column=column)


def place(source: str, offset: int) -> tuple[int, int]:
    """Line and column, both from 1, of the character at offset."""
    return source.count("\n", 0, offset) + 1, offset - source.rfind("\n", 0, offset)


def error_at(
    source: str,
    start: int,
    end: int,
    reason: str,
    *,
    kind: type[SqlSyntaxError] = SqlSyntaxError,
    shown: str | None = None,
) -> SqlSyntaxError:
    """The error about source[start:end], or what is shown instead; an empty stretch means the end of the text."""
    line, column = place(source, start)
    near = shown or source[start:end][:SHOWN_CHARACTERS] or END_OF_TEXT
    return kind(reason=reason, near=near, line=line, column=column)
