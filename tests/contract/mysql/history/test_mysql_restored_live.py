"""A server that was set back with its memory, as a snapshot of a virtual machine is: its binlog files keep their names
and their births, and grow again with other contents.
"""

import itertools
import shutil
import struct
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from syncmgr.errors import Code
from syncmgr.job.backoff import Retry
from syncmgr.job.position import Position
from syncmgr.sources.mysql.binlog.router import Limits
from syncmgr.sources.mysql.binlog.subscriptions import Subscription
from syncmgr.sources.mysql.source import SourceOptions
from syncmgr.sources.mysql.wire import FIRST_OFFSET, FORMAT_DESCRIPTION
from tests.contract.mysql_reader import latest, reading
from tests.support.servers.mysql import NO_GTIDS, MysqlServer, binary
from tests.support.slow import some_slow
from tests.support.until import until

WANTED: Final = Subscription(columns=("id", "v"), keys=("id",))
QUICK: Final = SourceOptions(position_interval=0.05, retry=Retry(first=0.02, most=0.2), limits=Limits(events=10))
TABLE: Final = ("moved", "t")
CHECKSUM: Final = 4


@pytest.fixture(params=["mysql", "mysql without GTIDs", "mariadb"])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MysqlServer]:
    """One that may be set back."""
    flavour, _, without = request.param.partition(" ")
    if binary(flavour) is None:
        pytest.skip(f"no {flavour} server is installed")
    server = MysqlServer(tmp_path / "own", flavour, NO_GTIDS if without else {}).start()
    server.run("CREATE DATABASE moved", "CREATE TABLE moved.t (id BIGINT PRIMARY KEY, v VARCHAR(100))")
    yield server
    server.stop()


def insert(server: MysqlServer, ids: range, value: str) -> None:
    server.run(*(f"INSERT INTO moved.t VALUES ({n}, '{value}')" for n in ids))


def read_on(server: MysqlServer, start: Position) -> tuple[list[int], Position]:
    """What comes behind a place, and the place behind that."""
    with reading(server, {TABLE: WANTED}, start, options=QUICK) as reader:
        at = reader.until(latest(server))[-1].end
        assert at is not None
        return [row["id"] for row in reader.rows(TABLE)], at


def give_birth(server: MysqlServer, at: Position) -> None:
    """The file of that place says that it was made when the one that was read was: memory remembers it."""
    server.stop()
    path = server.make_data() / at.file
    data = bytearray(path.read_bytes())
    assert data[FIRST_OFFSET + 4] == FORMAT_DESCRIPTION
    end = FIRST_OFFSET + int.from_bytes(data[FIRST_OFFSET + 9 : FIRST_OFFSET + 13], "little")
    struct.pack_into("<I", data, FIRST_OFFSET, at.created)
    struct.pack_into("<I", data, end - CHECKSUM, zlib.crc32(data[FIRST_OFFSET : end - CHECKSUM]))
    path.write_bytes(data)
    assert len(data) > at.offset
    server.start()


def set_back(server: MysqlServer, copy: Path) -> None:
    data = server.make_data()
    server.stop()
    shutil.rmtree(data)
    copy.rename(data)
    server.start()


def copied(server: MysqlServer, copy: Path) -> None:
    server.stop()
    shutil.copytree(server.make_data(), copy)
    server.start()


@pytest.mark.parametrize(
    ("server", "value"),
    some_slow(
        itertools.product(["mysql", "mysql without GTIDs", "mariadb"], ["lost", "other than that"]),
        always=[("mysql", "lost"), ("mariadb", "lost")],
    ),
    indirect=["server"],
)
def test_a_server_that_was_set_back_with_its_files(server: MysqlServer, tmp_path: Path, value: str) -> None:
    """What it wrote since stands under the numbers, and in the place, of what the job has read."""
    start = latest(server)
    copied(server, tmp_path / "copy")
    insert(server, range(5), "lost")
    read = read_on(server, start)[1]
    until(lambda: time.time() >= read.created + 1.1)
    set_back(server, tmp_path / "copy")
    insert(server, range(100, 140), value)
    give_birth(server, read)
    with reading(server, {TABLE: WANTED}, read, options=QUICK) as reader:
        error = reader.until_error()
        assert reader.batches == []
    assert error.code is Code.SOURCE_POSITION_LOST
    assert "the server was restored" in str(error)
