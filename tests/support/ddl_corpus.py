"""The statements of the corpus, as values.

Owns: how its files are read. A case begins with `== tool`; each of its statements ends with a semicolon at the end of a
line. Lines with an @ say more: `@on mysql>=8.4 mariadb` which servers know the statement below, or, above all of them,
the case; `@row` the row that is written from there on instead of a generated one; `@stop [mariadb] reason | why` that
the product stops at the statement below, with which reason, and why it has to. The first table that a case creates is
the one that is synced. `{db}` is the case's database.
Must not know: servers, what the product makes of a statement.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parents[2] / "grammar" / "corpus" / "ddl_of_tools"
_STOP: Final = re.compile(r"(?:\[(?P<on>[^]]*)\] )?(?P<reason>.+?) \| (?P<why>.+)")
_SERVER: Final = re.compile(r"(?P<flavour>mysql|mariadb)(?:(?P<sign>>=|<)(?P<major>\d+)\.(?P<minor>\d+))?")
_ASIDE: Final = re.compile(r"(?:\s|--[^\n]*\n|#[^\n]*\n|/\*(?!M?!).*?\*/|/\*M?!\d*|\*/)*", re.DOTALL)
_DDL: Final = re.compile(r"(?:SET\s+STATEMENT\b.*?\bFOR\s+)?(?:ALTER|CREATE|DROP|RENAME|TRUNCATE)\b", re.IGNORECASE)
SHOWN: Final = 200
Version = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Stop:
    """`reason`: a part of it. `why`: what would go wrong if the statement were followed."""

    reason: str
    why: str
    on: str = ""


@dataclass(frozen=True, slots=True)
class Statement:
    """`row`: what fills the table afterwards, "": a generated one."""

    text: str
    on: str = ""
    row: str = ""
    stops: tuple[Stop, ...] = ()

    @property
    def line(self) -> str:
        """For messages."""
        return " ".join(self.text.split())[:SHOWN]

    @property
    def is_ddl(self) -> bool:
        """Others set session variables, or write rows of their own."""
        begin = _ASIDE.match(self.text)
        return _DDL.match(self.text, begin.end() if begin else 0) is not None

    def stop(self, flavour: str, version: Version) -> Stop | None:
        """Where it stops on that server."""
        return next((stop for stop in self.stops if is_for(stop.on, flavour, version)), None)


@dataclass(frozen=True, slots=True)
class Case:
    """Statements of one session, on one table."""

    tool: str
    place: str
    on: str
    statements: tuple[Statement, ...]


def is_for(on: str, flavour: str, version: Version) -> bool:
    """Whether one of the named servers is of that flavour and version; no names mean all."""
    return not on or any(_is(word, flavour, version) for word in on.split())


def _is(word: str, flavour: str, version: Version) -> bool:
    found = _SERVER.fullmatch(word)
    assert found is not None, word
    if found["flavour"] != flavour or found["sign"] is None:
        return found["flavour"] == flavour
    asked = int(found["major"]), int(found["minor"])
    return version >= asked if found["sign"] == ">=" else version < asked


def cases() -> Iterator[Case]:
    """All of them, in the order of their files."""
    for path in sorted(FOLDER.glob("*.test")):
        for number, block in _blocks(path.read_text()):
            yield _case(f"{path.stem}:{number}", block)


def _blocks(text: str) -> Iterator[tuple[int, list[str]]]:
    """With the numbers of their first lines."""
    lines = text.splitlines()
    begins = [number for number, line in enumerate(lines) if line.startswith("== ")]
    for begin, end in zip(begins, [*begins[1:], len(lines)], strict=True):
        yield begin + 1, lines[begin:end]


@dataclass(slots=True)
class _Reading:
    """What is said of the statement below."""

    on: str = ""
    row: str = ""
    stops: list[Stop] = field(default_factory=list)
    text: list[str] = field(default_factory=list)

    def heed(self, line: str) -> None:
        word, _, rest = line.partition(" ")
        match word:
            case "@on":
                self.on = rest
            case "@row":
                self.row = rest
            case "@stop":
                found = _STOP.fullmatch(rest)
                assert found is not None, line
                self.stops.append(Stop(found["reason"], found["why"], found["on"] or ""))
            case _:
                raise AssertionError(line)

    def statement(self) -> Statement:
        made = Statement("\n".join(self.text).removesuffix(";"), self.on, self.row, tuple(self.stops))
        self.on, self.stops, self.text = "", [], []
        return made


def _case(place: str, block: list[str]) -> Case:
    head, *lines = block
    reading, found, on = _Reading(), list[Statement](), ""
    for line in lines:
        if line.startswith("@"):
            reading.heed(line)
            continue
        if reading.on and not found and not line:
            on, reading.on = reading.on, ""
        if line or reading.text:
            reading.text.append(line)
        if line.endswith(";"):
            found.append(reading.statement())
    assert not any(reading.text), f"{place}: the last statement has no end"
    return Case(head.removeprefix("== "), place, on, tuple(found))
