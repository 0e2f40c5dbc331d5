"""Which version of the schema the metadata has.

Owns: bringing it to this program's, and the refusal of a newer one.
Must not know: what the tables hold, whose they are.
"""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine

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


def migrate(engine: Engine) -> None:
    """Only by its owner, or while it has none."""
    config = _config()
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def _found(engine: Engine) -> str | None:
    with engine.connect() as connection:
        return MigrationContext.configure(connection).get_current_revision()


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    return config
