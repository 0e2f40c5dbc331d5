"""Values for tests, each with every field overridable."""

from dataclasses import fields, replace
from typing import Any

from syncmgr.job.channel.description import ChannelDescription, ChannelHistory, MappedColumn
from syncmgr.job.ddl.ddl_plan import Rules
from syncmgr.job.ddl_policy import OnDdl
from syncmgr.job.job_properties import AppendOnChange
from syncmgr.job.sync_job import JobId, SyncJob
from syncmgr.job.types.schema import SourceColumn, SourceTable, TargetColumn, TargetTable, TargetType
from syncmgr.lake.registry import FORMAT
from syncmgr.sources.canal.description import CanalDescription
from syncmgr.sources.mysql.description import MysqlDescription

HISTORY = tuple(each.name for each in fields(ChannelHistory))


def make_source(**overrides: Any) -> MysqlDescription:
    values = {
        "host": "db1",
        "port": 3306,
        "user": "repl",
        "password": "s3cret",
        "server_id": 0,
        "ssl": "preferred",
        "start": "latest",
    }
    return MysqlDescription(**(values | overrides))


def make_canal(**overrides: Any) -> CanalDescription:
    values = {
        "host": "canal1",
        "port": 11111,
        "zk_servers": "",
        "destination": "example",
        "user": "canal",
        "password": "s3cret",
        "batch_size": 8192,
        "debug": False,
        "time_zone": None,
    }
    return CanalDescription(**(values | overrides))


def make_source_table(**overrides: Any) -> SourceTable:
    columns = (
        SourceColumn(name="id", type="bigint", nullable=False, key=1),
        SourceColumn(name="status", type="varchar", length=16, charset="utf8mb4"),
        SourceColumn(name="amount", type="decimal", precision=12, scale=2),
    )
    return SourceTable(**({"db": "shop", "name": "orders", "columns": columns} | overrides))


def make_target(**overrides: Any) -> TargetTable:
    columns = (
        TargetColumn(name="id", type=TargetType(name="BIGINT"), nullable=False),
        TargetColumn(name="status", type=TargetType(name="VARCHAR", args=(16,))),
        TargetColumn(name="amount", type=TargetType(name="DECIMAL", args=(12, 2))),
    )
    facts = {"db": "demo", "name": "orders", "columns": columns, "keys": ("id",)}
    return TargetTable(**(facts | {"reserved_columns": FORMAT.reserved_columns} | overrides))


def make_channel(**overrides: Any) -> ChannelDescription:
    """Fields of its history, too."""
    values = {
        "token": "token-1",
        "source": make_source_table(),
        "target_db": "demo",
        "target": "orders",
        "columns": (MappedColumn(target="id", expression="`id`"),),
        "keys": ("id",),
        "source_keys": ("id",),
        "reads": ("id",),
    }
    history = {name: overrides.pop(name) for name in HISTORY if name in overrides}
    return ChannelDescription(**(values | {"history": ChannelHistory(**history)} | overrides))


def with_history(channel: ChannelDescription, **changes: Any) -> ChannelDescription:
    return replace(channel, history=replace(channel.history, **changes))


def make_job(**overrides: Any) -> SyncJob:
    values = {
        "id": JobId(1),
        "db": "demo",
        "name": "job1",
        "source": make_source(),
        "channels": (make_channel(),),
        "statement": "CREATE SYNC `demo`.`job1` ...",
        "created_at": 1000.0,
    }
    return SyncJob(**(values | overrides))


def make_rules() -> Rules:
    return Rules(policy=OnDdl.EVOLVE, append_on_change=AppendOnChange.ERROR, describe=lambda _: make_target())
