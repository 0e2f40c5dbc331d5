"""Which rows a SHOW returns, in which order.

Owns: the values of LIKE, WHERE, ORDER BY and LIMIT.
Must not know: what is shown.
"""

from dataclasses import dataclass
from typing import Final

from syncsql.expression import Expression
from syncsql.names import clause, printed, quote_name, quote_string, words


@dataclass(frozen=True, kw_only=True, slots=True)
class OrderItem:
    """A column of the rows shown, and its direction."""

    column: str
    descending: bool = False

    def sql(self) -> str:
        return quote_name(self.column) + words((self.descending, "DESC"))


@dataclass(frozen=True, kw_only=True, slots=True)
class Filter:
    """Which rows a SHOW returns: LIKE on its first column of names, WHERE on any."""

    like: str | None = None
    where: Expression | None = None

    def sql(self) -> str:
        like = self.like if self.like is None else quote_string(self.like)
        return clause("LIKE", like) + clause("WHERE", printed(self.where))


EVERY_ROW: Final = Filter()


@dataclass(frozen=True, kw_only=True, slots=True)
class Limit:
    """How many rows at most, after how many skipped."""

    rows: int
    offset: int = 0

    def sql(self) -> str:
        return f" LIMIT {self.rows}" + (f" OFFSET {self.offset}" if self.offset else "")
