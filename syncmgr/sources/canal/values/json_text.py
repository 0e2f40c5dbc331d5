"""canal's text of a JSON document -> the text that MySQL prints for it.

Owns: where canal and MySQL write JSON differently, and which differences cannot be resolved.
Must not know: columns, Arrow.
"""

import json
import re
from typing import Final

from syncmgr.job.types.number_text import double_text

# What may need another spelling: an escape, a control character, an exponent, a string that may have been a date.
DOUBTFUL: Final = r'[\\\x00-\x1f]|\d[Ee]|"\d{4}-\d\d-\d\d 00:00:00(\.000000)?"'
BEGINS: Final = r'^[\[{"0-9tfn-]'  # canal shows an update of a part of a document as an expression: JSON_SET(...)

# Each character is looked at a few times at most, whatever the text is: it comes from a source.
_PIECE: Final = re.compile(r'"(?:[^"\\]++|\\.)*+(?:"|\Z)|[^"]++', re.DOTALL)
_NUMBER: Final = re.compile(r"(?<![\d.])-?\d++(?:\.\d++)?[Ee][+-]?\d+")
_MIDNIGHT: Final = re.compile(r'"(?:\d{4}-\d\d-\d\d 00:00:00\.000000|0000-00-00 00:00:00)"')

_quote = json.encoder.encode_basestring
_unquote = json.JSONDecoder(strict=False).decode


class UnclearError(ValueError):
    """A document that canal's text does not represent exactly. `shown`: the doubtful part."""

    def __init__(self, shown: str) -> None:
        super().__init__(shown)
        self.shown = shown


def mysql_text(text: str) -> str:
    """A document as MySQL prints it. Raises UnclearError, ValueError if it is not JSON.

    Canal already writes MySQL's order, blanks and shortest numbers; but doubles as Java prints them, and escapes for
    characters that MySQL prints plainly. It writes a DATE as if it were a DATETIME, which only midnight reveals.
    """
    pieces = _PIECE.findall(text)
    if sum(map(len, pieces)) != len(text):
        raise ValueError("a string that does not end")
    made = []
    for place, piece in enumerate(pieces):
        if not piece.startswith('"'):
            made.append(_NUMBER.sub(lambda m: double_text(float(m[0])), piece))
            continue
        if _MIDNIGHT.fullmatch(piece) and not _is_name(pieces, place):
            raise UnclearError(piece)
        made.append(_quote(_unquote(piece)))
    return "".join(made)


def _is_name(pieces: list[str], place: int) -> bool:
    return place + 1 < len(pieces) and pieces[place + 1].startswith(":")
