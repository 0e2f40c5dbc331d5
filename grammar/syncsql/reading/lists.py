"""Lists of names and of properties, and IF [NOT] EXISTS.

Owns: how they are typed, that nothing is given twice.
Must not know: which properties exist.
"""

from syncsql.names import Property
from syncsql.reading.cursor import Cursor
from syncsql.tokens import Kind


def read_identifiers(at: Cursor, what: str) -> tuple[str, ...]:
    """( name, name, ... ), no name twice whatever its case."""
    seen: set[str] = set()
    return at.in_brackets(lambda: unseen(at, seen, at.identifier(f"a {what} name"), what), what)


def unseen(at: Cursor, seen: set[str], name: str, what: str) -> str:
    """The name just taken, noted in seen; an error if it is there in any case."""
    folded = "".join(character.lower()[0] for character in name)  # as a server does: ß is not ss
    if folded in seen:
        raise at.error(f"{what} '{name}' is given twice", at.last())
    seen.add(folded)
    return name


def read_properties(at: Cursor) -> tuple[Property, ...]:
    """( "key" = "value", ... ): a key may be dotted words, a value a bare word or number."""
    seen: set[str] = set()

    def one() -> Property:
        start = at.peek()
        key = _key(at)
        if key in seen:
            raise at.error(f"property '{key}' is given twice", start)
        seen.add(key)
        at.expect_sign("=", "after the property key")
        return Property(key=key, value=_value(at))

    return at.in_brackets(one, "property")


def _key(at: Cursor) -> str:
    token = at.peek()
    if token is not None and token.kind is Kind.STRING:
        if not token.text:
            raise at.error("a property key cannot be empty")
        return at.string("a property key")
    return at.dotted("a property key")


def _value(at: Cursor) -> str:
    if at.take_sign("-"):
        return "-" + at.literal_number("a number")
    token = at.peek()
    if token is None or token.kind not in {Kind.STRING, Kind.NUMBER, Kind.WORD}:
        raise at.error("expected a property value")
    at.take_token()
    return token.text


def take_if_exists(at: Cursor) -> bool:
    """IF EXISTS or nothing; IF alone is an error."""
    if not at.sees("IF"):
        return False
    at.expect("IF", "EXISTS")
    return True


def take_if_not_exists(at: Cursor) -> bool:
    """IF NOT EXISTS or nothing; IF alone is an error."""
    if not at.sees("IF"):
        return False
    at.expect("IF", "NOT", "EXISTS")
    return True
