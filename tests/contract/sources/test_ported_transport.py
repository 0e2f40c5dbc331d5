"""Cases of transport that other systems test, each with its outcome: what was done to a table arrives as it was."""

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import pytest

from syncmgr.sources.mysql.binlog.subscriptions import Subscription
from tests.contract.mysql_reader import database, facts, latest, reading
from tests.support.servers.mysql import Flavour, MysqlServer, binary
from tests.support.slow import crossed, on_servers

KEYRING: Final = "component_keyring_file"
FOREIGN: Final = "aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa"
# by engine; those that have so many
MOST_COLUMNS: Final[Mapping[str, tuple[int, Flavour | None]]] = {"InnoDB": (1017, None), "MyISAM": (4096, "mysql")}

# what is done in one session; {t} has id and v
SESSIONS: Final[Mapping[str, tuple[Flavour | None, Sequence[str]]]] = {
    "empty transactions": (None, ["BEGIN", "COMMIT", "BEGIN", "INSERT INTO {t} VALUES (1, 'a')", "COMMIT", "BEGIN"]),
    "a transaction in comments": (
        None,
        [
            "/* a */ BEGIN /* b */",
            "INSERT /* COMMIT */ INTO {t} VALUES (1, 'BEGIN'), (2, 'COMMIT')",
            "# c\nCOMMIT -- d",
        ],
    ),
    "an empty transaction of another server": (
        "mysql",
        [
            f"SET gtid_next = '{FOREIGN}:1'",
            *("BEGIN", "COMMIT", "SET gtid_next = AUTOMATIC", "INSERT INTO {t} VALUES (1, 'a')"),
            f"SET gtid_next = '{FOREIGN}:7'",
            *("BEGIN", "UPDATE {t} SET v = 'b'", "COMMIT", "SET gtid_next = AUTOMATIC"),
        ],
    ),
    "statements beside their rows": (
        "mysql",
        ["SET binlog_rows_query_log_events = ON", "INSERT INTO {t} VALUES (1, 'a')", "UPDATE {t} SET v = NULL"],
    ),
    "statements as annotations": (
        "mariadb",
        ["SET binlog_annotate_row_events = ON", "INSERT INTO {t} VALUES (1, 'a')", "UPDATE {t} SET v = NULL"],
    ),
    "a transaction rolled back in part": (
        None,
        [
            *("BEGIN", "INSERT INTO {t} VALUES (1, 'a')", "SAVEPOINT s", "INSERT INTO {t} VALUES (2, 'b')"),
            *("ROLLBACK TO s", "INSERT INTO {t} VALUES (3, 'c')", "RELEASE SAVEPOINT s", "COMMIT"),
        ],
    ),
    "tables of two engines in one transaction": (
        "mariadb",
        [
            "CREATE TABLE {t}_m (id INT PRIMARY KEY) ENGINE = MyISAM",
            *("BEGIN", "INSERT INTO {t} VALUES (1, 'a')", "INSERT INTO {t}_m VALUES (1)", "ROLLBACK"),
            "INSERT INTO {t} VALUES (2, 'b')",
        ],
    ),
    "other kinds of DDL between rows": (
        None,
        [
            "INSERT INTO {t} VALUES (1, 'a')",
            *("CREATE VIEW {t}_v AS SELECT 1", "DROP VIEW {t}_v", "CREATE INDEX i ON {t} (v)", "DROP INDEX i ON {t}"),
            "CREATE TRIGGER {t}_g BEFORE UPDATE ON {t} FOR EACH ROW SET NEW.v = 'by trigger'",
            *("UPDATE {t} SET v = 'b'", "DROP TRIGGER {t}_g", "ANALYZE TABLE {t}"),
            *("CREATE TABLE {t}_x (id INT)", "TRUNCATE {t}_x", "TRUNCATE TABLE {t}_x", "DROP TABLE {t}_x"),
        ],
    ),
}


def _arrived(server: MysqlServer, db: str, statements: Sequence[str], key: str = "id") -> tuple[object, object]:
    """What the changes make of an empty copy of table t, and what its server says."""
    known = facts(server, [(db, "t")])
    [schema] = known.tables
    names = tuple(column.name for column in schema.columns)
    with reading(server, {(db, "t"): Subscription(columns=names, keys=(key,), schema=schema)}, known.start) as reader:
        server.run(f"USE {db}", *(statement.replace("{t}", "t") for statement in statements))
        reader.until(latest(server))
        copy = {row_key: tuple(row[name] for name in names) for row_key, row in reader.state((db, "t"), key).items()}
    told = server.run(f"SELECT {', '.join(names)} FROM {db}.t")
    return copy, {row[names.index(key)]: row for row in told}


@on_servers("mysql")
@pytest.mark.parametrize("name", SESSIONS)
def test_a_session_of_others(any_server: MysqlServer, name: str) -> None:
    """However a session writes, its rows arrive."""
    flavour, statements = SESSIONS[name]
    if flavour not in {None, any_server.flavour}:
        pytest.skip(f"a case of {flavour}")
    with database(any_server) as db:
        any_server.run(f"CREATE TABLE {db}.t (id INT PRIMARY KEY, v VARCHAR(20)) ENGINE = InnoDB")
        copy, told = _arrived(any_server, db, statements)
        assert copy == told
        assert told


