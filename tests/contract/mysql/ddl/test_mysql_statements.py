"""Sessions that write statements into the binlog in place of rows, on real servers."""

import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.backoff import Retry
from syncmgr.job.ddl.following.ddl_statement import DdlStatement
from syncmgr.job.objects.surroundings import Answers
from syncmgr.sources.mysql import source
from syncmgr.sources.mysql.address import query
from syncmgr.sources.mysql.binlog.subscriptions import Subscription
from syncmgr.sources.mysql.server import surroundings
from syncmgr.sources.mysql.server.surroundings import Patience
from syncmgr.sources.mysql.source import SourceOptions
from tests.conftest import need_names, need_own_binlog
from tests.contract.mysql_reader import Reader, database, latest, reading
from tests.support.alike import ALIKE
from tests.support.servers.mysql import Flavour, MysqlServer
from tests.support.slow import SERVERS, on_servers, some_slow
from tests.support.until import until

pytestmark = pytest.mark.mysql
QUICK: Final = SourceOptions(position_interval=0.05, retry=Retry(first=0.02))
WANTED: Final = Subscription(columns=("id", "v"), keys=("id",))
STATEMENT: Final = "SET SESSION binlog_format = STATEMENT"
CHECKSUM: Final = (
    "REPLACE INTO {db}.checksums (db, tbl, cnt, crc) SELECT '{db}', 't', COUNT(*), COALESCE(LOWER(CONV(BIT_XOR("
    "CAST(CRC32(CONCAT_WS('#', `id`, CONCAT(ISNULL(`v`)))) AS UNSIGNED)), 10, 16)), 0) FROM `{db}`.`t` /*checksum*/"
)
FUNCTION: Final = "CREATE FUNCTION {db}.f() RETURNS INT MODIFIES SQL DATA BEGIN UPDATE {db}.t SET v = 9; RETURN 1; END"


@pytest.fixture
def db(any_server: MysqlServer) -> Iterator[str]:
    """A database with the synced table t, a child of p, and others, that the reader sees."""
    need_own_binlog(any_server)
    with database(any_server) as name:
        any_server.run(
            f"GRANT SHOW VIEW, TRIGGER ON {name}.* TO repl",
            f"CREATE TABLE {name}.p (id INT PRIMARY KEY)",
            f"CREATE TABLE {name}.t (id INT PRIMARY KEY, v INT, p INT, KEY (p),"
            f" CONSTRAINT to_p FOREIGN KEY (p) REFERENCES {name}.p (id) ON DELETE CASCADE)",
            f"CREATE TABLE {name}.o (id INT PRIMARY KEY, v INT)",
            f"CREATE TABLE {name}.checksums (db CHAR(64), tbl CHAR(64) PRIMARY KEY, cnt INT, crc CHAR(40))",
            f"INSERT INTO {name}.p VALUES (1), (2)",
            f"INSERT INTO {name}.t VALUES (1, 1, 1), (2, 2, 2)",
        )
        yield name


def refused(reader: Reader) -> SyncError:
    error = reader.until_error()
    assert error.code is Code.SOURCE_NOT_ROW, error
    return error


WAYS: Final = [  # what is there, and the statement that changes t by it
    ("SELECT 1", "UPDATE {db}.t SET v = 9"),
    ("SELECT 1", "UPDATE {db}.o JOIN {db}.t ON o.id = t.id SET t.v = 9"),
    ("CREATE VIEW {db}.w AS SELECT * FROM {db}.t", "UPDATE {db}.w SET v = 9"),
    (
        "CREATE TRIGGER {db}.r AFTER INSERT ON {db}.o FOR EACH ROW UPDATE t SET v = 9",
        "INSERT INTO {db}.o VALUES (7, 7)",
    ),
    ("CREATE TRIGGER {db}.r AFTER UPDATE ON {db}.o FOR EACH ROW UPDATE t SET v = 9", "UPDATE {db}.o SET v = 7"),
    (
        "CREATE TRIGGER {db}.r AFTER UPDATE ON {db}.o FOR EACH ROW UPDATE t SET v = 9",
        "INSERT INTO {db}.o VALUES (90, 1) ON DUPLICATE KEY UPDATE v = 7",
    ),
    (
        "CREATE TRIGGER {db}.r BEFORE DELETE ON {db}.o FOR EACH ROW UPDATE t SET v = 9",
        "REPLACE INTO {db}.o VALUES (90, 1)",
    ),
    ("CREATE VIEW {db}.v AS SELECT t.v FROM {db}.o JOIN {db}.t USING (id)", "UPDATE {db}.v SET v = 9"),
    (FUNCTION, "SELECT {db}.f()"),
    (FUNCTION, "INSERT INTO {db}.o SELECT {db}.f(), 1"),
    (FUNCTION.replace("{db}.f()", "{db}.any_value()"), "INSERT INTO {db}.o SELECT {db}.any_value(), 1"),
    (
        f"{FUNCTION}; CREATE VIEW {{db}}.calling AS SELECT {{db}}.f() AS v",
        "INSERT INTO {db}.o SELECT v, 1 FROM {db}.calling",
    ),
    (
        f"{FUNCTION}; CREATE TRIGGER {{db}}.r BEFORE INSERT ON {{db}}.o FOR EACH ROW SET NEW.v = f()",
        "INSERT {db}.o (id) VALUES (7)",
    ),
    (
        "CREATE TRIGGER {db}.r AFTER INSERT ON {db}.o FOR EACH ROW BEGIN IF NEW.id > 1 THEN DELETE FROM p; END IF; END",
        "INSERT INTO {db}.o VALUES (7, 7)",
    ),
    ("SELECT 1", "DELETE FROM {db}.p WHERE id = 1"),
]


