"""Metadata on a server that takes no writes for a while."""

from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.engine import make_url

from syncmgr.errors import Code, SyncError
from syncmgr.job.position import Position
from syncmgr.meta.codec import Vault
from tests.support import metadata
from tests.support.servers.databases import another, asking
from tests.support.servers.postgres import PostgresServer
from tests.unit.job.factories import make_job

SESSIONS = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = :db AND pid <> pg_backend_pid()"


def test_a_database_that_is_read_only_is_an_outage(postgres: PostgresServer, tmp_path: Path) -> None:
    """Like a replica, or after a failover: with its reason and without SQL; it can be read, and later written again."""
    base = postgres.url("psycopg")
    url = another(base)
    name = make_url(url).database
    with closing(metadata.opened(url, Vault(tmp_path / "secret.key"))) as store, asking(base) as connection:
        connection.execute(text(f"ALTER DATABASE {name} SET default_transaction_read_only = on"))
        connection.execute(text(SESSIONS), {"db": name})
        with pytest.raises(SyncError, match=r"in a read-only transaction$") as refused:
            store.jobs.add(make_job(), Position(), 1.0)
        assert refused.value.code is Code.META_DOWN
        assert list(store.jobs.all()) == []
        connection.execute(text(f"ALTER DATABASE {name} RESET default_transaction_read_only"))
        connection.execute(text(SESSIONS), {"db": name})
        assert store.jobs.add(make_job(), Position(), 1.0).id
