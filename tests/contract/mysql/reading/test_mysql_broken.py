"""Events that are cut short or changed end in typed errors, whatever they hold."""

import random

import pytest

from mysqlddl.reading import Modes
from syncmgr.errors import Code, SyncError
from syncmgr.job.objects.surroundings import Answers, Unasked
from syncmgr.job.position import Position
from syncmgr.sources.mysql import wire
from syncmgr.sources.mysql.binlog.dump.stream import BinlogStream, StreamOptions
from syncmgr.sources.mysql.binlog.router import Limits, Router
from syncmgr.sources.mysql.binlog.subscriptions import Subscription, Subscriptions
from syncmgr.sources.mysql.binlog.unlogged import Unlogged
from syncmgr.sources.mysql.server.server_settings import ServerSettings
from syncmgr.sources.mysql.wire import MalformedEventError
from tests.contract.mysql.reading.test_mysql_values import columns, fill, types_of
from tests.contract.mysql_reader import address, database, facts, latest
from tests.support.servers.mysql import MysqlServer

Events = list[bytes]


def captured(server: MysqlServer, db: str, *, until: Position) -> Events:
    """The events of everything that `db` holds, without checksums, from the start of the binlog's last file."""
    start = Position(file=until.file, offset=4)
    stream = BinlogStream(address(server), StreamOptions(server_id=4720, heartbeat=0.2), start)
    found: Events = []
    try:
        while (chunk := stream.read(5)) is not None:
            found += [bytes(chunk.data[begin:end]) for begin, end in chunk.spans]
            if any(event[4] in {wire.HEARTBEAT, wire.HEARTBEAT_V2} for event in found):
                break
    finally:
        stream.close()
    return found


def silent(_unasked: Unasked, _modes: Modes) -> Answers:
    raise SyncError(Code.SOURCE_UNREACHABLE, address="server", reason="nobody is there to be asked")


def digest(events: Events, db: str, wanted: Subscription, *, mariadb: bool) -> int:
    """Feed and decode; how many rows came. Raises SyncError or MalformedEventError."""
    subscriptions = Subscriptions({(db, "t"): wanted}, "server", Unlogged("server", silent))
    subscriptions.server = ServerSettings(mariadb=mariadb)
    router = Router(subscriptions, Limits(), Position(), "server", {})
    batches = []
    for event in events:
        router.feed(memoryview(event), [(0, len(event))], 0)
        while router.inside:
            router.feed(memoryview(event), [(0, len(event))], 1)
        if router.stopped:
            batches.append(router.take())
    parts = [each for batch in (*batches, router.take()) for each in (batch, *batch.prepared)]
    return sum(len(of_table.decode()) for part in parts for of_table in part.changes)


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("rounds", [40, pytest.param(400, marks=pytest.mark.long)])
def test_changed_events_end_in_typed_errors(any_server: MysqlServer, rounds: int, *, compressed: bool) -> None:
    """Bytes turned, cut off or put in anywhere give rows or a typed error, never another exception or a hang."""
    name = "binlog_transaction_compression" if any_server.flavour == "mysql" else "log_bin_compress"
    types = {kind: [v for v in values if len(v) < 2000] for kind, values in types_of(any_server).items()}
    with database(any_server) as db, any_server.global_variable(name, "ON" if compressed else "OFF"):
        any_server.run("FLUSH BINARY LOGS", f"CREATE TABLE {db}.t (id INT PRIMARY KEY, {columns(types)})")
        fill(any_server, f"{db}.t", types, nulls=True)
        any_server.run(f"UPDATE {db}.t SET id = id + 50, c0 = 1", f"DELETE FROM {db}.t WHERE id > 60")
        xa = ("XA START 'x'", f"DELETE FROM {db}.t WHERE id > 55", "XA END 'x'", "XA PREPARE 'x'", "XA COMMIT 'x'")
        any_server.run(*xa)
        events = captured(any_server, db, until=latest(any_server))
        [schema] = facts(any_server, [(db, "t")]).tables
    names = ("id", *(f"c{i}" for i in range(len(types))))
    wanted = Subscription(columns=names, keys=("id",), schema=schema)
    mariadb = any_server.flavour == "mariadb"
    assert digest(events, db, wanted, mariadb=mariadb) > 0
    dice = random.Random(11)
    errors = 0
    for _ in range(rounds):
        try:
            digest(_broken(events, dice), db, wanted, mariadb=mariadb)
        except (SyncError, MalformedEventError):
            errors += 1
    assert errors > rounds // 10


def _broken(events: Events, dice: random.Random) -> Events:
    """One of the events cut off, turned, with bytes put in or taken out behind its header."""
    hit = dice.choice([i for i, event in enumerate(events) if len(event) > wire.HEADER])
    event = events[hit]
    at = dice.randrange(wire.HEADER, len(event))
    changed = dice.choice(
        [event[:at], _turned(event, dice), event[:at] + dice.randbytes(3) + event[at:], event[:at] + event[at + 1 :]],
    )
    return [*events[:hit], changed, *events[hit + 1 :]]


def _turned(event: bytes, dice: random.Random) -> bytes:
    changed = bytearray(event)
    for _ in range(dice.randint(1, 4)):
        changed[dice.randrange(wire.HEADER, len(event))] = dice.randrange(256)
    return bytes(changed)
