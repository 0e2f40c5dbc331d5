"""Generated columns whose values depend on who computes them.

Owns: which VIRTUAL columns may have another value in a session with another time zone.
Must not know: servers, what happens to such a column.
"""

import re
from collections.abc import Collection, Mapping
from typing import Final

from syncmgr.job.types.schema import mentions

WHY: Final = (
    "it is VIRTUAL and generated from a TIMESTAMP; the binlog has its values in the time zone of the session that wrote"
    " the row, a snapshot in UTC, so that they may be hours apart; leave it out with a list of the other columns, and"
    " an expression in its place, or make it STORED at the source"
)
_SAME_IN_ALL: Final = (  # of a TIMESTAMP, as the servers print it
    r"`{0}` is (?:not )?null\b",
    r"\bisnull\(`{0}`\)",
    r"\bunix_timestamp\(`{0}`\)",
)


def zoned(virtual: Mapping[str, str], timestamps: Collection[str]) -> frozenset[str]:
    """Of the VIRTUAL columns, by their expressions, those that may depend on the session's time zone: the binlog has
    them as the session that wrote the row computed them. They read a TIMESTAMP, or one another.
    """
    found: frozenset[str] = frozenset()
    while True:
        more = {name for name, text in virtual.items() if _depends(text, timestamps) or _reads(text, found - {name})}
        if more <= found:
            return found
        found |= more


def _depends(expression: str, timestamps: Collection[str]) -> bool:
    """Whether it has one NULL, or at one point of time, is no matter of time zones."""
    for name in timestamps:
        for form in _SAME_IN_ALL:
            expression = re.sub(form.format(re.escape(name.replace("`", "``"))), "", expression, flags=re.IGNORECASE)
    return _reads(expression, timestamps)


def _reads(expression: str, names: Collection[str]) -> bool:
    return any(mentions(expression, name) for name in names)