def made_by(text: str) -> list[str]:
    """Its statements, of which each but the first begins with CREATE."""
    first, *others = text.split("; CREATE ")
    return [first, *(f"CREATE {other}" for other in others)]


@pytest.mark.parametrize(
    ("any_server", "early", "made", "statement"),
    some_slow(
        ((server, early, *way) for server in SERVERS for early in (True, False) for way in WAYS),
        always=[
            *(("mysql", True, *way) for way in WAYS),
            *(("mysql", False, *way) for way in WAYS[2:6]),
            *(("mariadb", True, *way) for way in (WAYS[0], WAYS[3], WAYS[8], WAYS[14])),
        ],
    ),
    indirect=["any_server"],
)
def test_a_statement_that_reaches_a_synced_table_stops(
    any_server: MysqlServer, db: str, made: str, statement: str, *, early: bool
) -> None:
    """Directly or by a view, a trigger, a function or a foreign key, be they there at the start or made behind it."""
    trusted = any_server.global_variable("log_bin_trust_function_creators", "1")
    with trusted:
        if early:
            any_server.run(*made_by(made.format(db=db)))
        with reading(any_server, {(db, "t"): WANTED}, options=QUICK) as reader:
            reader.get()
            if not early:
                any_server.run(*made_by(made.format(db=db)))
            any_server.run(STATEMENT, statement.format(db=db))
            refused(reader)


@pytest.mark.parametrize(
    "statement",
    some_slow(
        [
            CHECKSUM,
            "INSERT INTO {db}.o (id, v) SELECT id, v FROM {db}.t",
            "UPDATE {db}.o JOIN {db}.t USING (id) SET o.v = t.v",
            "DELETE {db}.o FROM {db}.o JOIN {db}.t USING (id)",
            "INSERT INTO {db}.p VALUES (7)",
            "DELETE FROM {db}.o",
            "INSERT INTO {db}.apart VALUES (7, 7)",
            "INSERT INTO {db}.o SELECT id, v FROM {db}.shown",
            "INSERT INTO {db}.audited VALUES (7)",
            "UPDATE {db}.o SET v = {db}.counted(v)",
            "SELECT {db}.noted(3)",
            "INSERT INTO {db}.o SELECT id + 2000, v FROM {db}.calling",
            "INSERT INTO {db}.guarded VALUES (7, 7)",
            "INSERT INTO {db}.guarded VALUES (1, 7) ON DUPLICATE KEY UPDATE v = 8",
            "UPDATE {db}.guarded SET v = 9",
        ],
        always=[
            CHECKSUM,
            "INSERT INTO {db}.o (id, v) SELECT id, v FROM {db}.t",
            "INSERT INTO {db}.p VALUES (7)",
            "INSERT INTO {db}.audited VALUES (7)",
            "SELECT {db}.noted(3)",
            "INSERT INTO {db}.guarded VALUES (1, 7) ON DUPLICATE KEY UPDATE v = 8",
        ],
    ),
)
@ALIKE
def test_a_statement_that_only_reads_a_synced_table_stops_nothing(
    any_server: MysqlServer, db: str, statement: str
) -> None:
    """pt-table-checksum, a copy into an archive, a row for a parent without a child, views that lead elsewhere.

    And triggers and functions that read the table, and write others, and a trigger that another event fires.
    """
    any_server.run(
        "SET GLOBAL log_bin_trust_function_creators = ON",
        f"CREATE TABLE {db}.log (id INT, what VARCHAR(20))",
        f"CREATE TABLE {db}.audited (id INT PRIMARY KEY)",
        f"CREATE FUNCTION {db}.counted(n INT) RETURNS INT READS SQL DATA RETURN n + (SELECT COUNT(*) FROM {db}.t)",
        f"CREATE FUNCTION {db}.noted(n INT) RETURNS INT MODIFIES SQL DATA BEGIN DECLARE d DECIMAL(9,2) DEFAULT 0;"
        f" WHILE d < n DO SET d = d + 1; INSERT INTO log VALUES (d, 'UPDATE t'); END WHILE;"
        f" RETURN {db}.counted(n); END",
        f"CREATE VIEW {db}.calling AS SELECT id, {db}.counted(v) AS v FROM {db}.t",
        f"CREATE TRIGGER {db}.audit AFTER INSERT ON {db}.audited FOR EACH ROW BEGIN"
        f" IF NEW.id > (SELECT MIN(id) FROM t) THEN INSERT INTO log VALUES (NEW.id, counted(1)); END IF; END",
        f"CREATE TABLE {db}.guarded (id INT PRIMARY KEY, v INT)",
        f"INSERT INTO {db}.guarded VALUES (1, 1)",
        f"CREATE TRIGGER {db}.gone AFTER DELETE ON {db}.guarded FOR EACH ROW DELETE FROM t WHERE id = OLD.id",
        f"CREATE VIEW {db}.apart AS SELECT * FROM {db}.o WHERE v > 3",
        f"CREATE VIEW {db}.shown AS SELECT id + 1000 AS id, v FROM {db}.t",
    )
    with reading(any_server, {(db, "t"): WANTED}, options=QUICK) as reader:
        any_server.run(STATEMENT, statement.format(db=db), f"INSERT INTO {db}.o VALUES (90, 90)")
        any_server.run(f"INSERT INTO {db}.t VALUES (3, 3, 2)")
        reader.until(latest(any_server))
        assert [row["id"] for row in reader.rows((db, "t"))] == [3]


