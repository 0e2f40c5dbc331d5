"""Starts that die inside a migration of the metadata, on each database that may have them."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, Final

import pytest
from sqlalchemy import Engine, event, inspect, text

from syncmgr.meta.database import versions
from syncmgr.meta.database.engine import engine_of, sqlite_url
from syncmgr.meta.tables import METADATA
from tests.support.servers.databases import Make
from tests.support.slow import DATABASES, on_servers

READS: Final = ("SELECT", "SHOW", "PRAGMA", "DESCRIBE", "BEGIN")
OLD: Final = "0011"  # the next steps add columns, and rewrite texts, which they must not do twice
PATTERN: Final = r"CREATE SYNC `demo`.`j` (FROM `shop`.`a\_%` INTO `c`.*, FROM `shop`.`b\_c` INTO `d`.*) FROM MYSQL"
FILLED: Final = {
    "jobs": "INSERT INTO jobs (id, db, name, state, version, source, properties, statement, created_at, failures)"
    " VALUES (1, 'demo', 'j', 'PAUSED', 1, '{}', '{}', :statement, 0, 0)",
}


class Died(BaseException):
    """The process was killed."""


@contextmanager
def opened(url: str) -> Iterator[Engine]:
    engine = engine_of(url)
    yield engine
    engine.dispose()


def fill(url: str) -> None:
    with opened(url) as engine:
        versions.migrate(engine, OLD)
        with engine.begin() as connection:
            connection.execute(text(FILLED["jobs"]), {"statement": PATTERN})


def start(url: str, *, dies_before: int | None = None) -> bool:
    """Whether the migration came to its end; it dies before that statement of those that write."""
    numbers = count(1)

    def look(_: object, __: object, statement: str, *___: Any) -> None:
        if not statement.lstrip().upper().startswith(READS) and next(numbers) == dies_before:
            raise Died

    with opened(url) as engine:
        event.listen(engine, "before_cursor_execute", look)
        try:
            versions.migrate(engine)
        except Died:
            return False
    return True


def shape(url: str) -> dict[str, Any]:
    """Columns, keys and indexes of all tables, and what the job says."""
    with opened(url) as engine, engine.connect() as connection:
        found = inspect(engine)
        assert set(METADATA.tables) <= set(found.get_table_names())
        tables = {
            name: (
                sorted((column["name"], str(column["type"]), column["nullable"]) for column in found.get_columns(name)),
                found.get_pk_constraint(name)["constrained_columns"],
                sorted(str(index["name"]) for index in found.get_indexes(name)),
            )
            for name in METADATA.tables
        }
        return {**tables, "statements": connection.execute(text("SELECT statement FROM jobs")).scalars().all()}


@pytest.fixture
def file(tmp_path: Path) -> Make:
    """Each is a file in a folder of its own."""
    numbers = count()

    def made() -> str:
        folder = tmp_path / str(next(numbers))
        folder.mkdir()
        return sqlite_url(folder)

    return made


def assert_starts_again(make: Make, before: Callable[[str], None], most: int = 1000) -> None:
    """After a death before each of the first statements."""
    whole = make()
    before(whole)
    assert start(whole)
    for number in range(1, most + 1):
        url = make()
        before(url)
        if start(url, dies_before=number):
            assert number > 10
            return
        assert start(url), number
        assert shape(url) == shape(whole), number


def nothing(_: str) -> None:
    """A database that is new."""


EACH: Final = pytest.mark.parametrize("before", [pytest.param(nothing, marks=pytest.mark.long), fill])


@EACH
def test_a_file_is_brought_up_to_date_after_a_start_that_died(tmp_path: Path, before: Callable[[str], None]) -> None:
    """Before any statement of the migration; the texts of the version before are rewritten once."""
    begun = tmp_path / "begun"
    begun.mkdir()
    before(sqlite_url(begun))
    numbers = count()

    def copied() -> str:
        return sqlite_url(Path(shutil.copytree(begun, tmp_path / f"copy {next(numbers)}")))

    assert_starts_again(copied, nothing)


@on_servers("mariadb", fixture="make", among=DATABASES)
@pytest.mark.mysql
def test_a_server_that_keeps_half_of_a_step_goes_on(make: Make) -> None:
    """MySQL and MariaDB do, whose DDL is stored at once."""
    assert_starts_again(make, fill, most=3)


@pytest.mark.mysql
@pytest.mark.long
@EACH
def test_a_server_is_brought_up_to_date_after_a_start_that_died(make: Make, before: Callable[[str], None]) -> None:
    """Before any statement of the migration."""
    assert_starts_again(make, before)


def test_a_file_that_an_earlier_version_left_half_migrated_is_taken_up(file: Make) -> None:
    """Its driver stored the first statement of a migration at once, and its version never."""
    url, whole = file(), file()
    fill(url)
    fill(whole)
    with opened(url) as engine, engine.begin() as connection:
        connection.execute(text("ALTER TABLE channels ADD COLUMN excerpt JSON"))
    assert start(url)
    assert start(whole)
    assert shape(url) == shape(whole)
