"""Messages of errors that quote values of rows.

Owns: how such a text begins, and where the quotation does.
Must not know: who may read it, what stands in its place.
"""

from typing import Final

# A value, or a statement that writes some. The error that quotes it may be the reason of another one.
_QUOTING: Final = (
    ("Column '", "' holds "),
    ("Column or WHERE expression '", "' cannot be used: it fails for a row: "),
    ("' has to be changed in Spark first: its column ", "; the value is "),
    ("binlog_format is not ROW in a session", " "),
    ("Sessions of the MySQL server at ", " Statement: "),
    ("A session of the MySQL server at ", " Statement: "),
)


def quotation(text: str) -> int | None:
    """Where it begins; it extends to the end, since what follows a value may quote the key of its row. None: there is
    none.
    """
    found = []
    for first, last in _QUOTING:
        begin = text.find(first)
        at = -1 if begin < 0 else text.find(last, begin + len(first))
        found += [at + len(last)] if at >= 0 else []
    return min(found, default=None)