def test_a_foreign_key_that_comes_by_ddl_is_known(any_server: MysqlServer, db: str) -> None:
    """Also through a table between, and under the parent's new name."""
    with reading(any_server, {(db, "t"): WANTED}, options=QUICK) as reader:
        reader.get()
        key = f"ADD FOREIGN KEY (id) REFERENCES {db}.top (id) ON DELETE CASCADE"
        any_server.run(
            f"CREATE TABLE {db}.top (id INT PRIMARY KEY)",
            f"INSERT INTO {db}.top VALUES (1), (2)",
            f"ALTER TABLE {db}.p {key}",
            f"RENAME TABLE {db}.top TO {db}.root",
        )
        any_server.run(STATEMENT, f"DELETE FROM {db}.root WHERE id = 1")
        assert "foreign keys" in str(refused(reader))


def test_a_foreign_key_is_known_by_its_parents_new_name(any_server: MysqlServer, db: str) -> None:
    """Also where it was asked for under the old one."""
    any_server.run(
        f"CREATE TABLE {db}.top (id INT PRIMARY KEY)",
        f"INSERT INTO {db}.top VALUES (1), (2)",
        f"ALTER TABLE {db}.p ADD FOREIGN KEY (id) REFERENCES {db}.top (id) ON DELETE CASCADE",
    )
    with reading(any_server, {(db, "t"): WANTED}, options=QUICK) as reader:
        any_server.run(STATEMENT, f"DELETE FROM {db}.o")
        reader.until(latest(any_server))
        until(lambda: any_server.run("SELECT UNIX_TIMESTAMP()")[0][0] > max(reader.kept))
        any_server.run(f"RENAME TABLE {db}.top TO {db}.root")
        any_server.run(STATEMENT, f"DELETE FROM {db}.root WHERE id = 1")
        assert "foreign keys" in str(refused(reader))


ELSEWHERE: Final = [  # what is there, and what becomes of it, in another database
    (
        ("CREATE DATABASE {x}",),
        (
            "DROP DATABASE {x}",
            "CREATE DATABASE IF NOT EXISTS {x}",
            "CREATE TABLE IF NOT EXISTS {x}.a (id INT PRIMARY KEY)",
            "CREATE VIEW {x}.v AS SELECT * FROM {x}.a",
            "INSERT INTO {x}.v VALUES (1)",
            "CREATE TRIGGER {x}.r AFTER INSERT ON {x}.a FOR EACH ROW SET @a = 1",
            "INSERT INTO {x}.a VALUES (2)",
            "DROP TRIGGER {x}.r",
            "CREATE OR REPLACE VIEW {x}.v AS SELECT t.id FROM {db}.t JOIN {x}.a USING (id)",
            "INSERT INTO {x}.a SELECT id + 100 FROM {x}.v",
            "DROP VIEW {x}.v",
            "DROP TABLE {x}.a",
            "DROP DATABASE {x}",
        ),
    ),
    (
        ("CREATE DATABASE {x}",),
        (
            "CREATE FUNCTION {x}.f(n INT) RETURNS INT READS SQL DATA RETURN n + (SELECT COUNT(*) FROM {db}.t)",
            "INSERT INTO {db}.o VALUES ({x}.f(50), 1)",
            "DROP FUNCTION {x}.f",
            "CREATE TABLE {x}.p (id INT PRIMARY KEY)",
            "CREATE TABLE {x}.c (id INT, FOREIGN KEY (id) REFERENCES {x}.p (id) ON DELETE CASCADE)",
            "INSERT INTO {x}.p VALUES (1)",
            "INSERT INTO {x}.c SELECT * FROM {x}.p",
            "DELETE FROM {x}.p",
            "DROP TABLE {x}.c, {x}.p",
            "DROP DATABASE {x}",
        ),
    ),
    (
        ("CREATE DATABASE {x}", "CREATE TABLE {x}.read_only (id INT)", "INSERT INTO {x}.read_only VALUES (60)"),
        (
            "INSERT INTO {db}.o SELECT id, 1 FROM {x}.read_only",
            "DROP TABLE {x}.read_only",
            "CREATE TABLE {x}.read_only (id INT)",
        ),
    ),
    (
        ("CREATE DATABASE {x}", "CREATE TABLE {x}.t (id INT)", "CREATE TABLE {x}.o (id INT)"),
        (
            "UPDATE {db}.o SET v = 1",
            "DROP TABLE IF EXISTS {x}.t, {x}.o",
            "CREATE VIEW {x}.w AS SELECT 1",
            "CREATE OR REPLACE VIEW {x}.w AS SELECT t.id FROM {db}.t JOIN {db}.o USING (id)",
            "ALTER DATABASE {db} CHARACTER SET utf8mb4",
            "USE {db}",
            "DROP DATABASE {x}",
        ),
    ),
]


