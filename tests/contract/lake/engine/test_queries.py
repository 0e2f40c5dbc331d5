"""SELECT in a real Spark."""

import contextlib
import datetime as dt
import sys
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest

from syncmgr.errors import Code, SyncError
from syncmgr.job.rows.batch import ChangeKind
from syncmgr.lake.spark.jvm import MOST_CAUSES
from syncmgr.lake.spark.queries.engine import QueryEngine
from syncmgr.lake.spark.queries.gateway import JavaFailedError
from syncmgr.lake.spark.queries.queries import UTC, Queries
from tests.support.spark_session import SPARK, Tables
from tests.support.until import PATIENCE, PROMPT_SECOND, until

INS = ChangeKind.INSERT
pytestmark = SPARK


def asked(queries: Queries, sql: str, db: str | None = None) -> list[tuple[object, ...]]:
    query = queries.query(sql, db, uuid.uuid4().hex)
    return [tuple(row) for batch in query.batches() for row in batch]


def running(queries: Queries) -> QueryEngine:
    engine = queries._engine
    assert engine is not None
    return engine


def refused(queries: Queries, sql: str, db: str | None = None) -> SyncError:
    with pytest.raises(SyncError) as caught:
        asked(queries, sql, db)
    return caught.value


def test_columns_are_told_before_rows(queries: Queries) -> None:
    """Names, Spark's types and nullability come with the query; names may be double."""
    query = queries.query("SELECT 1 AS a, CAST(NULL AS DECIMAL(9,2)) AS a, array(1) AS b", None, "columns")
    assert list(query.columns) == [("a", "int", False), ("a", "decimal(9,2)", True), ("b", "array<int>", False)]
    assert [[tuple(row) for row in batch] for batch in query.batches()] == [[(1, None, [1])]]


def test_values_depend_on_no_time_zone(queries: Queries) -> None:
    """Moments come as UTC, also inside of structs; structs are dicts, intervals text, bytes bytes."""
    sql = (
        "SELECT TIMESTAMP '2024-07-01 12:00:00 UTC' AS t, named_struct('at', TIMESTAMP '2024-07-01 12:00:00 UTC') AS s,"
        " map(1, 'x') AS m, INTERVAL 2 DAY AS i, CAST('a' AS BINARY) AS b, parse_json('[1]') AS v"
    )
    noon = dt.datetime(2024, 7, 1, 12)  # noqa: DTZ001 - UTC by convention
    assert [(noon, {"at": noon}, {"1": "x"}, "INTERVAL '2' DAY", b"a", [1])] == asked(queries, sql)


@pytest.mark.parametrize("zone", ["+08:00", "Asia/Shanghai"])
def test_moments_are_told_by_the_clock_of_a_session(queries: Queries, zone: str) -> None:
    """What is told can be asked for; a value without zone, and another session, stay as they are."""
    sql = (
        "WITH moments AS (SELECT CAST('2024-07-01 12:00:00 UTC' AS TIMESTAMP) AS t)"
        " SELECT t, array(t), TIMESTAMP_NTZ '2024-07-01 12:00:00' FROM moments WHERE t = '2024-07-01 20:00:00'"
    )
    local, plain = dt.datetime(2024, 7, 1, 20), dt.datetime(2024, 7, 1, 12)  # noqa: DTZ001 - the clock's reading
    query = queries.query(sql, None, uuid.uuid4().hex, time_zone=zone)
    assert [tuple(row) for batch in query.batches() for row in batch] == [(local, [local], plain)]
    assert asked(queries, sql) == []


FLAT = (
    "SELECT CAST(1 AS TINYINT) AS a, CAST(-2 AS SMALLINT) AS b, 3 AS c, 4L AS d, CAST(0.1 AS FLOAT) AS e, 0.1D AS f,"
    " 1.50BD AS g, true AS h, 'ö' AS i, X'00FF' AS j, DATE '2024-02-29' AS k, NULL AS l, CAST(NULL AS STRING) AS m,"
    " TIMESTAMP_NTZ '0001-01-01 00:00:00.000001' AS n, TIMESTAMP '9999-12-31 23:59:59.999999' AS o, 'x' AS a,"
    " CAST('a' AS VARCHAR(9)) AS p, CAST('NaN' AS DOUBLE) IS NULL AS q, INTERVAL 2 MONTH AS r"
)


