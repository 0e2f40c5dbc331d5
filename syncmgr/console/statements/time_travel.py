"""Consistent points in a SELECT: t FOR VERSION AS OF 'db.job@epoch'.

Owns: finding them in the text, and the text with the snapshot of each table instead.
Must not know: jobs, snapshots; any other VERSION AS OF is left to Spark.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import sqlglot
from sqlglot import Token, TokenType
from sqlglot.errors import TokenError

from syncmgr.errors import Code, SyncError

LATEST: Final = "latest"
_LIKELY: Final = re.compile(r"\bas\s+of\s*['\"][^'\"]*@", re.IGNORECASE)
_POINT: Final = re.compile(r"(?:(?P<db>[^.@]+)\.)?(?P<job>[^.@]+)@(?P<epoch>\d{1,18}|latest)", re.IGNORECASE)
_VERSION: Final = {"VERSION", "SYSTEM_VERSION"}

Snapshots = Mapping[tuple[str, str], int]


@dataclass(frozen=True, kw_only=True, slots=True)
class Point:
    """A consistent point of a job; `epoch` None: the newest."""

    db: str
    job: str
    epoch: int | None

    def __str__(self) -> str:
        return f"{self.db}.{self.job}@{LATEST if self.epoch is None else self.epoch}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Pin:
    """One table of a text that is read at a point; start and end are the place of the point in the text."""

    table: tuple[str, str]
    point: Point
    start: int
    end: int


def pins(text: str, db: str | None) -> list[Pin]:
    """Those of a SELECT; `db`: the one in use. Raises NO_DATABASE."""
    if not _LIKELY.search(text):
        return []
    try:
        tokens = sqlglot.tokenize(text, read="mysql")
    except TokenError:
        return []  # Spark reports the error
    return [pin for place in range(len(tokens)) if (pin := _pin(tokens, place, db)) is not None]


def _pin(tokens: Sequence[Token], place: int, db: str | None) -> Pin | None:
    token = tokens[place]
    match = _POINT.fullmatch(token.text) if token.token_type is TokenType.STRING else None
    if match is None:
        return None
    words = " ".join(each.text.upper() for each in tokens[max(0, place - 4) : place]).split()
    if words[-2:] != ["AS", "OF"] or not words[-3:-2] or words[-3] not in _VERSION:
        return None
    before = place
    while before and set(tokens[before - 1].text.upper().split()) <= {"AS", "OF", "FOR", *_VERSION}:
        before -= 1
    epoch = None if match["epoch"].lower() == LATEST else int(match["epoch"])
    point = Point(db=_database(match["db"], db), job=match["job"], epoch=epoch)
    return Pin(table=_table(tokens, before, db), point=point, start=token.start, end=token.end + 1)


def _table(tokens: Sequence[Token], end: int, db: str | None) -> tuple[str, str]:
    """Database and name of the table whose name ends before a place."""
    parts = [tokens[end - 1].text]
    while end >= 3 and tokens[end - 2].token_type is TokenType.DOT:
        end -= 2
        parts.append(tokens[end - 1].text)
    return (_database(parts[1] if len(parts) > 1 else None, db), parts[0])


def _database(named: str | None, in_use: str | None) -> str:
    found = named or in_use
    if found is None:
        raise SyncError(Code.NO_DATABASE)
    return found


def pinned(text: str, found: Sequence[Pin], snapshots: Callable[[Point], Snapshots]) -> str:
    """The text with snapshots instead of points; each point is looked up once. Raises NOT_AT_POINT."""
    known = {point: snapshots(point) for point in {pin.point for pin in found}}
    for pin in sorted(found, key=lambda pin: -pin.start):
        snapshot = known[pin.point].get(pin.table)
        if snapshot is None:
            raise SyncError(Code.NOT_AT_POINT, table=".".join(pin.table), point=pin.point)
        text = f"{text[: pin.start]}{snapshot}{text[pin.end :]}"
    return text
