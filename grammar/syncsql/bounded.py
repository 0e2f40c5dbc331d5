"""sqlglot's parser, with an end to how often it reads the same words.

Owns: how far the parser may go back in one text.
Must not know: what is parsed, or why.

A word such as DATE may be a type or a function, so sqlglot reads what is in its brackets as the one, goes back, and
reads it as the other: each further one inside doubles the time, and twenty take an hour.
"""

from collections.abc import Sequence
from typing import Final

from sqlglot import exp
from sqlglot.dialects.mysql import MySQL
from sqlglot.errors import ErrorLevel
from sqlglot.parsers.mysql import MySQLParser
from sqlglot.tokenizer_core import Token

PER_TOKEN: Final = 16  # going back, on average
AT_LEAST: Final = 2_000  # of a short text: DATE in six others


class WentBackTooFarError(RecursionError):
    """Treated like a text that is nested too deeply, which it is."""


class BoundedParser(MySQLParser):
    """Of one text. Raises WentBackTooFarError besides sqlglot's own errors."""

    def __init__(self) -> None:
        super().__init__(error_level=ErrorLevel.IMMEDIATE, dialect=MySQL())
        self._left = 0  # tokens that it may still go back

    def query(self, raw: Sequence[Token], source: str) -> exp.Expr | None:
        """The first statement of a text."""
        self._left = _budget(raw)
        return next(iter(self.parse(list(raw), source)), None)

    def condition(self, raw: Sequence[Token], source: str) -> exp.Expr:
        """An expression."""
        self._left = _budget(raw)
        (tree,) = self.parse_into(exp.Condition, list(raw), source)
        assert tree is not None
        return tree

    def _retreat(self, index: int) -> None:
        self._left -= max(self._index - index, 0)
        if self._left < 0:
            raise WentBackTooFarError("words that may mean two things are nested too deeply")
        super()._retreat(index)


def _budget(raw: Sequence[Token]) -> int:
    return AT_LEAST + PER_TOKEN * len(raw)
