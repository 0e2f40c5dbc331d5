from typing import Any

import pytest

from syncmgr.job.ddl.terms import Terms
from syncmgr.job.ddl.value_loss import retexted
from syncmgr.job.ddl_policy import OnDdl
from syncmgr.job.types.schema import SourceColumn, TargetType

TERMS = Terms(policy=OnDdl.EVOLVE, strict=True, moment=None)


def column(kind: str, **facts: Any) -> SourceColumn:
    return SourceColumn(name="c", type=kind, **facts)


@pytest.mark.parametrize(
    ("before", "now", "target", "changes"),
    [
        (column("decimal", precision=10, scale=2), column("decimal", precision=12, scale=3), "STRING", True),
        (column("decimal", precision=10, scale=2), column("decimal", precision=12, scale=3), "VARCHAR", True),
        (column("decimal", precision=10, scale=2), column("decimal", precision=12, scale=3), "DECIMAL", False),
        (column("decimal", precision=10, scale=2), column("decimal", precision=12, scale=2), "STRING", False),
        (column("float"), column("double"), "STRING", True),
        (column("int"), column("bigint"), "STRING", False),
    ],
)
def test_a_text_in_the_target_may_change_though_the_value_stays(
    before: SourceColumn, now: SourceColumn, target: str, *, changes: bool
) -> None:
    """1.50 and 1.500 are one number and two texts, also two keys."""
    found = retexted(before, now, TargetType(name=target), TERMS)
    assert (found is not None) is changes