def test_a_nested_column_changes_no_other_value(queries: Queries) -> None:
    """Beside it rows travel in another form; each value is the same in both, in its Python type too."""
    [plain] = asked(queries, FLAT)
    [beside] = asked(queries, FLAT.replace("SELECT ", "SELECT array(1) AS z, "))
    assert repr(plain) == repr(beside[1:])


@pytest.mark.parametrize("sql", ["SELECT DATE '12345-01-01'", "SELECT DATE '12345-01-01', array(1)"])
def test_a_date_that_python_has_not(queries: Queries, sql: str) -> None:
    """It is an error, never another date."""
    assert refused(queries, sql).code is Code.QUERY_FAILED


def test_rows_come_in_their_order(queries: Queries) -> None:
    """Over many partitions, of which one is computed while another is read."""
    found = asked(queries, "SELECT id FROM range(0, 20000, 1, 20) ORDER BY id DESC")
    assert found == [(number,) for number in range(19999, -1, -1)]


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("SELECT * FROM nothing", Code.NO_SUCH_TABLE),
        ("SELECT * FROM nowhere.nothing", Code.NO_SUCH_TABLE),
        ("SELECT nothing FROM range(1)", Code.UNKNOWN_COLUMN),
        ("SELECT 1 +", Code.SYNTAX),
        ("SELECT 1/0", Code.DIVISION_BY_ZERO),
        ("SELECT assert_true(id < 5) FROM range(10)", Code.QUERY_FAILED),
        ("DROP TABLE t", Code.SYNTAX),
        ("INSERT INTO t VALUES (1)", Code.SYNTAX),
        ("WITH x AS (SELECT 1) INSERT INTO t SELECT * FROM x", Code.SYNTAX),
        ("SET a = 1", Code.SYNTAX),
        ("CALL lake.system.expire_snapshots('a.b')", Code.SYNTAX),
        ("EXPLAIN DROP TABLE t", Code.SYNTAX),
        ("EXPLAIN SELECT * FROM nothing", Code.NO_SUCH_TABLE),
        ("explain formatted SELECT nothing FROM range(1)", Code.UNKNOWN_COLUMN),
        ("EXPLAIN SELECT 1 +", Code.SYNTAX),
        ("EXPLAIN SELECT count(*) OVER () FROM range(1) GROUP BY max(id)", Code.QUERY_FAILED),
        ("SELECT TRANSFORM(id) USING 'cat' FROM range(1)", Code.NOT_SUPPORTED),
        ("SELECT reflect('java.lang.System', 'exit', 0)", Code.UNKNOWN_FUNCTION),
        ("SELECT java_method('java.lang.System', 'getenv', 'HOME')", Code.UNKNOWN_FUNCTION),
        ("SELECT try_reflect('java.lang.System', 'getenv', 'HOME')", Code.UNKNOWN_FUNCTION),
        ("SELECT system.builtin.reflect('java.lang.System', 'getenv', 'HOME')", Code.UNKNOWN_FUNCTION),
        ("SELECT builtin.java_method('java.lang.System', 'getenv', 'HOME')", Code.UNKNOWN_FUNCTION),
        ("SELECT * FROM read_files('/etc/passwd')", Code.QUERY_FAILED),
        ("SELECT * FROM python_worker_logs()", Code.QUERY_FAILED),
        ("SELECT from_protobuf(X'00', 'a', '/etc/passwd')", Code.QUERY_FAILED),
        ("SELECT * FROM text.`/etc/passwd`", Code.NO_SUCH_TABLE),
        ("SELECT * FROM binaryFile.`/etc/passwd`", Code.NO_SUCH_TABLE),
        ("SELECT * FROM parquet.`/etc/passwd`", Code.NO_SUCH_TABLE),
        ("SELECT * FROM iceberg.`/etc/passwd`", Code.NO_SUCH_TABLE),
        ("SELECT * FROM spark_catalog.default.t", Code.NO_SUCH_TABLE),
        ("SELECT * FROM global_temp.t", Code.NO_SUCH_TABLE),
        ("FROM csv.`/etc/passwd` |> SELECT *", Code.NO_SUCH_TABLE),
        ("SELECT * FROM csv.`/etc/passwd`", Code.NO_SUCH_TABLE),
    ],
)
def test_what_cannot_be_asked(queries: Queries, tables: Tables, sql: str, code: Code) -> None:
    """Errors have MySQL's codes where it has them; nothing but a query reaches Spark, and none leaves the lake."""
    error = refused(queries, sql, tables.db)
    assert code is error.code
    assert "\n\tat " not in str(error)


