"""A database of the metadata that would lose characters of names, on real servers."""

from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Final, cast

import pytest
from sqlalchemy import text

from syncmgr.errors import Code, SyncError
from syncmgr.job.position import Position
from syncmgr.meta.codec import Vault
from syncmgr.meta.database import database
from syncmgr.meta.store import Store
from tests.contract.meta.test_backup_served import asking
from tests.support import metadata
from tests.support.servers.mysql import MysqlServer
from tests.support.servers.postgres import PostgresServer
from tests.support.slow import on_servers
from tests.unit.job.factories import make_channel, make_job

pytestmark = pytest.mark.mysql

NUMBERS: Final = count()
NAME: Final = "bestellungen_ü_注文_🐬"


@pytest.fixture(params=["mysql", "mariadb"])
def narrow(request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of an empty database in latin1."""
    server = cast("MysqlServer", request.getfixturevalue(f"{request.param}_server"))
    name = f"narrow{next(NUMBERS)}"
    server.run(f"CREATE DATABASE {name} CHARACTER SET latin1")
    yield f"mysql+pymysql://root@127.0.0.1:{server.port}/{name}"
    server.run(f"DROP DATABASE {name}")


def opened(url: str, folder: Path) -> Store:
    return metadata.opened(url, Vault(folder / "secret.key"))


def refusal(url: str, folder: Path) -> str:
    with pytest.raises(SyncError) as refused:
        opened(url, folder)
    assert refused.value.code is Code.META_CHARSET
    return str(refused.value)


@on_servers("mariadb", fixture="narrow")
def test_a_narrow_database_is_refused_with_its_cure(narrow: str, tmp_path: Path) -> None:
    """Before there is a table in it; what the message says is typed, and every name is kept."""
    said = refusal(narrow, tmp_path)
    cure = said.partition("utf8mb4; ")[2]
    assert cure == f"ALTER DATABASE `{narrow.rpartition('/')[2]}` CHARACTER SET utf8mb4"
    type_in(narrow, cure)
    keep_a_name(narrow, tmp_path)


@pytest.mark.slow
@on_servers("mariadb", fixture="narrow")
def test_narrow_tables_are_refused_with_their_cure(
    narrow: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As an earlier version has made them: what is in them stays."""
    with monkeypatch.context() as earlier:
        earlier.setattr(database, "refuse_unfit", lambda _: None)
        with closing(opened(narrow, tmp_path)) as store:
            store.jobs.add(make_job(), Position(), 1.0)
    said = refusal(narrow, tmp_path)
    type_in(narrow, said.partition("utf8mb4; ")[2])
    with closing(opened(narrow, tmp_path)) as store:
        [job] = store.jobs.all()
        assert job.name == make_job().name
    keep_a_name(narrow, tmp_path)
    with asking(narrow) as connection:
        assert "ON DELETE CASCADE" in connection.execute(text("SHOW CREATE TABLE loads")).one()[1]


@pytest.mark.slow
def test_a_narrow_connection_is_refused(mysql_server: MysqlServer, tmp_path: Path) -> None:
    """It would put ? into a database that keeps every name."""
    mysql_server.run("CREATE DATABASE widemeta CHARACTER SET utf8mb4")
    url = f"mysql+pymysql://root@127.0.0.1:{mysql_server.port}/widemeta"
    assert "write charset=utf8mb4 there" in refusal(f"{url}?charset=latin1", tmp_path)
    keep_a_name(f"{url}?charset=utf8mb4", tmp_path)


def test_a_narrow_database_of_postgresql_is_refused(postgres: PostgresServer, tmp_path: Path) -> None:
    """What the message says makes one that is taken."""
    base = postgres.url("psycopg")
    with asking(base) as connection:
        connection.execute(text("CREATE DATABASE narrow ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0"))
        connection.execute(text("CREATE DATABASE wide ENCODING 'UTF8' TEMPLATE template0"))
    home = base.rpartition("/")[0]
    assert "CREATE DATABASE ... ENCODING 'UTF8' TEMPLATE template0" in refusal(f"{home}/narrow", tmp_path)
    keep_a_name(f"{home}/wide", tmp_path)


def type_in(url: str, statements: str) -> None:
    with asking(url) as connection:
        for statement in statements.split("; "):
            connection.execute(text(statement))


def keep_a_name(url: str, folder: Path) -> None:
    with closing(opened(url, folder)) as store:
        store.jobs.add(make_job(name=NAME, channels=(make_channel(token="other", target=NAME),)), Position(), 1.0)
        kept = store.jobs.by_name("demo", NAME)
    assert kept is not None
    assert kept.channels[0].target == NAME
