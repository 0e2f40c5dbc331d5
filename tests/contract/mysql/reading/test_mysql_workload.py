"""Random schemas, charsets, values and transactions: what comes out of the binlog is what SELECT shows."""

import random
import time
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from syncmgr.sources.mysql.binlog.router import Limits
from syncmgr.sources.mysql.binlog.subscriptions import Subscription
from syncmgr.sources.mysql.source import SourceOptions
from tests.contract import workload
from tests.contract.mysql.reading.test_mysql_values import expected, expression
from tests.contract.mysql_reader import database, facts, latest, reading
from tests.support.servers.mysql import MysqlServer
from tests.support.slow import on_servers

SMALL: Final = SourceOptions(limits=Limits(events=50), position_interval=0.05)
ROWS: Final = 150


def compared(server: MysqlServer, seed: int, *, rows: int, columns: int, full: bool, compressed: bool) -> int:
    """How many values of a random workload were compared; fails at the first that differs."""
    dice = random.Random(seed)
    option = "binlog_transaction_compression" if server.flavour == "mysql" else "log_bin_compress"
    with ExitStack() as stack:
        stack.enter_context(server.global_variable("binlog_row_metadata", "'FULL'" if full else "'MINIMAL'"))
        stack.enter_context(server.global_variable(option, "ON" if compressed else "OFF"))
        db = stack.enter_context(database(server))
        shape = workload.created(dice, server, f"{db}.t", columns)
        known = facts(server, [(db, "t")])
        names = shape.names if server.logs_generated else shape.written
        wanted = Subscription(columns=("id", *names), keys=("id",), schema=known.tables[0])
        reader = stack.enter_context(reading(server, {(db, "t"): wanted}, known.start, options=SMALL))
        workload.run(server, workload.statements(dice, shape, f"{db}.t", rows), dice)
        reader.until(latest(server))
        kinds = [kind.sql for kind in shape.kinds] + ["BIGINT"] * (len(names) - len(shape.kinds))
        read = dict(zip(names, map(_plain, kinds), strict=True))
        return _same(server, f"{db}.t", read, reader.state((db, "t")), seed)


def _same(server: MysqlServer, table: str, read: Mapping[str, str], found: dict[int, dict[str, Any]], seed: int) -> int:
    items = ", ".join(expression(kind, name) for name, kind in read.items())
    told = server.run("SET NAMES utf8mb4, time_zone = '+00:00'", f"SELECT id, {items} FROM {table}")
    assert found.keys() == {row[0] for row in told}, seed
    for row in told:
        mine = found[row[0]]
        for (name, kind), value in zip(read.items(), row[1:], strict=True):
            wanted = _told(kind, value)
            assert mine[name] == wanted, (seed, kind, row[0])
    return sum(len(row) for row in told)


def _plain(kind: str) -> str:
    return kind.removesuffix(" NULL")


def _told(kind: str, value: Any) -> Any:
    if kind.startswith("DECIMAL(") and value is not None:
        return f"{value:f}" if int(kind[8:].split(",", maxsplit=1)[0]) > 38 else value
    return expected(kind, value)


@on_servers("mysql")
@settings(
    max_examples=max(settings.default.max_examples // 20, 5),
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=True,
)
@given(st.integers(0, 2**32), st.booleans(), st.booleans())
def test_a_random_workload_arrives(any_server: MysqlServer, seed: int, full: bool, compressed: bool) -> None:  # noqa: FBT001 - drawn
    """Whatever the schema, the charsets, the transactions and the options, every value is that of SELECT."""
    assert compared(any_server, seed, rows=ROWS, columns=12, full=full, compressed=compressed) >= 0


@pytest.mark.long
def test_a_million_values_arrive(any_server: MysqlServer) -> None:
    """The same by wider and longer tables, until a million values of each server were compared."""
    values = tables = 0
    begin = time.monotonic()
    while values < 1_000_000:
        full, compressed = tables % 2 == 0, tables % 4 < 2
        values += compared(any_server, 10**6 + tables, rows=4000, columns=40, full=full, compressed=compressed)
        tables += 1
    print(f"{any_server.flavour}: {values} values of {tables} tables in {time.monotonic() - begin:.0f} s, none differs")
