"""A constant, as it may follow DEFAULT.

Owns: which texts are the same in all rows, and how they are written.
Must not know: columns, where a text ends.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from mysqlddl.nodes import Default, DefaultKind
from mysqlddl.words import BITS, NUMBER, STRING, Modes, Token, Words
from syncmgr.job.types.charset import ALL_OF_UNICODE, EVERYWHERE, LIKE_ASCII

MAX_BRACKETS: Final = 4  # around a constant
_NOW: Final = frozenset({"CURRENT_TIMESTAMP", "NOW", "LOCALTIME", "LOCALTIMESTAMP"})
_DATED: Final[Mapping[str, str]] = {  # as the server writes them; it also writes others like that into a text column
    "DATE": r"\d{4}-\d\d-\d\d",
    "TIME": r"-?\d{2,3}:\d\d:\d\d(\.\d{1,6})?",
    "TIMESTAMP": r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,6})?",
}
_INTRODUCERS: Final = frozenset(  # before a text; one of ASCII is the same in all of these charsets
    {"N", "_UTF8", "_BINARY", *(f"_{name.upper()}" for name in LIKE_ASCII)}
)
_DOCUMENTS: Final[Mapping[str, str]] = {"JSON_OBJECT": "{}", "JSON_ARRAY": "[]"}
_LAST_OF_TWO_BYTES: Final = "\uffff"
_MAX_WHOLE: Final = 2**63


def constant(tokens: list[Token], modes: Modes, depth: int = 0) -> Default | None:
    """What is the same in all rows. Brackets change nothing, except that NOW() in them has no fraction in MySQL."""
    if len(tokens) == 1 and tokens[0].word == "(":
        if depth == MAX_BRACKETS:  # each of them is parsed separately
            return None
        inner = Words(tokens[0].text[1:-1], modes)
        tokens = []
        while not inner.done:
            tokens.append(inner.take_value())
        found = constant(tokens, modes, depth + 1) if tokens else None
        unsaid = found is not None and found.kind is DefaultKind.NOW and not found.text and not modes.mariadb
        return Default(kind=DefaultKind.NOW, text="0") if unsaid else found
    found = next((found for rule in _DEFAULTS if (found := rule(tokens)) is not None), None)
    return found if found is None or found.kind is not DefaultKind.STRING else _in_session(found, tokens, modes)


def _in_session(found: Default, tokens: list[Token], modes: Modes) -> Default | None:
    """As the session means a string; None: it means another one, or which one is not known."""
    if not found.text and modes.empty_nulls:
        return Default(kind=DefaultKind.NULL)
    first = tokens[0]
    if first.word in {*_DATED, *_DOCUMENTS}:
        return found
    introduced, alike = first.kind != STRING, _is_alike(found.text, modes)
    if not alike and len(tokens) > 1 + introduced:
        return None  # the servers convert all strings but the first one twice
    if introduced:
        known = found.text.isascii() or modes.client.startswith("utf8")  # it has the client's bytes
        return replace(found, charset="binary" if first.word == "_BINARY" else found.charset) if known else None
    return replace(found, charset=modes.connection) if alike or _is_kept(found.text, modes) else None


def _is_alike(text: str, modes: Modes) -> bool:
    """Whether the conversion to the connection's charset leaves its bytes as they are."""
    if EVERYWHERE.fullmatch(text):
        return modes.connection in {modes.client, *LIKE_ASCII, "swe7"}
    return modes.connection == modes.client != "swe7"


def _is_kept(text: str, modes: Modes) -> bool:
    """Whether that conversion leaves it the same text. What is from or to binary is copied."""
    if "binary" in {modes.client, modes.connection}:
        other = modes.connection if modes.client == "binary" else modes.client
        return other.startswith("utf8") or (text.isascii() and other in LIKE_ASCII)
    if EVERYWHERE.fullmatch(text):
        return True
    if modes.client == "swe7":  # its @, [ and others are letters
        return False
    if modes.connection in {"ucs2", "utf8mb3"}:
        return max(text) <= _LAST_OF_TWO_BYTES
    return modes.connection in ALL_OF_UNICODE or (text.isascii() and modes.connection in LIKE_ASCII)


def _null(tokens: list[Token]) -> Default | None:
    return Default(kind=DefaultKind.NULL) if [t.word for t in tokens] == ["NULL"] else None


def _truth(tokens: list[Token]) -> Default | None:
    words = [t.word for t in tokens]
    if words not in (["TRUE"], ["FALSE"]):
        return None
    return Default(kind=DefaultKind.NUMBER, text=str(int(words == ["TRUE"])))


def _text(tokens: list[Token]) -> Default | None:
    """A string, its charset before it, or DATE and such."""
    first = tokens[0].word
    introduced = first in _INTRODUCERS
    if (introduced or first in _DATED) and len(tokens) > 1:
        tokens = tokens[1:]
    text = "".join(t.text for t in tokens)
    if first in _DATED and re.fullmatch(_DATED[first], text) is None:
        return None
    if any(t.kind != STRING for t in tokens) or (introduced and not (text.isascii() or "UTF8" in first)):
        return None
    return Default(kind=DefaultKind.STRING, text=text)


def _number(tokens: list[Token]) -> Default | None:
    signs = [t.word for t in tokens[:-1]]
    if tokens[-1].kind != NUMBER or any(sign not in {"-", "+"} for sign in signs):
        return None
    return Default(kind=DefaultKind.NUMBER, text="-" * (signs.count("-") % 2) + tokens[-1].text)


def _bits(tokens: list[Token]) -> Default | None:
    return Default(kind=DefaultKind.BITS, text=tokens[0].text) if [t.kind for t in tokens] == [BITS] else None


def _now(tokens: list[Token]) -> Default | None:
    if tokens[0].word not in _NOW or [t.word for t in tokens[1:]] not in ([], ["("]):
        return None
    digits = tokens[1].text.strip("() ") if len(tokens) > 1 else ""
    return Default(kind=DefaultKind.NOW, text=digits) if digits.isdecimal() or not digits else None


def _document(tokens: list[Token]) -> Default | None:
    """JSON_OBJECT() and JSON_ARRAY() of nothing."""
    text = _DOCUMENTS.get(tokens[0].word)
    if text is None or [t.word for t in tokens[1:]] != ["("] or tokens[1].text.strip("() "):
        return None
    return Default(kind=DefaultKind.STRING, text=text)


def _sum(tokens: list[Token]) -> Default | None:
    """Whole numbers, added and multiplied."""
    numbers, signs = tokens[::2], [t.word for t in tokens[1::2]]
    if len(numbers) != len(signs) + 1 or not signs or not {"+", "-", "*"}.issuperset(signs):
        return None
    if any(t.kind != NUMBER or not t.text.isdecimal() for t in numbers):
        return None
    total, product = 0, int(numbers[0].text)
    for sign, number in zip(signs, numbers[1:], strict=True):
        if sign == "*":
            product *= int(number.text)
        else:
            total, product = total + product, int(sign + number.text)
    value = total + product
    return Default(kind=DefaultKind.NUMBER, text=str(value)) if abs(value) < _MAX_WHOLE else None


_DEFAULTS: Final[tuple[Callable[[list[Token]], Default | None], ...]] = (
    _null,
    _truth,
    _text,
    _number,
    _bits,
    _now,
    _document,
    _sum,
)
