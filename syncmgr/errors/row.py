"""A row of the table of errors.

Owns: what is said of an error: MySQL's number where MySQL has one, ours from 20000. Numbers below 1000 and from 5000 to
5999 belong to client libraries (libmariadb shows those as a broken packet), and some read the number as a signed 16-bit
integer: ours are between 20000 and 32767.
Must not know: any error.
"""

from typing import NamedTuple


class Row(NamedTuple):
    """Number, SQLSTATE, and the message with the names of its facts in braces."""

    number: int
    sqlstate: str
    template: str