@pytest.mark.parametrize("mode", ["", "EXTENDED ", "FORMATTED ", "COST "])
def test_explain_shows_the_plan_and_runs_nothing(queries: Queries, mode: str) -> None:
    """Whatever the mode; an error that only rows can show does not come."""
    ((text,),) = asked(queries, f"EXPLAIN {mode}SELECT assert_true(id < 5) FROM range(10)")
    assert "Physical Plan" in str(text)


def test_a_syntax_error_has_its_place(queries: Queries) -> None:
    """Line and column of what Spark could not read."""
    error = refused(queries, "SELECT 1 +\n  )")
    assert error.code is Code.SYNTAX
    assert (error.context["near"], error.context["line"], error.context["column"]) == (")", 2, 3)


def test_a_database_that_is_not_in_use(queries: Queries) -> None:
    """An unknown database, and a table without one."""
    assert refused(queries, "SELECT 1", "nowhere").code is Code.UNKNOWN_DATABASE
    assert refused(queries, "SELECT * FROM t").code is Code.NO_DATABASE


def test_each_caller_has_its_own_database(queries: Queries, tables: Tables) -> None:
    """Two callers at one time, each with a table of the same name in its own database, see their own."""
    other = Tables(tables.lake, tables.folder)
    for value, owner in enumerate((tables, other)):
        owner.make(name="same").commit([(INS, 1, value)])
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda db: asked(queries, "SELECT v FROM same", db), [tables.db, other.db] * 6))
    assert found == [[(0,)], [(1,)]] * 6


def test_a_new_snapshot_is_seen_at_once(queries: Queries, tables: Tables) -> None:
    """A query reads what was committed before it began, and what DDL has made by then, though another JVM did it."""
    table = tables.make()
    count = f"SELECT count(*) FROM {table.name}"
    assert asked(queries, count, tables.db) == [(0,)]
    for value in range(3):
        table.commit([(INS, value, value)])
        assert asked(queries, count, tables.db) == [(value + 1,)]
    table.sql("ALTER TABLE {table} RENAME COLUMN v TO w")
    assert asked(queries, f"SELECT sum(w) FROM {table.name}", tables.db) == [(3,)]
    tables.lake.tables.drop_table(tables.db, table.name)
    assert refused(queries, count, tables.db).code is Code.NO_SUCH_TABLE
    tables.make(name=table.name)
    assert asked(queries, count, tables.db) == [(0,)]


def test_a_query_ends_at_once_when_it_is_cancelled(queries: Queries) -> None:
    """Wherever it is, with MySQL's error; by itself it would take hours."""
    query = queries.query("SELECT count(*) FROM range(1e11) a JOIN range(10) b ON a.id < b.id", None, "long")
    timer = threading.Timer(1.0, query.cancel)
    timer.start()
    with pytest.raises(SyncError) as caught:
        list(query.batches())
    timer.join()
    assert caught.value.code is Code.INTERRUPTED


