"""Which columns are represented exactly by canal's text of their values.

Owns: that rule, and what CREATE SYNC says of it.
Must not know: how a value is decoded, where a column's type was read.
"""

from collections.abc import Iterable
from functools import partial
from typing import Final

from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.attempts import gathered
from syncmgr.job.channel.description import ChannelDescription
from syncmgr.job.types.schema import IDENTIFIERS, TEXT, SourceColumn, SourceTable, has_arrow_type
from syncmgr.job.types.target import parse_type

UNICODE: Final = frozenset({"utf8mb4", "utf8mb3", "utf8", "ascii"})
UNPARSED: Final = frozenset({"vector", *IDENTIFIERS})  # canal's parser ends at the first vector
TEXT_TARGETS: Final = frozenset({"CHAR", "VARCHAR", "STRING"})


def refusal(column: SourceColumn, time_zone: str | None) -> str | None:
    """Why canal's text does not represent every value of a column exactly; None if it does.

    `time_zone`: that of canal's server, None if not given.
    """
    if column.type in UNPARSED or not has_arrow_type(column):
        return f"canal does not report values of the type {column.type}"
    if column.type in TEXT and column.charset is not None and column.charset not in UNICODE:
        return f"its charset is {column.charset}, and canal reads every text as UTF-8; convert it to utf8mb4"
    if column.type == "timestamp" and time_zone is None:
        return (
            "canal gives a timestamp in the time zone of its server, without naming it;"
            ' add "canal.time_zone", e.g. "UTC" or "Asia/Shanghai"'
        )
    if column.type in {"enum", "set"} and not column.members:
        return "its labels are not known, and canal gives only their numbers"
    if any("\\" in member for member in column.members):
        return "a label holds a backslash, which canal does not always spell alike"
    return None


def check_exact(table: SourceTable, names: Iterable[str], time_zone: str | None) -> None:
    """Raises CANAL_INEXACT, which lists all of the columns that canal's text does not represent exactly."""
    gathered(partial(_check_exact, table, name, time_zone) for name in names)


def _check_exact(table: SourceTable, name: str, time_zone: str | None) -> None:
    column = table.column(name)
    if column is None:
        raise SyncError(Code.SOURCE_UNKNOWN_COLUMN, table=table.label, column=name, hint="")
    refused = refusal(column, time_zone)
    if refused is not None:
        raise SyncError(Code.CANAL_INEXACT, column=column.name, table=table.label, reason=refused)


def caveats(channel: ChannelDescription) -> tuple[str, ...]:
    """What CREATE SYNC warns of: canal reports neither charsets nor which JSON values are not JSON, and delivers again
    what an earlier job has not acknowledged.
    """
    places = [(place.name, parse_type(place.type).name) for place in channel.places if place.name in channel.reads]
    table = channel.source.label
    texts = [name for name, kind in places if kind in TEXT_TARGETS]
    documents = [name for name, kind in places if kind == "JSON"]
    parts = []
    if texts:
        parts.append(
            f"canal reads every text of '{table}' as UTF-8 and does not report its charset: where "
            "they are text in MySQL,"
            f" the source columns of {', '.join(texts)} must be utf8mb4, utf8mb3 or ascii"
        )
    if documents:
        parts.append(
            f"canal spells dates, binary values and decimals that SQL functions put into JSON of '{table}' otherwise"
            f" than MySQL ({', '.join(documents)}); documents that came as JSON are exact"
        )
    if not channel.keys:
        parts.append(
            f"the target of '{table}' has no key: if another job has read this destination before, canal delivers the "
            "last batch of that job again, and its rows would be there twice; delete the destination's cursor first, "
            "and bring the target in line with the source"
        )
    return tuple(parts)
