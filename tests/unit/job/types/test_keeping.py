from dataclasses import replace
from typing import Any

import pytest

from syncmgr.job.types.keeping import keeps_values, kept
from syncmgr.job.types.schema import SourceColumn


def column(kind: str, **facts: Any) -> SourceColumn:
    return SourceColumn(name="a", type=kind, **facts)


def of_text(kind: str, length: int = 0, charset: str | None = "utf8mb4") -> SourceColumn:
    return column(kind, length=length, charset=charset)


def enum(*members: str, charset: str = "utf8mb4") -> SourceColumn:
    return column("enum", members=members, charset=charset)


def set_of(*members: str) -> SourceColumn:
    return column("set", members=members, charset="utf8mb4")


def real(kind: str, digits: int = 0, scale: int = 0) -> SourceColumn:
    return column(kind, precision=digits, scale=scale)


NEVER, STRICT, ALWAYS = (False, False), (False, True), (True, True)  # in a session that is not strict, in one that is


@pytest.mark.parametrize(
    ("old", "new", "keeps"),
    [
        (column("int"), column("bigint"), ALWAYS),
        (column("int"), column("smallint"), STRICT),
        (column("int"), column("int", unsigned=True), STRICT),
        (column("decimal", precision=8, scale=2), column("decimal", precision=9, scale=3), ALWAYS),
        (column("decimal", precision=8, scale=2), column("decimal", precision=9, scale=1), NEVER),
        (column("decimal", precision=8, scale=2), column("decimal", precision=7, scale=2), STRICT),
        (real("float"), real("double"), ALWAYS),
        (real("double"), real("float"), NEVER),
        (real("float"), real("float", 7, 2), NEVER),
        (real("float", 7, 2), real("float"), ALWAYS),
        (real("float", 7, 2), real("float", 8, 3), ALWAYS),
        (real("float", 7, 2), real("float", 7, 3), STRICT),
        (real("double", 7, 2), real("double", 9, 1), NEVER),
        (real("float", 7, 2), real("double"), ALWAYS),
        (real("float", 7, 2), real("double", 9, 2), NEVER),
        (of_text("varchar", 5), of_text("varchar", 9), ALWAYS),
        (of_text("varchar", 5), of_text("varchar", 4), NEVER),
        (of_text("varchar", 5), of_text("char", 5), NEVER),
        (of_text("char", 5), of_text("varchar", 5), ALWAYS),
        (of_text("varchar", 5, "latin1"), of_text("text"), ALWAYS),
        (of_text("varchar", 5), of_text("varchar", 5, "latin1"), STRICT),
        (of_text("varchar", 5), of_text("varchar", 5, "cp932"), NEVER),
        (of_text("varchar", 5, "gbk"), of_text("text", 0, "cp932"), NEVER),
        (of_text("varchar", 5, "sjis"), of_text("varchar", 5, "cp932"), STRICT),
        (of_text("varchar", 5, "latin1"), of_text("varchar", 5, "cp932"), STRICT),
        (of_text("varchar", 5, "cp932"), of_text("varchar", 6, "cp932"), ALWAYS),
        (of_text("varchar", 5), of_text("varchar", 5, "tis620"), NEVER),
        (of_text("varchar", 5, "gb18030"), of_text("varchar", 5, "tis620"), NEVER),
        (of_text("varchar", 5, "utf8mb3"), of_text("varchar", 5, "tis620"), STRICT),
        (enum("\u6661"), of_text("varchar", 5, "cp932"), NEVER),
        (enum("\u6659"), of_text("varchar", 5, "cp932"), STRICT),
        (of_text("varchar", 300), of_text("tinytext"), NEVER),
        (of_text("text"), of_text("varchar", 500), NEVER),
        (of_text("tinytext"), of_text("varchar", 255), ALWAYS),
        (of_text("mediumtext"), of_text("text"), NEVER),
        (of_text("text", charset="latin1"), of_text("text"), STRICT),
        (of_text("text", charset="latin1"), of_text("mediumtext"), ALWAYS),
        (of_text("longtext", charset="latin1"), of_text("longtext"), ALWAYS),
        (column("binary", length=3), column("binary", length=5), NEVER),
        (column("binary", length=3), column("varbinary", length=3), ALWAYS),
        (column("varbinary", length=3), column("binary", length=3), NEVER),
        (column("varbinary", length=300), column("blob"), ALWAYS),
        (column("varbinary", length=300), column("tinyblob"), NEVER),
        (column("blob"), column("longblob"), ALWAYS),
        (column("blob"), column("varbinary", length=300), NEVER),
        (column("vector", length=3), column("blob"), NEVER),
        (enum("a", "b"), enum("a", "b", "c"), ALWAYS),
        (enum("a", "b"), enum("c", "b", "a"), STRICT),
        (enum("a", "b"), enum("a"), NEVER),
        (enum("a", "b"), enum("a", "b", charset="latin1"), ALWAYS),
        (enum("a", "\u00e9"), enum("a", "\u00e9", charset="latin1"), NEVER),
        (enum("a", "\u00e9", charset="latin1"), enum("a", "\u00e9"), ALWAYS),
        (enum("a", charset="latin1"), enum("a"), ALWAYS),
        (enum("a"), enum("a", charset="binary"), NEVER),
        (enum("a", "NC-17's"), enum("a", "NC-17's", "c", charset=None), ALWAYS),
        (enum("a", "x@y"), enum("a", "x@y", "c", charset=None), NEVER),
        (enum("a", "b"), set_of("a", "b"), NEVER),
        (set_of("a", "b"), set_of("a", "c", "b"), STRICT),
        (set_of("a", "b"), set_of("b", "a"), NEVER),
        (enum("a", "long"), of_text("varchar", 4), STRICT),
        (enum("a", "long"), of_text("varchar", 3), NEVER),
        (set_of("a", "long"), of_text("varchar", 6), STRICT),
        (set_of("a", "long"), of_text("varchar", 5), NEVER),
        (enum("a" * 100), of_text("tinytext"), NEVER),
        (enum("a"), of_text("text"), STRICT),
        (of_text("varchar", 9), enum("a"), NEVER),
        (column("datetime"), column("datetime", precision=6), ALWAYS),
        (column("datetime", precision=6), column("datetime"), NEVER),
        (column("datetime"), column("timestamp"), NEVER),
        (column("time"), column("time", precision=3), NEVER),
        (column("bit", length=3), column("bit", length=9), ALWAYS),
        (column("point"), column("geometry"), ALWAYS),
        (column("json"), of_text("text"), NEVER),
    ],
)
def test_which_values_live_on(old: SourceColumn, new: SourceColumn, keeps: tuple[bool, bool]) -> None:
    """Only where every old value is still the same under the new type may a job go on."""
    assert (kept(old, new, strict=False), kept(old, new, strict=True)) == keeps
    assert kept(old, old, strict=False)