def test_a_query_ends_whenever_it_is_cancelled(queries: Queries) -> None:
    """Also while it is planned, or a stage of it is on its way to Spark: nothing goes on to take the cores."""
    for delay in range(0, 600, 40):
        query = queries.query("SELECT count(*) FROM range(100000000000) WHERE hash(id) = 1", None, f"moment{delay}")
        timer = threading.Timer(delay / 1000, query.cancel)
        timer.start()
        with pytest.raises(SyncError) as caught:
            list(query.batches())
        timer.join()
        assert caught.value.code is Code.INTERRUPTED
    tracker = running(queries)._spark._tracker
    until(lambda: not list(tracker.getActiveJobIds()), deadline=PROMPT_SECOND / PATIENCE, why="no job of Spark's")
    assert asked(queries, "SELECT count(*) FROM range(10)") == [(10,)]


def test_a_query_that_was_cancelled_before_it_ran(queries: Queries) -> None:
    """Nothing of it starts any more."""
    query = queries.query("SELECT * FROM range(10)", None, "never")
    query.cancel()
    with pytest.raises(SyncError) as caught:
        list(query.batches())
    assert caught.value.code is Code.INTERRUPTED


def test_a_query_that_is_left_half_read(queries: Queries) -> None:
    """A reader that goes away early leaves nothing behind, and the next query works."""
    batches = queries.query("SELECT * FROM range(0, 100000000, 1, 100)", None, "half").batches()
    assert len(next(batches)) == 1000
    del batches
    assert asked(queries, "SELECT 1") == [(1,)]


def test_unsigned_counters_are_whole(queries: Queries, tables: Tables) -> None:
    """The upper half of BIGINT UNSIGNED is neither negative nor rounded."""
    table = tables.make("(id LARGEINT NOT NULL) UNIQUE KEY(id)", ("id",), types={"id": pa.uint64()})
    table.commit([(INS, 2**64 - 1)])
    assert asked(queries, f"SELECT id = 18446744073709551615 FROM {table.name}", table.db) == [(True,)]


READ = [
    ("SELECT 1", []),
    ("SELECT * FROM range(3), (VALUES (1)) AS v", []),
    ("SELECT * FROM {t}", ["t"]),
    ("WITH t AS (SELECT 1 AS id) SELECT * FROM t", []),
    ("WITH c AS (SELECT * FROM {t}) SELECT * FROM c a JOIN c b USING (id)", ["t"]),
    ("SELECT id, (SELECT max(id) FROM {u}) FROM range(1)", ["u"]),
    ("SELECT * FROM range(1) WHERE id IN (SELECT id FROM {t} WHERE EXISTS (SELECT 1 FROM {u}))", ["t", "u"]),
    ("SELECT * FROM {t} UNION ALL SELECT * FROM {u}", ["t", "u"]),
    *((f"SELECT * FROM {{t}}.{name}", ["t"]) for name in ("snapshots", "files", "history", "entries", "manifests")),
    ("SELECT * FROM {t} TABLESAMPLE (10 PERCENT)", ["t"]),
    ("FROM range(1) |> JOIN {t} USING (id) |> WHERE false", ["t"]),
    ("WITH c AS (SELECT * FROM {t}) SELECT * FROM range(1) LIMIT 0", ["t"]),
    ("SELECT * FROM range(1) WHERE false AND EXISTS (SELECT 1 FROM {t})", ["t"]),
    ("SELECT * FROM lake.{t} VERSION AS OF 1", ["t"]),
    ("EXPLAIN SELECT * FROM {t}", ["t"]),
    ("SELECT nothing FROM {t}", ["t"]),
    ("WITH c AS (SELECT nothing FROM {t}) SELECT * FROM c", ["t"]),
    ("WITH c AS (WITH d AS (SELECT (SELECT nothing FROM {u}) FROM {t}) SELECT * FROM d) SELECT * FROM c", ["t", "u"]),
    ("SELECT nothing FROM {t} TIMESTAMP AS OF '2999-01-01'", ["t"]),
    ("SELECT * FROM IDENTIFIER('{t}')", ["t"]),
]


@pytest.mark.parametrize("sql", ["xpath_string({xml}, 'a')", "from_xml({xml}, 'x STRING')", "schema_of_xml({xml})"])
def test_xml_reads_no_files(queries: Queries, sql: str) -> None:
    """An entity of a document is no way to the frontend's files, whether it is an error or nothing."""
    xml = """'<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a><x>&x;</x></a>'"""
    try:
        told = str(asked(queries, f"SELECT {sql.format(xml=xml)}"))
    except SyncError as error:
        told = str(error)
    assert "root:" not in told


