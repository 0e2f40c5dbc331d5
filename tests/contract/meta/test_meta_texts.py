"""Long texts in the metadata that a database server keeps, on real servers."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest
from sqlalchemy import inspect, text
from sqlalchemy.engine import make_url

from syncmgr.errors import Code, SyncError
from syncmgr.job.ddl.ddl_step import DdlRecord, DdlState
from syncmgr.job.epoch import Epoch
from syncmgr.job.position import Position
from syncmgr.job.rows.dead_letter import DeadLetter
from syncmgr.meta.codec import Vault
from syncmgr.meta.database import versions
from syncmgr.meta.database.engine import engine_of
from syncmgr.meta.ddl_log import LONGEST
from syncmgr.meta.store import Store
from tests.contract.meta.test_backup import House
from tests.contract.meta.test_backup_served import ServedHouse
from tests.support import metadata
from tests.support.servers.databases import Make, asking
from tests.support.slow import DATABASES, on_servers
from tests.unit.job.factories import make_job

pytestmark = pytest.mark.mysql

LONG: Final = "/* 🐬 */ " * 10_000  # more bytes than a TEXT of MySQL and MariaDB takes
BEFORE: Final = "0020"  # the last version whose texts were that short
RECORD: Final = DdlRecord(position=Position(), at=0.1, table="t", statement="s", state=DdlState.PAUSED, outcome="why")
TOO_WIDE: Final = replace(RECORD, table="t" * 600)


@pytest.fixture
def url(make: Make) -> str:
    return make()


@pytest.fixture
def store(url: str, tmp_path: Path) -> Iterator[Store]:
    with closing(metadata.opened(url, Vault(tmp_path / "secret.key"))) as opened:
        yield opened


@on_servers("mysql", fixture="make", among=DATABASES)
def test_long_statements_come_back(store: Store) -> None:
    """Of a job with hundreds of tables, and of a server's DDL as far as it is recorded, with what was done with it."""
    job = store.jobs.add(make_job(statement=LONG), Position(), 1.0)
    record = replace(RECORD, statement=LONG, outcome=LONG)
    store.ddl.refuse(job.id, record)
    assert store.ddl.settle(job.id, LONG)
    assert store.jobs.by_id(job.id) == job
    assert job.statement == LONG
    recorded = f"{LONG[:LONGEST]}... ({len(LONG) - LONGEST} more characters)"
    assert store.ddl.of(job.id) == [replace(record, statement=recorded, state=DdlState.APPLY, instead=LONG)]


@on_servers("mysql", fixture="make", among=DATABASES)
def test_an_earlier_version_is_widened(url: str, tmp_path: Path) -> None:
    """What it has stays, and longer texts are taken from then on."""
    engine = engine_of(url)
    versions.migrate(engine, BEFORE)
    engine.dispose()
    filled = "INSERT INTO jobs (id, db, name, state, version, source, properties, statement, created_at, failures)"
    with asking(url) as connection:
        connection.execute(text(f"{filled} VALUES (7, 'demo', 'old', 'CANCELLED', 1, '{{}}', '{{}}', 'ü', 0, 0)"))
    with closing(metadata.opened(url, Vault(tmp_path / "secret.key"))) as store:
        assert store.jobs.add(make_job(statement=LONG), Position(), 1.0).statement == LONG
    with asking(url) as connection:
        assert set(connection.execute(text("SELECT statement FROM jobs")).scalars()) == {"ü", LONG}
        nullable = {column["name"]: column["nullable"] for column in inspect(connection).get_columns("ddl")}
        assert (nullable["outcome"], nullable["instead"]) == (False, True)


@on_servers("postgres", fixture="make", among=DATABASES)
def test_what_does_not_fit_is_refused_with_a_cure(url: str, tmp_path: Path) -> None:
    """By an error of ours, and nothing is stored; what it says is done, and the same fits."""
    with closing(ServedHouse(tmp_path / "house", url)) as house:
        house.fill()
        with pytest.raises(SyncError) as refused:
            house.store.ddl.refuse(house.job.id, TOO_WIDE)
        assert refused.value.code is Code.META_UNFIT
        assert "`syncmgr backup FOLDER`" in str(refused.value)
        assert house.store.ddl.of(house.job.id) == []
        house.back_up(tmp_path / "copy")
    other = House(tmp_path / "other")
    other.restore(tmp_path / "copy")
    with closing(other.opened()) as store:
        store.ddl.refuse(house.job.id, TOO_WIDE)
        assert store.ddl.of(house.job.id) == [TOO_WIDE]


@on_servers("mariadb", fixture="make", among=DATABASES)
def test_no_text_is_cut(url: str, tmp_path: Path) -> None:
    """Where the server's sql_mode would let it; PostgreSQL has no such mode, and takes no zero byte."""
    is_postgres = make_url(url).get_backend_name() == "postgresql"
    lax = url if is_postgres else f"{url}?init_command=SET%20sql_mode%3D''"
    record = replace(RECORD, statement="\0") if is_postgres else TOO_WIDE
    with closing(metadata.opened(lax, Vault(tmp_path / "secret.key"))) as store:
        job = store.jobs.add(make_job(), Position(), 1.0)
        with pytest.raises(SyncError) as refused:
            store.ddl.refuse(job.id, record)
        assert refused.value.code is Code.META_UNFIT
        assert store.ddl.of(job.id) == []


@on_servers("mysql", fixture="make", among=DATABASES)
def test_the_bytes_of_dead_letters_are_those_of_python(store: Store) -> None:
    """By which what is new is counted: characters take several, whatever the server calls a length."""
    job = store.jobs.add(make_job(), Position(), 1.0)
    assert store.dead_letters.bytes(job.id) == 0
    facts = {"token": "token-1", "change": "INSERT", "value": "v", "reason": "r", "at": 5.0, "file": "b.1", "offset": 9}
    letters = tuple(DeadLetter(column="ü", row=row, **facts) for row in (LONG, '{"a": "\\\\x00"}', ""))  # type: ignore[arg-type]
    store.epochs.add_intent(job.id, Epoch(number=1, end=Position(), last_seq=0, dead=letters))
    assert store.dead_letters.bytes(job.id) == sum(letter.bytes for letter in letters) > len(LONG)
