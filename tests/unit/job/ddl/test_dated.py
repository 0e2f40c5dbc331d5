"""explicit_defaults_for_timestamp = OFF, the default of MySQL 5.7 and of MariaDB up to 10.9."""

from dataclasses import replace

import pytest

from mysqlddl.reading import Modes
from syncmgr.errors import Code, SyncError
from syncmgr.job.channel.channel_plan import plan_channel
from syncmgr.job.ddl.ddl_plan import DdlStatement, Rules, plan_ddl
from syncmgr.job.ddl.ddl_step import DdlStep
from syncmgr.job.ddl.lake_change import AddField
from syncmgr.job.ddl_policy import OnDdl
from syncmgr.job.job_properties import AppendOnChange
from syncmgr.job.types.schema import SourceColumn, SourceTable, TargetColumn, TargetType
from tests.unit.job.ddl.test_ddl_plan import MOMENT, SOURCE, TARGET

DATED = replace(SOURCE, columns=(*SOURCE.columns, SourceColumn(name="ts", type="timestamp")), numbered="")
TARGET_OF_IT = replace(TARGET, columns=(*TARGET.columns, TargetColumn(name="ts", type=TargetType(name="TIMESTAMP"))))


def followed(text: str, source: SourceTable = SOURCE, *, dates_nulls: bool = True) -> DdlStep:
    target = TARGET_OF_IT if source is DATED else TARGET
    channel = plan_channel(token="x", source=source, unique_keys=[("id",)], target=target, items=(), where=None)
    said = DdlStatement(text=text, db="shop", modes=Modes(strict=True, dates_nulls=dates_nulls), moment=MOMENT, seen={})
    rules = Rules(policy=OnDdl.EVOLVE, append_on_change=AppendOnChange.ERROR, describe=lambda _: target, deeds={})
    return plan_ddl(said, (channel,), rules)


@pytest.mark.parametrize(
    ("definition", "initial"),
    [
        ("TIMESTAMP", '"2023-11-14T22:13:20.000000+00:00"'),
        ("TIMESTAMP(3) NOT NULL", '"2023-11-14T22:13:20.123000+00:00"'),
        ("TIMESTAMP NULL", None),
        ("DATETIME", None),
    ],
)
def test_the_first_timestamp_has_the_time_of_the_statement(definition: str, initial: str | None) -> None:
    """In the rows that are there, as at the source; who says NULL has NULL."""
    [added] = followed(f"ALTER TABLE orders ADD c {definition}").changes["x"]
    assert isinstance(added, AddField)
    assert added.initial == initial


def test_where_it_is_on_nothing_is_dated() -> None:
    """A TIMESTAMP of which nothing is said is NULL."""
    [added] = followed("ALTER TABLE orders ADD c TIMESTAMP", dates_nulls=False).changes["x"]
    assert isinstance(added, AddField)
    assert added.initial is None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("ALTER TABLE orders ADD c TIMESTAMP", "no value of the lake"),
        ("ALTER TABLE orders ADD c TIMESTAMP FIRST, ADD e TIMESTAMP", "no value of the lake"),
        ("ALTER TABLE orders ADD c TIMESTAMP ON UPDATE CURRENT_TIMESTAMP FIRST", "no value of the lake"),
        ("ALTER TABLE orders MODIFY ts TIMESTAMP", "becomes NOT NULL, which may change its values"),
        ("ALTER TABLE orders MODIFY ts TIMESTAMP NOT NULL", "becomes NOT NULL, which may change its values"),
    ],
)
def test_what_nobody_can_know_pauses(text: str, why: str) -> None:
    """All but the first of the table have a zero date, and a NULL becomes a time, in strict mode too."""
    with pytest.raises(SyncError, match=why) as caught:
        followed(text, DATED)
    assert caught.value.code is Code.SOURCE_DDL