def test_what_a_query_reads_is_asked_about(queries: Queries, tables: Tables) -> None:
    """Every table wherever it stands is put to the question before anything of it is told; a name of WITH is none."""
    named = {name: f"{tables.db}.{tables.make(name=name).name}" for name in "tu"}
    forbidden = SyncError(Code.PRIVILEGE_NEEDED, privilege="any")

    def refuse(name: tuple[str, str] | None) -> None:
        raise forbidden

    for sql, expected in READ:
        found: list[tuple[str, str] | None] = []
        with contextlib.suppress(SyncError):  # two of them are wrong besides
            queries.query(sql.format(**named), None, uuid.uuid4().hex, found.append)
        assert set(found) == {(tables.db, name) for name in expected}, sql
        if expected:
            with pytest.raises(SyncError) as caught:
                queries.query(sql.format(**named), None, uuid.uuid4().hex, refuse)
            assert caught.value is forbidden, sql


def test_a_name_that_is_computed_tells_nothing_of_its_table(queries: Queries, tables: Tables) -> None:
    """Spark's words about a column that is not there would name those that are."""
    name = f"{tables.db}.{tables.make(name='hidden').name}"
    found: list[tuple[str, str] | None] = []
    with pytest.raises(SyncError):
        queries.query(f"SELECT nothing FROM IDENTIFIER(concat('{name}', ''))", None, uuid.uuid4().hex, found.append)
    assert found
    assert set(found) <= {None, (tables.db, "hidden")}


MANY = ", ".join(f"id + {number}" for number in range(60))


@pytest.mark.parametrize("window", [f"ORDER BY {MANY}, {{part}}", f"PARTITION BY ({MANY}, {{part}})"])
@pytest.mark.parametrize("part", ["(SELECT nothing FROM {u})", "(SELECT v + array(1) FROM {u})"])
def test_a_window_with_a_name_tells_nothing_of_its_tables(
    queries: Queries, tables: Tables, window: str, part: str
) -> None:
    """However much comes before the subquery: its error would tell which columns there are, and of which types."""
    named = {name: f"{tables.db}.{tables.make(name=name).name}" for name in "tu"}
    forbidden = SyncError(Code.PRIVILEGE_NEEDED, privilege="any")

    def refuse(name: tuple[str, str] | None) -> None:
        if name != (tables.db, "t"):
            raise forbidden

    sql = f"SELECT sum(1) OVER w FROM {{t}} WINDOW w AS ({window.format(part=part)})"
    with pytest.raises(SyncError) as caught:
        queries.query(sql.format(**named), None, uuid.uuid4().hex, refuse)
    assert caught.value is forbidden


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM {t} TIMESTAMP AS OF (SELECT max(made_current_at) FROM {u}.history)",
        "SELECT 1 WHERE EXISTS (SELECT * FROM {t} TIMESTAMP AS OF (SELECT now() FROM {u}))",
        "WITH c AS (SELECT * FROM {t} FOR SYSTEM_TIME AS OF (SELECT now() FROM {u})) SELECT * FROM c",
    ],
)
def test_a_moment_is_not_computed_by_a_query(queries: Queries, tables: Tables, sql: str) -> None:
    """Spark would run it before anybody is asked about what it reads."""
    named = {name: f"{tables.db}.{tables.make(name=name).name}" for name in "tu"}
    assert refused(queries, sql.format(**named)).code is Code.NOT_SUPPORTED


def test_a_moment_is_an_expression(queries: Queries, tables: Tables) -> None:
    """Of literals and functions, as ever."""
    table = tables.make()
    table.commit([(INS, 1, 1)])
    plain = f"SELECT count(*) FROM {tables.db}.{table.name} TIMESTAMP AS OF (now() + INTERVAL 1 DAY)"
    assert asked(queries, plain) == [(1,)]


