"""The console and the programs that people use: mysql, mariadb, SQLAlchemy, and drivers' prepared statements."""

import os
import pty
import select
import struct
import subprocess
import time
from collections.abc import Iterator
from decimal import Decimal

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from syncmgr.console.wire.packet import Reader, lenenc_bytes
from syncmgr.console.wire.protocol import FieldType
from syncmgr.errors import Code
from tests.support.until import HANG_SECOND, until
from tests.unit.console.running import PASSWORD, RawClient, Running, id_of, running

CREATE = 'CREATE SYNC demo.job1 (FROM shop.orders INTO orders) FROM BINLOG ("type" = "mysql")'


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("tls"), password=PASSWORD) as it:
        it.ask(CREATE)
        yield it


@pytest.fixture(scope="module")
def open_console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("tls")) as it:
        yield it


def command(program: str, it: Running, *arguments: str) -> list[str]:
    return [program, "--no-defaults", "-h127.0.0.1", f"-P{it.port}", "-uroot", f"-p{PASSWORD}", *arguments]


def say(program: str, it: Running, text: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """What the command line answers to a text on its standard input."""
    return subprocess.run(
        command(program, it, *arguments), input=text, capture_output=True, text=True, timeout=HANG_SECOND, check=False
    )


@pytest.fixture(params=["mysql", "mariadb"])
def program(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_a_table(console: Running, program: str) -> None:
    """A SELECT comes out as a table with its rows counted."""
    done = say(program, console, "SELECT * FROM orders;", "-t", "-v", "-v", "-v")
    assert "|  1 | new    |   9.50 |" in done.stdout, done
    assert "3 rows in set" in done.stdout


def test_vertical_output(console: Running, program: str) -> None:
    """Long values of SHOW SYNC JOB are shown whole in vertical output."""
    done = say(program, console, "SHOW SYNC JOB FROM demo;", "-E")
    assert "  JobName: job1" in done.stdout, done
    assert "      Msg: " + "X" * 5000 in done.stdout


def test_errors_are_shown_as_mysql_shows_them(console: Running, program: str) -> None:
    """Number, SQLSTATE, words and line of an error."""
    done = say(program, console, "SELECT 1;\nUSE nothing;\nSELECT 2;", "--line-numbers", "--force")
    assert "ERROR 1049 (42000) at line 2: Unknown database 'nothing'" in done.stderr
    done = say(program, console, "SELEC 1;")
    assert (
        "ERROR 1064 (42000) at line 1: You have an error in your SQL syntax; unknown statement; did you mean"
        in done.stderr
    )


@pytest.mark.parametrize(
    "program",
    [
        "mysql",
        "mariadb",
    ],
)
def test_our_own_errors_are_shown(console: Running, program: str) -> None:
    """An error that MySQL has not is shown like one that it has."""
    done = say(program, console, "PAUSE SYNC JOB demo.nothing;")
    expected = f"ERROR {Code.UNKNOWN_JOB.number} (42S02) at line 1: Unknown sync job 'nothing' in database 'demo'"
    assert expected in done.stderr


def test_several_statements_and_use(console: Running, program: str) -> None:
    """USE, a statement over several lines, comments and delimiters."""
    text = "USE demo;\n-- a comment\nSHOW\n  TABLES; /* another */ SELECT DATABASE();\ndelimiter //\nSELECT 7//\n"
    done = say(program, console, text, "-N")
    assert done.stdout.split() == ["orders", "demo", "7"], done


def test_the_word_status(console: Running, program: str) -> None:
    """The client's status command shows user, version and uptime."""
    done = say(program, console, "status\n", *(["--commands"] if program == "mysql" else []))
    assert "8.0.36-syncmgr" in done.stdout, done
    assert "Threads: " in done.stdout
    assert "root@127.0.0.1" in done.stdout


def test_server_side_help(console: Running, program: str) -> None:
    """HELP of the command line asks the server: a topic in full, or the topics that fit."""
    more = ["--commands"] if program == "mysql" else []
    done = say(program, console, "help PAUSE SYNC JOB\n", *more)
    assert "PAUSE SYNC JOB [db.]job" in done.stdout, done
    done = say(program, console, "help BINLOG\n", *more)
    assert "CREATE SYNC JOB" in done.stdout, done
    assert "RESUME SYNC JOB" in done.stdout
    for clause in ("RESYNC TABLE", "ADD TABLE", "SKIP DDL", "APPLY DDL"):
        done = say(program, console, f"help {clause}\n", *more)
        assert f"ALTER SYNC JOB [db.]job {clause}" in done.stdout, done


def test_tab_completion(console: Running, program: str) -> None:
    """The command line learns databases, tables and columns for its tab key."""
    leader, follower = pty.openpty()
    arguments = command(program, console, "--auto-rehash", "demo")
    with subprocess.Popen(arguments, stdin=follower, stdout=follower, stderr=follower, close_fds=True) as client:
        os.close(follower)
        read_until(leader, "> ")
        os.write(leader, b"SELECT amou\t FROM orde\t;\n")
        read_until(leader, "in set")
        os.write(leader, b"quit\n")
        assert client.wait(HANG_SECOND) == 0
    os.close(leader)
    assert console.frontend.queries.asked[-1][0].split() == ["SELECT", "amount", "FROM", "orders"]


def read_until(terminal: int, text: str) -> None:
    shown = ""
    end = time.monotonic() + HANG_SECOND
    while text not in shown and time.monotonic() < end:
        ready, _, _ = select.select([terminal], [], [], 0.5)
        if ready:
            shown += os.read(terminal, 65536).decode(errors="replace")
    assert text in shown, shown


def administer(console: Running, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command("mariadb-admin", console, *words), capture_output=True, text=True, timeout=HANG_SECOND, check=False
    )


def test_mysqladmin(console: Running) -> None:
    """Ping, status, processlist and kill of the admin tool."""
    for word, expected in (
        ("ping", "alive"),
        ("status", "Uptime"),
        ("processlist", "Host"),
        ("variables", "version_comment"),
    ):
        done = administer(console, word)
        assert expected in done.stdout, done
    victim = console.connect()
    assert administer(console, "kill", str(id_of(victim))).returncode == 0
    until(lambda: id_of(victim) not in console.connections)
    victim._force_close()  # type: ignore[attr-defined]
    assert "Unknown thread id" in administer(console, "kill", "99999999").stderr


@pytest.fixture(scope="module")
def engine(console: Running) -> Iterator[sa.Engine]:
    it = sa.create_engine(f"mysql+pymysql://root:{PASSWORD}@127.0.0.1:{console.port}/demo?ssl_disabled=true")
    yield it
    it.dispose()


def test_sqlalchemy_selects(engine: sa.Engine) -> None:
    """SQLAlchemy connects, selects typed rows and binds values."""
    with engine.connect() as connection:
        assert connection.execute(sa.text("SELECT * FROM orders")).all() == [(1, "new", Decimal("9.50"))] * 3
        assert connection.execute(sa.text("SELECT :x"), {"x": "it's \\ fine"}).scalar() == "it's \\ fine"
        with pytest.raises(DBAPIError, match="1054"):
            connection.execute(sa.text("SELECT nothing"))
        assert connection.execute(sa.text("SELECT 42")).scalar() == 42


def test_sqlalchemy_creates(engine: sa.Engine) -> None:
    """SQLAlchemy makes a table if it is not there, reflects it as it was meant, and drops it."""
    columns = sa.Column("id", sa.BigInteger, nullable=False), sa.Column("word", sa.String(9))
    table = sa.Table("made", sa.MetaData(), *columns)
    for _ in range(2):
        table.create(engine, checkfirst=True)
    reflected = sa.Table("made", sa.MetaData(), autoload_with=engine).columns
    assert [(each.name, str(each.type), each.nullable) for each in reflected] == [
        ("id", "BIGINT", False),
        ("word", "VARCHAR(9)", True),
    ]
    table.drop(engine)
    assert not sa.inspect(engine).has_table("made")


def test_sqlalchemy_creates_all(engine: sa.Engine, console: Running) -> None:
    """Tables of an application's own metadata, with MySQL's words for keys, counters and character sets."""
    known = sa.MetaData()
    options = {"mysql_engine": "InnoDB", "mysql_charset": "utf8mb4", "comment": "users"}
    sa.Table("users", known, sa.Column("id", sa.Integer, primary_key=True), sa.Column("name", sa.String(9)), **options)
    named = sa.MetaData(naming_convention={"pk": "pk_%(table_name)s"})
    parts = (sa.Column(name, sa.BigInteger, autoincrement=False, primary_key=True, comment="x") for name in "ba")
    sa.Table("parts", named, *parts, sa.Column("size", sa.Numeric(9, 2), nullable=False))
    for metadata in (known, named):
        metadata.create_all(engine)
    assert {name: table.keys for name, table in console.frontend.catalog.dbs["demo"].items() if name != "orders"} == {
        "users": ("id",),
        "parts": ("b", "a"),
    }
    for metadata in (known, named):
        metadata.drop_all(engine)
    assert sa.inspect(engine).get_table_names() == ["orders"]


def test_sqlalchemy_inspects(engine: sa.Engine) -> None:
    """SQLAlchemy's inspector finds databases, tables and columns."""
    inspector = sa.inspect(engine)
    assert inspector.get_schema_names() == ["information_schema", "demo", "empty"]
    assert inspector.get_table_names() == ["orders"]
    assert inspector.has_table("orders")
    assert not inspector.has_table("nothing")
    assert inspector.get_view_names() == []


def test_sqlalchemy_reads_columns(engine: sa.Engine) -> None:
    """SQLAlchemy reads the columns of a table from SHOW CREATE TABLE."""
    columns = sa.inspect(engine).get_columns("orders")
    assert [(column["name"], str(column["type"]), column["nullable"]) for column in columns] == [
        ("id", "BIGINT", False),
        ("status", "VARCHAR(16)", True),
        ("amount", "DECIMAL(12, 2)", True),
    ]


@pytest.mark.filterwarnings("error")
def test_sqlalchemy_reads_keys(engine: sa.Engine) -> None:
    """Key and comment of a table come back from SHOW CREATE TABLE, also of one with partitions, and the text makes the
    same table.
    """
    clauses = "UNIQUE KEY (b, `a c`) COMMENT 'it''s' PARTITION BY (b) DISTRIBUTED BY HASH (b) BUCKETS 4"
    made = f"CREATE TABLE keyed (v VARCHAR(9) COMMENT 'x', b BIGINT NOT NULL, `a c` DATE NOT NULL) {clauses}"
    with engine.connect() as connection:
        connection.execute(sa.text(made))
        text = connection.execute(sa.text("SHOW CREATE TABLE keyed")).all()[0][1]
        inspector = sa.inspect(connection)
        assert inspector.get_pk_constraint("keyed") == {"constrained_columns": ["b", "a c"], "name": None}
        assert [each["name"] for each in inspector.get_columns("keyed") if not each["nullable"]] == ["b", "a c"]
        assert (inspector.get_indexes("keyed"), inspector.get_unique_constraints("keyed")) == ([], [])
        assert inspector.get_table_comment("keyed") == {"text": "it's"}
        reflected = sa.Table("keyed", sa.MetaData(), autoload_with=connection)
        assert [column.name for column in reflected.primary_key] == ["b", "a c"]
        connection.execute(sa.text("DROP TABLE keyed"))
        connection.execute(sa.text(text))
        assert connection.execute(sa.text("SHOW CREATE TABLE keyed")).all()[0][1] == text
        connection.execute(sa.text("DROP TABLE keyed"))


@pytest.mark.filterwarnings("error")
def test_sqlalchemy_makes_what_it_reflects(engine: sa.Engine) -> None:
    """A table that is not partitioned: key, NOT NULL, comments and all are those of before."""
    with engine.connect() as connection:
        connection.execute(sa.text("CREATE TABLE copied (b BIGINT, v TEXT COMMENT 'x') UNIQUE KEY (b) COMMENT 'it''s'"))
        text = connection.execute(sa.text("SHOW CREATE TABLE copied")).all()[0][1]
        reflected = sa.Table("copied", sa.MetaData(), autoload_with=connection)
        reflected.drop(connection)
        reflected.create(connection)
        assert connection.execute(sa.text("SHOW CREATE TABLE copied")).all()[0][1] == text
        reflected.drop(connection)


def prepare(raw: RawClient, sql: str) -> tuple[int, int]:
    """Id and number of parameters of a prepared statement."""
    reader = Reader(raw.command(b"\x16" + sql.encode()))
    assert reader.uint(1) == 0
    statement, _, count = reader.uint(4), reader.uint(2), reader.uint(2)
    for _ in range(count):
        raw.read()
    return statement, count


def execute(raw: RawClient, statement: int, nulls: int, types: list[FieldType], values: bytes) -> list[bytes]:
    """The rows of an EXECUTE with at most eight parameters."""
    kinds = b"".join(bytes((kind, 0)) for kind in types)
    body = struct.pack("<IBI", statement, 0, 1) + (bytes((nulls, 1)) + kinds + values if types else b"")
    first = raw.command(b"\x17" + body)
    assert first[:1] != b"\xff", first
    for _ in range(first[0]):
        raw.read()
    rows = []
    while (packet := raw.read())[:1] != b"\xfe":
        rows.append(packet)
    return rows


def test_prepared_statements_bind_text(open_console: Running) -> None:
    """Quotes and backslashes in a bound text stay text."""
    text = 'it\'s \\ "fine"; DROP'
    with open_console.raw() as raw:
        raw.log_in()
        statement, count = prepare(raw, "SELECT ?, '?' /* ? */")
        assert count == 1
        [row] = execute(raw, statement, 0, [FieldType.VAR_STRING], lenenc_bytes(text.encode()))
        assert row == b"\0\0" + lenenc_bytes(text.encode()) + lenenc_bytes(b"?")


def test_prepared_statements_bind_numbers_and_null(open_console: Running) -> None:
    """Integers come back as integers of eight bytes, NULL as a bit."""
    with open_console.raw() as raw:
        raw.log_in()
        statement, _ = prepare(raw, "SELECT ?, ?")
        [row] = execute(raw, statement, 0b10, [FieldType.LONG, FieldType.NULL], struct.pack("<i", -7))
        assert row == b"\0" + bytes((0b1000,)) + struct.pack("<q", -7)


def test_every_type_travels_in_binary(open_console: Running) -> None:
    """A prepared SELECT of every type of the lake is answered in the binary protocol."""
    with open_console.raw() as raw:
        raw.log_in()
        statement, _ = prepare(raw, "SELECT * FROM typed")
        [row] = execute(raw, statement, 0, [], b"")
        reader = Reader(row[1 + (16 + 9) // 8 :])
        assert struct.unpack("<bbhiqfd", reader.take(28)) == (1, -1, 300, -70000, 1 << 40, pytest.approx(0.1), 1.5)
        texts = [reader.lenenc_bytes() for _ in range(4)]
        assert texts == [b"-123.40", "Größe".encode(), b"", b"\x00\xff"]
        assert reader.lenenc_bytes() == struct.pack("<HBB", 2026, 11, 21)
        assert reader.lenenc_bytes() == struct.pack("<HBBBBBI", 2026, 11, 21, 10, 0, 0, 5)
        assert reader.lenenc_bytes() == struct.pack("<HBBBBB", 2026, 11, 21, 10, 0, 0)
        assert reader.lenenc_bytes() == b"[1, null]"
        assert reader.left == 0


def test_long_data(open_console: Running) -> None:
    """A parameter may come in pieces; a statement that is not there is 1243."""
    with open_console.raw() as raw:
        raw.log_in()
        statement, _ = prepare(raw, "SELECT ?")
        for piece in (b"ab", b"cd"):
            raw.sequence = -1
            raw.write(b"\x18" + struct.pack("<IH", statement, 0) + piece)
        [row] = execute(raw, statement, 0, [FieldType.VAR_STRING], b"")
        assert row == b"\0\0" + lenenc_bytes(b"abcd")
        assert raw.command(b"\x17" + struct.pack("<IBI", 99, 0, 1))[1:3] == struct.pack("<H", 1243)
        assert raw.command(b"\x1f")[:1] == b"\0"
        assert raw.command(b"\x1a" + struct.pack("<I", statement))[1:3] == struct.pack("<H", 1243)
