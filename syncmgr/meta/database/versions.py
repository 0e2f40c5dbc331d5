"""Which version of the schema the metadata has.

Owns: bringing it to this program's, and the refusal of a newer one.
Must not know: what the tables hold, whose they are.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine

from syncmgr.errors import Code, SyncError


def is_current(engine: Engine) -> bool:
    return _found(engine) == ScriptDirectory.from_config(_config()).get_current_head()


def refuse_newer(engine: Engine) -> None:
    """Raises META_NEWER where a later syncmgr has brought it to a version that this one does not know."""
    found = _found(engine)
    scripts = ScriptDirectory.from_config(_config())
    known = {script.revision for script in scripts.walk_revisions()}
    if found is not None and found not in known:
        raise SyncError(Code.META_NEWER, found=found, known=scripts.get_current_head())


def migrate(engine: Engine, to: str = "head", between: Callable[[Connection], None] = lambda _: None) -> None:
    """All or nothing, but on MySQL and MariaDB, where the steps that are done stay done and the next call goes on.

    `between`: called after each step with the connection; what it raises ends the migration. Only by its owner.
    """
    config = _config()
    with _transaction(engine) as connection:
        config.attributes.update(connection=connection, between=between)
        command.upgrade(config, to)


@contextmanager
def _transaction(engine: Engine) -> Iterator[Connection]:
    """One that has DDL in it, too, where the database can do that."""
    with engine.connect() as connection, _beginning_itself(connection), connection.begin():
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        yield connection


@contextmanager
def _beginning_itself(connection: Connection) -> Iterator[None]:
    """SQLite's driver begins a transaction at the first DML alone, so that DDL before it is stored at once."""
    driver: Any = connection.connection.dbapi_connection
    if connection.dialect.name != "sqlite":
        yield
        return
    before, driver.isolation_level = driver.isolation_level, None
    try:
        yield
    finally:
        driver.isolation_level = before


def _found(engine: Engine) -> str | None:
    with engine.connect() as connection:
        return MigrationContext.configure(connection).get_current_revision()


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parents[1] / "migrations"))
    return config
