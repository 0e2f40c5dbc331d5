import pytest

from syncmgr.canal.schema import ColumnHeader, check_exact, refusal, source_table_of
from syncmgr.errors import Code, SyncError
from syncmgr.job.column_type import source_column
from syncmgr.job.schema import SourceTable


def header(name: str, kind: str, *, key: bool = False) -> ColumnHeader:
    return ColumnHeader(name=name, type=kind, sql_type=0, key=key)


def test_a_table_is_what_canal_says_of_it() -> None:
    """Names, types, signs, labels and key; nothing is said of charsets and NULL."""
    table = source_table_of(
        ("d", "t"),
        [header("b", "int(10) unsigned", key=True), header("e", "enum('x')"), header("a", "char(3)", key=True)],
    )
    assert table.label == "d.t"
    assert [(c.name, c.text, c.key, c.charset, c.nullable) for c in table.columns] == [
        ("b", "int unsigned", 1, None, True),
        ("e", "enum('x')", 0, None, True),
        ("a", "char(3)", 2, None, True),
    ]


@pytest.mark.parametrize(
    ("kind", "charset", "why"),
    [
        ("varchar(10)", "latin1", "its charset is latin1"),
        ("longtext", "gbk", "convert it to utf8mb4"),
        ("timestamp(3)", None, "canal.time_zone"),
        ("vector(3)", None, "the type vector"),
        ("uuid", None, "the type uuid"),
        ("varchar(10) /*M!100301 COMPRESSED*/", "utf8mb4", "compressed"),
        ("enum", None, "labels are not known"),
        ("set('a\\\\b','c')", "utf8mb4", "backslash"),
    ],
)
def test_what_canal_cannot_carry_is_refused(kind: str, charset: str | None, why: str) -> None:
    """The message of CREATE SYNC names table, column and reason."""
    column = source_column("c", kind, charset=charset)
    assert why in (refusal(column, None) or "")
    with pytest.raises(SyncError, match=r"Column 'c' of table 'd\.t'") as caught:
        check_exact(SourceTable(db="d", name="t", columns=(column,)), ["C"], None)
    assert caught.value.code is Code.CANAL_INEXACT


@pytest.mark.parametrize(
    ("kind", "charset"),
    [
        ("varchar(10)", "utf8mb4"),
        ("text", "utf8mb3"),
        ("char(1)", "ascii"),
        ("varchar(10)", None),
        ("enum('é')", "latin1"),
        ("json", None),
        ("geometry", None),
        ("decimal(65,30)", None),
        ("timestamp", None),
    ],
)
def test_what_canal_carries_exactly_passes(kind: str, charset: str | None) -> None:
    """Labels come as text of the type, so their charset does not matter; a timestamp needs the zone."""
    assert refusal(source_column("c", kind, charset=charset), "UTC") is None


def test_only_columns_that_are_read_matter() -> None:
    """A column that the job leaves out may be what it is; one that is not there is told."""
    table = SourceTable(db="d", name="t", columns=(source_column("id", "int"), source_column("v", "vector(3)")))
    check_exact(table, ["ID"], None)
    with pytest.raises(SyncError) as caught:
        check_exact(table, ["nope"], None)
    assert caught.value.code is Code.SOURCE_UNKNOWN_COLUMN


@pytest.mark.parametrize("zone", ["Mars/Olympus", "+8", "", "+15:00", "utc+8"])
def test_an_unknown_zone_is_told_at_once(zone: str) -> None:
    """Before any row comes."""
    with pytest.raises(SyncError) as caught:
        check_exact(SourceTable(db="d", name="t", columns=()), [], zone)
    assert caught.value.code is Code.PROPERTY_WRONG
