"""Which changes of a table's columns are still to be made."""

from types import SimpleNamespace
from typing import Any

import pytest

from syncmgr.job.ddl.lake_change import AddField, DropField, LakeChange, RelaxField
from syncmgr.job.types.schema import TargetType
from syncmgr.lake.commit.schema_change import grows, outstanding

INT, TEXT = TargetType(name="INT"), TargetType(name="STRING")
ADD, DROP = AddField(name="b", type=INT), DropField(name="a")


@pytest.mark.parametrize(
    ("there", "changes", "left"),
    [
        ({"id": "long", "a": "int"}, (DROP, ADD), (DROP, ADD)),
        ({"id": "long", "b": "int"}, (DROP, ADD), ()),
        ({"id": "long", "a": "int", "b": "int"}, (DROP, ADD), (DROP,)),
        ({"id": "long", "b": "string"}, (ADD,), (ADD,)),
        ({"b": "string"}, (DropField(name="b"), ADD), (DropField(name="b"), ADD)),
        ({"b": "int"}, (DropField(name="b"), ADD), (DropField(name="b"), ADD)),
        ({"b": "int"}, (RelaxField(name="a"), RelaxField(name="b")), (RelaxField(name="b"),)),
    ],
)
def test_what_is_there_already_is_not_made_again(
    there: dict[str, str], changes: tuple[LakeChange, ...], left: tuple[LakeChange, ...]
) -> None:
    """Another shard's reading, or an earlier one, may have made it; a column that is made anew is made anew again."""
    fields = [SimpleNamespace(name=name, type=kind) for name, kind in there.items()]
    iceberg: Any = SimpleNamespace(layout=lambda _: SimpleNamespace(fields=fields))
    assert outstanding(iceberg, None, changes) == left


@pytest.mark.parametrize(
    ("old", "new", "does"),
    [
        ("int", "long", True),
        ("long", "int", False),
        ("float", "double", True),
        ("string", "string", True),
        ("int", "string", False),
        ("decimal(9, 2)", "decimal(12,2)", True),
        ("decimal(12, 2)", "decimal(9, 2)", False),
        ("decimal(9, 2)", "decimal(12, 3)", False),
        ("decimal(9, 0)", "long", False),
    ],
)
def test_types_that_grow(old: str, new: str, *, does: bool) -> None:
    """Iceberg's promotions, as its words for types have them."""
    assert grows(old, new) is does
