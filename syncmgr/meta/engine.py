"""How the metadata database is opened.

Owns: the options of its connections, where the one of a folder lies.
Must not know: what is in it.
"""

from pathlib import Path
from typing import Any, Final

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine import make_url

META_FILE: Final = "meta.db"


def sqlite_url(folder: Path) -> str:
    return f"sqlite:///{folder / META_FILE}"


def engine_of(url: str) -> Engine:
    """Of an SQLAlchemy URL. Raises what SQLAlchemy does for one that is wrong."""
    is_file = make_url(url).get_backend_name() == "sqlite"
    engine = create_engine(url, pool_pre_ping=not is_file)  # no server that could have closed it
    if is_file:
        event.listen(engine, "connect", _set_pragmas)
    return engine


def _set_pragmas(connection: Any, _record: object) -> None:  # noqa: ANN401 - a driver's own connection
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "busy_timeout=30000"):
        connection.execute(f"PRAGMA {pragma}")
