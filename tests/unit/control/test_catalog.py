"""From CREATE TABLE to a target and back."""

import pytest

import syncsql
from syncmgr.control.catalog import Catalog, defined, ignored, statement_of
from syncmgr.errors import Code, SyncError
from syncmgr.job.types import table_rules
from tests.support.memory_tables import databases


def parsed(sql: str) -> syncsql.CreateTable:
    [found] = syncsql.parse(sql)
    assert isinstance(found.statement, syncsql.CreateTable)
    return found.statement


def test_key_columns_take_no_null() -> None:
    """Unless the statement says NULL, which is refused."""
    assert not defined(parsed("CREATE TABLE t (id INT) UNIQUE KEY(id)"), "d").columns[0].nullable
    with pytest.raises(SyncError):
        table_rules.check(defined(parsed("CREATE TABLE t (id INT NULL) UNIQUE KEY(id)"), "d"))


@pytest.mark.parametrize("sql", ["CREATE TABLE t (id INT DEFAULT '5')", "CREATE TABLE t (id INT) ENGINE = mysql"])
def test_what_the_lake_has_not(sql: str) -> None:
    """A default that nobody would apply, an engine that is not there."""
    with pytest.raises(SyncError) as caught:
        defined(parsed(sql), "d")
    assert caught.value.code is Code.NOT_SUPPORTED


def test_one_bucket_places_nothing() -> None:
    """Nor does AUTO or RANDOM."""
    for clause in ("HASH(id) BUCKETS 1", "HASH(id) BUCKETS AUTO", "RANDOM BUCKETS 4"):
        assert defined(parsed(f"CREATE TABLE t (id INT) DISTRIBUTED BY {clause}"), "d").partition == ()


def test_the_primary_key_of_mysql() -> None:
    """It is a UNIQUE KEY, wherever it stands, and its columns take no NULL."""
    for sql in ("(id INT PRIMARY KEY, v INT)", "(id INT, v INT, PRIMARY KEY (id))", "(id INT, v INT) UNIQUE KEY(id)"):
        table = defined(parsed(f"CREATE TABLE t {sql}"), "d")
        assert table.keys == ("id",)
        assert [column.nullable for column in table.columns] == [False, True]


def test_what_mysql_says_besides_is_told() -> None:
    """One warning for each part that does nothing; UTF-8 is what text is, so there is nothing to say of it."""
    options = "ENGINE=InnoDB AUTO_INCREMENT=5 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC"
    sql = f"CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY) {options}"
    assert [(each.level, each.code, each.text) for each in ignored(parsed(sql))] == [
        ("Warning", Code.OPTION_IGNORED, "ENGINE = InnoDB is ignored: tables are Iceberg's"),
        ("Warning", Code.OPTION_IGNORED, "AUTO_INCREMENT = 5 is ignored: values come from the source"),
        ("Warning", Code.OPTION_IGNORED, "COLLATE = utf8mb4_bin is ignored: text compares by its bytes"),
        ("Warning", Code.OPTION_IGNORED, "ROW_FORMAT = DYNAMIC is ignored: data files are Parquet"),
        ("Warning", Code.OPTION_IGNORED, "AUTO_INCREMENT of column 'id' is ignored: values come from the source"),
    ]
    assert len([*ignored(parsed("CREATE TABLE t (id INT) CHARSET=latin1"))]) == 1
    [width] = ignored(parsed("CREATE TABLE t (id int(11), v INT, d DECIMAL(10, 2))"))
    assert width.text == "INT(11) of column 'id' is ignored: a display width changes no value"
    assert not [*ignored(parsed("CREATE TABLE t (id INT) ENGINE=iceberg"))]


def test_a_display_width_is_none_of_the_table() -> None:
    """SHOW CREATE TABLE has the type alone."""
    table = defined(parsed("CREATE TABLE t (id int(11), n TINYINT(1), v VARCHAR(7))"), "d")
    assert [column.type.args for column in table.columns] == [(), (), (7,)]
    assert "(11)" not in statement_of(table).sql()


def test_batch_delete_is_always_enabled() -> None:
    """For a table with a key; another feature, or one without a key, would get what it does not have."""
    catalog = Catalog(databases("d"), lambda _db, _table: None)
    catalog.create_table(parsed("CREATE TABLE t (id INT) UNIQUE KEY(id)"), "d")
    catalog.create_table(parsed("CREATE TABLE log (id INT)"), "d")

    def enable(table: str, feature: str) -> str:
        [node] = syncsql.parse(f'ALTER TABLE {table} ENABLE FEATURE "{feature}"')
        assert isinstance(node.statement, syncsql.EnableFeature)
        [told] = catalog.enable_feature(node.statement, "d")
        assert (told.level, told.code) == ("Warning", Code.OPTION_IGNORED)
        return told.text

    told = enable("t", "batch_delete")
    assert told == 'ENABLE FEATURE "BATCH_DELETE" is ignored: a table with a UNIQUE KEY always has it'
    for table, feature, code in (
        ("t", "SEQUENCE_LOAD", Code.NOT_SUPPORTED),
        ("log", "BATCH_DELETE", Code.NOT_SUPPORTED),
        ("none", "BATCH_DELETE", Code.NO_SUCH_TABLE),
    ):
        with pytest.raises(SyncError) as caught:
            enable(table, feature)
        assert caught.value.code is code


def test_a_drop_says_that_files_stay() -> None:
    """Of a table, and of all tables of a database, if another table has the files of one."""
    tables = databases("d")
    catalog = Catalog(tables, lambda _db, _table: None)
    for name in ("t", "u", "v"):
        catalog.create_table(parsed(f"CREATE TABLE {name} (id INT)"), "d")
    tables.second_names = {"e.t": ("d", "t"), "e.u": ("d", "u")}
    [dropped] = syncsql.parse("DROP TABLE t")
    assert isinstance(dropped.statement, syncsql.DropTable)
    told = [*catalog.drop_table(dropped.statement, "d"), *catalog.drop_database("d", if_exists=False, force=True)]
    assert [(each.level, each.code) for each in told] == [("Warning", Code.FILES_KEPT)] * 2
    assert all(other in each.text for each, other in zip(told, ("e.t", "e.u"), strict=True))


def test_a_target_that_a_job_gets_during_a_drop_stays() -> None:
    """While the lake starts, for which a statement waits, and while other tables of the database are dropped."""
    tables, taken = databases("d"), set[str]()
    catalog = Catalog(tables, lambda _, table: "d.job" if table in taken else None)
    for name in ("t", "u", "v"):
        catalog.create_table(parsed(f"CREATE TABLE {name} (id INT)"), "d")
    [dropped] = syncsql.parse("DROP TABLE t")
    assert isinstance(dropped.statement, syncsql.DropTable)
    tables.ready = lambda: taken.add("t")  # type: ignore[method-assign]
    with pytest.raises(SyncError) as caught:
        catalog.drop_table(dropped.statement, "d")
    assert caught.value.code is Code.TABLE_BUSY
    taken.clear()
    tables.ready = lambda: None  # type: ignore[method-assign]
    drop = tables.drop_table

    def slow(db: str, table: str) -> str | None:
        taken.add("v")
        return drop(db, table)

    tables.drop_table = slow  # type: ignore[method-assign]
    with pytest.raises(SyncError) as caught:
        catalog.drop_database("d", if_exists=False, force=True)
    assert caught.value.code is Code.TABLE_BUSY
    assert "v" in tables.tables("d")
