"""Empty databases of servers, for the metadata.

Owns: how a server is queried through SQLAlchemy, and for another database.
Must not know: what is stored in them.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Final

from sqlalchemy import Connection, create_engine, text
from sqlalchemy.engine import make_url

NUMBERS: Final = count()
Make = Callable[[], str]  # the URL of another one


@contextmanager
def asking(url: str) -> Iterator[Connection]:
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        yield connection
    engine.dispose()


def another(server: str) -> str:
    """The URL of an empty database next to the one of `server`."""
    name, url = f"meta{next(NUMBERS)}", make_url(server)
    charset = " CHARACTER SET utf8mb4" if url.get_backend_name() == "mysql" else ""
    with asking(server) as connection:
        connection.execute(text(f"CREATE DATABASE {name}{charset}"))
    return url.set(database=name).render_as_string(hide_password=False)