def test_a_char_that_is_padded_changes_as_another_type() -> None:
    """PAD_CHAR_TO_FULL_LENGTH reads it with its spaces, which a varchar keeps."""
    assert not kept(of_text("char", 5), of_text("varchar", 5), strict=True, pads=True)
    assert not kept(of_text("char", 5), of_text("text"), strict=True, pads=True)
    assert kept(of_text("char", 5), of_text("char", 9), strict=True, pads=True)
    assert kept(of_text("varchar", 5), of_text("text"), strict=True, pads=True)


@pytest.mark.parametrize(
    ("old", "new", "keeps"),
    [
        (column("int"), column("int", nullable=False), True),
        (column("int"), column("bigint"), False),
        (column("int"), column("int", unsigned=True), False),
        (column("decimal", precision=5, scale=2), column("decimal", precision=6, scale=2), False),
        (of_text("varchar", 5), of_text("text"), True),
        (enum("a"), of_text("text"), False),
        (column("datetime"), column("datetime", precision=6), True),
    ],
)
def test_what_travels_alike(old: SourceColumn, new: SourceColumn, *, keeps: bool) -> None:
    """Beside the values the Arrow type is the same, whatever the session."""
    assert keeps_values(old, new) is keeps
    assert keeps_values(replace(old, name="b"), new) is keeps
