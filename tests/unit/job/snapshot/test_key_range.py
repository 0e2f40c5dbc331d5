from dataclasses import replace

import pytest

from syncmgr.job.channel.description import MappedColumn
from syncmgr.job.ddl.lake_change import AddField, DropField, EmptyTable, LakeChange, RenameField, RetypeField
from syncmgr.job.snapshot.key_range import MOST_CHARACTERS, MOST_PARTS, KeyRange, kept, widened
from syncmgr.job.types.schema import SourceColumn, TargetType
from tests.unit.job.factories import make_channel, make_source_table

CHANNEL = make_channel(reads=("id", "status"))
EXCERPT = KeyRange(
    way=CHANNEL.mapping_fingerprint, text="`id` > 5", columns=("id",), lake="`id` > 5", source="`id` > 5"
)
BIGINT = TargetType(name="BIGINT")


def test_two_parts_are_one_with_the_rows_of_both() -> None:
    """All rows where one of them is all, or where they are not of the same columns."""
    other = replace(EXCERPT, text="`id` < 3", columns=("id", "status"), lake="l", source="s")
    both = widened(EXCERPT, other)
    assert both == replace(
        EXCERPT,
        text="(`id` > 5) OR (`id` < 3)",
        columns=("id", "status"),
        lake="(`id` > 5) OR (l)",
        source="(`id` > 5) OR (s)",
        parts=2,
    )
    assert widened(EXCERPT, EXCERPT) == EXCERPT
    assert widened(EXCERPT, None) is widened(None, EXCERPT) is widened(None, None) is None
    assert widened(EXCERPT, replace(other, way="another")) is None


def test_many_parts_stand_side_by_side() -> None:
    """Typed one after the other, or joined by what is being read already: Spark's parser does not go deep."""
    both: KeyRange | None = EXCERPT
    for number in range(3):
        text = f"`id` = {number}"
        both = widened(both, replace(EXCERPT, text=text, lake=text, source=text))
    said = "(`id` > 5) OR (`id` = 0) OR (`id` = 1) OR (`id` = 2)"
    assert both is not None
    assert (both.text, both.lake, both.source, both.parts) == (said, said, said, 4)
    twice = widened(both, replace(both, text="a", lake="(b) OR (c)", source="d", parts=2))
    assert twice is not None
    assert (twice.lake, twice.parts) == (f"{said} OR (b) OR (c)", 6)


def test_too_many_parts_are_all_rows() -> None:
    """Or too long ones: they are stored with the job, and computed with each row."""
    most = replace(EXCERPT, parts=MOST_PARTS - 1, lake="`id` > 4")
    full = widened(most, EXCERPT)
    assert full is not None
    assert widened(full, EXCERPT) is None
    assert widened(EXCERPT, replace(EXCERPT, lake="x" * MOST_CHARACTERS)) is None


@pytest.mark.parametrize("change", [AddField(name="c", type=BIGINT), DropField(name="status"), EmptyTable()])
def test_a_part_outlives_what_does_not_concern_its_columns(change: LakeChange) -> None:
    """It is of the channel as it is behind the statement."""
    after = replace(CHANNEL, reads=("id",))
    assert after.mapping_fingerprint != CHANNEL.mapping_fingerprint
    assert kept(EXCERPT, CHANNEL, after, [change]) == replace(EXCERPT, way=after.mapping_fingerprint)


@pytest.mark.parametrize(
    ("after", "changes"),
    [
        (CHANNEL, [RenameField(old="id", new="status"), RenameField(old="status", new="id")]),
        (CHANNEL, [DropField(name="id"), AddField(name="id", type=BIGINT)]),
        (CHANNEL, [RetypeField(name="id", type=BIGINT)]),
        (replace(CHANNEL, columns=(MappedColumn(target="id", expression="`status`"),)), []),
        (replace(CHANNEL, source=make_source_table(columns=(SourceColumn(name="id", type="int"),))), []),
    ],
)
def test_a_part_of_other_columns_is_none(after: object, changes: list[LakeChange]) -> None:
    """Where its column is dropped, renamed, or of another type, here or there, all rows are read; so it is with one
    that was made for another way.
    """
    assert kept(EXCERPT, CHANNEL, after, changes) is None  # type: ignore[arg-type]
    assert kept(replace(EXCERPT, way="another"), CHANNEL, CHANNEL, []) is None
    assert kept(None, CHANNEL, CHANNEL, []) is None