@pytest.mark.slow
@crossed("engine", ["InnoDB", "MyISAM"], always=[("mysql", "InnoDB")])
def test_as_many_columns_as_there_can_be(any_server: MysqlServer, engine: str) -> None:
    """The bitmaps of presence and of NULL hold them all: each value is in its own column."""
    count, flavour = MOST_COLUMNS[engine]
    if flavour not in {None, any_server.flavour}:
        pytest.skip("its definition of a table must fit into 64 KiB")
    names = [f"c{place}" for place in range(1, count)]
    rows = [[1, *(None if place % 7 == 3 else place % 120 for place in range(1, count))], [2] + [None] * (count - 1)]
    values = ", ".join(f"({', '.join('NULL' if v is None else str(v) for v in row)})" for row in rows)
    with database(any_server) as db:
        defined = ", ".join(f"{name} TINYINT" for name in names)
        any_server.run(f"CREATE TABLE {db}.t (id INT PRIMARY KEY, {defined}) ENGINE = {engine}")
        changed = ", ".join(f"{name} = {place % 100}" for place, name in enumerate(names) if place % 3 == 0)
        copy, told = _arrived(
            any_server, db, [f"INSERT INTO {{t}} VALUES {values}", f"UPDATE {{t}} SET {changed} WHERE id = 2"]
        )
        assert copy == told


@pytest.mark.parametrize("metadata", ["FULL", "MINIMAL"])
def test_a_key_that_the_server_made_and_hides(mysql_server: MysqlServer, metadata: str) -> None:
    """It is in the rows, so it is known, also to a user who may only read; it stays when it becomes visible."""
    globals_ = {"show_gipk_in_create_table_and_information_schema": "OFF", "binlog_row_metadata": metadata}
    before = {name: mysql_server.run(f"SELECT @@GLOBAL.{name}")[0][0] for name in globals_}
    with database(mysql_server) as db:
        try:
            mysql_server.run(*(f"SET GLOBAL {name} = {value}" for name, value in globals_.items()))
            mysql_server.run(
                "SET sql_generate_invisible_primary_key = ON", f"CREATE TABLE {db}.t (a INT, b VARCHAR(9))"
            )
            known = facts(mysql_server, [(db, "t")])
            names = tuple(column.name for column in known.tables[0].columns)
            assert (names, known.unique_keys) == (("my_row_id", "a", "b"), ((("my_row_id",),),))
            wanted = Subscription(columns=names, keys=("my_row_id",), schema=known.tables[0], complete=True)
            with reading(mysql_server, {(db, "t"): wanted}, known.start) as reader:
                mysql_server.run(
                    f"INSERT INTO {db}.t VALUES (10, 'a'), (20, 'b')", f"UPDATE {db}.t SET b = 'c' WHERE a = 10"
                )
                reader.until(latest(mysql_server))
                rows = reader.state((db, "t"), "my_row_id")
        finally:
            mysql_server.run(*(f"SET GLOBAL {name} = {value!r}" for name, value in before.items()))
    assert [tuple(row[name] for name in names) for _, row in sorted(rows.items())] == [(1, 10, "c"), (2, 20, "b")]


def test_a_key_that_the_server_made(mysql_server: MysqlServer) -> None:
    """A generated invisible primary key is a column like others."""
    with database(mysql_server) as db:
        mysql_server.run("SET sql_generate_invisible_primary_key = ON", f"CREATE TABLE {db}.t (v VARCHAR(9))")
        copy, told = _arrived(
            mysql_server, db, ["INSERT INTO {t} VALUES ('a'), ('b')", "UPDATE {t} SET v = 'c' LIMIT 1"], "my_row_id"
        )
        assert copy == told == {1: (1, "c"), 2: (2, "b")}


class EncryptedServer(MysqlServer):
    """A MySQL whose binlog lies encrypted, its key in a file. What loads the keyring stands beside the program."""

    def __init__(self, folder: Path, base: str, plugins: Path) -> None:
        super().__init__(
            folder / "server",
            "mysql",
            {"basedir": base, "plugin-dir": str(folder), "binlog-encryption": "ON", "max-binlog-size": "4096"},
        )
        self._own = folder / "mysqld"
        shutil.copy(plugins / f"{KEYRING}.so", folder)
        (folder / f"{KEYRING}.cnf").write_text(f'{{"path": "{folder / "keys"}", "read_only": false}}')
        (folder / "mysqld.my").write_text(f'{{"components": "file://{KEYRING}"}}')
        program = Path(binary("mysql") or "")
        script = program.read_bytes()
        if script.startswith(b"#!"):  # it calls the program under a name of its own
            self._own.write_bytes(re.sub(rb"--argv0 \S+", b"--argv0 " + bytes(self._own), script))
        else:
            shutil.copy(program, self._own)
        self._own.chmod(0o755)

    @property
    def _program(self) -> str:
        return str(self._own)


@pytest.fixture
def encrypted_mysql(mysql_server: MysqlServer, tmp_path: Path) -> Iterator[MysqlServer]:
    """Skipped where the server came without the keyring."""
    [(base, plugins)] = mysql_server.run("SELECT @@basedir, @@plugin_dir")
    if not (Path(plugins) / f"{KEYRING}.so").is_file():
        pytest.skip(f"no {KEYRING}")
    server = EncryptedServer(tmp_path, base, Path(plugins))
    yield server.start()
    server.stop()


def test_an_encrypted_binlog(encrypted_mysql: MysqlServer, tmp_path: Path) -> None:
    """Files that nobody can read on disk are read over the wire, through rotations."""
    with database(encrypted_mysql) as db:
        encrypted_mysql.run(f"CREATE TABLE {db}.t (id INT PRIMARY KEY, v VARCHAR(90))")
        copy, told = _arrived(
            encrypted_mysql, db, [f"INSERT INTO {{t}} VALUES ({n}, REPEAT('plaintext', 9))" for n in range(60)]
        )
        assert copy == told
        logs = encrypted_mysql.run("SHOW BINARY LOGS")
        assert len(logs) > 2
        assert {row[2] for row in logs} == {"Yes"}
    files = list((tmp_path / "server" / "data").glob("binlog.0*"))
    assert files
    assert not any(b"plaintext" in path.read_bytes() for path in files)
