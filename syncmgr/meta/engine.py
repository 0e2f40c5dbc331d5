"""How the metadata database is opened.

Owns: the options of its connections, where the one of a folder lies.
Must not know: what is in it.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine import make_url

META_FILE: Final = "meta.db"
TIMEOUTS: Final[Mapping[str, tuple[str, ...]]] = {"pymysql": ("connect_timeout", "read_timeout", "write_timeout")}


def sqlite_url(folder: Path) -> str:
    return f"sqlite:///{folder / META_FILE}"


def engine_of(url: str, timeout: float | None = None) -> Engine:
    """Of an SQLAlchemy URL. `timeout`: seconds that a server may take to answer, where its driver knows such a limit;
    None: as long as the driver lets it.

    Raises what SQLAlchemy does for one that is wrong.
    """
    made = make_url(url)
    is_file = made.get_backend_name() == "sqlite"
    known = () if timeout is None else TIMEOUTS.get(made.get_driver_name(), ())
    limits = {name: timeout for name in known if name not in made.query}
    engine = create_engine(url, pool_pre_ping=not is_file, connect_args=limits)  # no server that could have closed it
    if is_file:
        event.listen(engine, "connect", _set_pragmas)
    return engine


def _set_pragmas(connection: Any, _record: object) -> None:  # noqa: ANN401 - a driver's own connection
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "busy_timeout=30000"):
        connection.execute(f"PRAGMA {pragma}")