@on_servers("mysql")
@pytest.mark.parametrize(("made", "statements"), ELSEWHERE, ids=["views", "functions", "read", "names"])
def test_ddl_of_another_database_stops_nothing(
    any_server: MysqlServer, db: str, made: tuple[str, ...], statements: tuple[str, ...]
) -> None:
    """Beside sessions that log statements, and also where the reader lags, so that the server has run all of it."""
    x = f"{db}_x"
    any_server.run("SET GLOBAL log_bin_trust_function_creators = ON", *(each.format(db=db, x=x) for each in made))
    try:
        start = latest(any_server)
        any_server.run(STATEMENT, *(each.format(db=db, x=x) for each in statements))
        any_server.run(f"INSERT INTO {db}.t VALUES (3, 3, 2)")
        with reading(any_server, {(db, "t"): WANTED}, start, options=QUICK) as reader:
            reader.until(latest(any_server))
            assert [row["id"] for row in reader.rows((db, "t"))] == [3]
    finally:
        any_server.run(f"DROP DATABASE IF EXISTS {x}")


@on_servers("mysql")
def test_ddl_of_the_second_of_an_answer_stops_nothing(any_server: MysqlServer, db: str) -> None:
    """The binlog tells that it came after the answer."""
    any_server.run(f"CREATE VIEW {db}.w AS SELECT * FROM {db}.o")
    with reading(any_server, {(db, "t"): WANTED}, options=QUICK) as reader:
        for number in range(5):  # some within one second
            any_server.run(STATEMENT, f"INSERT INTO {db}.w VALUES ({number}, 1)")
            reader.until(latest(any_server))
            any_server.run(f"CREATE OR REPLACE VIEW {db}.w AS SELECT * FROM {db}.o WHERE id >= {number}")
            reader.until(latest(any_server))
        any_server.run(f"CREATE OR REPLACE VIEW {db}.w AS SELECT * FROM {db}.t")
        any_server.run(STATEMENT, f"UPDATE {db}.w SET v = 9")
        refused(reader)


