"""Names, properties, and how they are quoted.

Owns: `db`.`name`, "key" = "value", string literals.
Must not know: any statement.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, Protocol

MASK: Final = "******"
_STRING_ESCAPES: Final = str.maketrans(
    {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\0", "\b": "\\b", "\x1a": "\\Z"}
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Name:
    """A job or a table; db is None if the database in use is meant."""

    name: str
    db: str | None = None

    def sql(self) -> str:
        return quote_name(self.name) if self.db is None else f"{quote_name(self.db)}.{quote_name(self.name)}"


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Property:
    """A pair of a property list; both are texts, even if a bare number or name was typed."""

    key: str
    value: str

    def sql(self) -> str:
        return f"{quote_string(self.key)} = {quote_string(self.value)}"

    def __repr__(self) -> str:
        shown = self.masked()
        return f"Property(key={shown.key!r}, value={shown.value!r})"

    def masked(self) -> "Property":
        """The same without its secret."""
        return replace(self, value=MASK) if self.key.lower().endswith("password") else self


def quote_name(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def quote_names(names: Iterable[str]) -> str:
    return "(" + ", ".join(map(quote_name, names)) + ")"


def quote_string(text: str) -> str:
    return '"' + text.translate(_STRING_ESCAPES) + '"'


def print_properties(properties: Iterable[Property]) -> str:
    return "(" + ", ".join(each.sql() for each in properties) + ")"


class Printable(Protocol):
    """What prints itself."""

    def sql(self) -> str: ...


def printed(part: Printable | None) -> str | None:
    return None if part is None else part.sql()


def clause(word: str, text: str | None) -> str:
    """A blank, the word and its text, or nothing if there is no text."""
    return "" if text is None else f" {word} {text}"


def words(*parts: tuple[bool, str]) -> str:
    """Those of the optional words that were given, each after a blank."""
    return "".join(f" {word}" for is_stated, word in parts if is_stated)
