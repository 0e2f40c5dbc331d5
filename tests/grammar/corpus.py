"""The cases of grammar/corpus: a title, the text, a line of dashes, the outcome; an empty line between two cases."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from syncsql import ExplainSelect, Parsed, Select, Set, ShowMeta, SqlSyntaxError, Transaction, parse

GRAMMAR: Final = Path(__file__).parents[2] / "grammar"
NOT_IN_THE_RULES: Final = (Select, ExplainSelect, Set, ShowMeta, Transaction)


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """What a text becomes; file and title name it."""

    file: str
    title: str
    sql: str
    outcome: str

    def __str__(self) -> str:
        return f"{self.file}: {self.title}"

    @property
    def accepted(self) -> bool:
        return not self.outcome.startswith("error ")


def cases() -> Iterator[Case]:
    for path in sorted((GRAMMAR / "corpus").glob("*.test")):
        for block in path.read_text().strip("\n").split("\n\n"):
            question, outcome = block.split("\n----\n")
            title, sql = question.split("\n", 1)
            yield Case(file=path.stem, title=title, sql=sql, outcome=outcome.rstrip("\n"))


def outcome(sql: str) -> str:
    try:
        parsed = parse(sql)
    except SqlSyntaxError as error:
        return f"error 1064 at {error.line}:{error.column}: {error.reason} near '{error.near}'"
    return "\n".join(f"{each.statement!r}\n{each.statement.sql()}" for each in parsed) or "nothing"


def in_the_rules(parsed: tuple[Parsed, ...]) -> bool:
    return not any(isinstance(each.statement, NOT_IN_THE_RULES) for each in parsed)
