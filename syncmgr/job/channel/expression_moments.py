"""Texts in an expression that Spark takes for the present time.

Owns: which they are, and where they become a date.
Must not know: SQL, when it is called.

Spark gives CAST('today' AS DATE) the day on which it computes it, also where a date is compared with that text.
"""

import re
from typing import Final

from syncmgr.job.channel.expression_bounds import Node
from syncmgr.job.channel.expression_functions import SHORT_RESULTS

NO_TEXT: Final = (
    "a text that becomes a date or a time must be a literal, or read a column: Spark takes some for the present"
)
_PRESENT: Final = re.compile(r"[\s\x00-\x20]*(?:now|today|tomorrow|yesterday)\b", re.IGNORECASE)
_MOMENTS: Final = ("date", "timestamp")
_PARSERS: Final = frozenset({"ParseToDate", "ParseToTimestamp"})  # a cast, unless they have a format


def momentary(node: Node) -> str | None:
    """Why it may have another value at another time; None: it has not, as far as texts are concerned."""
    waiting = [node]
    while waiting:
        each = waiting.pop()
        waiting += each.children
        reason = _of_text(each.children[0]) if _becomes_moment(each) else None
        if reason is not None:
            return reason
    return None


def _becomes_moment(node: Node) -> bool:
    is_cast = node.kind == "Cast" and node.type.startswith(_MOMENTS)
    return len(node.children) == 1 and (is_cast or node.kind in _PARSERS)


def _of_text(node: Node) -> str | None:
    if node.kind == "Literal":
        is_present = node.type == "string" and _PRESENT.match(node.text or "")
        return f"{node.text!r} is another time whenever it is computed" if is_present else None
    if node.kind in SHORT_RESULTS or (node.kind == "Cast" and not node.type.startswith(("string", "char", "varchar"))):
        return None
    return None if _reads(node) else NO_TEXT


def _reads(node: Node) -> bool:
    """Whether it depends on a row."""
    waiting = [node]
    while waiting:
        each = waiting.pop()
        if each.kind == "AttributeReference":
            return True
        waiting += each.children
    return False