@pytest.mark.parametrize("sql", ["SELECT * FROM csv.`/etc/passwd`", "SELECT * FROM lake.a.`/tmp/x`"])
def test_what_is_no_table_is_asked_about_too(queries: Queries, sql: str) -> None:
    """Files and paths cannot be granted: who asks before reading hears of None, or of an error that tells nothing."""
    found: list[object] = []
    with pytest.raises(SyncError):
        queries.query(sql, None, uuid.uuid4().hex, found.append)
    assert set(found) <= {None, ("csv", "/etc/passwd")}


LONG = 3_000_000


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT raise_error(repeat(' ', {LONG})) FROM range(1)",
        f"SELECT raise_error(repeat('x', {LONG})) FROM range(1)",
        f"SELECT CAST(concat(repeat(' ', {LONG}), 'x') AS INT) FROM range(1)",
        f"SELECT CAST(concat(repeat('[A] x SQLSTATE: ', {LONG // 20}), 'x') AS DATE) FROM range(1)",
    ],
)
def test_a_message_of_any_length_holds_nobody_up(queries: Queries, sql: str) -> None:
    """A value in it stays in the JVM: here the search for its end would take hours, with nobody answered."""
    error, begun = refused(queries, sql), time.process_time()
    assert error.code in {Code.QUERY_FAILED, Code.WRONG_TEXT_OF_VALUE}
    assert len(str(error)) < 20_000
    engine = running(queries)
    with pytest.raises(JavaFailedError) as caught:
        list(engine._sessions.of(None, UTC).sql(sql).pickled())
    assert len(caught.value.text) < MOST_CAUSES * 20_000
    assert time.process_time() - begun < 10


def test_the_parameters_of_a_message_are_cut(queries: Queries) -> None:
    """A name that is no name may have a quarter of a megabyte."""
    session = running(queries)._sessions.of(None, UTC)
    with pytest.raises(JavaFailedError) as caught:
        session.sql(f"SELECT `{'x' * 200_000}` FROM range(1)")
    assert "UNRESOLVED_COLUMN" in caught.value.text
    assert caught.value.parameters["objectName"].startswith("`xxx")
    assert max(map(len, caught.value.parameters.values())) < 10_000
    assert refused(queries, "SELECT nothing FROM range(1)").code is Code.UNKNOWN_COLUMN


def test_a_type_of_a_million_parts_is_refused(queries: Queries) -> None:
    """In the JVM it is a few objects that contain one another, in the frontend it would be gigabytes."""
    parts = [f"c{n} AS (SELECT struct(x, x AS y) AS x FROM c{n - 1})" for n in range(1, 19)]
    error = refused(queries, f"WITH c0 AS (SELECT id AS x FROM range(1)), {', '.join(parts)} SELECT x FROM c18")
    assert error.code is Code.STATEMENT_TOO_LARGE
    assert "types of a result" in str(error)


OF_MODULE = (
    '{{"type": "struct", "fields": [{{"name": "a", "nullable": true, "metadata": {{}}, "type": {{"type": "udt",'
    ' "pyClass": "{name}.X", "serializedClass": "", "sqlType": "integer"}}}}]}}'
)


@pytest.mark.parametrize("sql", ["SELECT {}", "SELECT {}.a", "SELECT array({}) AS b", "EXPLAIN SELECT {}"])
def test_a_query_names_no_module_of_ours(queries: Queries, tmp_path: Path, sql: str) -> None:
    """A type in the text of a query may name a class of Python: its module is not imported into the frontend."""
    name = f"imported_{uuid.uuid4().hex}"
    (tmp_path / f"{name}.py").write_text("raise SystemExit(1)\n")
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(str(tmp_path))
        typed = f"from_json('{{\"a\": 1}}', '{OF_MODULE.format(name=name)}')"
        with contextlib.suppress(SyncError):
            asked(queries, sql.format(typed))
    assert name not in sys.modules
    if not sql.startswith("EXPLAIN"):
        assert refused(queries, sql.format(typed)).code is Code.NOT_SUPPORTED
