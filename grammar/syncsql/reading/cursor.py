"""A place among the tokens of one statement, and what can be read there.

Owns: words, names, strings, numbers, lists, and the error if something else is there.
Must not know: any statement.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

from sqlglot.tokenizer_core import Token as RawToken

from syncsql.errors import SqlSyntaxError, error_at
from syncsql.names import MASK, Name
from syncsql.reading.reserved import RESERVED
from syncsql.tokens import Kind, Token, TokenisedStatement

T = TypeVar("T")


class Cursor:
    """Reads forward only; every reader either takes what it names or raises SqlSyntaxError."""

    def __init__(self, statement: TokenisedStatement) -> None:
        self._statement = statement
        self._tokens = statement.tokens
        self._at = 0

    def peek(self, ahead: int = 0) -> Token | None:
        at = self._at + ahead
        return self._tokens[at] if at < len(self._tokens) else None

    def take_token(self) -> Token | None:
        """The token here; None at the end."""
        token = self.peek()
        self._at += token is not None
        return token

    def word(self, ahead: int = 0) -> str | None:
        """The bare word there in capitals; None for anything else."""
        token = self.peek(ahead)
        return token.text.upper() if token is not None and token.kind is Kind.WORD else None

    def sees(self, *words: str) -> bool:
        return all(self.word(ahead) == word for ahead, word in enumerate(words))

    def take(self, *words: str) -> bool:
        """Take these words if all of them are here."""
        if not self.sees(*words):
            return False
        self._at += len(words)
        return True

    def take_any(self, *words: str) -> str | None:
        """Take the one of these words that is here."""
        return next((word for word in words if self.take(word)), None)

    def expect(self, *words: str) -> None:
        for word in words:
            if not self.take(word):
                raise self.error(f"expected {word}")

    def sees_sign(self, sign: str, ahead: int = 0) -> bool:
        token = self.peek(ahead)
        return token is not None and token.kind is Kind.SIGN and token.text == sign

    def take_sign(self, sign: str) -> bool:
        if not self.sees_sign(sign):
            return False
        self._at += 1
        return True

    def expect_sign(self, sign: str, where: str) -> None:
        if not self.take_sign(sign):
            raise self.error(f"expected {sign} {where}")

    def error(self, reason: str, token: Token | None = None) -> SqlSyntaxError:
        """The error about token, or about the token here."""
        token = token or self.peek()
        if token is not None:
            shown = MASK if self._is_secret(token) else None
            return error_at(self._statement.source, token.start, token.end, reason, shown=shown)
        end = self._statement.end  # a semicolon, or the end of the text
        if end == len(self._statement.source):
            last = self._tokens[-1].end
            return error_at(self._statement.source, last, last, reason)
        return error_at(self._statement.source, end, end + 1, reason)

    def _is_secret(self, token: Token) -> bool:
        """Whether a string may be the password of a property, even if its = or its comma is missing."""
        at = self._tokens.index(token)
        before = self._tokens[max(0, at - 3) : at]
        return token.kind is Kind.STRING and any(_announces_secret(each) for each in before)

    def end(self, statement: T) -> T:
        """The statement, if nothing follows it."""
        if self.peek() is not None:
            raise self.error("unexpected input after the end of the statement")
        return statement

    @property
    def source(self) -> str:
        """The whole text."""
        return self._statement.source

    def raw(self, first: Token, last: Token) -> Sequence[RawToken]:
        """What sqlglot's tokeniser made of these and all between."""
        return self._statement.raw[first.raw : last.raw + 1]

    def last(self) -> Token:
        """The last token taken."""
        return self._tokens[self._at - 1]

    def identifier(self, what: str) -> str:
        token = self.peek()
        if token is None or token.kind not in {Kind.NAME, Kind.WORD}:
            raise self.error(f"expected {what}")
        if token.kind is Kind.WORD and token.text.upper() in RESERVED:
            raise self.error(f"expected {what}; {token.text.upper()} is a reserved word, quote it with backticks")
        if not token.text:
            raise self.error(f"{what} cannot be empty")
        self._at += 1
        return token.text

    def name(self, what: str) -> Name:
        """Name or db.name."""
        first = self.identifier(what)
        if not self.take_sign("."):
            return Name(name=first)
        second = self.identifier(what)
        if self.sees_sign("."):
            raise self.error(f"{what} has two parts at most")
        return Name(db=first, name=second)

    def dotted(self, what: str) -> str:
        """name.name.name as one text."""
        parts = [self.identifier(what)]
        while self.take_sign("."):
            parts.append(self.identifier(what))
        return ".".join(parts)

    def string(self, what: str) -> str:
        token = self.peek()
        if token is None or token.kind is not Kind.STRING:
            raise self.error(f"expected {what}")
        self._at += 1
        return token.text

    def number(self, what: str) -> int:
        """A whole number without a sign."""
        token = self.peek()
        if token is None or token.kind is not Kind.NUMBER or not (token.text.isascii() and token.text.isdigit()):
            raise self.error(f"expected {what}")
        if len(token.text) > 19:  # more than any 64-bit number has
            raise self.error(f"{what} is too large")
        self._at += 1
        return int(token.text)

    def literal_number(self, what: str) -> str:
        """A number as typed: 1, 1.5, 1e9."""
        token = self.peek()
        if token is None or token.kind is not Kind.NUMBER:
            raise self.error(f"expected {what}")
        self._at += 1
        return token.text

    def in_brackets(self, item: Callable[[], T], what: str) -> tuple[T, ...]:
        """( item, item, ... ): at least one, and no comma at the end."""
        self.expect_sign("(", f"before the {what} list")
        items = [item()]
        while self.take_sign(","):
            items.append(item())
        if not self.take_sign(")"):
            raise self.error(f"expected , or ) in the {what} list")
        return tuple(items)


def _announces_secret(token: Token) -> bool:
    text = token.text.lower()
    return text.endswith("password") or text == "identified"


def number_between(at: Cursor, low: int, high: int) -> int:
    """A whole number within bounds."""
    start = at.peek()
    number = at.number("a whole number")
    if not low <= number <= high:
        raise at.error(f"expected a number from {low} to {high}", start)
    return number
