"""SQLAlchemy on PyMySQL.

Owns: engine, inspector and reflection as its checks need them.
Must not know: the right answers to what it shares with others.
"""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from checks import DATABASE, HOST, MANY, ODD_TEXT, PASSWORD, PORT, USER, VALUES, VALUES_ARE, equal, report
from sqlalchemy.exc import DBAPIError

URL = sa.URL.create("mysql+pymysql", USER, PASSWORD, HOST, PORT, DATABASE, {"charset": "utf8mb4"})
engine = sa.create_engine(URL)


def ask(sql: str, **parameters: Any) -> Sequence[Any]:
    with engine.connect() as connection:
        return [tuple(row) for row in connection.execute(sa.text(sql), parameters).all()]


def login() -> None:
    equal(str(ask("SELECT CURRENT_USER()")[0][0]).split("@")[0], USER)


def metadata() -> None:
    inspector = sa.inspect(engine)
    equal(DATABASE in inspector.get_schema_names(), True)
    equal(inspector.get_table_names(), ["orders"])
    equal(inspector.get_view_names(), [])
    columns = [(each["name"], str(each["type"]), each["nullable"]) for each in inspector.get_columns("orders")]
    equal(columns, [("id", "BIGINT", False), ("status", "VARCHAR(16)", True)])
    equal(inspector.get_pk_constraint("orders")["constrained_columns"], ["id"])
    equal(inspector.get_foreign_keys("orders"), [])
    table = sa.Table("orders", sa.MetaData(), autoload_with=engine)
    with engine.connect() as connection:
        equal(connection.execute(sa.select(table.c.id).where(table.c.status == ODD_TEXT)).all(), [])


def errors() -> None:
    try:
        ask("SELEC 1")
    except DBAPIError as error:
        equal(error.orig.args[0] if error.orig else None, 1064)
    else:
        raise AssertionError("SELEC 1 went through")


report(
    sa.__version__,
    {
        "login": login,
        "values": lambda: equal(ask(VALUES), [VALUES_ARE]),
        "prepared": lambda: equal(ask("SELECT :a, :b, :c", a=ODD_TEXT, b=42, c=None), [(ODD_TEXT, 42, None)]),
        "many rows": lambda: equal(len(ask(MANY)), 10_000),
        "metadata": metadata,
        "errors": errors,
    },
)
