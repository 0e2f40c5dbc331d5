"""Rows of the table of types x modules that decide by type: each cell says what the module makes of the type."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import pytest

from mysqlddl.nodes import ColumnDefinition
from syncmgr.job.ddl.default_value import UnknowableError, initial
from syncmgr.job.snapshot.resync_where import _kind, _RefusedError
from syncmgr.job.snapshot.select_list import selected
from syncmgr.job.types.column_type import source_column
from syncmgr.job.types.derived_type import derived
from syncmgr.job.types.fitting import Fit, fit
from syncmgr.job.types.keeping import kept
from syncmgr.job.types.mysql_type import TYPES, Brackets, brackets
from syncmgr.job.types.schema import SourceColumn, TargetType, arrow_type
from syncmgr.job.types.target import parse_type
from syncmgr.lake.spark.segment import spark_type
from syncmgr.sources.canal.values.canal_text import refusal
from syncmgr.sources.canal.values.values import _converter as of_canal
from syncmgr.sources.mysql import wire
from syncmgr.sources.mysql.server.snapshot import _selectable
from syncmgr.sources.mysql.values.schema import BLOB_WORDS, STRING_WORDS, WORDS
from syncmgr.sources.mysql.values.values import _converter as of_binlog

EXPECTED: Final = Path(__file__).with_name("mysql_types.tsv")
TEXTS: Final = {
    Brackets.NOTHING: "{word}",
    Brackets.DIGITS: "{word}(12,2)",
    Brackets.FRACTION: "{word}(6)",
    Brackets.LENGTH: "{word}(20)",
    Brackets.LABELS: "{word}('a','b')",
}
WIDEST: Final = ("BIGINT", "DECIMAL(38,0)", "DOUBLE", "DATETIME(0)", "STRING", "BINARY(1)", "JSON")


def column_of(word: str) -> SourceColumn:
    return source_column("c", TEXTS[brackets(word)].format(word=word), nullable=False)


def target(column: SourceColumn) -> TargetType:
    found = derived(column)
    assert found is not None
    return found


def default(column: SourceColumn) -> str:
    try:
        return str(initial(ColumnDefinition(column=column), None))
    except UnknowableError:
        return "unknown"


def where(column: SourceColumn) -> str:
    try:
        return _kind(column, target(column)).name
    except _RefusedError:
        return "refused"


def fitting(column: SourceColumn) -> str:
    found = {text: fit(column, parse_type(text))[0] for text in WIDEST}
    return " ".join(f"{text}:{each}" for text, each in found.items() if each is not Fit.NEVER)


def on_canal(column: SourceColumn) -> str:
    if refusal(column, "UTC") is not None:
        return "refused"
    return "in a zone" if column.type == "timestamp" else of_canal(column).__name__.removeprefix("_")


def on_the_wire(column: SourceColumn) -> str:
    """A table map has no code of its own for each geometry, nor for MariaDB's types."""
    blobs = {f"{size}{kind}" for size in BLOB_WORDS for kind in STRING_WORDS[wire.BLOB]}
    told = {*WORDS.values(), *(word for pair in STRING_WORDS.values() for word in pair), *blobs}
    return "told" if column.type in told else "stored"


MODULES: Final[Mapping[str, Callable[[SourceColumn], str]]] = {
    "column_type": lambda column: column.text,
    "schema": lambda column: str(arrow_type(column)),
    "segment": lambda column: spark_type(arrow_type(column)),
    "derived_type": lambda column: target(column).text,
    "fitting": fitting,
    "keeping": lambda column: str(kept(column, column, strict=True)),
    "select_list": selected,
    "chunk keys": lambda column: str(_selectable(column)),
    "resync_where": where,
    "default_value": default,
    "table map": on_the_wire,
    "binlog": lambda column: of_binlog(column).__name__.removeprefix("_"),
    "canal": on_canal,
}


def cells(word: str) -> dict[str, str]:
    column = column_of(word)
    return {module: of(column) for module, of in MODULES.items()}


def expected() -> dict[str, dict[str, str]]:
    head, *lines = (line.split("\t") for line in EXPECTED.read_text().splitlines())
    return {line[0]: dict(zip(head[1:], line[1:], strict=True)) for line in lines}


def test_every_type_has_its_line() -> None:
    """And every module its column: a new type says in mysql_types.tsv what each of them makes of it."""
    found = expected()
    assert found.keys() == TYPES.keys()
    assert {tuple(line) for line in found.values()} == {tuple(MODULES)}


@pytest.mark.parametrize("word", TYPES)
def test_every_module_knows_every_type(word: str) -> None:
    """What it makes of a type is what its cell says."""
    assert cells(word) == expected()[word]


@pytest.mark.parametrize("word", TYPES)
def test_a_type_is_read_as_it_is_written(word: str) -> None:
    """Its text, with its brackets, gives the same column again."""
    column = column_of(word)
    assert source_column("c", column.text, nullable=False) == column
