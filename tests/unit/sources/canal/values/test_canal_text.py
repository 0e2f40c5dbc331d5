import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.description import ChannelDescription
from syncmgr.job.channel.positional import plan_positional, without_columns
from syncmgr.job.types.column_type import source_column
from syncmgr.job.types.schema import SourceTable, TargetColumn, TargetType
from syncmgr.sources.canal.values.canal_text import caveats, check_exact, refusal
from tests.unit.job.factories import make_channel, make_target


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


def test_all_that_is_inexact_is_told_at_once() -> None:
    """An operator who has to create the job again mends it in one round."""
    columns = (source_column("at", "timestamp"), source_column("v", "vector(3)"))
    with pytest.raises(SyncError) as caught:
        check_exact(SourceTable(db="d", name="t", columns=columns), ["at", "v"], None)
    assert [f"'{name}'" in str(caught.value) for name in ("at", "v")] == [True, True]


def channel(*keys: str, **kinds: str) -> ChannelDescription:
    """One of a target with these columns and keys, in a list that names them all."""
    columns = tuple(TargetColumn(name=name, type=TargetType(name=kind)) for name, kind in kinds.items())
    target = make_target(columns=columns, keys=keys)
    return plan_positional(token="t", table=("shop", "orders"), target=target, items=(), where=None)


def test_create_sync_refuses_a_timestamp_without_a_zone() -> None:
    """A TIMESTAMP of the target can only come from one of the source."""
    made = channel(id="INT", at="TIMESTAMP")
    check_exact(made.source, made.reads, "+08:00")
    with pytest.raises(SyncError, match=r"canal\.time_zone") as caught:
        check_exact(made.source, made.reads, None)
    assert caught.value.code is Code.CANAL_INEXACT
    assert caught.value.context["column"] == "at"


def test_create_sync_warns_of_what_canal_does_not_tell() -> None:
    """Of charsets where text may come, of JSON where JSON comes, of rows that come twice where there is no key, of
    nothing else; known before any row.
    """
    assert caveats(without_columns(channel("id", id="INT", at="DATETIME", raw="BINARY"))) == ()
    text, document = caveats(without_columns(channel("id", id="INT", a="STRING", b="VARCHAR", c="JSON")))
    [twice] = caveats(without_columns(channel(id="INT")))
    assert "the target of 'shop.orders' has no key" in twice
    assert "source columns of a, b must be utf8mb4" in text
    assert "'shop.orders'" in text
    assert "JSON of 'shop.orders'" in document
    assert "(c)" in document


def test_a_channel_of_mysql_has_no_such_warning() -> None:
    """Its charsets are told."""
    assert caveats(make_channel()) == ()
