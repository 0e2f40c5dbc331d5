"""Names of tables through a real canal: on servers that keep them in lower case, and where Java folds as none does."""

from collections.abc import Callable, Iterator

import pytest

from syncmgr.errors import Code
from tests.conftest import need_canal
from tests.contract.canal_reader import channel, reading
from tests.contract.mysql_reader import database
from tests.support.servers.canal import CanalServer
from tests.support.servers.mysql import FOLDS, Flavour, MysqlServer
from tests.support.slow import SERVERS, some_slow

pytestmark = pytest.mark.mysql

COLUMNS = "id INT, v STRING"
NAMES = [("T1", "t1"), ("ΟΔΟΣ", "οδοσ"), ("İST", "ist"), ("Straße", "straße")]  # as typed, as the server has it


@pytest.fixture(scope="module", params=some_slow(SERVERS, always=["mysql"]))
def folding(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MysqlServer]:
    flavour: Flavour = request.param
    server = MysqlServer(tmp_path_factory.mktemp("folding") / flavour, flavour, {FOLDS: "1"}).start()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def folding_canal(folding: MysqlServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[CanalServer]:
    need_canal()
    server = CanalServer(tmp_path_factory.mktemp("canal"), folding).start()
    yield server
    server.kill()


@pytest.mark.parametrize(("typed", "kept"), NAMES, ids=["ascii", "sigma", "dotted i", "sharp s"])
def test_a_name_that_the_server_spells_otherwise_is_told(
    folding: MysqlServer, folding_canal: CanalServer, typed: str, kept: str
) -> None:
    """The first row stops the job with the server's spelling, and a job of that spelling reads every row."""
    with database(folding) as db:
        folding.run(f"CREATE TABLE {db}.`{typed}` (id INT PRIMARY KEY, v TEXT)")
        with reading(folding_canal, [channel((db, typed), COLUMNS)]) as reader:
            reader.get()
            folding.run(f"INSERT INTO {db}.`{typed}` VALUES (1, 'a')")
            error = reader.until_error()
            assert error.code is Code.SOURCE_SCHEMA
            assert f"canal writes it {db}.{kept}; create the job with this name" in str(error)
        with reading(folding_canal, [channel((db, kept), COLUMNS)]) as reader:
            reader.until(lambda: reader.state((db, kept)))
            folding.run(f"INSERT INTO {db}.`{typed}` VALUES (2, 'b')")
            reader.until(lambda: set(reader.state((db, kept))) == {1, 2})


@pytest.mark.parametrize(("typed", "kept"), NAMES, ids=["ascii", "sigma", "dotted i", "sharp s"])
def test_a_statement_may_spell_a_table_as_it_likes(
    folding: MysqlServer, folding_canal: CanalServer, typed: str, kept: str
) -> None:
    """A TRUNCATE whose text has another spelling is one of the table."""
    with database(folding) as db:
        folding.run(f"CREATE TABLE {db}.`{typed}` (id INT PRIMARY KEY, v TEXT)")
        with reading(folding_canal, [channel((db, kept), COLUMNS)]) as reader:
            reader.get()
            folding.run(f"INSERT INTO {db}.`{typed}` VALUES (1, 'a')", f"TRUNCATE TABLE {db}.`{typed}`")
            reader.until(lambda: any(batch.ddl and not batch.ddl.rows_survive for batch in reader.batches))
            assert {batch.ddl.table for batch in reader.batches if batch.ddl} == {(db, kept)}


@pytest.mark.parametrize(
    ("db", "table"),
    some_slow(
        [("ΟΔΟΣ", "t"), ("ΟΔΟΣ", "ΛΣ"), ("d", "ΛΣ1"), ("d", "ΛΣ-b"), ("İST", "İ"), ("d", "ⱯⰯ"), ("d", "a,b.c$d")],
        always=[("ΟΔΟΣ", "ΛΣ"), ("İST", "İ")],
    ),
)
def test_any_name_of_a_server_that_keeps_case_is_read(
    canal: Callable[..., CanalServer], mysql_server: MysqlServer, db: str, table: str
) -> None:
    """Canal compares names in lower case, as Java makes it: it looks for the end of a word in both names at once."""
    mysql_server.run(
        "SET NAMES utf8mb4", f"CREATE DATABASE `{db}`", f"CREATE TABLE `{db}`.`{table}` (id INT PRIMARY KEY, v TEXT)"
    )
    try:
        with reading(canal(), [channel((db, table), COLUMNS)]) as reader:
            reader.get()
            mysql_server.run(f"INSERT INTO `{db}`.`{table}` VALUES (1, 'a')")
            reader.until(lambda: reader.state((db, table)))
    finally:
        mysql_server.run(f"DROP DATABASE `{db}`")