@ALIKE
def test_questions_have_their_time(any_server: MysqlServer, db: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each waits for no lock for longer, and those that a round has no time for come in the next: one is answered."""
    told: list[str] = []

    def noted(connection: Any, text: str, *args: Any) -> Any:
        told.append(text % args if "lock_wait_timeout" in text else "")
        return query(connection, text, *args)

    monkeypatch.setattr(surroundings, "query", noted)
    options = replace(QUICK, patience=Patience(question=7, round=0))
    with reading(any_server, {(db, "t"): WANTED}, options=options) as reader:
        any_server.run(STATEMENT, f"DELETE FROM {db}.o WHERE id IN (SELECT id FROM {db}.checksums)")
        reader.until(latest(any_server))
    settings = [text for text in told if text]
    assert len(settings) >= 4  # o, checksums, t, p
    assert all("lock_wait_timeout = 7" in text for text in settings)


@ALIKE
def test_what_the_user_may_not_see_is_not_guessed(any_server: MysqlServer, db: str) -> None:
    """Without a grant nobody can say that no trigger leads on; with it the same place is passed."""
    with database(any_server) as other:
        any_server.run(f"CREATE TABLE {other}.o (id INT PRIMARY KEY)")
        start = latest(any_server)
        any_server.run(STATEMENT, f"INSERT INTO {other}.o VALUES (1)")
        with reading(any_server, {(db, "t"): WANTED}, start, options=QUICK) as reader:
            error = reader.until_error()
        assert error.code is Code.SOURCE_UNSEEN
        remedy = f"GRANT SELECT, SHOW VIEW, TRIGGER ON `{other}`.* TO 'repl'@'%'"
        assert remedy in str(error)
        any_server.run(remedy)
        with reading(any_server, {(db, "t"): WANTED}, start, options=QUICK) as reader:
            reader.until(latest(any_server))


@ALIKE
def test_what_would_be_asked_for_next_is_said_at_once(any_server: MysqlServer, db: str) -> None:
    """Who reads the table anew that was changed for certain would meet the grant that lacks for the others."""
    any_server.run(f"CREATE TABLE {db}.u (id INT PRIMARY KEY, v INT)")
    second = Subscription(columns=("id", "v"), keys=("id",))
    with database(any_server) as other:
        any_server.run(f"CREATE TABLE {other}.o (id INT PRIMARY KEY)")
        start = latest(any_server)
        text = f"UPDATE {db}.t, {other}.o SET t.id = t.id + 1, o.id = 2 WHERE t.id = o.id"
        any_server.run(STATEMENT, text)
        tables = {(db, "t"): WANTED, (db, "u"): second}
        with reading(any_server, tables, start, options=QUICK) as reader:
            error = reader.until_error()
        remedy = f"GRANT SELECT, SHOW VIEW, TRIGGER ON `{other}`.* TO 'repl'@'%'"
        assert (error.code, error.context["tables"]) == (Code.SOURCE_NOT_ROW, ((db, "t"),))
        assert "so do this first" in str(error)
        assert remedy in str(error)
        any_server.run(remedy)
        with reading(any_server, tables, start, options=QUICK) as reader:
            error = reader.until_error()
        assert "first" not in str(error)
        read_anew = {**tables, (db, "t"): replace(WANTED, after=latest(any_server))}
        with reading(any_server, read_anew, start, options=QUICK) as reader:
            reader.until(latest(any_server))


@pytest.mark.parametrize(
    ("statement", "grant"),
    [
        ("UPDATE {other}.w SET id = 9 WHERE id = 1", "SELECT, SHOW VIEW, TRIGGER"),
        ("INSERT INTO {db}.o SELECT id, 1 FROM {other}.o", "SHOW VIEW"),
    ],
)
@ALIKE
def test_a_user_of_one_database_is_told_what_shows_the_others(
    any_server: MysqlServer, db: str, statement: str, grant: str
) -> None:
    """What is read there wants no grant that shows rows."""
    any_server.run("REVOKE SELECT ON *.* FROM repl", f"GRANT SELECT, SHOW VIEW, TRIGGER ON {db}.* TO repl")
    try:
        with database(any_server) as other:
            any_server.run(
                f"CREATE TABLE {other}.o (id INT PRIMARY KEY)",
                f"INSERT INTO {other}.o VALUES (1)",
                f"CREATE VIEW {other}.w AS SELECT * FROM {other}.o",
            )
            start = latest(any_server)
            any_server.run(STATEMENT, statement.format(db=db, other=other))
            with reading(any_server, {(db, "t"): WANTED}, start, options=QUICK) as reader:
                error = reader.until_error()
            assert error.code is Code.SOURCE_UNSEEN
            remedy = f"GRANT {grant} ON `{other}`.* TO 'repl'@'%'"
            assert remedy in str(error)
            any_server.run(remedy)
            with reading(any_server, {(db, "t"): WANTED}, start, options=QUICK) as reader:
                reader.until(latest(any_server))
    finally:
        any_server.run("GRANT SELECT ON *.* TO repl")


@pytest.mark.parametrize(
    "statement", ["UPDATE {db}.t SET v = v + 1", "INSERT INTO {db}.o SELECT 9, {db}.set_t()"], ids=["named", "unknown"]
)
@ALIKE
def test_a_table_that_was_read_after_it_is_nobodys_concern(any_server: MysqlServer, db: str, statement: str) -> None:
    """RESYNC TABLE has brought what it did, so that RESUME passes it; before that it stops the job."""
    start = latest(any_server)
    any_server.run(
        "SET GLOBAL log_bin_trust_function_creators = ON",
        f"CREATE FUNCTION {db}.set_t() RETURNS INT MODIFIES SQL DATA BEGIN UPDATE {db}.t SET v = 7; RETURN 7; END",
        STATEMENT,
        statement.format(db=db),
    )
    after = latest(any_server)
    with reading(any_server, {(db, "t"): WANTED}, start, options=QUICK) as reader:
        assert reader.until_error().code is Code.SOURCE_NOT_ROW
    joined = Subscription(columns=("id", "v"), keys=("id",), after=after)
    with reading(any_server, {(db, "t"): joined}, start, options=QUICK) as reader:
        reader.until(latest(any_server))


@ALIKE
def test_nothing_is_asked_before_it_matters(any_server: MysqlServer, db: str) -> None:
    """A server that may fall over a question hears none while sessions write rows, and few where one does not."""
    need_names(any_server)  # others are asked for their columns at each connection
    any_server.run("SET GLOBAL log_output = 'TABLE'", "SET GLOBAL general_log = ON")
    try:
        with reading(any_server, {(db, "t"): WANTED}, options=QUICK) as reader:
            any_server.run(f"INSERT INTO {db}.t VALUES (3, 3, 2)", f"INSERT INTO {db}.o VALUES (3, 3)")
            any_server.run(STATEMENT, f"ALTER TABLE {db}.o ADD c INT")
            reader.until(latest(any_server))
            assert questions(any_server, db) == []
            any_server.run(STATEMENT, CHECKSUM.format(db=db), CHECKSUM.format(db=db))
            reader.until(latest(any_server))
            asked = questions(any_server, db)
            kinds = [text for text in asked if "TABLE_TYPE" in text or "SHOW CREATE TABLE" in text]
            names = re.findall(r"['`](checksums|t|p)['`]", " ".join(kinds))
            assert names == ["checksums", "t", "p"]
            assert sum("TRIGGER_NAME" in text for text in asked) == 1
            assert len(asked) == 1 + len(names) * (1 if any_server.flavour == "mariadb" else 2)
    finally:
        any_server.run("SET GLOBAL general_log = OFF", "SET GLOBAL log_output = 'FILE'")


def questions(server: MysqlServer, db: str) -> list[str]:
    """What the reader has asked about objects of a database, in order."""
    rows = server.run(
        "SELECT CONVERT(argument USING utf8mb4) FROM mysql.general_log WHERE user_host LIKE 'repl%'"
        " AND command_type = 'Query' ORDER BY event_time"
    )
    return [text for (text,) in rows if db in text and ("SHOW CREATE" in text or "information_schema" in text)]


@pytest.mark.parametrize(
    "statements",
    [
        ("CREATE TEMPORARY TABLE {db}.s (id INT, v INT)", "INSERT INTO {db}.s SELECT id, v FROM {db}.t"),
        ("CREATE TABLE {db}.s (id INT, v INT)", "INSERT INTO {db}.s VALUES (8, 8)", "DROP TABLE {db}.s"),
        (
            "DROP TABLE IF EXISTS {db}.s",
            "CREATE TABLE {db}.s AS SELECT id, v FROM {db}.t",
            "INSERT INTO {db}.o SELECT id + 50, v FROM {db}.s",
            "DROP TABLE {db}.s",
        ),
    ],
)
@ALIKE
def test_a_table_that_lives_for_a_while_stops_nothing(
    any_server: MysqlServer, db: str, statements: tuple[str, ...]
) -> None:
    """The server shows it no more when its statements are read; the stream showed how it was made."""
    start = latest(any_server)
    any_server.run(STATEMENT, *(statement.format(db=db) for statement in statements))
    with reading(any_server, {(db, "t"): WANTED}, start, options=QUICK) as reader:
        reader.until(latest(any_server))


RENAMED: Final = "SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = '{db}'"
OWN: Final = (  # of a temporary table that hides t
    "CREATE TEMPORARY TABLE t (id INT PRIMARY KEY, v INT)",
    "INSERT INTO t VALUES (1, 1), (2, 2)",
    "UPDATE t JOIN o USING (id) SET t.v = 3",
    "TRUNCATE TABLE t",
    "ALTER TABLE t ADD x INT",
    "CREATE INDEX i ON t (x)",
    "DROP INDEX i ON t",
    "ALTER TABLE t DROP v, RENAME TO t9",
    "TRUNCATE t9",
    "ALTER TABLE t9 RENAME TO t",
)


@on_servers("mysql")
@pytest.mark.parametrize("end", ["DROP TEMPORARY TABLE t", "DROP TABLE t", "SELECT 1"])
def test_what_a_session_does_to_its_own_table_is_not_done_to_the_synced_one(
    any_server: MysqlServer, db: str, end: str
) -> None:
    """A temporary table hides the one of its name; what comes after its end is of the synced one again."""
    start = latest(any_server)
    renamed = ["RENAME TABLE t TO t8, t8 TO t"] if any_server.flavour == "mariadb" else []
    any_server.run(f"USE {db}", STATEMENT, *OWN, *renamed, end)
    any_server.run(f"INSERT INTO {db}.t VALUES (9, 9, NULL)")
    with reading(any_server, {(db, "t"): WANTED}, start, options=QUICK) as reader:
        reader.until(latest(any_server))
        assert [batch.ddl.statement for batch in reader.batches if batch.ddl] == []
        assert [row["id"] for row in reader.rows((db, "t"))] == [9]
        any_server.run(f"TRUNCATE TABLE {db}.t")
        until(lambda: reader.get() and reader.batches[-1].ddl)


def test_a_routine_that_uses_temporary_tables_changes_the_synced_one(any_server: MysqlServer, db: str) -> None:
    """All its statements bear the mark of those that use one, also those after its end."""
    own = "CREATE TEMPORARY TABLE t (id INT); TRUNCATE TABLE t; DROP TEMPORARY TABLE t;"
    any_server.run(f"CREATE PROCEDURE {db}.fill() BEGIN {own} TRUNCATE TABLE {db}.t; END")
    for each in ("ROW", "STATEMENT"):
        with reading(any_server, {(db, "t"): WANTED}, options=QUICK) as reader:
            any_server.run(f"USE {db}", f"SET SESSION binlog_format = {each}", "CALL fill()")
            until(lambda: reader.get() and reader.batches[-1].ddl)
            assert reader.batches[-1].ddl is not None
            assert f"{db}.t" in reader.batches[-1].ddl.statement


@pytest.fixture
def session(any_server: MysqlServer, db: str) -> Iterator[Any]:
    """One that has its own table t, before the reader connects."""
    with closing(any_server.connect(database=db)) as connection, connection.cursor() as cursor:
        cursor.execute(STATEMENT)
        cursor.execute("CREATE TEMPORARY TABLE t (id INT PRIMARY KEY, v INT)")
        yield cursor


@pytest.mark.parametrize("text", ["TRUNCATE TABLE t", "ALTER TABLE t ADD x INT", "CREATE INDEX i ON t (v)"])
def test_a_table_that_a_session_made_before_is_not_taken_for_the_synced_one(
    any_server: MysqlServer, db: str, session: Any, text: str
) -> None:
    """Nobody who reads from here on has seen that it was made."""
    with reading(any_server, {(db, "t"): WANTED}, options=QUICK) as reader:
        reader.get()
        session.execute(text)
        assert met(reader).doubtful
        assert any_server.run(f"SELECT COUNT(*) FROM {db}.t") == [(2,)]


@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize("each", ["ROW", "STATEMENT"])
def test_a_routine_of_an_old_session_changes_the_synced_one(
    any_server: MysqlServer, db: str, each: str, *, early: bool
) -> None:
    """MySQL says so; on MariaDB a session that was there before the connection leaves it open."""
    own = "CREATE TEMPORARY TABLE s (id INT); DROP TEMPORARY TABLE s;"
    any_server.run(f"CREATE PROCEDURE {db}.fill() BEGIN {own} TRUNCATE TABLE {db}.t; END")
    with closing(any_server.connect()) as old, reading(any_server, {(db, "t"): WANTED}, options=QUICK) as reader:
        reader.get()
        with closing(any_server.connect()) as new, (old if early else new).cursor() as cursor:
            cursor.execute(f"SET SESSION binlog_format = {each}")
            cursor.execute(f"CALL {db}.fill()")
            assert met(reader).doubtful is (early and any_server.flavour == "mariadb")


@pytest.mark.parametrize("flavour", some_slow(SERVERS, always=["mariadb"]))
def test_a_session_ends_with_a_server_that_begins_in_a_file_nobody_has_read(tmp_path: Path, flavour: Flavour) -> None:
    """What it had made is no reason to pass over what another one of its number does to the synced table."""
    server = MysqlServer(tmp_path / "server", flavour).start()
    try:
        routine = "CREATE TEMPORARY TABLE s (id INT); DROP TEMPORARY TABLE s; TRUNCATE TABLE t;"
        server.run(
            "CREATE DATABASE d",
            "CREATE TABLE d.t (id INT PRIMARY KEY, v INT)",
            f"CREATE PROCEDURE d.fill() BEGIN {routine} END",
        )
        number = "SET SESSION pseudo_thread_id = 1000000"
        with reading(server, {("d", "t"): WANTED}, options=QUICK) as reader:
            reader.get()
            with closing(server.connect(database="d")) as old, old.cursor() as cursor:
                for text in (STATEMENT, number, "CREATE TEMPORARY TABLE t (id INT)"):
                    cursor.execute(text)
                reader.until(latest(server))
                server.kill()
            server.start()
            server.run("FLUSH BINARY LOGS")
            server.run("USE d", STATEMENT, number, "CALL fill()")
            assert met(reader).text.startswith("TRUNCATE TABLE")
    finally:
        server.stop()


def met(reader: Reader) -> DdlStatement:
    """What the next statement says that is to be followed."""
    until(lambda: reader.get() and reader.batches[-1].ddl)
    ddl = reader.batches[-1].ddl
    assert ddl is not None
    assert ddl.followable is not None
    return ddl.followable


def test_a_rename_of_both_kinds_of_tables_is_followed_by_half(mariadb_server: MysqlServer) -> None:
    """MariaDB renames a temporary table first, then what it has hidden."""
    need_own_binlog(mariadb_server)
    with database(mariadb_server) as db:
        mariadb_server.run(f"CREATE TABLE {db}.t (id INT PRIMARY KEY, v INT)")
        with reading(mariadb_server, {(db, "t"): WANTED}, options=QUICK) as reader:
            mariadb_server.run(
                f"USE {db}", STATEMENT, "CREATE TEMPORARY TABLE t (id INT)", "RENAME TABLE t TO s, t TO w"
            )
            until(lambda: reader.get() and reader.batches[-1].ddl)
            met = reader.batches[-1].ddl
            assert met is not None
            assert met.followable is not None
            assert met.followable.own == {(db, "t")}
            assert (db, "w") in {tuple(row) for row in mariadb_server.run(RENAMED.format(db=db))}


def test_a_table_that_a_query_replaces_stops_nothing(mariadb_server: MysqlServer) -> None:
    """What the query reads is asked after the server has run it, and is no less certain for that."""
    need_own_binlog(mariadb_server)
    with database(mariadb_server) as db:
        mariadb_server.run(
            f"GRANT SHOW VIEW, TRIGGER ON {db}.* TO repl",
            f"CREATE TABLE {db}.t (id INT PRIMARY KEY, v INT)",
            f"CREATE TABLE {db}.o (id INT PRIMARY KEY, v INT)",
        )
        start = latest(mariadb_server)
        mariadb_server.run(STATEMENT, f"CREATE OR REPLACE TABLE {db}.s AS SELECT id, v FROM {db}.o")
        with reading(mariadb_server, {(db, "t"): WANTED}, start, options=QUICK) as reader:
            reader.until(latest(mariadb_server))
            assert reader.kept


@ALIKE
def test_an_object_that_is_gone_is_not_guessed(any_server: MysqlServer, db: str) -> None:
    """What it was nobody can say; once a table has its name, the place is passed, up to what took the first away."""
    any_server.run(f"CREATE TABLE {db}.s (id INT)")
    start = latest(any_server)
    any_server.run(STATEMENT, f"INSERT INTO {db}.s VALUES (1)", f"DROP TABLE {db}.s")
    with reading(any_server, {(db, "t"): WANTED}, start, options=QUICK) as reader:
        error = reader.until_error()
    assert error.code is Code.SOURCE_UNSEEN
    assert "create an empty table of that name" in str(error)
    any_server.run(f"CREATE TABLE {db}.s (id INT)")
    with reading(any_server, {(db, "t"): WANTED}, start, options=QUICK) as reader:
        assert "RESYNC TABLE" in str(reader.until_error())
    with reading(any_server, {(db, "t"): WANTED}, reader.batches[-1].end, options=QUICK) as reader:
        reader.until(latest(any_server))


def test_a_trigger_that_was_dropped_meanwhile_is_found(any_server: MysqlServer, db: str) -> None:
    """The server was asked after it had gone: its DROP stops the job, which goes on from there once it is resumed."""
    any_server.run(f"CREATE TRIGGER {db}.r AFTER INSERT ON {db}.o FOR EACH ROW UPDATE t SET v = 9")
    start = latest(any_server)
    any_server.run(STATEMENT, f"INSERT INTO {db}.o VALUES (7, 7)")
    any_server.run(f"DROP TRIGGER {db}.r", f"INSERT INTO {db}.o VALUES (8, 8)")
    with reading(any_server, {(db, "t"): WANTED}, start, options=QUICK) as reader:
        error = reader.until_error()
    assert error.code is Code.SOURCE_LATE
    assert "RESYNC TABLE" in str(error)
    assert reader.batches[-1].end is not None
    with reading(any_server, {(db, "t"): WANTED}, reader.batches[-1].end, options=QUICK) as reader:
        reader.until(latest(any_server))


TAKEN: Final = [  # what is there, how it leads to t, and what takes it away
    (
        "CREATE TRIGGER {db}.r AFTER INSERT ON {db}.o FOR EACH ROW UPDATE t SET v = 9",
        "INSERT INTO {db}.o VALUES (7, 7)",
        "DROP TRIGGER {db}.r",
    ),
    (
        "CREATE VIEW {db}.w AS SELECT * FROM {db}.t",
        "UPDATE {db}.w SET v = 9",
        "CREATE OR REPLACE VIEW {db}.w AS SELECT * FROM {db}.o",
    ),
    (FUNCTION, "SELECT {db}.f()", "DROP FUNCTION {db}.f; CREATE FUNCTION {db}.f() RETURNS INT RETURN 1"),
    (
        "CREATE TRIGGER {db}.r AFTER INSERT ON {db}.o FOR EACH ROW UPDATE t SET v = 9",
        "INSERT INTO {db}.o VALUES (7, 7)",
        "RENAME TABLE {db}.o TO {db}.gone; CREATE TABLE {db}.o (id INT, v INT)",
    ),
]


@pytest.mark.parametrize(
    ("any_server", "made", "statement", "taken"),
    some_slow(
        ((server, *each) for server in SERVERS for each in TAKEN),
        always=[("mysql", *TAKEN[1]), ("mariadb", *TAKEN[2])],
    ),
    indirect=["any_server"],
)
def test_a_restart_forgets_no_object_that_was_taken_away(
    any_server: MysqlServer, db: str, made: str, statement: str, taken: str
) -> None:
    """The process ends between the statement, which was judged by what the server became later, and what made it so."""
    any_server.run("SET GLOBAL log_bin_trust_function_creators = ON", made.format(db=db))
    start = latest(any_server)
    any_server.run(STATEMENT, statement.format(db=db))
    judged = latest(any_server)
    any_server.run(*made_by(taken.format(db=db)))
    with reading(any_server, {(db, "t"): WANTED}, start, options=QUICK) as reader:
        assert reader.until_error().code is Code.SOURCE_LATE
        kept = max(reader.kept)
    with reading(any_server, {(db, "t"): WANTED}, judged, options=QUICK, asked_until=kept) as reader:
        error = reader.until_error()
    assert error.code is Code.SOURCE_LATE
    with reading(any_server, {(db, "t"): WANTED}, judged, options=QUICK) as reader:
        reader.until(latest(any_server))
    read_anew = Subscription(columns=("id", "v"), keys=("id",), after=latest(any_server))
    with reading(any_server, {(db, "t"): read_anew}, judged, options=QUICK, asked_until=kept) as reader:
        reader.until(latest(any_server))


@ALIKE
def test_ddl_after_the_answer_stops_nothing(any_server: MysqlServer, db: str) -> None:
    """A reader that does not lag may be started anew at any time."""
    start = latest(any_server)
    any_server.run(STATEMENT, f"INSERT INTO {db}.o VALUES (7, 7)")
    with reading(any_server, {(db, "t"): WANTED}, start, options=QUICK) as reader:
        reader.until(latest(any_server))
        kept, here = max(reader.kept), reader.batches[-1].end
    until(lambda: any_server.run("SELECT UNIX_TIMESTAMP()")[0][0] > kept)
    any_server.run(f"CREATE TABLE {db}.s (id INT)", f"DROP TABLE {db}.s", f"DROP TABLE {db}.o")
    with reading(any_server, {(db, "t"): WANTED}, here, options=QUICK, asked_until=kept) as reader:
        reader.until(latest(any_server))
        assert not reader.kept


def test_a_server_that_logs_rows_alone_keeps_nothing(any_server: MysqlServer, db: str) -> None:
    """It is asked nothing, so that DDL of any object stops nothing, whenever the job is started anew."""
    with reading(any_server, {(db, "t"): WANTED}, options=QUICK) as reader:
        any_server.run(
            f"INSERT INTO {db}.o VALUES (7, 7)", f"DROP TABLE {db}.o", f"INSERT INTO {db}.t VALUES (3, 3, 2)"
        )
        reader.until(latest(any_server))
        assert not reader.kept


@ALIKE
def test_a_server_that_does_not_answer_is_asked_again(
    any_server: MysqlServer, db: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is a trouble like a lost connection: rows before and behind come once, and nothing is passed unjudged."""
    asked: list[str] = []

    def late(*args: Any) -> Answers:
        asked.append("once more")
        if len(asked) < 3:
            raise SyncError(Code.SOURCE_UNREACHABLE, address="it", reason="no answer within 5 seconds")
        return surroundings.asked(*args)

    monkeypatch.setattr(source, "asked", late)
    with reading(any_server, {(db, "t"): WANTED}, options=QUICK) as reader:
        any_server.run(f"INSERT INTO {db}.t VALUES (3, 3, 2)")
        any_server.run(STATEMENT, f"INSERT INTO {db}.o VALUES (90, 90)")
        any_server.run(f"INSERT INTO {db}.t VALUES (4, 4, 2)")
        reader.until(latest(any_server))
    assert [row["id"] for row in reader.rows((db, "t"))] == [3, 4]
    assert [trouble and trouble.code for trouble in reader.troubles].count(Code.SOURCE_UNREACHABLE) == 2
