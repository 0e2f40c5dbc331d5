"""Which statements give rows that a snapshot has read another meaning."""

from dataclasses import replace

import pytest

from syncmgr.job.channel.description import MappedColumn
from syncmgr.job.ddl.ddl_step import DdlStep
from syncmgr.job.ddl.lake_change import (
    AddField,
    CommentField,
    DropField,
    EmptyTable,
    FillField,
    LakeChange,
    MoveField,
    RelaxField,
    RenameField,
    RetypeField,
)
from syncmgr.job.snapshot.outdated import is_outdated
from syncmgr.job.types.schema import SourceColumn, TargetType
from tests.unit.job.factories import make_channel

INT = TargetType(name="INT")
CHANNEL = make_channel()
COLUMN = CHANNEL.columns[0].target


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (AddField(name="new", type=INT), False),
        (FillField(name="new", value="7"), False),
        (CommentField(name=COLUMN, comment="x"), False),
        (MoveField(name=COLUMN, after=None), False),
        (RelaxField(name=COLUMN), False),
        (EmptyTable(), False),
        (AddField(name=COLUMN.upper(), type=INT), True),
        (FillField(name=COLUMN, value="7"), True),
        (DropField(name=COLUMN), True),
        (RenameField(old=COLUMN, new="new"), True),
        (RetypeField(name=COLUMN, type=INT), True),
    ],
)
def test_what_was_read_changes_with_its_columns_alone(change: LakeChange, *, expected: bool) -> None:
    """A column that comes was not read, and what is emptied has only later rows; all else would be done twice."""
    step = DdlStep(statement="", changes={CHANNEL.token: (change,)})
    assert is_outdated(CHANNEL, step) is expected
    assert not is_outdated(replace(CHANNEL, token="other"), step)


def test_another_table_or_column_under_the_name_is_another_meaning() -> None:
    """Two tables, or two columns, may have exchanged their names while rows were read."""
    source = CHANNEL.source
    first, *others = source.columns
    retyped = replace(source, columns=(replace(first, type="binary", length=9), *others))
    added = replace(source, columns=(*source.columns, SourceColumn(name="new", type="int")))
    mapped = (*CHANNEL.columns, MappedColumn(target="new", expression="`new`"))

    def is_after(**channel: object) -> bool:
        after = replace(CHANNEL, **channel)  # type: ignore[arg-type]
        return is_outdated(CHANNEL, DdlStep(statement="", channels={CHANNEL.token: after}))

    assert is_after(source=replace(source, name="other"))
    assert is_after(source=replace(source, db="other"))
    assert is_after(source=retyped)
    assert is_after(columns=CHANNEL.columns[1:])
    assert not is_after(source=added, columns=mapped)
