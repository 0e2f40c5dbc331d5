"""A server of the metadata that takes little at once (max_allowed_packet), on real servers."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Final, cast

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.advice.treatment import Remedy
from syncmgr.job.ddl.ddl_step import DdlRecord, DdlState
from syncmgr.job.failure import remedy
from syncmgr.job.position import Position
from syncmgr.meta.codec import Vault
from syncmgr.meta.database.packets import LEAST
from syncmgr.meta.store import Store
from tests.support import metadata
from tests.support.servers.databases import another
from tests.support.servers.mysql import MysqlServer
from tests.support.slow import on_servers
from tests.unit.job.factories import make_job

pytestmark = pytest.mark.mysql

RECORD: Final = DdlRecord(position=Position(), at=0.1, table="t", statement="s", state=DdlState.PAUSED, outcome="why")
LARGEST: Final = replace(RECORD, outcome="ALTER TABLE t COMMENT '" + "'🐬" * (3 << 20))  # 15 MiB, before it is quoted
TOO_LONG: Final = replace(RECORD, outcome="x" * (20 << 20))


@pytest.fixture(params=["mysql", "mariadb"])
def server(request: pytest.FixtureRequest) -> MysqlServer:
    return cast("MysqlServer", request.getfixturevalue(f"{request.param}_server"))


@pytest.fixture
def url(server: MysqlServer) -> str:
    return another(f"mysql+pymysql://root@127.0.0.1:{server.port}/mysql")


def opened(url: str, folder: Path) -> Store:
    return metadata.opened(url, Vault(folder / "secret.key"))


def cure(error: SyncError) -> str:
    """What the message says is to be typed."""
    assert error.code is Code.META_PACKET
    return str(error).partition("type there: ")[2].partition(";")[0]


@pytest.fixture
def small(server: MysqlServer) -> Iterator[None]:
    with server.global_variable("max_allowed_packet", str(4 << 20)):
        yield


@pytest.mark.slow
@on_servers("mysql", fixture="server")
@pytest.mark.usefixtures("small")
def test_a_server_that_takes_too_little_is_refused_at_start(server: MysqlServer, url: str, tmp_path: Path) -> None:
    """What the message says is typed, and it is taken."""
    with pytest.raises(SyncError) as refused:
        opened(url, tmp_path)
    assert cure(refused.value) == f"SET GLOBAL max_allowed_packet = {LEAST}"
    server.run(cure(refused.value))
    opened(url, tmp_path).close()


@on_servers("mariadb", fixture="server")
def test_what_is_too_large_at_once_is_no_outage(server: MysqlServer, url: str, tmp_path: Path) -> None:
    """It says what to type, is stored as soon as that was typed, and nothing of it before; smaller values go on."""
    with server.global_variable("max_allowed_packet", str(LEAST)), closing(opened(url, tmp_path)) as store:
        job = store.jobs.add(make_job(), Position(), 1.0)
        for _ in range(2):
            with pytest.raises(SyncError) as refused:
                store.ddl.refuse(job.id, LARGEST)
            assert store.ddl.of(job.id) == []
        assert remedy(refused.value.code) is Remedy.RETRY
        server.run(cure(refused.value))
        store.ddl.refuse(job.id, LARGEST)
        assert store.ddl.of(job.id) == [LARGEST]


@pytest.mark.slow
@on_servers("mariadb", fixture="server")
def test_what_no_packet_is_too_small_for_is_moved(server: MysqlServer, url: str, tmp_path: Path) -> None:
    """A value that the database itself does not take: another one is named, and no setting."""
    with server.global_variable("max_allowed_packet", str(64 << 20)), closing(opened(url, tmp_path)) as store:
        job = store.jobs.add(make_job(), Position(), 1.0)
        with pytest.raises(SyncError) as refused:
            store.ddl.refuse(job.id, TOO_LONG)
        assert refused.value.code is Code.META_UNFIT
        assert store.ddl.of(job.id) == []
